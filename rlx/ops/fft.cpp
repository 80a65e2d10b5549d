// fft and its kin, made of fourier. Lengths with large prime factors are a convolution with a
// chirp (Bluestein); an even number of real samples is half as many complex ones.

#include <algorithm>
#include <cmath>

#include "rlx/base/fourier.h"
#include "rlx/ops/fourier.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fft.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

using Complex = std::complex<double>;

// Lengths are counted in 32 bits by kernels, with room for those of a chirp.
constexpr int64_t kLongest = int64_t{1} << 28;

Value numbers(Value like, DType dtype, const std::vector<Complex>& values) {
  Tensor tensor(dtype, {static_cast<int64_t>(values.size()), 2});
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.set(static_cast<int64_t>(2 * i), values[i].real());
    tensor.set(static_cast<int64_t>(2 * i + 1), values[i].imag());
  }
  return constant_beside(like, tensor);
}
Value integers(Value like, const std::vector<int64_t>& values) {
  Tensor tensor(DType::i32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.set_integer(static_cast<int64_t>(i), values[i]);
  return constant_beside(like, tensor);
}
Value factors(Value like, std::initializer_list<double> values) {
  Tensor tensor(like.dtype(), {static_cast<int64_t>(values.size())});
  int64_t i = 0;
  for (const double value : values) tensor.set(i++, value);
  return constant_beside(like, tensor);
}
Complex turn(int64_t k, int64_t n, double sign = -1) {
  const Turn t = turn_of(k, n);
  return {t.cosine, sign * t.sine};
}

// One number of a result: a factor times the number at `place`, or its conjugate, or as if it were
// real.
struct Pick {
  int64_t place = 0;
  Complex factor = 1;
  bool conjugate = false, real = false;
};
// z [.., m, 2] to [.., picks, 2]. Parts are taken as single elements, in rows as long as can be:
// axes of 2 would be slow on every device.
Value picked(Value z, const std::vector<Pick>& picks) {
  const auto count = static_cast<int64_t>(picks.size());
  Dims shape(z.shape().begin(), z.shape().end() - 1);
  const int64_t m = shape.back().number(), last = static_cast<int64_t>(shape.size()) - 1;
  shape.back() = 2 * m;
  const Value flat = reshape(z, shape);
  std::vector<int64_t> same, other;  // parts
  Tensor by_same(z.dtype(), {2 * count}), by_other(z.dtype(), {2 * count});
  bool in_order = count == m, turns = false;
  for (int64_t k = 0; k < count; ++k) {
    const auto& [place, factor, conjugate, real] = picks[size_t(k)];
    same.insert(same.end(), {2 * place, 2 * place + 1});
    other.insert(other.end(), {2 * place + 1, 2 * place});
    const double sign = conjugate ? -1 : 1;
    by_same.set(2 * k, factor.real());
    by_same.set(2 * k + 1, real ? 0 : sign * factor.real());
    by_other.set(2 * k, real ? 0 : -sign * factor.imag());
    by_other.set(2 * k + 1, factor.imag());
    in_order = in_order && place == k;
    turns = turns || factor.imag() != 0;
  }
  Value y = (in_order ? flat : gather(flat, integers(z, same), last)) * constant_beside(z, by_same);
  if (turns) y = y + gather(flat, integers(z, other), last) * constant_beside(z, by_other);
  shape.back() = count;
  shape.emplace_back(2);
  return reshape(y, shape);
}

Value times(Value x, const std::vector<Complex>& values) {
  std::vector<Pick> picks;
  for (const Complex& value : values) picks.push_back({static_cast<int64_t>(picks.size()), value});
  return picked(x, picks);
}

// k t = (k^2 + t^2 - (k - t)^2) / 2: the transform is a convolution with the chirp exp(pi i t^2 /
// n), done by longer transforms.
Value chirp_transform(Value x, int64_t n, bool inverse, double scale) {
  int64_t size = 2 * n - 1;
  while (!is_smooth(size)) ++size;
  const double sign = inverse ? 1 : -1;
  std::vector<Complex> chirp, filter(static_cast<size_t>(size));
  for (int64_t t = 0; t < n; ++t) {
    chirp.push_back(turn(t * t % (2 * n), 2 * n, sign));
    filter[size_t(t)] = filter[size_t((size - t) % size)] = std::conj(chirp.back());
  }
  filter = transformed(filter, false);
  for (Complex& f : filter) f /= static_cast<double>(size);
  const size_t rank = x.shape().size();
  Dims pads(2 * rank, Dim(0));
  pads[2 * rank - 2] = size - n;
  const Value turns = fourier_turns(x, size);
  const Value spectrum = fourier(pad(times(x, chirp), pads), turns);
  const Value y = fourier(times(spectrum, filter), turns, true);
  for (Complex& c : chirp) c *= scale;
  return times(slice_axis(y, rank - 2, 0, n), chirp);
}

Value transform(Value x, bool inverse, double scale) {
  const int64_t n = x.shape()[x.shape().size() - 2].number();
  if (is_smooth(n)) return fourier(x, fourier_turns(x, n), inverse, scale);
  return chirp_transform(x, n, inverse, scale);
}

// One transform as its user asked for it: the axis brought to the end, 16 bits as 32.
struct Line {
  std::string op;
  size_t axis = 0;    // of numbers
  int64_t given = 0;  // numbers along it
  int64_t length = 0;
  double scale = 1;
  DType dtype = DType::f32;
  bool pairs = true;
  Value x;

  Line(std::string name, Value from, int64_t at, const FftOptions& options, bool is_complex,
       bool inverse, bool halved = false)
      : op(std::move(name)), dtype(from.dtype()), pairs(is_complex), x(from) {
    const TensorType& type = x.type();
    require(is_float(type.dtype), op, ": x is ", type, ", it needs floats");
    require(!pairs || (rank(type) >= 2 && type.shape.back().is(2)), op, ": x is ", type,
            ", complex numbers need a last dim of 2");
    TensorType numbers = type;
    if (pairs) numbers.shape.pop_back();
    axis = axis_of(op, at, numbers);
    const Dim& extent = type.shape[axis];
    require(extent.is_number(), op, ": the number of samples must be known, it is ", extent);
    given = extent.number();
    length = options.length != 0 ? options.length : halved ? 2 * (given - 1) : given;
    require(length > 0 && length <= kLongest, op, ": a length of ", length, " is not from 1 to ",
            kLongest);
    const double n = static_cast<double>(length);
    require(options.norm == "backward" || options.norm == "forward" || options.norm == "ortho", op,
            ": the norm is '", options.norm, "', not backward, forward or ortho");
    if (options.norm == "ortho")
      scale = 1 / std::sqrt(n);
    else if ((options.norm == "backward") == inverse)
      scale = 1 / n;
    if (bytes_of(dtype) == 2) x = cast(x, DType::f32);
    x = swapped(x, pairs);
  }
  size_t end(bool of_pairs) const { return x.shape().size() - (of_pairs ? 2 : 1); }
  Value swapped(Value v, bool of_pairs) const {
    const size_t last = v.shape().size() - (of_pairs ? 2 : 1);
    if (axis == last) return v;
    Ints order;
    for (size_t d = 0; d < v.shape().size(); ++d) order.push_back(static_cast<int64_t>(d));
    std::swap(order[axis], order[last]);
    return transpose(v, order);
  }
  // Cuts, or lets zeros follow.
  void resize(int64_t count) {
    const size_t at = end(pairs);
    if (count < given) x = slice_axis(x, at, 0, count);
    if (count <= given) return;
    Dims pads(2 * x.shape().size(), Dim(0));
    pads[x.shape().size() + at] = count - given;
    x = pad(x, pads);
  }
  Value finished(Value y, bool of_pairs) const {
    y = swapped(y, of_pairs);
    return y.dtype() == dtype ? y : cast(y, dtype);
  }
};

// Up to half a turn.
Value half_turns(Value like, int64_t n) {
  std::vector<Complex> turns;
  for (int64_t k = 0; k <= n / 2; ++k) turns.push_back(turn(k, n));
  return numbers(like, DType::f32, turns);
}

Value with_zeros(Value x) {  // real numbers as complex ones
  Dims pads(2 * x.shape().size() + 2, Dim(0));
  pads.back() = 1;
  return pad(unsqueeze(x, {-1}), pads);
}

}  // namespace

