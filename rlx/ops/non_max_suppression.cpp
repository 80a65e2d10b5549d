// non_max_suppression(boxes, scores, most, overlap, least): of boxes [B, N, 4], for each batch and
// class of scores [B, C, N], those that overlap no better one by more than `overlap`, at most
// `most` of them, each with a score above `least`; as rows (batch, class, box), the best first.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rlx/codegen/shards.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/cumulative.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_vision.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType &boxes = site.in(0), &scores = site.in(1);
  require(is_float(boxes.dtype) && rank(boxes) == 3 &&
              (boxes.shape[2].is(4) || !boxes.shape[2].is_number()),
          "non_max_suppression: boxes are ", boxes, ", they need to be floats [B, N, 4]");
  require(is_float(scores.dtype) && rank(scores) == 3, "non_max_suppression: scores are ", scores,
          ", they need to be floats [B, C, N]");
  site.equal(boxes.shape[2], 4, text("the last dim of boxes ", boxes, " holds corners"));
  site.equal(boxes.shape[0], scores.shape[0], text("batches of ", boxes, " and ", scores));
  site.equal(boxes.shape[1], scores.shape[2], text("boxes of ", boxes, " and ", scores));
  for (size_t i = 2; i < 5; ++i)
    require(!site.has(i) || (count(site.in(i).shape).is(1) &&
                             (i == 2 ? is_integer(site.in(i).dtype) : is_float(site.in(i).dtype))),
            "non_max_suppression: ", site.op.inputs.names[i], " must be one ",
            i == 2 ? "integer" : "float", ", got ", site.has(i) ? site.in(i) : boxes);
  return {i64({site.fresh(), 3})};
}

struct Box {
  double top, left, bottom, right;

  Box(const Tensor& boxes, int64_t at, bool centred) {
    const double a = boxes.at(at), b = boxes.at(at + 1), c = boxes.at(at + 2), d = boxes.at(at + 3);
    if (centred) {
      top = b - d / 2, bottom = b + d / 2, left = a - c / 2, right = a + c / 2;
    } else {
      top = std::min(a, c), bottom = std::max(a, c), left = std::min(b, d), right = std::max(b, d);
    }
  }
  double area() const { return (bottom - top) * (right - left); }
};

// The part of their union that both cover.
double overlap_of(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

void reference(const ReferenceSite& site) {
  const Tensor &boxes = site.in(0), &scores = site.in(1);
  const int64_t batches = scores.shape()[0], classes = scores.shape()[1], count = scores.shape()[2];
  const int64_t most = site.has(2) ? site.in(2).integer_at(0) : 0;
  const double overlap = site.has(3) ? site.in(3).at(0) : 0;
  const double least = site.has(4) ? site.in(4).at(0) : -INFINITY;
  const bool centred = site.attrs.get<bool>("centred");
  std::vector<int64_t> found;
  for (int64_t group = 0; group < batches * classes; ++group) {
    const int64_t batch = group / classes;
    const auto score = [&](int64_t i) { return scores.at(group * count + i); };
    const auto box = [&](int64_t i) { return Box(boxes, (batch * count + i) * 4, centred); };
    std::vector<int64_t> order(static_cast<size_t>(count)), kept;
    std::iota(order.begin(), order.end(), int64_t{0});
    order.erase(
        std::remove_if(order.begin(), order.end(), [&](int64_t i) { return !(score(i) > least); }),
        order.end());
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return score(a) > score(b); });
    for (const int64_t i : order) {
      if (static_cast<int64_t>(kept.size()) >= most) break;
      if (std::any_of(kept.begin(), kept.end(),
                      [&](int64_t k) { return overlap_of(box(i), box(k)) > overlap; }))
        continue;
      kept.push_back(i);
      found.insert(found.end(), {batch, group % classes, i});
    }
  }
  Tensor y(DType::i64, {static_cast<int64_t>(found.size() / 3), 3});
  for (size_t i = 0; i < found.size(); ++i) y.set_integer(static_cast<int64_t>(i), found[i]);
  site.results[0] = y;
}

// A workgroup finds what is kept of its group; how many that are of all is read back, and rows are
// then written one behind the other.
Steps lower(const LowerSite& site) {
  constexpr int64_t kWorkgroup = 64;
  const Dims& shape = site.in(1).shape;
  const Dim groups = shape[0] * shape[1], &boxes = shape[2], &found = site.out().shape[0];
  const bool limited = site.node.inputs.size() > 2 && site.node.inputs[2].present();
  const Dim most = limited ? smaller(larger(host_number(site, 2), 0), boxes) : Dim(0);
  const auto too_large = [&](const Dims& dims) {
    return is_concrete(dims) && !fits_binding(DType::f32, dims, site.traits);
  };
  if (site.traits.on_host() || too_large(shape) || too_large(site.in(0).shape))
    return site.on_host("how many boxes non_max_suppression gives depends on the data");
  Dispatch find{
      .kernel = kernel("non_max_suppression", {"numbers", "fold"}),
      .operands = {site.read("boxes", 0), site.read("scores", 1)},
      .constants = {{"WORKGROUP", kWorkgroup}, {"CENTRED", site.attrs().get<bool>("centred")}},
      .params = {{"groups", groups}, {"classes", shape[1]}, {"boxes", boxes}, {"most", most}},
      .workgroups = groups + 1,
  };
  const auto number = [&](size_t i, const char* name, const char* otherwise) {
    if (site.has(i)) find.operands.push_back(site.read(name, i));
    find.prelude.push_back(text("fn ", name, "() -> f32 { return ",
                                site.has(i) ? text("f32(load_", name, "(0u))") : otherwise, "; }"));
  };
  number(3, "overlap", "0.0");
  number(4, "least", "-infinity()");
  const Operand alive = site.temporary("alive", {DType::u32, {groups * boxes}}),
                kept = site.temporary("kept", {DType::u32, {groups * most}}),
                counts = site.temporary("counts", {DType::u32, {groups + 1}});
  find.operands.push_back(LowerSite::named(alive, "alive", Access::read_write));
  find.operands.push_back(kept);
  find.operands.push_back(counts);
  Steps steps = find;
  Counted counted = bind_total(site, counts, groups, found);
  steps.append(std::move(counted.steps));
  steps.add(Dispatch{
      .kernel = kernel("non_max_suppression_rows"),
      .operands = {counted.starts, LowerSite::named(kept, "kept", Access::read), site.write("y")},
      .params = {{"groups", groups}, {"classes", shape[1]}, {"most", most}},
      .workgroups = ceil_div(groups * most, kWorkgroup),
  });
  return steps;
}

}  // namespace

const OpDef& non_max_suppression_op() {
  static const OpDef op{
      .name = "non_max_suppression",
      .family = "search",
      .inputs = {2, 5, {"boxes", "scores", "most", "overlap", "least"}},
      .attrs = {{"centred", false}},
      .host_inputs = {2},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .never_fails = true,
      .gradient_reason = "an index does not change with the elements, it jumps",
      .onnx = "NonMaxSuppression",
  };
  return op;
}

Value non_max_suppression(Value boxes, Value scores, Value most, Value overlap, Value least,
                          bool centred) {
  return boxes.apply(non_max_suppression_op(), {boxes, scores, most, overlap, least},
                     {{"centred", centred}});
}

}  // namespace rlx
