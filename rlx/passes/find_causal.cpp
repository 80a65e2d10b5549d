// A mask that hides the keys behind each query, or those too far before it, becomes attention's own
// causal flag and window, which need no mask and do not look at what is hidden. It may be made of
// ranges, comparisons, triangles or a constant table, selected or added, beside other masks.
//
// A finite number hides a key only where the row has another one that is seen. So it must be the
// only mask, and no row may be without a key; -inf and a bool hide it in any case.

#include <algorithm>
#include <cmath>
#include <map>

#include "rlx/ops/attention.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/diagonals.h"
#include "rlx/passes/masks.h"
#include "rlx/passes/match.h"
#include "rlx/passes/near_misses.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& attention_op();

namespace {

// What is added to scores, or which keys are seen, or are not.
struct Term {
  enum class Kind { bias, seen, hidden };
  Value value;
  Kind kind;
};

bool is_named(const Value& value, const char* name) { return is_op(value.producer(), name); }
// Without asking a run, so that nothing is asked less where it goes.
bool broadcasts_to(const Dims& shape, const Dims& scores) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (!shape[d].is(1) && !(shape[d] == scores[d + scores.size() - shape.size()])) return false;
  return shape.size() <= scores.size();
}
bool is_number(const std::optional<Along>& along, double number) {
  return along && along->is_number() && along->rest == number;
}

class Terms {
 public:
  std::vector<Term> of(const Node& attention, Diagonals& diagonals) {
    for (const size_t i : {size_t{3}, size_t{4}})
      if (i < attention.inputs.size() && attention.inputs[i].present()) {
        const Value& mask = attention.inputs[i];
        add({mask, mask.dtype() == DType::boolean ? Term::Kind::seen : Term::Kind::bias}, diagonals,
            kDepth);
      }
    return std::move(terms_);
  }

 private:
  static constexpr int kDepth = 8;

  void add(const Term& term, Diagonals& diagonals, int depth) {
    const Values& in = term.value.producer().inputs;
    if (depth == 0 || diagonals(term.value)) {
      terms_.push_back(term);
    } else if (term.kind == Term::Kind::bias) {
      add_bias(term, diagonals, depth - 1);
    } else if (is_named(term.value, "not")) {
      const bool seen = term.kind == Term::Kind::seen;
      add({in[0], seen ? Term::Kind::hidden : Term::Kind::seen}, diagonals, depth - 1);
    } else if (is_named(term.value, term.kind == Term::Kind::seen ? "and" : "or")) {
      for (const Value& input : in) add({input, term.kind}, diagonals, depth - 1);
    } else {
      terms_.push_back(term);
    }
  }

  void add_bias(const Term& term, Diagonals& diagonals, int depth) {
    const Values& in = term.value.producer().inputs;
    if (is_named(term.value, "add")) {
      for (const Value& input : in) add({input, Term::Kind::bias}, diagonals, depth);
      return;
    }
    if (is_named(term.value, "where"))
      for (const size_t other : {size_t{1}, size_t{2}}) {
        if (!is_number(diagonals(in[3 - other]), -INFINITY)) continue;
        add({in[0], other == 1 ? Term::Kind::seen : Term::Kind::hidden}, diagonals, depth);
        if (!is_number(diagonals(in[other]), 0))
          add({in[other], Term::Kind::bias}, diagonals, depth);
        return;
      }
    terms_.push_back(term);
  }

  std::vector<Term> terms_;
};

struct Plan {
  bool causal = false;
  int64_t window = -1;
  std::vector<Term> rest;
};

class Planning {
 public:
  Planning(const Graph& graph, NearMisses* misses) : graph_(graph), misses_(misses) {}

