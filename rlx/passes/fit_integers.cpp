// A value of i64 is one word on a device where it is known to fit (Ranges), or two. What reads two
// words and cannot gets one, and the run fails where an element does not fit; inputs and outputs
// are as the host has them.

#include <algorithm>
#include <map>

#include "rlx/image/words.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/words.h"
#include "rlx/passes/match.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/ranges.h"

namespace rlx {
namespace {

using Key = std::pair<int, int>;
Key key(const Value& value) { return {value.node, value.result}; }

bool is_real(DType dtype) { return is_float(dtype) && dtype != DType::f64; }
bool is_i64(const Value& value) { return value.present() && value.dtype() == DType::i64; }
bool is_cast(const Node& node) { return node.op->conversion != nullptr; }

// Ops of many elements whose results Ranges bounds, and which have kernels for i32.
bool adds_up(const Node& node) { return is_one_of(node, {"sum", "cumsum", "matmul"}); }

// Ops whose result has elements of their first operand, or of all for concat.
bool picks(const Node& node) {
  return is_one_of(node, {"gather", "slice", "concat", "reshape", "squeeze", "unsqueeze",
                          "transpose", "expand", "reduce_max", "reduce_min"});
}

class Fitting {
 public:
  Fitting(const Graph& graph, const DeviceTraits& traits, bool is_body)
      : graph_(graph), is_body_(is_body), ranges_(graph, traits, is_body) {
    for (size_t at = 0; at < graph.nodes().size(); ++at)
      for (const Value& input : graph.nodes()[at].inputs)
        if (input.present()) readers_[key(input)].push_back(static_cast<int>(at));
    for (const GraphOutput& output : graph.outputs()) leaves_[key(output.value)] = true;
  }

  PassResult run() {
    Graph fitted = rebuild(graph_, [&](const RewriteSite& site) { return rewritten(site); });
    if (changes_ == 0) return {};
    return {alive(std::move(fitted)), changes_};
  }

 private:
  std::optional<Values> rewritten(const RewriteSite& site) {
    const Node& node = site.node;
    if (is_source(node)) return std::nullopt;
    // Integers that shapes are made of stay where the host sees them.
    const bool is_shape = std::any_of(node.host_values.begin(), node.host_values.end(),
                                      [](const auto& host) { return host.has_value(); });
    if (is_shape || !node.op->lower) return std::nullopt;
    std::optional<Values> made;
    if (node.op->elementwise && is_i64(node.inputs.back())) made = on_elements(site);
    if (is_cast(node)) made = converted(site);
    if (adds_up(node) && node.types[0].dtype == DType::i64 && all_fit(site)) made = narrowed(site);
    if (takes_words(*node.op) && !made && is_i64(node.inputs[0])) made = run_up(site);
    if (!made) made = moved(site);
    if (!made) made = joined(site);
    changes_ += made.has_value();
    return made;
  }

  bool fits(const Value& value) const { return ranges_.fits_word(value); }
  bool all_fit(const RewriteSite& site) const {
    const Node& node = site.node;
    return fits(graph_.value(site.at)) &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Value& input) { return !is_i64(input) || fits(input); });
  }
  // Has it one word on the device: because it fits, or because what a body is given and what is
  // picked of it have no more, and a run fails where an element does not fit?
  bool is_one_word(const Value& value, int depth = 0) const {
    constexpr int kDeepest = 8;
    if (depth > kDeepest) return false;
    if (fits(value)) return true;
    const Node& node = value.producer();
    if (is_wide(value) || node.host_values[static_cast<size_t>(value.result)]) return false;
    if (is_input(node)) return is_body_;
    if (!picks(node)) return false;
    const size_t elements = is_op(node, "concat") ? node.inputs.size() : 1;
    return std::all_of(node.inputs.begin(), node.inputs.begin() + static_cast<int64_t>(elements),
                       [&](const Value& input) {
                         // What reads two words and cannot gets one.
                         return is_wide(input) || is_one_word(input, depth + 1);
                       });
  }
  bool is_wide(const Value& value) const { return words_.count(key(value)) > 0; }
  // Of an input of any size that nothing but arithmetic reads.
  bool may_enter(const Value& value) const {
    const Node& node = value.producer();
    return is_input(node) && !is_body_ && !node.host_values[0] && !fits(value) &&
           leaves_.count(key(value)) == 0;
  }

  // An operand for words(): one word where it fits, else two; none where only the host has it.
  std::optional<Value> in_words_or_one(const Value& old, const Value& now) {
    if (!is_i64(old)) return now;  // a condition
    if (const auto found = words_.find(key(old)); found != words_.end()) return found->second;
    if (is_one_word(old)) return now;
    if (is_constant(old.producer()))
      return constant_beside(now, image::words_of(*tensor_of(old.producer())));
    if (may_enter(old)) return words_[key(old)] = words_enter(now);
    return std::nullopt;
  }

  // The value that stands for words where others read them.
  Values standing(const RewriteSite& site, const Value& words) {
    words_[{site.at, 0}] = words;
    return {is_body_ ? cast_words(words, DType::i64) : words_leave(words)};
  }

