#include <algorithm>
#include <map>

#include "rlx/base/clock.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& fused_op();

std::vector<const Pass*> pass_pipeline() {
  return {
      &dead_code,         //
      &fold_constants,    //
      &known_shapes,      //
      &merge_transposes,  //
      &common_values,     //
      &find_views,        //
      &simplify,          //
      &cancel_views,      //
      &common_values,     //
      &find_activations,  //
      &find_norms,        //
      &find_rope,         //
      &find_attention,    //
      &find_causal,       //
      &unit_transposes,   //
      &keep_heads,        //
      &gather_quantised,  //
      &find_integer_products,
      &find_quantised_products,
      &fold_pads,         //
      &fold_scales,       //
      &scale_norms,       //
      &join_products,     //
      &simplify,          //
      &merge_transposes,  //
      &common_values,     //
      &dead_code,         //
      &split_large,       //
      &fit_integers,      //
      &move_views,        //
      &join_slices,       //
      &fuse,
  };
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass* pass : pass_pipeline())
    if (std::find(names.begin(), names.end(), pass->name) == names.end())
      names.push_back(pass->name);
  return names;
}

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int64_t run_with_bodies(Changing& graph, const Pass& pass, const PassSite& site);

// The bodies of a node's attributes that the pass changes, by name.
std::map<std::string, GraphPtr> changed_bodies(const Node& node, const Pass& pass, PassSite site,
                                               int64_t& changes) {
  site.is_body = true;
  std::map<std::string, GraphPtr> changed;
  for (const auto& [name, attr] : node.attrs)
    if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) {
      Changing better(**body);
      const int64_t inside = run_with_bodies(better, pass, site);
      changes += inside;
      if (inside > 0) changed[name] = std::make_shared<const Graph>(better.take());
    }
  return changed;
}

// Making a graph again infers the types of what holds bodies from these: only where one changes.
int64_t run_with_bodies(Changing& graph, const Pass& pass, const PassSite& site) {
  int64_t changes = pass.function(graph, site);
  std::map<int, std::map<std::string, GraphPtr>> changed;  // by node
  for (size_t at = 0; at < graph->nodes().size(); ++at) {
    const Node& node = graph->nodes()[at];
    if (!has_body(node) || (node.op.get() == &fused_op() && !pass.enters_groups)) continue;
    auto bodies = changed_bodies(node, pass, site, changes);
    if (!bodies.empty()) changed[static_cast<int>(at)] = std::move(bodies);
  }
  if (changed.empty()) return changes;
  graph.set(rebuild(*graph, [&](const RewriteSite& at) -> std::optional<Values> {
    const auto bodies = changed.find(at.at);
    if (bodies == changed.end()) return std::nullopt;
    Attrs attrs = at.attrs;
    for (const auto& [name, body] : bodies->second) attrs.set(name, body);
    const Value first = at.to.add(at.node.op, at.inputs, attrs, at.node.name);
    at.to.set_origin(first, at.node.origin);
    Values results;
    for (size_t r = 0; r < at.node.types.size(); ++r)
      results.push_back(first.of(static_cast<int>(r)));
    return results;
  }));
  return changes;
}

}  // namespace

Graph run_passes(const Graph& graph, const PassOptions& options) {
  const std::vector<std::string> names = pass_names();
  if (contains(options.disabled, kAllPasses)) return graph.clone();
  for (const std::string& name : options.disabled)
    if (!contains(names, name))
      fail(ErrorKind::invalid_input, "there is no pass '", name, "'; there is ", joined(names));
  Graph made = graph.clone();
  for (const Pass* pass : pass_pipeline()) {
    PassReport report{pass->name};
    if (!contains(options.disabled, pass->name)) {
      std::optional<NearMisses> misses;
      if (options.near_misses) misses.emplace();
      std::optional<Graph> before;  // for who watches
      if (options.watch) before = made.clone();
      const auto start = Clock::now();
      Changing changing(made);
      report.changes = run_with_bodies(
          changing, *pass,
          {misses ? &*misses : nullptr, options.target ? &*options.target : nullptr});
      report.microseconds = microseconds_since(start);
      if (misses) report.near_misses = misses->take();
      if (options.watch) options.watch(*pass, *before, made);
      if (options.verify && report.changes > 0) verify(made);
    }
    if (options.report) options.report->push_back(std::move(report));
  }
  return made;
}

}  // namespace rlx