Value fourier_turns(Value like, int64_t n) {
  std::vector<Complex> turns;
  turns.reserve(static_cast<size_t>(n));
  for (int64_t t = 0; t < n; ++t) turns.push_back(turn(t, n));
  return numbers(like, DType::f32, turns);
}

Value complex_mul(Value a, Value b) {
  const auto part = [](Value z, int64_t i) { return slice(z, {i}, {i + 1}, {-1}); };
  return a * part(b, 0) + reverse(a, {-1}) * (part(b, 1) * factors(b, {-1, 1}));
}
Value complex_power(Value z) { return sum_square(z, {-1}); }

Value fft(Value x, int64_t axis, const FftOptions& options) {
  Line line("fft", x, axis, options, true, false);
  line.resize(line.length);
  return line.finished(transform(line.x, false, line.scale), true);
}
Value ifft(Value x, int64_t axis, const FftOptions& options) {
  Line line("ifft", x, axis, options, true, true);
  line.resize(line.length);
  return line.finished(transform(line.x, true, line.scale), true);
}

// Of an even number the samples at even and odd places are the parts of z, whose transform has all
// that half_spectrum needs.
Value rfft(Value x, int64_t axis, const FftOptions& options) {
  Line line("rfft", x, axis, options, false, false);
  line.resize(line.length);
  const int64_t n = line.length, h = n / 2;
  const size_t at = line.end(false);
  if (n % 2 == 1) {
    const Value y = transform(with_zeros(line.x), false, line.scale);
    return line.finished(slice_axis(y, at, 0, h + 1), true);
  }
  Dims shape = line.x.shape();
  shape.back() = h;
  shape.emplace_back(2);
  const Value z = transform(reshape(line.x, shape), false, line.scale / 2);
  return line.finished(half_spectrum(z, half_turns(z, n)), true);
}

