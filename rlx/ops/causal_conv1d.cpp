// causal_conv1d: the rows before x and x itself, of which each tap takes a window; they are added
// up as elements, in one pass.

#include <limits>

#include "rlx/ops/activation.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_sequence.h"
#include "rlx/ops/views.h"

namespace rlx {

Values causal_conv1d(Value x, Value w, const CausalConv1dOptions& options) {
  const char* const name = "causal_conv1d";
  require(is_float(x.dtype()) && rank(x.type()) == 3, name, ": x is ", x.type(),
          ", it needs floats [batches, steps, channels]");
  require(is_float(w.dtype()) && rank(w.type()) == 2 && w.shape()[1].is_number() &&
              w.shape()[1].number() > 0,
          name, ": w is ", w.type(), ", it needs floats [channels, taps] with a number of taps");
  require_activation(name, options.activation);
  const int64_t taps = w.shape()[1].number();
  const Dims& shape = x.shape();
  Value all = x;  // with the rows before it
  if (taps > 1) {
    const Dims before{shape[0], taps - 1, shape[2]};
    const Value state = options.state.present() ? options.state : zeros(x, before);
    require(rank(state.type()) == 3 && state.dtype() == x.dtype(), name, ": the state is ",
            state.type(), ", it needs to be ", x.dtype(), "[batches, taps - 1, channels] for x ",
            x.type());
    require(state.shape()[1].is(taps - 1), name, ": the state is ", state.type(), ", ", taps,
            " taps need ", taps - 1, " rows");
    all = concat({state, x}, 1);
  }
  const DType dtype = x.dtype(), wide = bytes_of(dtype) < 4 ? DType::f32 : dtype;
  const auto widened = [&](Value v) { return v.dtype() == wide ? v : cast(v, wide); };
  Value y;
  for (int64_t j = 0; j < taps; ++j) {
    const int64_t end = j + 1 < taps ? j + 1 - taps : std::numeric_limits<int64_t>::max();
    const Value tap = squeeze(slice(widened(w), {j}, {j + 1}, {1}), {1});
    const Value part = widened(slice(all, {j}, {end}, {1})) * tap;
    y = j == 0 ? part : y + part;
  }
  if (options.bias.present()) y = y + widened(options.bias);
  if (!options.activation.empty()) y = y.apply(elementwise_op(options.activation), {y});
  const Value next = slice(all, {taps > 1 ? 1 - taps : std::numeric_limits<int64_t>::max()},
                           {std::numeric_limits<int64_t>::max()}, {1});
  return {dtype == wide ? y : cast(y, dtype), next};
}

}  // namespace rlx
