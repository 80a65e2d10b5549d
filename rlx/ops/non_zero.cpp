// non_zero(x): where the elements are that are not 0, in order, as [rank, count]; NaN is not 0.

#include "rlx/codegen/shards.h"
#include "rlx/ops/cumulative.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(x.dtype != DType::c64, "non_zero: does not take complex numbers, got ", x);
  return {i64({rank(x), site.fresh()})};
}

// Counted first: the places of all in a list beside the result would be as much again.
void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const auto is_set = [&](int64_t i) {
    return is_float(x.dtype()) ? x.at(i) != 0 : x.integer_at(i) != 0;
  };
  const int64_t axes = rank(x.type());
  int64_t kept = 0, k = 0;
  for (int64_t i = 0; i < x.count(); ++i) kept += is_set(i) ? 1 : 0;
  const Shape strides = strides_of(x.shape());
  Tensor y(DType::i64, {axes, kept});
  for (int64_t i = 0; i < x.count(); ++i) {
    if (!is_set(i)) continue;
    for (int64_t d = 0; d < axes; ++d)
      y.set_integer(d * kept + k, i / strides[size_t(d)] % x.shape()[size_t(d)]);
    ++k;
  }
  site.results[0] = y;
}

// What a kernel sees of an element as whether it is not 0; NaN by its bits.
std::string is_set_function(const LowerSite& site) {
  const std::string type = site.compute_type(site.in(0).dtype);
  return text("fn is_set(v: ", type, ") -> bool { return ",
              type == "bool"               ? "v"
              : is_float(site.in(0).dtype) ? "(bitcast<u32>(v) & 0x7fffffffu) != 0u"
                                           : text("v != ", type, "(0)"),
              "; }");
}

// Counts what each chunk has, adds the counts up to places, reads the total back, and places.
Steps lower(const LowerSite& site) {
  constexpr int64_t kChunk = 64, kWorkgroup = 64;
  const TensorType& x = site.in(0);
  const bool too_large = is_concrete(x.shape) && !fits_binding(x.dtype, x.shape, site.traits);
  if (site.traits.on_host() || too_large)
    return site.on_host("how many elements non_zero gives depends on the data");
  const Dim elements = count(x.shape), chunks = ceil_div(elements, kChunk);
  const Dim kept = site.out().shape[1];
  const Operand counts = site.temporary("counts", {DType::u32, {chunks + 1}});
  const std::vector<std::string> prelude{is_set_function(site)};
  Steps steps = Dispatch{
      .kernel = kernel("non_zero_count"),
      .operands = {site.read("x", 0), counts},
      .constants = {{"CHUNK", kChunk}},
      .params = {{"count", elements}, {"chunks", chunks}},
      .prelude = prelude,
      .workgroups = ceil_div(chunks + 1, kWorkgroup),
  };
  Counted counted = bind_total(site, counts, chunks, kept);
  steps.append(std::move(counted.steps));
  if (x.shape.empty()) return steps;
  steps.add(Dispatch{
      .kernel = kernel("non_zero_place"),
      .operands = {site.read("x", 0), counted.starts, site.write("y")},
      .constants = {{"CHUNK", kChunk}, {"RANK", rank(x)}},
      .params = {{"count", elements}, {"chunks", chunks}, {"kept", kept}, {"shape", x.shape}},
      .prelude = prelude,
      .workgroups = ceil_div(chunks, kWorkgroup),
  });
  return steps;
}

}  // namespace

const OpDef& non_zero_op() {
  static const OpDef op{
      .name = "non_zero",
      .family = "search",
      .inputs = {1, 1, {"x"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .never_fails = true,
      .gradient_reason = "an index does not change with the elements, it jumps",
      .onnx = "NonZero",
  };
  return op;
}

Value non_zero(Value x) { return x.apply(non_zero_op(), {x}); }

}  // namespace rlx