// The same backwards. The imaginary parts of frequencies 0 and n / 2 do not count.
Value irfft(Value x, int64_t axis, const FftOptions& options) {
  Line line("irfft", x, axis, options, true, true, true);
  const int64_t n = line.length, h = n / 2, bins = h + 1;
  line.resize(bins);
  if (n % 2 == 1) {
    std::vector<Pick> picks;
    for (int64_t k = 0; k < n; ++k) picks.push_back({std::min(k, n - k), 1, k >= bins, k == 0});
    const Value y = transform(picked(line.x, picks), true, line.scale);
    return line.finished(squeeze(slice_axis(y, y.shape().size() - 1, 0, 1), {-1}), false);
  }
  const Value z = half_spectrum(line.x, half_turns(line.x, n), true);
  const Value y = transform(z, true, line.scale);
  Dims shape(y.shape().begin(), y.shape().end() - 1);
  shape.back() = n;
  return line.finished(reshape(y, shape), false);
}

namespace {

struct Axis {
  int64_t at;
  FftOptions options;
};
std::vector<Axis> axes_of(const char* op, Value x, const FftnOptions& options, bool pairs) {
  Ints axes = options.axes;
  if (axes.empty())
    for (size_t d = 0; d + (pairs ? 1 : 0) < x.shape().size(); ++d)
      axes.push_back(static_cast<int64_t>(d));
  require(!axes.empty(), op, ": x is ", x.type(), ", there is no axis");
  require(options.lengths.empty() || options.lengths.size() == axes.size(), op, ": ",
          options.lengths.size(), " lengths for ", axes.size(), " axes");
  std::vector<Axis> all;
  for (size_t i = 0; i < axes.size(); ++i)
    all.push_back({axes[i], {options.lengths.empty() ? 0 : options.lengths[i], options.norm}});
  return all;
}

}  // namespace

Value fftn(Value x, const FftnOptions& options) {
  for (const Axis& axis : axes_of("fftn", x, options, true)) x = fft(x, axis.at, axis.options);
  return x;
}
Value ifftn(Value x, const FftnOptions& options) {
  for (const Axis& axis : axes_of("ifftn", x, options, true)) x = ifft(x, axis.at, axis.options);
  return x;
}
Value rfftn(Value x, const FftnOptions& options) {
  std::vector<Axis> axes = axes_of("rfftn", x, options, false);
  x = rfft(x, axes.back().at, axes.back().options);
  axes.pop_back();
  for (const Axis& axis : axes) x = fft(x, axis.at, axis.options);
  return x;
}
Value irfftn(Value x, const FftnOptions& options) {
  std::vector<Axis> axes = axes_of("irfftn", x, options, true);
  const Axis last = axes.back();
  axes.pop_back();
  for (const Axis& axis : axes) x = ifft(x, axis.at, axis.options);
  return irfft(x, last.at, last.options);
}

Value fftfreq(Value like, int64_t n, double spacing) {
  require(n > 0, "fftfreq: a length of ", n, " has no frequencies");
  Tensor tensor(like.dtype(), {n});
  for (int64_t k = 0; k < n; ++k)
    tensor.set(
        k, static_cast<double>(k <= (n - 1) / 2 ? k : k - n) / (static_cast<double>(n) * spacing));
  return constant_beside(like, tensor);
}
Value rfftfreq(Value like, int64_t n, double spacing) {
  require(n > 0, "rfftfreq: a length of ", n, " has no frequencies");
  Tensor tensor(like.dtype(), {n / 2 + 1});
  for (int64_t k = 0; k <= n / 2; ++k)
    tensor.set(k, static_cast<double>(k) / (static_cast<double>(n) * spacing));
  return constant_beside(like, tensor);
}

}  // namespace rlx
