// rope(x, cos, sin): turns pairs of the last axis by the angles of their position. The tables come
// from the host: a driver's sin may be off by 2^-11.

#include "rlx/ops/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &cosines = site.in(1), &sines = site.in(2);
  require(is_float(x.dtype) && rank(x) >= 2, "rope: x is ", x, ", it needs floats [.., S, D]");
  for (const TensorType* table : {&cosines, &sines}) {
    require(is_float(table->dtype) && rank(*table) == 2, "rope: a table is ", *table,
            ", it needs to be floats [S, n_rot / 2]");
    site.equal(table->shape[0], x.shape[x.shape.size() - 2],
               text("table ", *table, " does not fit x ", x));
  }
  site.equal(cosines.shape[1], sines.shape[1],
             text("cos ", cosines, " and sin ", sines, " differ"));
  const Dim turned = cosines.shape[1] * Dim(2), &size = x.shape.back();
  if (turned.is_number() && size.is_number())
    require(turned.number() <= size.number(), "rope: turns ", turned, " dims, x ", x, " has ",
            size);
  return {x};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &cosines = site.in(1), &sines = site.in(2);
  const bool interleaved = site.attrs.get<bool>("interleaved");
  const int64_t size = x.shape().back(), positions = x.shape()[x.shape().size() - 2],
                half = cosines.shape()[1];
  for (int64_t row = 0; row * size < x.count(); ++row) {
    const int64_t at = row * size, table = row % positions * half;
    for (int64_t d = 2 * half; d < size; ++d) site.out().set(at + d, x.at(at + d));
    for (int64_t pair = 0; pair < half; ++pair) {
      const int64_t first = at + (interleaved ? 2 * pair : pair),
                    second = first + (interleaved ? 1 : half);
      const double c = cosines.at(table + pair), s = sines.at(table + pair);
      site.out().set(first, x.at(first) * c - x.at(second) * s);
      site.out().set(second, x.at(second) * c + x.at(first) * s);
    }
  }
}

Steps lower(const LowerSite& site) {
  const Dims& shape = site.in(0).shape;
  const Dim half = site.in(1).shape[1], elements = count(shape);
  return Dispatch{
      .kernel = kernel("rope"),
      .operands = {site.read("x", 0), site.read("cos", 1), site.read("sin", 2), site.write("y")},
      .constants = {{"INTERLEAVED", site.attrs().get<bool>("interleaved")}},
      .params = {{"count", elements},
                 {"positions", shape[shape.size() - 2]},
                 {"size", shape.back()},
                 {"half", half}},
      .workgroups = ceil_div(elements, 64),
  };
}

// The two halves of all pairs, each like a table.
std::pair<Value, Value> halves(Value x, int64_t half, bool interleaved) {
  if (interleaved)
    return {slice(x, {0}, {2 * half}, {-1}, {2}), slice(x, {1}, {2 * half}, {-1}, {2})};
  return {slice(x, {0}, {half}, {-1}), slice(x, {half}, {2 * half}, {-1})};
}

// For x a turn back by the same angle.
Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), cosines = site.in(1), sines = site.in(2), dy = site.dy();
  const bool interleaved = site.attrs().get<bool>("interleaved");
  const Value dx = rope(dy, cosines, -sines, interleaved);
  const Dim& half = cosines.shape()[1];
  if (!half.is_number()) return {dx, std::nullopt, std::nullopt};
  const auto [x1, x2] = halves(x, half.number(), interleaved);
  const auto [dy1, dy2] = halves(dy, half.number(), interleaved);
  return {dx, cast(unbroadcast(x1 * dy1 + x2 * dy2, cosines), cosines.dtype()),
          cast(unbroadcast(x1 * dy2 - x2 * dy1, sines), sines.dtype())};
}

}  // namespace

const OpDef& rope_op() {
  static const OpDef op{
      .name = "rope",
      .family = "attention",
      .inputs = {3, 3, {"x", "cos", "sin"}},
      .attrs = {{"interleaved", false}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .accuracy = {8},
  };
  return op;
}

Value rope(Value x, Value cos, Value sin, bool interleaved) {
  return x.apply(rope_op(), {x, cos, sin}, {{"interleaved", interleaved}});
}

}  // namespace rlx
