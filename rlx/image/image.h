// A compiled program as data: numbers, values, kernels, calls and the steps that use them. It
// points into no graph and holds no code, so it prints, compares, and is written to a file as it
// stands.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rlx/base/device_traits.h"
#include "rlx/image/access.h"
#include "rlx/image/numbers.h"
#include "rlx/image/tile.h"
#include "rlx/tensor/attrs.h"

namespace rlx::image {

// ---- Values: what steps read and write --------------------------------------------------------

enum class Kind : uint8_t {
  input,   // of a run
  weight,  // a named tensor that a user may replace
  constant,
  state,      // lives between runs
  once,       // computed when the program is prepared
  result,     // of a node
  temporary,  // of a step
  flag,       // where kernels note an error
};

// How the elements are kept, where that is not as the host keeps them.
enum class Storage : uint8_t {
  native,
  packed,        // several to a 32-bit word, the same bytes as on the host
  one_word,      // 64-bit integers in 32 bits: what does not fit is an Error
  boolean_word,  // bool as 0 or 1 in 32 bits
};

struct Value {
  Kind kind = Kind::result;
  std::string name = {};
  DType dtype = DType::f32;
  Storage storage = Storage::native;
  std::vector<Number> shape = {};
  Number bytes = kNone;    // on this device
  ValueId place = -1;      // the value whose memory it takes; itself as a rule
  int32_t source = -1;     // of weights and constants: into Image::sources; -1: given later
  bool on_host = false;    // only the host reads it, whatever the device
  bool once_only = false;  // of weights: only what runs once reads it
  bool operator==(const Value&) const = default;
};

// ---- Steps ------------------------------------------------------------------------------------

// A view is read in place: element (i, j, ..) lies at offset + i * strides[0] + j * strides[1] ..
struct Operand {
  ValueId value = -1;  // -1: absent
  std::vector<Number> shape = {};
  std::vector<Number> strides = {};  // empty: row after row
  Number offset = kNone;             // in elements; kNone: 0
  bool operator==(const Operand&) const = default;
  bool is_view() const { return !strides.empty() || offset != kNone; }
};

struct Kernel {
  std::string name = {};
  std::string wgsl = {};              // the whole module
  std::vector<Access> bindings = {};  // in order; the error flag's is the last where there is one
  int64_t params_bytes = 0;           // of the uniform block behind them
  // Which file each part of the module came from, for a compiler's messages.
  struct Section {
    int32_t first_line = 1;
    std::string file = {};  // empty: generated
    bool operator==(const Section&) const = default;
  };
  std::vector<Section> sections = {};
  // What it needs of a device, besides its bindings.
  bool f16 = false, subgroups = false;
  int64_t workgroup_invocations = 1, workgroup_bytes = 0;
  bool operator==(const Kernel&) const = default;
};

// A value as a kernel binds it: all of it, or a window in bytes.
struct Bound {
  ValueId value = -1;
  Access access = Access::read;
  Number first = kNone, bytes = kNone;
  bool operator==(const Bound&) const = default;
};

// One way to do a dispatch; the first whose guard is none or not 0 is taken.
struct Choice {
  int32_t kernel = -1;
  Number guard = kNone;
  Number workgroups = kNone;
  std::vector<std::byte> params = {};  // constants filled in
  struct Word {
    int32_t offset = 0;
    Number number = kNone;
    bool operator==(const Word&) const = default;
  };
  std::vector<Word> words = {};  // the others
  bool operator==(const Choice&) const = default;
};

struct Dispatch {
  std::vector<Bound> operands = {};
  std::vector<Choice> choices = {};
  bool flags_errors = false;  // the flag is bound behind the operands
  // Over shards of tensors beyond the binding limit: `repeat` times, with the cell `shard` counting
  // and `segment` computed for each.
  Number repeat = kNone, shard = kNone;
  int32_t segment = -1;
  bool operator==(const Dispatch&) const = default;
};

// On the host: an entry of the table that the engine was given, found once, by name.
struct Call {
  std::string op = {};
  Attrs attrs = {};  // but for graphs, which are text
  struct Body {
    std::string name, text;
    bool operator==(const Body&) const = default;
  };
  std::vector<Body> bodies = {};
  std::vector<Operand> inputs = {};
  std::vector<ValueId> results = {};
  // Result r may have the memory of input i: decided when the image was built.
  std::vector<std::pair<int32_t, int32_t>> in_place = {};  // (input, result)
  // Symbols that attributes mention.
  struct Name {
    std::string symbol = {};
    Number number = kNone;
    bool operator==(const Name&) const = default;
  };
  std::vector<Name> names = {};
  // Extents that only the result itself can tell.
  struct Told {
    int32_t result = 0, axis = 0;
    Number number = kNone;
    bool operator==(const Told&) const = default;
  };
  std::vector<Told> told = {};
  int32_t segment = -1;
  std::string reason = {};  // why it is not on the device; empty on the CPU
  int32_t version = 1;      // of what the op's attributes and operands mean
  // Where the elements of each result lie in its value, if not row after row; else empty.
  std::vector<Operand> stored = {};
  Tile tile = {};  // what it goes on to compute; empty as a rule
  bool operator==(const Call&) const = default;
};

// On a device both are whole values; the host copies views.
struct Copy {
  Operand source, target;
  bool operator==(const Copy&) const = default;
};
struct Clear {
  ValueId target = -1;
  bool operator==(const Clear&) const = default;
};
// Writes numbers as the elements of a value of the host.
struct Write {
  ValueId target = -1;
  std::vector<Number> elements = {};
  bool operator==(const Write&) const = default;
};
// Reads elements of a value into cells; from a device that waits for it.
struct Fetch {
  ValueId value = -1;
  std::vector<Number> elements = {};  // kNone: not needed
  int32_t segment = -1;
  std::string reason = {};
  bool operator==(const Fetch&) const = default;
};
// A cell takes the value of another, after some have been forgotten.
struct Bind {
  Number number = kNone, from = kNone;
  std::vector<Number> forget = {};
  int32_t segment = -1;
  bool operator==(const Bind&) const = default;
};
// To step `target`, always or where a cell is 0.
struct Jump {
  int32_t target = 0;
  Number unless = kNone;
  bool operator==(const Jump&) const = default;
};

struct Step {
  std::variant<Dispatch, Call, Copy, Clear, Write, Fetch, Bind, Jump> what;
  int32_t node = -1;  // into Image::nodes, for reports and errors
  bool operator==(const Step&) const = default;
};
using Steps = std::vector<Step>;

// ---- The whole --------------------------------------------------------------------------------

struct Node {
  std::string op, name;
  bool operator==(const Node&) const = default;
};

struct Input {
  std::string name = {};
  TensorType type = {};
  ValueId value = -1;                 // -1: no step reads it
  std::vector<Number> shape = {};     // a symbol's cell, or what the extent must be
  std::vector<Number> elements = {};  // that decide shapes or control flow: it must be on the host
  bool operator==(const Input&) const = default;
};
struct Output {
  std::string name = {};
  TensorType type = {};
  ValueId value = -1;
  std::vector<Number> shape = {};
  bool operator==(const Output&) const = default;
};
struct Weight {
  std::string name = {};
  TensorType type = {};
  ValueId value = -1;  // -1: nothing reads it
  bool operator==(const Weight&) const = default;
};
struct State {
  std::string name = {};
  TensorType type = {};
  ValueId value = -1;
  ValueId next = -1;  // what it holds after a run; -1: it is not updated
  bool operator==(const State&) const = default;
};

struct Image {
  DeviceTraits traits;  // it was built for: the features and limits it needs
  Numbers numbers;
  std::vector<Number> planned_by = {};  // cells without a bound that sizes depend on
  std::vector<Value> values = {};
  std::vector<Kernel> kernels = {};
  std::vector<Tensor> sources = {};  // of weights and constants
  std::vector<Node> nodes = {};
  Steps bind;  // on the host, when a run is bound: shape arithmetic that cells cannot express
  Steps once;  // when the program is prepared
  Steps run;
  std::vector<Input> inputs = {};
  std::vector<Output> outputs = {};
  std::vector<Weight> weights = {};
  std::vector<State> states = {};
  ValueId flag = -1;
};

bool operator==(const Image& a, const Image& b);

// As a person reads it; equal images print equal text.
std::string to_text(const Image& image);

}  // namespace rlx::image
