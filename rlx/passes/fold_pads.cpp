// Zeros put around x before a convolution or an average become the pads that those have themselves,
// and so does -inf before a maximum, or 0 where no element is below it.

#include <algorithm>
#include <cmath>

#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"
#include "rlx/passes/slices.h"

namespace rlx {
namespace {

// The pads of the axes behind the channels as windows have them, before each and then after each;
// none where others are padded, or not by the number, or by what is no number.
std::optional<Ints> numbers_around(const Node& pad, double number) {
  const TensorType& x = pad.inputs[0].type();
  const auto present = [&](size_t i) { return i < pad.inputs.size() && pad.inputs[i].present(); };
  if (pad.attrs.get<std::string>("mode") != "constant" || rank(x) < 3) return std::nullopt;
  const std::optional<double> value =
      present(2) ? number_of(pad.inputs[2]) : pad.attrs.get_or("value", 0.0);
  if (value != number) return std::nullopt;
  const std::optional<Dims> list = pads_of(pad);
  if (!list) return std::nullopt;
  Ints axes = pad.attrs.get<Ints>("axes");
  if (axes.empty())
    for (int64_t d = 0; d < rank(x); ++d) axes.push_back(d);
  const size_t spatial = x.shape.size() - 2;
  Ints result(2 * spatial, 0);
  for (size_t i = 0; i < list->size(); ++i) {
    const Dim& pads = (*list)[i];
    if (!pads.is_number() || pads.number() < 0) return std::nullopt;
    if (pads.is(0)) continue;
    int64_t axis = axes[i % axes.size()];
    axis += axis < 0 ? rank(x) : 0;
    if (axis < 2) return std::nullopt;
    result[static_cast<size_t>(axis) - 2 + (i < axes.size() ? 0 : spatial)] = pads.number();
  }
  return result;
}
bool is_around(const Node& pad) { return numbers_around(pad, 0).has_value(); }

// What a maximum never takes beside elements of x.
std::optional<Ints> lowest_around(const Node& pad) {
  if (auto pads = numbers_around(pad, -INFINITY)) return pads;
  const Node& of = pad.inputs[0].producer();
  const bool is_least =
      is_op(of, "relu") || (is_op(of, "clip") && of.attrs.get<double>("min") >= 0);
  return is_least ? numbers_around(pad, 0) : std::nullopt;
}
bool is_lowest_around(const Node& pad) { return lowest_around(pad).has_value(); }

// Has every window an element of x, however it lies?
bool reach_elements(const Ints& pads, const Node& pool, const Dims& x) {
  const Ints &window = pool.attrs.get<Ints>("window"),
             &dilations = pool.attrs.get<Ints>("dilations");
  for (size_t i = 0; i < pads.size(); ++i)
    if (pads[i] >= window[i % window.size()]) return false;
  return std::all_of(dilations.begin(), dilations.end(), [](int64_t d) { return d == 1; }) &&
         std::all_of(x.begin() + 2, x.end(),
                     [](const Dim& dim) { return dim.is_number() && dim.number() > 0; });
}

bool has_no_auto_pad(const Node& node) {
  const std::string& mode = node.attrs.get<std::string>("auto_pad");
  return mode.empty() || mode == "valid";
}

void add_rules(Rules& rules) {
  const Pattern x = any(), padded = op("pad", {x}, is_around);
  // Weights of a run may be infinite, and make NaN of zeros that are there.
  const Pattern conv = op("conv", {padded, once()}, has_no_auto_pad);
  const auto with_pads = [=](const Found& found, const Pattern& window) {
    Attrs attrs = found.node(window).attrs;
    Ints pads = *numbers_around(found.node(padded), 0);
    const Ints own = attrs.get<Ints>("pads");
    for (size_t i = 0; i < own.size(); ++i) pads[i] += own[i];
    attrs.set("pads", pads);
    attrs.set("auto_pad", "");
    return attrs;
  };
  rules.push_back({conv, [=](const Found& found) {
                     const Value of = found[x];
                     return of.apply(*found.node(conv).op,
                                     {of, found.operand(conv, 1), found.operand(conv, 2)},
                                     with_pads(found, conv));
                   }});
  // A mean over zeros that were elements counts them; pads of its own it must not have, too.
  const Pattern average = op("average_pool", {padded}, [](const Node& node) {
    const Ints& pads = node.attrs.get<Ints>("pads");
    return has_no_auto_pad(node) && !node.attrs.get<bool>("ceil_mode") &&
           std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
  });
  rules.push_back({average, [=](const Found& found) {
                     Attrs attrs = with_pads(found, average);
                     attrs.set("count_include_pad", true);
                     return found[x].apply(*found.node(average).op, {found[x]}, attrs);
                   }});
  const Pattern lower = op("pad", {x}, is_lowest_around);
  const Pattern most = op("max_pool", {lower}, [](const Node& node) {
    return has_no_auto_pad(node) && !node.attrs.get<bool>("ceil_mode");
  });
  rules.push_back({most, [=](const Found& found) {
                     Attrs attrs = found.node(most).attrs;
                     Ints pads = *lowest_around(found.node(lower));
                     const Ints own = attrs.get<Ints>("pads");
                     for (size_t i = 0; i < own.size(); ++i) pads[i] += own[i];
                     if (!reach_elements(pads, found.node(most), found[x].shape())) return Value{};
                     attrs.set("pads", pads);
                     attrs.set("auto_pad", "");
                     return found[x].apply(*found.node(most).op, {found[x]}, attrs);
                   }});
}

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    Rules all;
    add_rules(all);
    return all;
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass fold_pads{"fold-pads", "Folds pads around a value into the windows that read it.", run};

}  // namespace rlx
