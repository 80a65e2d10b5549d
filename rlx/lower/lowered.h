// A graph, lowered for a device: its values, its steps and what a run must check.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rlx/image/image.h"
#include "rlx/lower/step.h"

namespace rlx {

using ValueKind = image::Kind;

struct LoweredValue {
  ValueKind kind = ValueKind::result;
  std::string name;
  TensorType type;
  std::optional<Tensor> source = {};  // of constants, and of weights that have one
  bool on_host = false;               // only the host reads it
};

// A graph, lowered for a device, still in expressions over symbols; build_image makes it data.
struct Lowered {
  struct Source {  // an input, weight or state
    std::string name;
    TensorType type;
    ValueId value = -1;              // -1: no step reads it
    std::vector<Dim> elements = {};  // of an input that decides shapes
  };
  struct Output {
    std::string name;
    ValueId value;
    TensorType type;
  };
  struct Update {
    ValueId state, next;
  };
  struct Check {
    DimCheck check;
    std::string node;
    std::string running = {};  // the symbol of the body it is in
  };
  std::vector<LoweredValue> values;
  Steps bind;  // shape arithmetic that the host computes when a run is bound
  Steps steps;
  std::vector<Source> inputs, weights, states;
  std::vector<Output> outputs;
  std::vector<Update> updates;
  ValueId flag = -1;  // the error flag, where a kernel may raise it
  std::vector<Check> checks;
  std::map<std::string, Dim> definitions;  // symbols that stand for expressions
  SymbolRanges bounds;
  std::vector<image::Node> nodes;  // by their number in the graph
};

}  // namespace rlx