  std::optional<Plan> operator()(int at) {
    const Node& node = graph_.node(at);
    if (node.op.get() != &attention_op() || node.inputs.size() < 4) return std::nullopt;
    const AttentionForm form(node.inputs[0].shape(), node.inputs[1].shape(), node.inputs[2].shape(),
                             node.attrs);
    Plan plan{node.attrs.get<bool>("causal"), node.attrs.get<int64_t>("window"), {}};
    Diagonals diagonals;
    const std::vector<Term> terms = Terms().of(node, diagonals);
    std::string why;
    for (const Term& term : terms) {
      const auto along = diagonals(term.value);
      if (along && take(term, *along, form, terms.size() == 1, plan, why)) continue;
      plan.rest.push_back(term);
    }
    if (plan.rest.size() < terms.size()) return plan;
    if (why.empty() && !diagonals.weight().empty())
      why = text("the mask is made of '", diagonals.weight(),
                 "', a weight, which set_weight may change; a constant may not");
    if (misses_ && !why.empty())
      misses_->note({at, node.op->name, node.name.empty() ? node.origin : node.name, 2, why});
    return std::nullopt;
  }

 private:
  bool take(const Term& term, const Along& along, const AttentionForm& form, bool alone, Plan& plan,
            std::string& why) const {
    const Dims& shape = term.value.shape();
    const std::optional<Sight> sight =
        sight_of(term.value.dtype(), along, term.kind == Term::Kind::hidden);
    if (!sight) return false;
    const SymbolRanges& symbols = graph_.symbols();
    const Dim own = form.k.length - form.q.length;
    const auto refused = [&](const std::string& reason) {
      why = reason;
      return false;
    };
    const bool fits = broadcasts_to(shape, form.scores());
    if (sight->sees_all && fits) return true;
    if (!fits || shape.size() < 2 || !(shape[shape.size() - 2] == form.q.length) ||
        !(shape.back() == form.k.length))
      return refused("the mask is of another shape than scores are, and a run may repeat it");
    if (!(sight->last == own))
      return refused(text("a query sees keys up to ", sight->last,
                          " behind its row, and causal attention up to ", own));
    int64_t window = -1;
    if (sight->first) {
      const Dim back = own - *sight->first;
      if (!back.is_number() || back.number() < 0) return refused("a run tells the window");
      window = back.number();
    }
    if (window >= 0 && plan.window >= 0) return refused("there are two windows");
    if (sight->is_finite && (!alone || !is_never_less(form.k.length, form.q.length, symbols)))
      return refused(
          text("the mask's number is finite, so that a row that sees no key would be "
               "another"));
    plan.causal = true;
    plan.window = std::max(plan.window, window);
    return true;
  }

  const Graph& graph_;
  NearMisses* misses_;
};

Value attention_with(const Plan& plan, const RewriteSite& site) {
  Value bias, mask;
  for (const Term& term : plan.rest) {
    const Value value = site.moved(term.value);
    if (term.kind == Term::Kind::bias) {
      bias = bias ? bias + value : value;
    } else {
      const Value seen = term.kind == Term::Kind::seen ? value : logical_not(value);
      mask = mask ? logical_and(mask, seen) : seen;
    }
  }
  Attrs attrs = site.attrs;
  attrs.set("causal", plan.causal);
  attrs.set("window", plan.window);
  Values inputs(site.inputs.begin(), site.inputs.begin() + 3);
  const Value sink = site.inputs.size() > 5 ? site.inputs[5] : Value{};
  if (bias || mask || sink) inputs.push_back(bias ? bias : mask);
  if ((bias && mask) || sink) inputs.push_back(bias ? mask : Value{});
  if (sink) inputs.push_back(sink);
  return site.to.add(site.node.op, inputs, attrs, site.node.name);
}

PassResult run(const Graph& graph, NearMisses* misses) {
  if (misses) misses->begin_graph();
  Planning planning(graph, misses);
  std::map<int, Plan> plans;
  for (int at = 0; at < static_cast<int>(graph.nodes().size()); ++at)
    if (auto plan = planning(at)) plans[at] = std::move(*plan);
  if (plans.empty()) return {};
  int64_t changes = 0;
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    const auto plan = plans.find(site.at);
    if (plan == plans.end()) return std::nullopt;
    const Value y = attention_with(plan->second, site);
    if (!(y.type() == site.node.types[0])) return std::nullopt;
    site.to.set_origin(y, site.node.origin);
    ++changes;
    return Values{y};
  });
  return {alive(std::move(result)), changes};
}

}  // namespace

const Pass find_causal{"find-causal", "Finds causal masks and windows of attention.", run};

}  // namespace rlx
