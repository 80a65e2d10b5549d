// All that the compiler knows about one op: data and pure functions on the IR. An op describes,
// the engines (cpu, webgpu, autodiff, import) execute.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlx/base/error.h"
#include "rlx/ir/value.h"
#include "rlx/tensor/attrs.h"
#include "rlx/tensor/relation.h"
#include "rlx/tensor/tensor.h"

namespace rlx {

struct LowerSite;
struct Steps;

constexpr size_t kMany = SIZE_MAX;

struct Arity {
  size_t min = 1, max = 1;
  std::vector<std::string> names = {};  // the last one repeats when there are more

  std::string name(size_t i) const;
};

// An attribute an op takes. Without a default it must be given, unless it is optional.
struct AttrSpec {
  std::string name;
  std::optional<Attr> otherwise = {};
  bool optional = false;
};

// What is known of an integer tensor's elements before it is computed: numbers, or expressions over
// symbols that the run binds.
struct HostValue {
  Shape shape;
  std::vector<Dim> elements;
  bool own_symbols = false;  // the elements are symbols made for this value: running it binds them
};

// What an op needs of two dims where only a binding can compare them.
struct DimCheck {
  Dim a, b;
  std::string what;  // the message, which names both
  Relation relation = Relation::equal;

  // An Error with the values of both where they break it.
  void require_under(const SymbolValues& symbols) const;
};

struct InferSite {
  const OpDef& op;
  std::vector<const TensorType*> inputs;  // null: absent
  const Attrs& attrs;
  std::vector<const HostValue*> host_values;  // null: not known
  std::function<Dim()> fresh_symbol;          // for an extent that only a run can tell
  std::vector<DimCheck>* checks = nullptr;
  std::map<std::string, Dim>* definitions = nullptr;

  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  // An Error when it is absent: only the first operands are known to be there.
  const TensorType& in(size_t i) const;
  // The elements of host operand i; an Error when nothing is known of them.
  const HostValue& host(size_t i) const;
  bool has_host(size_t i) const { return i < host_values.size() && host_values[i] != nullptr; }
  // Requires a == b, now if it can be told, else when a run binds them.
  void equal(const Dim& a, const Dim& b, std::string_view what) const;
  // The same of a <= b, and of a being a multiple of b; of 0 only 0 is one.
  void at_most(const Dim& a, const Dim& b, std::string_view what) const;
  void multiple_of(const Dim& a, const Dim& b, std::string_view what) const;
  // The extent of two dims that broadcast, equal or one of them 1: as far as that is not known, a
  // run is held to it.
  Dim broadcast(const Dim& a, const Dim& b, std::string_view what) const;
  // Requires that a is 1 or equals b.
  void broadcasts_to(const Dim& a, const Dim& b, std::string_view what) const;
  Dim fresh() const { return fresh_symbol(); }
  // A symbol that stands for a long expression, so that shapes stay short; a number as it is.
  Dim define(const Dim& expression) const;
};

struct ReferenceSite {
  const OpDef& op;
  std::vector<const Tensor*> inputs;  // null: absent
  const Attrs& attrs;
  // Allocated where the shape is known, and holding anything; the op may replace one.
  std::vector<Tensor>& results;
  const SymbolValues& symbols;  // for attributes with symbols

  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Tensor& in(size_t i) const;  // an Error when it is absent
  Tensor& out(size_t i = 0) const { return results[i]; }
};

struct GradientSite {
  const Node& node;
  Values inputs;                                       // of the node
  Values results;                                      // of the node
  std::vector<std::optional<Value>> result_gradients;  // dy, where anything depends on the result
  // d sum(ys * seeds) / dx for each of xs, in the graph they are of: for ops with bodies.
  std::function<Values(const Values& ys, const Values& seeds, const Values& xs)> sweep = {};

