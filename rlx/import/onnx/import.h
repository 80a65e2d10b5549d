// ONNX models as graphs of rlx.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "rlx/base/file_options.h"
#include "rlx/ir/value.h"

namespace rlx::onnx {

// What an import may take. A file of a hundred bytes can ask for a million nodes: functions that
// call functions, loops that are written out, a sequence of as many parts. So each count has a
// limit that grows with the size of the file, and what is beyond it is an Error.
struct ImportBudget {
  struct Allowance {
    int64_t always = 0, per_byte = 0;  // of the model and of the files its tensors are in
  };
  Allowance nodes = {32768, 4};       // of the graph, its bodies, what functions stand for
  Allowance iterations = {16384, 1};  // of loops that are written out
  Allowance elements = {int64_t{1} << 22, 64};   // of tensors that the import computes
  Allowance dim_parts = {int64_t{1} << 18, 64};  // terms, symbols and functions of dims
  int depth = 64;                                // of functions and bodies within each other
};

// What comes for an input that is a sequence or an optional.
struct ElementTypes {
  bool present = true;  // an optional may have no element
  Types types = {};     // of the elements of a sequence; of an optional tensor, one
};

// What the initializers of floats become. Those of one element, which are the numbers of formulas,
// are constants, but for those that ImportOptions::numbers names, and so are small integers, which
// shapes are made of. All keep their names.
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
  // Initializers of one float that become what `initializers` says, too: set_weight() may change
  // them, and no formula is known by what they are in the file. An Error names one that is none.
  std::vector<std::string> numbers = {};
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
rlx::Graph load_onnx(const std::string& path, const ImportOptions& options = {});
// The same from bytes that `keep_alive` owns, which have no data outside; `source` is their name in
// messages.
rlx::Graph parse_onnx(std::span<const std::byte> bytes, Keep keep_alive, const std::string& source,
                      const ImportOptions& options = {});

}  // namespace rlx::onnx
