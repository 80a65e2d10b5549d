// ONNX models as graphs of rlx.
#pragma once

#include <string>

#include "rlx/import/onnx/budget.h"
#include "rlx/import/onnx/model.h"
#include "rlx/ir/graph.h"

namespace rlx::onnx {

// What comes for an input that is a sequence or an optional.
struct ElementTypes {
  bool present = true;  // an optional may have no element
  Types types = {};     // of the elements of a sequence; of an optional tensor, one
};

// What the initializers of floats become. Those of one element, which are the numbers of formulas,
// and small integers, which shapes are made of, are always constants. All keep their names.
enum class Initializers {
  weights,    // set_weight() may change them
  states,     // that start as them: a step of training updates them
  inputs,     // every run brings them
  constants,  // part of the graph
};

struct ImportOptions {
  // Inputs whose values are known now and become constants: those that decide the graph's
  // structure.
  std::map<std::string, Tensor> known_inputs = {};
  // Inputs that are sequences or optionals: how many elements there are is part of the graph.
  std::map<std::string, ElementTypes> sequence_inputs = {};
  ImportBudget budget = {};  // what a file may ask for
  FileOptions files = {};    // for load_onnx()
  // Resize as ONNX is written, in exact numbers, not as onnxruntime and PyTorch compute it.
  bool exact_resize = false;
  Initializers initializers = Initializers::weights;
};

// What must be a constant is computed from inputs: it decides the graph's structure. They may be
// given as known_inputs.
class UnknownInput : public Error {
 public:
  UnknownInput(Strings inputs, const std::string& message)
      : Error(ErrorKind::unsupported, message), inputs_(std::move(inputs)) {}
  const Strings& inputs() const { return inputs_; }

 private:
  Strings inputs_;
};

// Element k of a sequence among the inputs or outputs is an input or output of its own.
std::string element_name(const std::string& sequence, size_t k);

// The graph of a model. Operators that rlx cannot express are all named in one Error.
rlx::Graph import_model(const Model& model, const ImportOptions& options = {});
rlx::Graph load_onnx(const std::string& path, const ImportOptions& options = {});

}  // namespace rlx::onnx
