// How a call of an image meets code: a table of implementations by name, each of which may refuse.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rlx/image/image.h"

namespace rlx::image {

// An operand of a call under a binding. A view is seen through its strides: `tensor` is then all of
// the value that it lies in.
struct Argument {
  Tensor tensor;
  bool present = false, is_view = false;
  Shape shape;  // of what the call reads
  int64_t offset = 0;
  Shape strides;

  // The elements row after row: the tensor itself, or a copy of the view.
  Tensor contiguous() const;
};

// An Error where elements of a view would lie outside the `count` elements of its value: an image
// from a file may say anything.
void check_view(const Shape& shape, int64_t offset, const Shape& strides, int64_t count);

struct CallSite {
  std::vector<Argument> inputs;
  std::vector<Tensor> results;  // where the shape is known, in place; else empty, to be replaced
  // How the elements of each result lie in its tensor; empty: row after row.
  struct Stored {
    Shape shape, strides;
  };
  std::vector<Stored> stored = {};
  SymbolValues symbols;  // that attributes mention

  // As the op has it, however its elements lie.
  const Shape& shape_of(size_t result) const {
    return stored.empty() ? results[result].shape() : stored[result].shape;
  }
  const Tensor* in(size_t i) const {
    return i < inputs.size() && inputs[i].present ? &inputs[i].tensor : nullptr;
  }
};

// The bytes that calls hold beside their operands and results.
class Holdings {
 public:
  using Order = std::array<int64_t, 8>;  // what decides it, for the kernels that know its numbers

  void begin(const Call& call);  // what follows is held by this one
  bool reads_the_same(size_t input, size_t other) const {
    return call_->inputs[input].value == call_->inputs[other].value;
  }
  // A weight, its input, in another order. All who ask for the same have it in common.
  void pack(size_t input, const Order& order, int64_t bytes);
  // What is narrower as f32: for good, or while a call runs. Calls run one after the other.
  void keep(int64_t bytes) { kept_ += bytes; }
  void borrow(int64_t bytes);

  int64_t packed_bytes() const;
  int64_t widened_bytes() const;

 private:
  const Call* call_ = nullptr;
  std::map<std::pair<ValueId, Order>, int64_t> packed_;
  std::map<int64_t, int64_t> lent_now_, lent_;  // by size: how many, to this call and to any before
  int64_t kept_ = 0;
};

// A call, made ready. It may keep what serves several runs.
class CallKernel {
 public:
  virtual ~CallKernel() = default;
  // False hands the call to the next implementation: the extents at hand are not its own.
  virtual bool run(CallSite& site) = 0;
  // What a run with such operands makes it hold, by their types and layouts alone; false where it
  // would not take them.
  virtual bool hold(const CallSite& /*site*/, Holdings& /*holdings*/) { return true; }
  // Makes what it holds of weights before there is a run; the other operands have no elements yet.
  virtual void pack(const CallSite& /*site*/) {}
};

// An op on single elements as a function of numbers and of its parameters.
using Scalar = double (*)(const double* x, const double* params);

struct Implementation {
  std::string name;          // as the report shows it
  bool reads_views = false;  // else views are copied for it
  // Null where it refuses, by attributes, dtypes or ranks.
  std::function<std::unique_ptr<CallKernel>(const Call& call, const Image& image)> prepare;
  int32_t version = 1;      // of the calls it understands
  bool finishes = false;    // runs the tile of the call; else that is done behind it
  bool stores = false;      // follows `stored`; else results are copied there
  Scalar scalar = nullptr;  // of an op on single elements
  // Tells it from what others mean by its name and version, as long as it lives; null: nothing
  // does.
  const void* identity = nullptr;
};

// Where a table has what checks the operands and results of an op before it runs.
inline std::string check_name(const std::string& op) { return "check " + op; }

// By the name of a call, in the order they are tried; those of another version are passed over.
using Implementations = std::map<std::string, std::vector<Implementation>, std::less<>>;

// A copy of elements between two layouts of one shape, made ready.
class StridedCopy {
 public:
  struct Layout {
    int64_t offset = 0;  // in elements
    const Shape& strides;
  };
  StridedCopy() = default;
  StridedCopy(const Shape& shape, Layout from, Layout to, int64_t element_bytes);
  void run(const std::byte* from, std::byte* to) const;

 private:
  struct Axis {
    int64_t extent = 0, from = 0, to = 0;  // steps in elements
  };
  template <size_t width>
  static void plane(const std::byte* from, std::byte* to, const Axis& outer, const Axis& inner);
  template <size_t width>
  void axes_from(const std::byte* from, std::byte* to, size_t at) const;

  std::vector<Axis> axes_;
  int64_t from_ = 0, to_ = 0;  // in bytes
  int64_t width_ = 0;
  bool empty_ = true;
};

}  // namespace rlx::image
