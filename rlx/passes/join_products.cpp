// Products of one value by several weights become one product by all of them: q, k and v of a layer
// are then slices of one result. The weights are put together once; quantised ones are rows, with
// scales and zero points beside them or in them.

#include <algorithm>
#include <map>
#include <numeric>

#include "rlx/ir/text.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/match.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

// x . w, or x . w + bias, and the node that has the result. Beside quantised weights stand their
// scales and zero points.
struct Product {
  int root;
  const Node* node;
  Value x, bias;
  Values weights;
  size_t columns_axis;  // of all of them
  bool takes_bias;

  const Value& w() const { return weights[0]; }
  Dim columns() const { return w().shape()[columns_axis]; }
  bool joins(const Product& other) const {
    return x == other.x && node->op.get() == other.node->op.get() &&
           same_attrs(node->attrs, other.node->attrs) && bias.present() == other.bias.present() &&
           std::equal(weights.begin(), weights.end(), other.weights.begin(), other.weights.end(),
                      [](const Value& a, const Value& b) {
                        return a.present() == b.present() &&
                               (!a.present() || a.dtype() == b.dtype());
                      });
  }
};

// What is looked for: a weight that nothing else reads, since a second copy would take memory.
struct Form {
  Pattern x = any(), w = once([](const Value&value) {
                       return rank(value.type()) == 2 && is_float(value.dtype());
                     }),
          blocks = once(), bias = once();
  Pattern matmul = op("matmul", {x, w},
                      [](const Node&node) { return !node.attrs.get<bool>("transpose_a"); }),
          linear = op("linear", {x, w, maybe(bias)}),
          quantised = op("quantised_matmul", {x, blocks},
                         [](const Node&node) { return node.attrs.get<bool>("transpose_w"); });
  Pattern biased = op("add", {either({matmul, quantised}), bias});
};

// Those of a quantised product have a row for each of its columns: one scale for all of them would
// have to be repeated at every run.
bool have_rows(const MatchGraph& from, const Values& weights) {
  return std::all_of(weights.begin(), weights.end(), [&](const Value& each) {
    return !each.present() || (from.is_once(each) && each.shape()[0] == weights[0].shape()[0]);
  });
}

std::optional<Product> product_at(const MatchGraph& from, const Form& form, int at) {
  const Value root = from.graph().value(at);
  for (const Pattern& pattern : {form.biased, form.matmul, form.linear, form.quantised}) {
    const auto found = match(from, pattern, root);
    if (!found) continue;
    const bool is_linear = found->has(form.linear), is_quantised = found->has(form.quantised);
    const Node& node = (*found)[is_linear      ? form.linear
                                : is_quantised ? form.quantised
                                               : form.matmul]
                           .producer();
    Product product{at, &node, (*found)[form.x], (*found)[form.bias], {}, 0, is_linear};
    if (is_quantised)
      product.weights.assign(node.inputs.begin() + 1, node.inputs.end());
    else
      product.weights = {(*found)[form.w]};
    if (!is_quantised)
      product.columns_axis =
          node.attrs.get<bool>(is_linear ? "transpose_w" : "transpose_b") ? 0 : 1;
    const bool fits = (!is_quantised || have_rows(from, product.weights)) &&
                      (!product.bias || product.bias.shape() == Dims{product.columns()});
    if (fits && !from.is_once(product.x) && from.readers(product.w().node).size() == 1)
      return product;
  }
  return std::nullopt;
}

// A product with a bias is not one without, too.
std::vector<Product> products_of(const MatchGraph& from) {
  static const Form form;
  std::vector<Product> found;
  for (int at = static_cast<int>(from.graph().nodes().size()); at-- > 0;) {
    const auto product = product_at(from, form, at);
    if (product && std::none_of(found.begin(), found.end(),
                                [&](const Product& other) { return other.w() == product->w(); }))
      found.push_back(*product);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

using Group = std::vector<Product>;

// Those that can be computed where the first of them is.
std::vector<Group> groups_of(const MatchGraph& from) {
  std::vector<Group> groups;
  for (const Product& product : products_of(from)) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      const int first = other[0].root;
      const auto comes_before = [&](const Value& value) {
        return !value.present() || value.node < first;
      };
      return other[0].joins(product) && comes_before(product.x) && comes_before(product.bias) &&
             std::all_of(product.weights.begin(), product.weights.end(), comes_before) &&
             product.root > first;
    });
    if (group == groups.end())
      groups.push_back({product});
    else
      group->push_back(product);
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const Group& group) { return group.size() < 2; }),
               groups.end());
  return groups;
}

Values joined_of(const Group& group, const RewriteSite& site) {
  const Product& first = group[0];
  const auto joined = [&](size_t axis, const auto& part_of) {
    Values parts;
    for (const Product& each : group)
      if (const Value part = part_of(each)) parts.push_back(site.moved(part));
    return parts.empty() ? Value{} : concat(parts, static_cast<int64_t>(axis));
  };
  Values operands{site.moved(first.x)};
  for (size_t i = 0; i < first.weights.size(); ++i)
    operands.push_back(
        joined(first.columns_axis, [&](const Product& each) { return each.weights[i]; }));
  const Value bias = joined(0, [](const Product& each) { return each.bias; });
  if (bias && first.takes_bias) operands.push_back(bias);
  Value y = site.to.add(first.node->op, operands, first.node->attrs);
  if (bias && !first.takes_bias) y = y + bias;
  site.to.set_origin(y, site.node.origin);
  Dims lengths;
  for (const Product& each : group) lengths.push_back(each.columns());
  return split(y, lengths, -1);
}

// Weights, and what is computed from them, before everything else: a weight may be written down
// only behind the first product.
Graph with_weights_first(const Graph& graph) {
  const MatchGraph from(graph);
  std::vector<int> order(graph.nodes().size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(),
                        [&](int at) { return from.is_once(graph.value(at)); });
  return with_nodes(graph.clone(), order);
}

// Asked first, since putting weights first makes the graph again.
bool may_join(const MatchGraph& from) {
  const std::vector<Product> products = products_of(from);
  for (size_t i = 0; i < products.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (products[i].joins(products[j])) return true;
  return false;
}

size_t count_products(const Graph& graph) {
  size_t count = 0;
  for (const Group& group : groups_of(MatchGraph(graph))) count += group.size();
  return count;
}

PassResult run(const Graph& given, NearMisses* misses) {
  if (!may_join(MatchGraph(given, misses))) return {};
  Graph graph = with_weights_first(given);
  if (count_products(graph) == count_products(given)) graph = given.clone();
  const MatchGraph from(graph, misses);
  const std::vector<Group> groups = groups_of(from);
  std::map<int, const Group*> first_of;
  for (const Group& group : groups) first_of[group[0].root] = &group;
  std::map<int, Value> parts;  // by root
  Graph result = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (const auto first = first_of.find(site.at); first != first_of.end()) {
      const Values all = joined_of(*first->second, site);
      for (size_t i = 0; i < all.size(); ++i) parts[(*first->second)[i].root] = all[i];
    }
    const auto part = parts.find(site.at);
    return part == parts.end() ? std::nullopt : std::optional(Values{part->second});
  });
  return {alive(std::move(result)), static_cast<int64_t>(parts.size())};
}

}  // namespace

const Pass join_products{"join-products",
                         "Joins products of one value by several weights into one.", run};

}  // namespace rlx
