// The passes, and the order they run in.
#pragma once

#include <vector>

#include "rlx/passes/near_misses.h"
#include "rlx/passes/pass.h"

namespace rlx {

extern const Pass dead_code;
extern const Pass fold_constants;
extern const Pass known_shapes;
extern const Pass common_values;
extern const Pass merge_transposes;
extern const Pass cancel_views;
extern const Pass simplify;
extern const Pass find_views;
extern const Pass find_activations;
extern const Pass find_norms;
extern const Pass find_rope;
extern const Pass find_attention;
extern const Pass find_causal;
extern const Pass unit_transposes;
extern const Pass keep_heads;
extern const Pass gather_quantised;
extern const Pass find_integer_products;
extern const Pass find_quantised_products;
extern const Pass fold_pads;
extern const Pass fold_scales;
extern const Pass scale_norms;
extern const Pass join_products;
// For a device.
extern const Pass split_large;
extern const Pass fit_integers;
extern const Pass move_views;
extern const Pass join_slices;
extern const Pass fuse;

// The graph without what dead_code drops.
Graph alive(Graph graph);

// x transposed, with a transpose that x is taken into account.
Value merged_transpose(Value x, Ints order);

// In order; pipeline.cpp is the list, and only that.
std::vector<const Pass*> pass_pipeline();
std::vector<std::string> pass_names();            // each once
inline constexpr const char* kAllPasses = "all";  // stands for all names where some are disabled

// What one pass of the list did, to the graph and the bodies in it.
struct PassReport {
  std::string name;
  int64_t changes = 0;
  double microseconds = 0;
  std::vector<NearMiss> near_misses = {};  // where they were asked for
};

#ifdef NDEBUG
constexpr bool kVerifyPasses = false;
#else
constexpr bool kVerifyPasses = true;
#endif

struct PassOptions {
  // By name, or kAllPasses; what is neither is an Error.
  std::vector<std::string> disabled = {};
  std::optional<PassTarget> target = {};      // none: passes for a device leave a graph as it is
  bool verify = kVerifyPasses;                // the graph, behind each pass
  std::vector<PassReport>* report = nullptr;  // one entry for each of the list
  bool near_misses = false;                   // in the report, which then takes longer
  std::function<void(const Pass&, const Graph& before, const Graph& after)> watch = {};
};

// Bodies of loops and branches included.
Graph run_passes(const Graph& graph, const PassOptions& options = {});

}  // namespace rlx
