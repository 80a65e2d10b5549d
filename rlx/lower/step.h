// What a lowered graph is made of: a list of steps over values, as data. Kernels are named by their
// text, sizes and params are expressions over symbols, so a list serves every binding.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rlx/image/access.h"
#include "rlx/image/tile.h"
#include "rlx/ir/graph.h"

namespace rlx {

using ValueId = image::ValueId;  // into Lowered::values
using image::Access;

// Constructors, assignments and destructors are not inline, here and below: every op's object file
// would contain a copy of them.

// How a kernel sees a value. A read may be a view: `shape` and `layout` then say where element i of
// the logical tensor lies, and render generates a load that finds it.
struct Operand {
  std::string name;  // load_<name>, store_<name>
  ValueId value = -1;
  DType dtype = DType::f32;
  Access access = Access::read;
  Dims shape = {};
  Layout layout = {};
  bool atomic = false;  // declared as array<atomic<u32>> or atomic<i32>
  // The operand whose buffer it is read from, where it is not bound itself: the result that has
  // taken its place.
  std::string shares = {};
  // Which elements of the value are bound, if not all: for tensors larger than a binding may be.
  struct Window {
    Dim first, count;
  };
  std::optional<Window> window = {};

  Operand();
  Operand(ValueId of, const TensorType& type, Access how);  // all of it
  Operand(const Operand& other);
  Operand(Operand&& other) noexcept;
  Operand& operator=(const Operand& other);
  Operand& operator=(Operand&& other) noexcept;
  ~Operand();

  bool contiguous() const { return layout == Layout::row_major(shape); }
};

struct Param {
  enum class Kind { u32, i32, f32, list };
  std::string name;
  Kind kind = Kind::u32;
  Dim number = 0;
  double real = 0;
  Dims list = {};

  Param(std::string_view n, const Dim& value);
  Param(std::string_view n, int value);
  Param(std::string_view n, double value);
  Param(std::string_view n, Dims values);
  Param(const Param& other);
  Param(Param&& other) noexcept;
  Param& operator=(const Param& other);
  Param& operator=(Param&& other) noexcept;
  ~Param();
  static Param signed_number(std::string_view n, const Dim& value);
};

struct KernelText {
  std::string file;  // for messages: softmax.wgsl
  std::string text;
};

// The kernel's own text and what it includes; render makes the module.
struct Kernel {
  std::string name;
  KernelText source;
  std::vector<KernelText> includes = {};
};

struct Constant {
  std::string name;
  std::variant<int64_t, double, bool> value;
};

struct InPlace {
  ValueId from = -1, to = -1;
};

// Another kernel for a dispatch, with the same operands and params.
struct Alternative {
  Dim guard;                        // it is taken where this is not 0
  KernelText source;                // instead of the kernel's own
  std::vector<Constant> constants;  // instead of those with these names
  Dim workgroups = 1;
  bool in_quads = false;  // it loads and stores by load4_<name>, store4_<name> (codegen/quads.h)
};

// One dispatch of a kernel, or several over shards of its operands: `repeat` times, with the symbol
// kShard counting in params, windows and workgroups.
struct Dispatch {
  Kernel kernel;
  std::vector<Operand> operands;
  std::vector<Constant> constants = {};  // WORKGROUP is 64 unless it is here
  std::vector<Param> params = {};
  std::vector<std::string> prelude = {};  // alias and fn lines the kernel relies on
  Dim workgroups = 1;                     // folded over the dimensions by the executor
  Dim repeat = 1;
  bool flags_errors = false;  // may call raise_flag()
  int64_t flag_node = 0;      // which the flag then names, counted from 1
  bool writes_words = false;  // stores whole words of packed results itself
  bool subgroups = false;
  // Results that may take the place of a value that ends here: one the kernel reads at the same
  // elements that it writes, or one that was copied to the result before.
  std::vector<InPlace> in_place = {};
  std::vector<Alternative> alternatives = {};  // tried in this order, before the kernel itself
  // The kernel over four neighbouring elements at a time, if there is one: it is taken where its
  // guard holds and operands allow it (codegen/quads.h).
  std::optional<Alternative> quads = {};
  bool in_quads = false;  // the kernel itself is such a one
};
inline const char* const kShard = "dispatch.shard";

// Copies a whole value into another, or on the host a view. Does nothing where both share memory.
struct Copy {
  ValueId source = -1, target = -1;
  std::optional<Operand> from = {}, to = {};  // the views
};
struct Clear {
  ValueId target = -1;
};
// An op on the host, by its name: what a device cannot do, or the device is the host.
struct Call {
  std::string op;
  Attrs attrs;
  std::vector<Operand> inputs;  // value -1: absent
  std::vector<ValueId> results;
  std::string reason;                  // why it is not on the device
  std::vector<InPlace> in_place = {};  // as in Dispatch
  bool may_fail = true;                // by the elements of its operands
  int32_t version = 1;                 // of the op
  std::vector<Operand> stored = {};    // how results lie in their values; empty: row after row
  image::Tile tile = {};               // what it goes on to compute of single elements
};
// Writes numbers that a run knows as the elements of a value of the host.
struct Write {
  ValueId target = -1;
  std::vector<Dim> elements;
};
// Reads a value back and binds the symbols of its elements.
struct Fetch {
  ValueId value = -1;
  DType dtype = DType::i64;
  std::vector<Dim> elements;
  std::string reason;
};

// Binds a symbol to an expression over symbols bound before: an extent that control flow decided.
struct Bind {
  std::string symbol;
  Dim value;
  std::vector<std::string> forget = {};  // symbols an earlier iteration has bound
  bool begins_body = false;              // the symbol says that a body runs
};

struct Step;
struct Steps {
  std::vector<Step> list;

  Steps();
  Steps(const Steps& other);
  Steps(Steps&& other) noexcept;
  Steps& operator=(const Steps& other);
  Steps& operator=(Steps&& other) noexcept;
  ~Steps();

  template <class S>
  Steps(S step);  // NOLINT(google-explicit-constructor): a single step is a list of one
  template <class S>
  Steps& add(S step);  // of one of the kinds below
  Steps& append(Steps more);
};
struct If {
  Dim condition;  // not 0: then
  Steps then, otherwise;
};
struct Loop {
  Dim count;
  std::string counter;  // the symbol that counts from 0 in the body
  Steps body;
  std::string condition = {};  // a symbol that ends the loop when it is 0; bound by steps
};

struct Step {
  std::variant<Dispatch, Copy, Clear, Call, Write, Fetch, Bind, If, Loop> what;
  int node = -1;  // of the graph, for reports and errors
};

}  // namespace rlx
