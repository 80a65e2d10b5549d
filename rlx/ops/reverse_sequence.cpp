// reverse_sequence(x, lengths, time_axis, batch_axis): of each sequence of a batch the first
// lengths[b] positions reversed, the rest as they are.

#include "rlx/codegen/each_element.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_index.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& reverse_sequence_op();

namespace {

struct Axes {
  size_t time, batch;
};

Axes axes_in(const Attrs& attrs, const TensorType& x) {
  const Axes axes{axis_of("reverse_sequence", attrs.get<int64_t>("time_axis"), x),
                  axis_of("reverse_sequence", attrs.get<int64_t>("batch_axis"), x)};
  require(axes.time != axes.batch, "reverse_sequence: axis ", axes.time, " is time and batch");
  return axes;
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &lengths = site.in(1);
  const Axes axes = axes_in(site.attrs, x);
  require(is_integer(lengths.dtype) && rank(lengths) == 1,
          "reverse_sequence: lengths must be a list of integers, got ", lengths);
  site.equal(lengths.shape[0], x.shape[axes.batch],
             text("number of lengths and dim ", axes.batch, " of ", x));
  return {x};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &lengths = site.in(1);
  const Axes axes = axes_in(site.attrs, x.type());
  const ConcreteRows time(x.shape(), axes.time), batch(x.shape(), axes.batch);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t length = lengths.integer_at(i / batch.stride % batch.length);
    if (length < 0 || length > time.length)
      fail(ErrorKind::invalid_input, "reverse_sequence: length ", length,
           " is out of range for axis ", axes.time, " of ", x.type(), " (", time.length, ")");
    const int64_t t = i / time.stride % time.length;
    const int64_t from = t < length ? i + (length - 1 - 2 * t) * time.stride : i;
    copy_elements(x, from, site.out(), i, 1);
  }
}

Steps lower(const LowerSite& site) {
  const Dims& shape = site.in(0).shape;
  const Axes axes = axes_in(site.attrs(), site.in(0));
  Dispatch dispatch{.kernel = kernel("reverse_sequence"),
                    .operands = {site.read("x", 0), site.read("lengths", 1)},
                    .params = {{"time", shape[axes.time]},
                               {"time_stride", product(shape, axes.time + 1, shape.size())},
                               {"batch", shape[axes.batch]},
                               {"batch_stride", product(shape, axes.batch + 1, shape.size())}},
                    .flags_errors = true};
  return each_element(std::move(dispatch), site.results[0], site.traits);
}

// It is its own inverse.
Gradients gradient(const GradientSite& site) {
  return {site.dy().apply(reverse_sequence_op(), {site.dy(), site.in(1)}, site.attrs()),
          std::nullopt};
}

}  // namespace

const OpDef& reverse_sequence_op() {
  static const OpDef op{
      .name = "reverse_sequence",
      .family = "indexing",
      .inputs = {2, 2, {"x", "lengths"}},
      .attrs = {{"time_axis", 0}, {"batch_axis", 1}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .onnx = "ReverseSequence",
  };
  return op;
}

Value reverse_sequence(Value x, Value lengths, int64_t time_axis, int64_t batch_axis) {
  return x.apply(reverse_sequence_op(), {x, lengths},
                 {{"time_axis", time_axis}, {"batch_axis", batch_axis}});
}

}  // namespace rlx