  Value in(size_t i) const;
  Value y(size_t i = 0) const;
  Value dy(size_t i = 0) const;  // an Error where nothing depends on the result
  const Attrs& attrs() const;
};
using Gradients = std::vector<std::optional<Value>>;  // per input; none: not differentiable in it

// Where the elements of a value lie in the buffer of another: element offset and strides.
struct Layout {
  Dim offset = 0;
  Dims strides;

  static Layout row_major(const Dims& shape) { return {0, strides_of(shape)}; }
  bool operator==(const Layout&) const = default;
};

struct ViewSite {
  const InferSite& infer;
  const TensorType& result;
  const Layout& input;  // of operand 0
};

// The scalar form of an op on single elements, in C++ and WGSL, one per class of dtypes. WGSL names
// operands x, y, z and parameters by their attribute; results are of the operands' type unless
// `comparison` says bool.
struct Elementwise {
  using Float = double (*)(const double* x, const double* params);
  using Signed = int64_t (*)(const int64_t* x, const double* params);
  using Unsigned = uint64_t (*)(const uint64_t* x, const double* params);

  Float floating = nullptr;
  Signed signed_integer = nullptr;
  Unsigned unsigned_integer = nullptr;
  Unsigned boolean = nullptr;
  std::string floating_wgsl, signed_wgsl, unsigned_wgsl, boolean_wgsl;  // empty: not on a device
  std::vector<std::string> params = {};    // float attributes the formula uses
  std::vector<std::string> includes = {};  // of lib/, that the formulas call
  bool comparison = false;                 // the result is bool
  bool safe_i64 = false;                   // cannot leave the 32 bits its operands are in
};

// How far a device may be off: in ulps of the result, for each root of the terms it adds up, and
// whatever its size.
struct Accuracy {
  double ulps = 4, absolute = 0;
};

// A choice that selects between kernels: 0 to count - 1.
struct Variants {
  std::string key;
  int64_t count = 1;
};

struct OpDef {
  std::string name;
  std::string family;
  Arity inputs = {}, results = {};
  std::vector<AttrSpec> attrs = {};
  std::vector<size_t> host_inputs = {};  // operands whose values infer and lower need

  std::function<Types(const InferSite&)> infer;
  std::function<void(const ReferenceSite&)> reference;
  std::function<Steps(const LowerSite&)> lower = {};  // none: runs on the host, see host_reason
  std::function<Gradients(const GradientSite&)> gradient = {};  // none: see gradient_reason
  std::optional<Elementwise> elementwise = {};
  // Of a conversion between dtypes, the WGSL expression of an element x; none where it may raise
  // the error flag, or rounds in its storage only.
  std::function<std::optional<std::string>(const Node&)> conversion = {};

  // The result as a view of operand 0; none where it cannot be one, and the op is then copied.
  std::function<std::optional<Layout>(const ViewSite&)> view = {};
  // The elements of an integer result from those of the operands: shape arithmetic without running.
  std::function<std::optional<HostValue>(const InferSite&)> symbolic = {};

  // Operands whose memory the first result may take, where both are whole and of one type: each
  // element is read before it is written.
  std::vector<size_t> in_place = {};

  // It fails for no elements of its operands: what a body makes of weights with it may be computed
  // before it is known whether the body runs. So may elementwise ops.
  bool never_fails = false;

  Accuracy accuracy = {};
  std::vector<Variants> variants = {};

  std::string host_reason = {}, gradient_reason = {};
  std::string onnx = {};  // the operator it equals, if any

  // Counted up where attributes or operands change their meaning: images that were written before
  // then say so, and are not misread.
  int32_t version = 1;

  ~OpDef();  // not inline: every op's file has one to destroy
};

struct OpRef : std::shared_ptr<const OpDef> {
  using shared_ptr::shared_ptr;
  OpRef(std::shared_ptr<const OpDef> op);  // NOLINT(google-explicit-constructor)
};

// A reference to a definition with static lifetime.
OpRef static_op(const OpDef& op);

}  // namespace rlx
