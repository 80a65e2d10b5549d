// rope(x, cos, sin): turns pairs of the last axis by the angles of their position. The tables come
// from the host, or from our own sin and cos: a driver's sin may be off by 2^-11.

#include <cmath>

#include "rlx/ops/bodies.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_rope.h"

namespace rlx {
namespace {

// Which axis of x counts positions, and whether each batch has a table of its own.
struct Form {
  size_t axis;
  bool own_tables;
  Dim positions, inner;  // elements of x from one position to the next

  Form(const Dims& x, const Dims& table, const std::string& layout)
      : axis(x.size() - (layout == "bshd" ? 3 : 2)), own_tables(table.size() == 3) {
    positions = x[axis];
    inner = count(Dims(x.begin() + static_cast<int64_t>(axis) + 1, x.end()));
  }
};

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &cosines = site.in(1), &sines = site.in(2);
  const std::string& layout = site.attrs.get<std::string>("layout");
  require(layout == "bhsd" || layout == "bshd", "rope: layout '", layout,
          "' is neither bhsd nor bshd");
  const bool heads_inside = layout == "bshd";
  require(is_float(x.dtype) && rank(x) >= (heads_inside ? 3 : 2), "rope: x is ", x,
          ", it needs floats ", heads_inside ? "[.., S, H, D]" : "[.., S, D]");
  for (const TensorType* table : {&cosines, &sines}) {
    const bool per_batch = rank(*table) == 3 && rank(x) > (heads_inside ? 3 : 2);
    require(is_float(table->dtype) && (rank(*table) == 2 || per_batch), "rope: a table is ", *table,
            ", it needs to be floats [S, n_rot / 2], or [B, S, n_rot / 2] for an x with batches");
    require(table->shape.back().is_number(), "rope: a table is ", *table,
            ", its n_rot / 2 needs to be a number");
    const std::string what = text("table ", *table, " does not fit x ", x);
    site.equal(table->shape[table->shape.size() - 2], Form(x.shape, table->shape, layout).positions,
               what);
    if (per_batch) site.equal(table->shape[0], x.shape[0], what);
  }
  require(rank(cosines) == rank(sines), "rope: cos ", cosines, " and sin ", sines, " differ");
  site.equal(cosines.shape.back(), sines.shape.back(),
             text("cos ", cosines, " and sin ", sines, " differ"));
  const Dim turned = cosines.shape.back() * Dim(2), &size = x.shape.back();
  site.at_most(turned, size, text("turns ", turned, " dims, x ", x, " has ", size));
  return {x};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &cosines = site.in(1), &sines = site.in(2);
  const bool interleaved = site.attrs.get<bool>("interleaved");
  const Form form(x.shape(), cosines.shape(), site.attrs.get<std::string>("layout"));
  const int64_t size = x.shape().back(), half = cosines.shape().back(), count = x.count(),
                inner = form.inner.number(), positions = form.positions.number();
  for (int64_t at = 0; at < count; at += size) {
    const int64_t batch = form.own_tables ? at / (count / x.shape()[0]) : 0;
    const int64_t table = (batch * positions + at / inner % positions) * half;
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
  const Form form(shape, site.in(1).shape, site.attrs().get<std::string>("layout"));
  const Dim half = site.in(1).shape.back(), elements = count(shape);
  const Dim batch = count(Dims(shape.begin() + 1, shape.end()));
  return Dispatch{
      .kernel = kernel("rope"),
      .operands = {site.read("x", 0), site.read("cos", 1), site.read("sin", 2), site.write("y")},
      .constants = {{"INTERLEAVED", site.attrs().get<bool>("interleaved")}},
      .params = {{"count", elements},
                 {"positions", form.positions},
                 {"inner", form.inner},
                 {"batch", form.own_tables ? batch : max(elements, 1)},
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
  const std::string& layout = site.attrs().get<std::string>("layout");
  const Form form(x.shape(), cosines.shape(), layout);
  const Value dx = rope(dy, cosines, -sines, interleaved, layout);
  const int64_t half = cosines.shape().back().number();
  const auto [x1, x2] = halves(x, half, interleaved);
  const auto [dy1, dy2] = halves(dy, half, interleaved);
  Ints others;  // axes of x that the tables do not have
  for (size_t d = 0; d + 1 < x.shape().size(); ++d)
    if (d != form.axis && !(form.own_tables && d == 0)) others.push_back(static_cast<int64_t>(d));
  const auto like_table = [&](Value v, DType dtype) {
    return cast(others.empty() ? v : sum(v, others), dtype);
  };
  return {dx, like_table(x1 * dy1 + x2 * dy2, cosines.dtype()),
          like_table(x1 * dy2 - x2 * dy1, sines.dtype())};
}

}  // namespace

const OpDef& rope_op() {
  static const OpDef op{
      .name = "rope",
      .family = "attention",
      .inputs = {3, 3, {"x", "cos", "sin"}},
      .attrs = {{"interleaved", false}, {"layout", "bhsd"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {8},
  };
  return op;
}

Value rope(Value x, Value cos, Value sin, bool interleaved, const std::string& layout) {
  return x.apply(rope_op(), {x, cos, sin}, {{"interleaved", interleaved}, {"layout", layout}});
}

RopeTables rope_tables(Value positions, int64_t n_rot, double theta) {
  require(is_integer(positions.dtype()), "rope_tables: positions are ", positions.type(),
          ", they need to be integers");
  require(n_rot >= 0 && n_rot % 2 == 0, "rope_tables: n_rot ", n_rot, " is not even");
  require(theta > 0, "rope_tables: theta ", theta, " is not positive");
  const int64_t half = n_rot / 2;
  Tensor frequencies(DType::f32, {half});
  for (int64_t i = 0; i < half; ++i)
    frequencies.set(i, std::pow(theta, -static_cast<double>(i) / static_cast<double>(half)));
  const Value angles =
      unsqueeze(cast(positions, DType::f32), {-1}) * constant_beside(positions, frequencies);
  return {cos(angles), sin(angles)};
}

Value rope_at(Value x, Value positions, const RopeOptions& options) {
  const Dim& size = x.shape().back();
  require(options.n_rot >= 0 || size.is_number(), "rope_at: x is ", x.type(),
          ", whose last dim needs to be a number where n_rot is not given");
  const RopeTables tables =
      rope_tables(positions, options.n_rot < 0 ? size.number() : options.n_rot, options.theta);
  return rope(x, tables.cos, tables.sin, options.interleaved, options.layout);
}

}  // namespace rlx
