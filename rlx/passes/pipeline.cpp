#include <algorithm>

#include "rlx/base/clock.h"
#include "rlx/passes/fit_integers.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/split_large.h"

namespace rlx {

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
      &gather_quantised,  //
      &find_quantised_products,
      &fold_pads,         //
      &fold_scales,       //
      &join_products,     //
      &simplify,          //
      &merge_transposes,  //
      &common_values,     //
      &dead_code,         //
  };
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass* pass : pass_pipeline())
    if (std::find(names.begin(), names.end(), pass->name) == names.end())
      names.push_back(pass->name);
  names.emplace_back(kSplitLargePass);
  names.emplace_back(kFitIntegersPass);
  names.push_back(kFusePass);
  return names;
}

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The graph with each body as the pass makes it.
Graph with_bodies(const Graph& graph, const Pass& pass, NearMisses* misses, int64_t& changes);

PassResult run_with_bodies(const Graph& graph, const Pass& pass, NearMisses* misses) {
  PassResult result = pass.run(graph, misses);
  if (std::any_of(result.graph.nodes().begin(), result.graph.nodes().end(), has_body))
    result.graph = with_bodies(result.graph, pass, misses, result.changes);
  return result;
}

Graph with_bodies(const Graph& graph, const Pass& pass, NearMisses* misses, int64_t& changes) {
  return rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (!has_body(site.node)) return std::nullopt;
    Attrs attrs = site.attrs;
    for (const auto& [name, attr] : site.attrs)
      if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) {
        PassResult better = run_with_bodies(**body, pass, misses);
        changes += better.changes;
        attrs.set(name, std::make_shared<const Graph>(std::move(better.graph)));
      }
    const Value first = site.to.add(site.node.op, site.inputs, attrs, site.node.name);
    site.to.set_origin(first, site.node.origin);
    Values results;
    for (size_t r = 0; r < site.node.types.size(); ++r)
      results.push_back(first.of(static_cast<int>(r)));
    return results;
  });
}

}  // namespace

Graph run_passes(const Graph& graph, const PassOptions& options) {
  const std::vector<std::string> names = pass_names();
  for (const std::string& name : options.disabled)
    if (!contains(names, name))
      fail(ErrorKind::invalid_input, "there is no pass '", name, "'; there is ", joined(names));
  Graph current = graph.clone();
  for (const Pass* pass : pass_pipeline()) {
    PassReport report{pass->name};
    if (!contains(options.disabled, pass->name)) {
      std::optional<NearMisses> misses;
      if (options.near_misses) misses.emplace();
      const auto start = Clock::now();
      PassResult result = run_with_bodies(current, *pass, misses ? &*misses : nullptr);
      if (options.watch) options.watch(*pass, current, result.graph);
      current = std::move(result.graph);
      if (misses) report.near_misses = misses->take();
      report.changes = result.changes;
      report.microseconds = microseconds_since(start);
      if (options.verify) verify(current);
    }
    if (options.report) options.report->push_back(std::move(report));
  }
  return current;
}

}  // namespace rlx
