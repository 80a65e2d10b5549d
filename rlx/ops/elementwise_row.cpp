#include "rlx/ops/elementwise_row.h"

#include <array>

#include "rlx/codegen/elementwise.h"
#include "rlx/ir/extent_facts.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

std::string taken(const Elementwise& scalar) {
  std::vector<std::string> classes;
  if (scalar.floating) classes.emplace_back("floats");
  if (scalar.signed_integer) classes.emplace_back("integers");
  if (scalar.boolean) classes.emplace_back("bools");
  return joined(classes, " or ");
}

bool takes(const Elementwise& scalar, DType dtype) {
  switch (info(dtype).dtype_class) {
    case DTypeClass::floating:
      return scalar.floating;
    case DTypeClass::signed_integer:
      return scalar.signed_integer;
    case DTypeClass::unsigned_integer:
      return scalar.unsigned_integer;
    case DTypeClass::boolean:
      return scalar.boolean;
    case DTypeClass::complex:
      return false;
  }
  return false;
}

// The operands from `first` on have one dtype; all of them broadcast.
Types infer_from(const InferSite& site, size_t first) {
  const OpDef& op = site.op;
  const TensorType& x = site.in(first);
  if (!takes(*op.elementwise, x.dtype))
    fail(ErrorKind::invalid_graph, op.name, ": takes ", taken(*op.elementwise), ", got ", x);
  for (size_t i = first + 1; i < site.inputs.size(); ++i)
    require(site.in(i).dtype == x.dtype, op.name, ": ", op.inputs.names[first], " is ", x, " and ",
            op.inputs.names[i], " is ", site.in(i), "; cast one to the dtype of the other");
  Dims shape = site.in(0).shape;
  for (size_t i = 1; i < site.inputs.size(); ++i)
    shape = broadcast_shapes(site, shape, site.in(i).shape);
  return {{op.elementwise->comparison ? DType::boolean : x.dtype, shape}};
}

Types infer(const InferSite& site) { return infer_from(site, 0); }

Types infer_where(const InferSite& site) {
  require(site.in(0).dtype == DType::boolean, "where: condition must be bool, got ", site.in(0));
  return infer_from(site, 1);
}

// Where each element of a result of `shape` lies in an operand that broadcasts to it.
std::vector<size_t> broadcast_indices(const Shape& operand, const Shape& shape) {
  const size_t extra = shape.size() - operand.size();
  Shape strides(shape.size(), 0), at(shape.size(), 0);
  for (size_t d = 0; d < operand.size(); ++d)
    if (operand[d] != 1) strides[d + extra] = strides_of(operand)[d];
  std::vector<size_t> indices(static_cast<size_t>(count(shape)));
  int64_t index = 0;
  for (size_t& result : indices) {
    result = static_cast<size_t>(index);
    for (size_t d = shape.size(); d-- > 0;) {
      index += strides[d];
      if (++at[d] < shape[d]) break;
      index -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return indices;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor, const Shape& shape) {
  std::vector<T> values(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, double>)
      values[i] = tensor.at(static_cast<int64_t>(i));
    else
      values[i] = static_cast<T>(tensor.integer_at(static_cast<int64_t>(i)));
  }
  if (tensor.shape() == shape) return values;
  std::vector<T> repeated;
  for (const size_t i : broadcast_indices(tensor.shape(), shape)) repeated.push_back(values[i]);
  return repeated;
}

template <class T>
void run(const ReferenceSite& site, T (*f)(const T*, const double*)) {
  std::vector<double> params;
  for (const std::string& name : site.op.elementwise->params)
    params.push_back(site.attrs.get<double>(name));
  Tensor& out = site.out();
  std::array<std::vector<T>, 3> operands;
  for (size_t i = 0; i < site.inputs.size(); ++i)
    operands[i] = values_of<T>(site.in(i), out.shape());
  const bool floats = std::is_same_v<T, double> && out.dtype() != DType::boolean;
  for (int64_t i = 0; i < out.count(); ++i) {
    std::array<T, 3> x{};
    for (size_t k = 0; k < site.inputs.size(); ++k) x[k] = operands[k][static_cast<size_t>(i)];
    const T y = f(x.data(), params.data());
    if (floats)
      out.set(i, static_cast<double>(y));
    else
      out.set_integer(i, static_cast<int64_t>(y));
  }
}

void reference(const ReferenceSite& site) {
  const Elementwise& scalar = *site.op.elementwise;
  switch (info(site.inputs.back()->dtype()).dtype_class) {
    case DTypeClass::floating:
      return run(site, scalar.floating);
    case DTypeClass::signed_integer:
      return run(site, scalar.signed_integer);
    case DTypeClass::unsigned_integer:
      return run(site, scalar.unsigned_integer);
    case DTypeClass::boolean:
      return run(site, scalar.boolean);
    case DTypeClass::complex:
      break;
  }
}

// Whether the dtype can hold the element. Symbols are extents, which are assumed to fit in i32, as
// on a device.
bool fits(const Dim& element, DType dtype) {
  if (dtype == DType::i64 || (dtype == DType::i32 && !element.is_number())) return true;
  const Interval range = range_of(element);
  if (dtype == DType::boolean) return range.low >= 0 && range.high <= 1;
  const int64_t bits = 8 * bytes_of(dtype) - (is_signed_integer(dtype) ? 1 : 0);
  const int64_t most = bits < 63 ? (int64_t{1} << bits) - 1 : INT64_MAX;
  return range.low >= (is_signed_integer(dtype) ? -most - 1 : 0) && range.high <= most;
}

// What leaves the dtype wraps there, so it is not known.
std::optional<HostValue> symbolic(const InferSite& site, rows::OnDims f) {
  const DType result_dtype =
      site.op.elementwise->comparison ? DType::boolean : site.in(site.inputs.size() - 1).dtype;
  Dims shape;
  for (size_t k = 0; k < site.inputs.size(); ++k) {
    const DType dtype = site.in(k).dtype;
    if (!site.has_host(k) || !(is_integer(dtype) || dtype == DType::boolean)) return std::nullopt;
    for (const Dim& element : site.host(k).elements)  // a u64 may be beyond what a Dim is
      if (element.is_number() && !fits(element, dtype)) return std::nullopt;
    shape = broadcast_shapes(site, shape, site.host(k).shape);
  }
  HostValue result{concrete(shape), {}};
  std::vector<std::vector<size_t>> places;
  for (const HostValue* operand : site.host_values)
    places.push_back(broadcast_indices(operand->shape, result.shape));
  for (size_t i = 0; i < places[0].size(); ++i) {
    Dims elements;
    for (size_t k = 0; k < places.size(); ++k)
      elements.push_back(site.host(k).elements[places[k][i]]);
    const std::optional<Dim> element = f(elements.data());
    if (!element || !fits(*element, result_dtype)) return std::nullopt;
    result.elements.push_back(*element);
  }
  return result;
}

}  // namespace

