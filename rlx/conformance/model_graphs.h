// Nets as exporters write them, without their weights: what the compiler makes of whole models can
// be read without having any.
#pragma once

#include <string>
#include <vector>

#include "rlx/ir/graph.h"

namespace rlx {

struct ModelGraph {
  std::string name;
  Graph graph;
};
// Two layers of minilm, resnet18, mobilenetv2, and two layers of a decoder with a cache, turned
// positions, shared heads and gates.
std::vector<ModelGraph> model_graphs();

// The kernels of each on devices on paper, with a hash of each module, and the functions that
// codegen wrote around those of groups: the text of rlx/conformance/modules.golden.
std::string model_modules();

}  // namespace rlx
