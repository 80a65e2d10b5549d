// shape_of(x): the dims of x as i64[rank]; size_of(x): how many elements it has, as i64[]. Both are
// expressions over symbols, so nothing is computed for them.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

const OpDef& shape_of_op();
const OpDef& size_of_op();

namespace {

HostValue dims_of(const TensorType& x) { return {{rank(x)}, {x.shape.begin(), x.shape.end()}}; }
HostValue count_of(const TensorType& x) { return {{}, {count(x.shape)}}; }

// The op whose result is what `known` says of x's type.
OpDef extents_def(const char* name, const char* onnx, HostValue (*known)(const TensorType& x)) {
  return {
      .name = name,
      .family = "shape",
      .inputs = {1, 1, {"x"}},
      .infer = [known](const InferSite& site) -> Types {
        const Shape shape = known(site.in(0)).shape;
        return {i64({shape.begin(), shape.end()})};
      },
      .reference =
          [known](const ReferenceSite& site) {
            int64_t i = 0;
            for (const Dim& extent : known(site.in(0).type()).elements)
              site.out().set_integer(i++, extent.number());
          },
      .lower = [known](const LowerSite& site) -> Steps {
        return write_host_value(known(site.in(0)), site.results[0], site.traits);
      },
      .gradient = [](const GradientSite&) -> Gradients { return {std::nullopt}; },
      .symbolic = [known](const InferSite& site) { return std::optional(known(site.in(0))); },
      .never_fails = true,
      .onnx = onnx,
  };
}

}  // namespace

const OpDef& shape_of_op() {
  static const OpDef op = extents_def("shape_of", "Shape", dims_of);
  return op;
}

const OpDef& size_of_op() {
  static const OpDef op = extents_def("size_of", "Size", count_of);
  return op;
}

Value shape_of(Value x) { return x.apply(shape_of_op(), {x}); }
Value size_of(Value x) { return x.apply(size_of_op(), {x}); }

}  // namespace rlx
