// Gives symbols their values for one run: from the extents of inputs, from host operands, and from
// shape arithmetic evaluated on the host.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "rlx/ir/evaluate.h"
#include "rlx/lower/step.h"

namespace rlx {

struct Binding {
  SymbolValues symbols;
  std::map<std::pair<int, int>, Tensor> host_tensors;  // by node and result, those computed so far
};

class Binder {
 public:
  // `bodies` are the graphs that control flow was lowered from; they speak the same symbols.
  Binder(const Graph& graph, std::vector<GraphPtr> bodies);

  // Binds what the inputs tell. An Error names the input or the symbols that do not fit.
  // Of `elsewhere`, inputs that are on a device, only the types are known.
  void bind_inputs(const TensorMap& inputs, const std::map<std::string, TensorType>& elsewhere,
                   Binding& binding) const;
  // Binds what follows from that; called again when a step has told more.
  void resolve(Binding& binding) const;

 private:
  struct GraphWork {
    const Graph* graph;
    std::vector<int> evaluate;   // nodes whose results are host operands
    std::vector<int> introduce;  // nodes whose types have symbols of their own
    std::string running = {};    // of a body: the symbol that is bound while it runs
  };
  static bool is_running(const GraphWork& work, const Binding& binding);
  void evaluate_node(const GraphWork& work, int at, Binding& binding) const;
  void introduce_symbols(const GraphWork& work, int at, Binding& binding) const;

  const Graph& graph_;
  std::vector<GraphPtr> bodies_;
  std::vector<GraphWork> work_;
};

}  // namespace rlx
