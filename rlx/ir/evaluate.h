// Runs a graph by its ops' references, one node at a time: what every engine is compared with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rlx/ir/graph.h"

namespace rlx {

struct Evaluation {
  TensorMap outputs;
  TensorMap states;                          // after the run
  std::vector<std::vector<Tensor>> results;  // by node; kept only on request
};

struct EvaluateOptions {
  const TensorMap* states = nullptr;  // before the run; one that is missing is zeros
  bool keep_results = false;
  bool used_memory = false;  // results begin as anything, as they do in the memory of a run
  const SymbolValues* symbols = nullptr;  // those that no input tells
  bool as_added = false;  // results have the types their nodes have: no shape rule is asked again
};

Evaluation evaluate(const Graph& graph, const TensorMap& inputs,
                    const EvaluateOptions& options = {});

// The outputs of a body, in order; its inputs in order. `symbols`: of the graph around it.
std::vector<Tensor> evaluate_body(const Graph& body, const std::vector<Tensor>& inputs,
                                  const SymbolValues* symbols = nullptr);

// Binds the symbols in `type` to the extents of `tensor`; an Error when they do not fit.
void bind_input(const std::string& name, const TensorType& type, const TensorType& tensor,
                SymbolValues& symbols);

}  // namespace rlx