  std::optional<Values> on_elements(const RewriteSite& site) {
    const Node& node = site.node;
    const Elementwise& scalar = *node.op->elementwise;
    const bool wide = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value& input) {
      return is_i64(input) && (is_wide(input) || (is_constant(input.producer()) && !fits(input)));
    });
    if (scalar.safe_i64 && !wide) return std::nullopt;
    if (!wide && all_fit(site)) return narrowed(site);
    if (!has_words(*node.op)) return std::nullopt;
    Values operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::optional<Value> operand = in_words_or_one(node.inputs[i], site.inputs[i]);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    const std::string& name = node.op->name;
    if (scalar.comparison) return Values{in_words(name, operands, DType::boolean)};
    if (fits(graph_.value(site.at))) return Values{in_words(name, operands, DType::i64)};
    return standing(site, in_words(name, operands, DType::u32));
  }

  std::optional<Values> run_up(const RewriteSite& site) {
    std::optional<Value> x = in_words_or_one(site.node.inputs[0], site.inputs[0]);
    if (!x) return std::nullopt;
    if (is_i64(*x)) x = cast_words(*x, DType::u32);
    Attrs attrs = site.attrs;
    attrs.set("axis", static_cast<int64_t>(axis_of(site.node.op->name, attrs.get<int64_t>("axis"),
                                                   site.node.types[0])));
    attrs.set("words", true);
    return standing(site, site.to.add(site.node.op, {*x}, attrs, site.node.name));
  }

  // The op on i32, between conversions that change nothing on a device.
  static Values narrowed(const RewriteSite& site) {
    Values operands = site.inputs;
    for (Value& operand : operands)
      if (is_i64(operand)) operand = cast(operand, DType::i32);
    const Value result = site.to.add(site.node.op, operands, site.attrs, site.node.name);
    return {result.dtype() == DType::i32 ? cast(result, DType::i64) : result};
  }

  std::optional<Values> converted(const RewriteSite& site) {
    const Value old = site.node.inputs[0], x = site.inputs[0];
    const DType to = site.node.types[0].dtype;
    if (is_real(old.dtype()) && to == DType::i64 && !fits(graph_.value(site.at)) &&
        is_read_as_number(site.at))
      return standing(site,
                      cast_words(old.dtype() == DType::f32 ? x : cast(x, DType::f32), DType::u32));
    if (!is_i64(old) || !is_wide(old)) return std::nullopt;
    const Value words = words_.at(key(old));
    if (to == DType::f32 || to == DType::i32) return Values{cast_words(words, to)};
    if (to == DType::boolean) return Values{in_words("ne", {words, scalar(x, 0)}, DType::boolean)};
    return std::nullopt;
  }
  // Is it read by something other than an op that takes it for an index? An index need not be made
  // in words: where it does not fit 32 bits it is out of range, and the conversion reports that.
  bool is_read_as_number(int at) const {
    const Key value{at, 0};
    if (leaves_.count(value) > 0 && !is_body_) return true;
    const auto found = readers_.find(value);
    if (found == readers_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](int reader) {
      return graph_.node(reader).op->elementwise && has_words(*graph_.node(reader).op);
    });
  }

  // Words in another shape.
  std::optional<Values> moved(const RewriteSite& site) {
    const bool reshapes = is_one_of(site.node, {"reshape", "squeeze", "unsqueeze"});
    const Value& x = site.node.inputs.empty() ? Value{} : site.node.inputs[0];
    if (!x.present() || !is_i64(x) || !is_wide(x) || !(reshapes || is_op(site.node, "expand")))
      return std::nullopt;
    const Dims shape = words_type(site.node.types[0]).shape;
    const Value words = words_.at(key(x));
    return standing(site, reshapes ? reshape(words, shape) : expand(words, shape));
  }

  // The node as it is, with one word for what has two.
  std::optional<Values> joined(const RewriteSite& site) {
    Values operands = site.inputs;
    bool any = false;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value& old = site.node.inputs[i];
      if (!old.present() || !is_i64(old) || !is_wide(old)) continue;
      const auto [at, added] = joined_.emplace(key(old), Value{});
      if (added) at->second = cast_words(words_.at(key(old)), DType::i64);
      operands[i] = at->second;
      any = true;
    }
    if (!any) return std::nullopt;
    const Value first = site.to.add(site.node.op, operands, site.attrs, site.node.name);
    Values results;
    for (size_t r = 0; r < site.node.types.size(); ++r)
      results.push_back(first.of(static_cast<int>(r)));
    return results;
  }

  const Graph& graph_;
  const bool is_body_;
  const Ranges ranges_;
  std::map<Key, std::vector<int>> readers_;
  std::map<Key, bool> leaves_;
  std::map<Key, Value> words_, joined_;  // in the new graph, by values of the old
  int64_t changes_ = 0;
};

PassResult run(const Graph& graph, const PassTarget& target, const PassSite& site) {
  if (target.traits.on_host()) return {};
  return Fitting(graph, target.traits, site.is_body).run();
}

}  // namespace

// The host is left with what has no such form.
const Pass fit_integers{
    "fit-integers",
    "Computes 64-bit integers in 32 bits where they fit, or in two words where not.", run};

}  // namespace rlx
