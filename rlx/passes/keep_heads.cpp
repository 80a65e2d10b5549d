// Heads that are brought back behind attention may stay inside: attention writes [B, S, H, D] as
// well, and its operands are views in either order.

#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"

namespace rlx {
namespace {

const Ints kHeadsInside{0, 2, 1, 3};

bool swaps_heads(const Node& transpose) {
  return transpose.attrs.get<Ints>("order") == kHeadsInside;
}
bool is_heads_first(const Node& node) {
  return node.attrs.get<std::string>("layout") == "bhsd" && rank(node.types[0]) == 4;
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    const Pattern q = any(), k = any(), v = any();
    const Pattern heads_first = op("attention", {q, k, v}, is_heads_first);
    return Rules{{op("transpose", {heads_first}, swaps_heads), [=](const Found& found) {
                    const Node& node = found.node(heads_first);
                    Attrs attrs = node.attrs;
                    attrs.set("layout", std::string("bshd"));
                    Values operands;
                    for (const Pattern& each : {q, k, v})
                      operands.push_back(merged_transpose(found[each], kHeadsInside));
                    for (const Value& mask : found.operands(heads_first, 3))
                      operands.push_back(mask);
                    return operands[0].apply(*node.op, operands, attrs);
                  }}};
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass keep_heads{"keep-heads", "Leaves heads where they are around attention.", run};

}  // namespace rlx
