// Signals, made of other ops: dft as one matrix product, stft as that of frames, and the windows
// that are sums of cosines.

#include <algorithm>
#include <cmath>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"
#include "rlx/ops/ops_signal.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

constexpr double kTurn = 6.283185307179586;

// cos and sin of the angle between sample t and frequency k, each [samples, frequencies]. It is
// counted in half steps of a turn of `length` and folded into a quarter of it before it becomes a
// float, so that nothing is lost of large angles and zeros are zeros.
struct Turns {
  Value cosine, sine;
};
Turns turns(Value like, int64_t samples, int64_t frequencies, int64_t length, bool inverse) {
  const Value t = unsqueeze(counting(like, samples, DType::i32), {1});
  const Value k = unsqueeze(counting(like, frequencies, DType::i32), {0});
  const double turn = static_cast<double>(length);
  const Value whole = scalar(t, turn), steps = mod(t * k, whole);
  const Value half = steps + steps;  // from 0 to 2 whole
  const Value beyond = greater(half, whole);
  const Value far = where(beyond, whole + whole - half, half);  // of the angle, whatever its sign
  const auto sine_of = [](Value count, double unit) {
    const Value angle = cast(count, DType::f32);
    return sin(angle * scalar(angle, unit));
  };
  const Value sine = sine_of(minimum(far, whole - far), kTurn / 2 / turn);
  const Value cosine = sine_of(whole - far - far, kTurn / 4 / turn);
  const Value size = scalar(sine, inverse ? 1 / turn : 1);
  const Value signed_size = where(beyond, -size, size);
  return {cosine * size, sine * (inverse ? signed_size : -signed_size)};
}

int64_t known(std::string_view what, const Dim& dim) {
  require(dim.is_number(), "dft: the number of ", what, " must be known, it is ", dim);
  return dim.number();
}

}  // namespace

Value dft(Value x, int64_t axis, const DftOptions& options) {
  const TensorType type = x.type();
  require(is_float(type.dtype) && rank(type) >= 2 &&
              (type.shape.back().is(1) || type.shape.back().is(2)),
          "dft: x is ", type, ", it needs floats whose last dim is 1, or 2 if they are complex");
  const size_t along = axis_of("dft", axis, type), last = type.shape.size() - 1;
  require(along != last, "dft: axis ", axis, " of ", type, " is that of the parts of a number");
  const bool complex = type.shape.back().is(2);
  const int64_t given = known("samples", type.shape[along]);
  const int64_t length = options.length > 0 ? options.length : given;
  // t k must stay within 32 bits.
  require(length > 0 && length < 46341, "dft: a length of ", length, " is not from 1 to 46340");
  const int64_t samples = std::min(given, length);
  const int64_t frequencies = options.onesided ? length / 2 + 1 : length;
  if (samples < given) x = slice_axis(x, along, 0, samples);

  const Turns turn = turns(x, samples, frequencies, length, options.inverse);
  const auto pair = [](Value a, Value b) {
    return concat({unsqueeze(a, {2}), unsqueeze(b, {2})}, 2);
  };
  Value matrix = pair(turn.cosine, turn.sine);
  if (complex)
    matrix = concat({unsqueeze(matrix, {1}), unsqueeze(pair(-turn.sine, turn.cosine), {1})}, 1);
  matrix =
      cast(reshape(matrix, {Dim(samples * (complex ? 2 : 1)), Dim(2 * frequencies)}), type.dtype);

  // The axis goes beside the last, there and back: the two exchange places.
  Ints order;
  for (size_t d = 0; d <= last; ++d) order.push_back(static_cast<int64_t>(d));
  std::swap(order[along], order[last - 1]);
  const Value rows = transpose(x, order);
  Dims shape(rows.shape().begin(), rows.shape().end() - 1);
  shape.back() = samples * (complex ? 2 : 1);
  const Value product = matmul(reshape(rows, shape), matrix);
  shape.back() = frequencies;
  shape.emplace_back(2);
  return transpose(reshape(product, shape), order);
}

Value stft(Value signal, int64_t step, int64_t length, Value window, bool onesided) {
  const TensorType& type = signal.type();
  require(rank(type) == 3, "stft: the signal is ", type,
          ", it needs to be [batch, samples, 1 or 2]");
  require(step > 0 && length > 0, "stft: frames of ", length, " every ", step, " cannot be");
  require(!window.present() || (rank(window.type()) == 1 && window.shape()[0].is(length)),
          "stft: the window ", window.present() ? window.type() : type, " does not fit frames of ",
          length);
  const Dim frames = larger(floor_div(type.shape[1] - Dim(length), step) + 1, 0);
  const Value start = counting(signal, frames, DType::i32);
  const Value places = unsqueeze(start * scalar(start, static_cast<double>(step)), {1}) +
                       unsqueeze(counting(signal, length, DType::i32), {0});
  Value x = gather(signal, places, 1);  // [batch, frames, length, parts]
  if (window.present()) x = x * unsqueeze(window, {1});
  return dft(x, 2, {.onesided = onesided});
}

Value cosine_window(Value size, const Floats& terms, bool periodic, DType dtype) {
  require(is_integer(size.dtype()) && size.shape().empty(),
          "cosine_window: the size must be one integer, got ", size.type());
  const Value place = cast(range(scalar(size, 0), size, scalar(size, 1)), DType::f32);
  const Value count = cast(size, DType::f32), whole = periodic ? count : count - scalar(count, 1);
  const Value angle = place * (scalar(whole, kTurn) / whole);
  Value y = scalar(angle, terms.empty() ? 0 : terms[0]);
  for (size_t k = 1; k < terms.size(); ++k)
    y = y + scalar(angle, k % 2 == 0 ? terms[k] : -terms[k]) *
                cos(angle * scalar(angle, static_cast<double>(k)));
  return cast(y, dtype);
}

}  // namespace rlx