OpDef rows::elementwise_def(const Row& row, Elementwise scalar, size_t operands) {
  for (const AttrSpec& param : row.params) scalar.params.push_back(param.name);
  scalar.includes = {"numbers"};
  scalar.includes.insert(scalar.includes.end(), row.includes.begin(), row.includes.end());
  scalar.comparison = row.comparison;
  scalar.safe_i64 = row.safe_i64;

  const std::vector<std::string> names[] = {{"x"}, {"x", "y"}, {"condition", "x", "y"}};
  OpDef def;
  def.name = row.name;
  def.family = "elementwise";
  def.inputs = {operands, operands, names[operands - 1]};
  def.attrs = row.params;
  def.infer = operands == 3 ? infer_where : infer;
  def.reference = reference;
  def.lower = lower_elementwise;
  for (size_t i = 0; i < operands; ++i) def.in_place.push_back(i);
  def.elementwise = std::move(scalar);
  def.onnx = row.onnx;
  def.accuracy = {row.ulps, row.absolute_error};
  if (row.gradient)
    def.gradient = row.gradient;
  else
    def.gradient_reason = row.comparison ? "its result is bool" : "it is of integers";
  if (row.on_dims)
    def.symbolic = [f = row.on_dims](const InferSite& site) { return symbolic(site, f); };
  return def;
}

bool all_fit(const HostValue& value, DType dtype) {
  return std::all_of(value.elements.begin(), value.elements.end(),
                     [&](const Dim& element) { return fits(element, dtype); });
}

Dims broadcast_shapes(const InferSite& site, const Dims& a, const Dims& b) {
  const Dims &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Dims shape = longer;
  const ExtentFacts facts(a, b);
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = shape[longer.size() - shorter.size() + i];
    if (dim == shorter[i]) continue;
    Dim other = shorter[i];
    // But for the extents that the facts are from.
    if (!facts.empty() && !tells_limit(dim, other)) {
      dim = facts(dim);
      other = facts(other);
      if (dim == other) continue;
    }
    if (other.is(1)) continue;
    if (dim.is(1)) {
      dim = other;
      continue;
    }
    dim = site.broadcast(dim, other, text("cannot broadcast ", a, " with ", b));
  }
  return shape;
}

Value unbroadcast(Value dy, Value like) {
  const Dims &to = dy.shape(), &from = like.shape();
  const size_t extra = to.size() - from.size();
  Ints axes, leading;
  Dims parted;
  for (size_t d = 0; d < to.size(); ++d) {
    const bool once = d < extra || (from[d - extra].is(1) && !to[d].is(1));
    const bool whole = !once && (from[d - extra] == to[d] || from[d - extra].is_number());
    if (d < extra) leading.push_back(static_cast<int64_t>(d));
    if (!whole) axes.push_back(static_cast<int64_t>(parted.size()));
    // Only the run knows whether this axis was broadcast. The number of repetitions is the result's
    // extent divided by the operand's; an extent of 0 was not broadcast.
    const bool asks = !once && !whole;
    if (asks) parted.push_back(floor_div(to[d], larger(from[d - extra], 1)));
    parted.push_back(asks ? from[d - extra] : to[d]);
  }
  if (axes.empty()) return dy;
  if (parted.size() > to.size()) {
    const Value summed = sum(reshape(dy, parted), axes);
    return summed.shape() == from ? summed : reshape(summed, from);
  }
  if (axes.size() == leading.size()) return sum(dy, axes);
  const Value summed = sum(dy, axes, true);
  return leading.empty() ? summed : squeeze(summed, leading);
}

}  // namespace rlx
