// reshape(x, shape) has x's elements in row-major order; one dim may be -1, and is then what is
// left.

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/render.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& reshape_op();

namespace {

// dividend / divisor where it is a number times some of `dims`; found by trying, proved by
// multiplying.
std::optional<Dim> exact_quotient(const Dims& dims, const Dim& dividend, const Dim& divisor) try {
  // Any values will do where no extent is 0 then, and windows cut long inputs short; equal values
  // always broadcast.
  constexpr int64_t kValue = 5003;
  SymbolValues trial;
  for (const Dim& expression : {dividend, divisor})
    for (const std::string& symbol : expression.symbols()) trial.emplace(symbol, kValue);
  for (size_t subset = 0; subset < size_t{1} << std::min<size_t>(dims.size(), 8); ++subset) {
    Dim part = 1;
    for (size_t d = 0; d < dims.size(); ++d)
      if (subset >> d & 1) part = part * dims[d];
    const int64_t by = (divisor * part).value(trial);
    if (by == 0) continue;
    const Dim quotient = part * Dim(dividend.value(trial) / by);
    if (quotient * divisor == dividend) return quotient;
  }
  return std::nullopt;
} catch (const Error&) {
  return std::nullopt;  // these values do not broadcast
}

// What the dims of `whole` leave for one more dim beside `parts`: [b, s, 768] to [b, s, -1, 64]
// gives 12 whatever b and s are.
Dim quotient(const Dims& whole, const Dims& parts) {
  const Dim dividend = count(whole), divisor = count(parts);
  Dims symbolic;
  for (const Dim& dim : whole)
    if (!dim.is_number()) symbolic.push_back(dim);
  if (const auto exact = exact_quotient(symbolic, dividend, divisor)) return *exact;
  return floor_div(dividend, divisor.is_number() ? divisor : larger(divisor, 1));
}

// 1 where the element is `number`, else 0.
Dim is_number(const Dim& element, int64_t number) {
  const Dim distance = element - number;
  return Dim(1) - min(max(distance, distance * Dim(-1)), 1);
}

// A dim as it was asked for: -1 stays, 0 may copy a dim of the operand.
struct Wanted {
  Dim dim;
  Dim open = 0;  // 1 where it is -1, which only a run may know
};

std::vector<Wanted> wanted_dims(const InferSite& site) {
  std::vector<Wanted> wanted;
  if (!site.has(1)) {
    for (const Dim& dim : dims_attr(site.attrs, "shape"))
      wanted.push_back({dim, dim.is(-1) ? Dim(1) : Dim(0)});
    return wanted;
  }
  const TensorType& type = site.in(1);
  require(is_integer(type.dtype) && rank(type) == 1,
          "reshape: the shape must be a list of integers, got ", type);
  const Dims& from = site.in(0).shape;
  const bool zero_copies = !site.attrs.get<bool>("allowzero");
  for (const Dim& element : site.host(1).elements) {
    const size_t at = wanted.size();
    if (element.is(0) && zero_copies) {
      require(at < from.size(), "reshape: dim ", at, " is 0, which copies a dim that ", site.in(0),
              " does not have");
      wanted.push_back({from[at]});
    } else if (zero_copies && at < from.size() && element == from[at]) {
      wanted.push_back({element});  // an extent: neither -1 nor below, and 0 copies it
    } else if (!element.is_number() && may_be_negative(element)) {
      const bool copies = zero_copies && at < from.size();
      wanted.push_back(
          {copies ? element + is_number(element, 0) * from[at] : element, is_number(element, -1)});
    } else {
      wanted.push_back({element, element.is(-1) ? Dim(1) : Dim(0)});
    }
  }
  return wanted;
}

// The dims where only a run knows which of them is -1, if any.
Dims dims_of_a_run(const InferSite& site, const std::vector<Wanted>& wanted) {
  Dim others = 1, opens = 0;
  for (const Wanted& each : wanted) {
    others = others * larger(each.dim + each.open * Dim(2), 0);  // 1 where it is -1
    opens = opens + each.open;
  }
  site.at_most(opens, 1, "dims of the shape that are -1");
  const Dim rest = floor_div(count(site.in(0).shape), larger(others, 1));
  Dims shape;
  for (const Wanted& each : wanted)
    shape.push_back(each.open.is(0) ? each.dim
                                    : site.define(each.dim + each.open * (rest + Dim(1))));
  return shape;
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(site.attrs.has("shape") != site.has(1),
          "reshape: takes the shape as attribute or as operand, and one of them");
  const std::vector<Wanted> wanted = wanted_dims(site);
  Dims shape, rest;
  size_t open = wanted.size(), opens = 0;
  bool is_known = true;
  for (size_t d = 0; d < wanted.size(); ++d) {
    shape.push_back(wanted[d].dim);
    is_known &= wanted[d].open.is_number();
    if (!wanted[d].open.is(1)) {
      rest.push_back(wanted[d].dim);
      continue;
    }
    opens += 1;
    open = d;
  }
  const Dims asked = shape;
  require(opens <= 1, "reshape: more than one dim of ", asked, " is -1");
  for (const Dim& dim : shape)
    require(!dim.is_number() || dim.number() >= -1, "reshape: dim ", dim, " of ", asked,
            " is negative");
  if (!is_known) {
    shape = dims_of_a_run(site, wanted);
  } else if (open < wanted.size()) {
    require(!count(rest).is(0), "reshape: -1 can be anything in ", asked, ", another dim is 0");
    shape[open] = quotient(x.shape, rest);
  }
  const Dim were = count(x.shape), are = count(shape);
  if (!(were == are))  // the message takes longer than the rule
    site.equal(were, are, text("elements of ", x, " and of ", asked));
  return {{x.dtype, shape}};
}

void reference(const ReferenceSite& site) {
  require(site.in(0).count() == site.out().count(), "reshape: elements of ", site.in(0).type(),
          " and of ", site.out().shape(), ": ", site.in(0).count(), " and ", site.out().count());
  copy_elements(site.in(0), 0, site.out(), 0, site.in(0).count());
}

// Each run of dims that lie end to end must split into whole dims of the result.
std::optional<Layout> view(const ViewSite& site) {
  const Dims& to = site.result.shape;
  const ViewDims from = collapse(site.infer.in(0).shape, site.input);
  Layout layout{site.input.offset, strides_of(to)};
  if (from.shape.size() <= 1) {
    for (Dim& stride : layout.strides)
      stride = stride * (from.strides.empty() ? Dim(1) : from.strides[0]);
    return tidy(layout, to);
  }
  size_t d = to.size();
  for (size_t group = from.shape.size(); group-- > 0;) {
    Dim extent = 1;
    while (!(extent == from.shape[group])) {
      if (d == 0) return std::nullopt;
      layout.strides[--d] = from.strides[group] * extent;
      extent = extent * to[d];
    }
  }
  for (; d > 0; --d)
    if (!to[d - 1].is(1)) return std::nullopt;
  return tidy(layout, to);
}

// The result is written through the operand's shape: both are in row-major order.
Steps lower(const LowerSite& site) {
  Operand to = site.results[0];
  to.shape = site.in(0).shape;
  to.layout = Layout::row_major(to.shape);
  return copy_view(site.inputs[0], to, site.traits);
}

Gradients gradient(const GradientSite& site) {
  Gradients gradients(site.inputs.size());
  gradients[0] = reshape(site.dy(), site.in(0).shape());
  return gradients;
}

}  // namespace

const OpDef& reshape_op() {
  static const OpDef op{
      .name = "reshape",
      .family = "shape",
      .inputs = {1, 2, {"x", "shape"}},
      .attrs = {{"shape", {}, true}, {"allowzero", false}},
      .host_inputs = {1},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .view = view,
      .symbolic = reshaped_host_value,
      .onnx = "Reshape",
  };
  return op;
}

Value reshape(Value x, const Dims& shape) { return x.apply(reshape_op(), {x}, {{"shape", shape}}); }
Value reshape(Value x, Value shape) { return x.apply(reshape_op(), {x, shape}); }

}  // namespace rlx
