#include "rlx/ops/views.h"

#include <algorithm>
#include <cstring>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

void copy_elements(const Tensor& from, int64_t first, Tensor& to, int64_t at, int64_t count) {
  if (count == 0) return;
  const int64_t width = bytes_of(from.dtype());
  std::memcpy(to.mutable_bytes().data() + at * width, from.bytes().data() + first * width,
              static_cast<size_t>(count * width));
}

void copy_strided(const Tensor& from, int64_t offset, const Shape& strides, Tensor& to) {
  const int64_t count = to.count();
  if (count == 0) return;
  const Shape& shape = to.shape();
  const size_t width = static_cast<size_t>(bytes_of(from.dtype()));
  const std::byte* source = from.bytes().data();
  std::byte* target = to.mutable_bytes().data();
  Shape index(shape.size(), 0);
  int64_t at = offset;
  for (int64_t i = 0; i < count; ++i, target += width) {
    std::memcpy(target, source + at * static_cast<int64_t>(width), width);
    for (size_t d = shape.size(); d-- > 0;) {  // counts like an odometer
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

void copy_strided(const Tensor& from, const Layout& layout, Tensor& to,
                  const SymbolValues& symbols) {
  Shape strides;
  for (const Dim& stride : layout.strides) strides.push_back(stride.value(symbols));
  copy_strided(from, layout.offset.value(symbols), strides, to);
}

Layout tidy(Layout layout, const Dims& shape) {
  for (size_t d = shape.size(); d-- > 0;)
    if (shape[d].is(1))
      layout.strides[d] = d + 1 < shape.size() ? layout.strides[d + 1] * shape[d + 1] : Dim(1);
  return layout;
}

Steps copy_of_view(const LowerSite& site) {
  std::vector<const TensorType*> types;
  std::vector<const HostValue*> hosts;
  for (const Value& operand : site.node.inputs) {
    types.push_back(operand.present() ? &operand.type() : nullptr);
    const auto* known =
        operand.present() ? &operand.producer().host_values[size_t(operand.result)] : nullptr;
    hosts.push_back(known && known->has_value() ? &**known : nullptr);
  }
  const InferSite infer{*site.node.op, types, site.attrs(), hosts, {}, nullptr};
  Operand from = site.inputs[0];
  from.layout = *site.node.op->view({infer, site.out(), from.layout});
  from.shape = site.out().shape;
  return copy_view(from, site.results[0], site.traits);
}

bool is_whole(const LowerSite& site, size_t i) {
  if (!site.inputs[i].contiguous()) return false;
  const Dim elements = count(site.in(i).shape);
  // A slice of the first rows is contiguous too: only views with as many elements cover the value.
  for (Value value = site.node.inputs[i]; value.producer().op->view;) {
    value = value.producer().inputs[0];
    if (!(count(value.shape()) == elements)) return false;
  }
  return true;
}

Interval range_of(const Dim& dim) {
  SymbolRanges ranges;
  for (const std::string& symbol : dim.symbols())
    if (symbol.find('.') != std::string::npos) ranges[symbol] = {-kUnbounded, kUnbounded};
  return dim.range(ranges);
}

bool may_be_negative(const Dim& dim) { return range_of(dim).low < 0; }

Dim smaller(const Dim& a, const Dim& b) {
  const Interval difference = range_of(a - b);
  if (difference.high <= 0) return a;
  return difference.low >= 0 ? b : min(a, b);
}

Dim larger(const Dim& a, const Dim& b) {
  const Interval difference = range_of(a - b);
  if (difference.low >= 0) return a;
  return difference.high <= 0 ? b : max(a, b);
}

int64_t window_elements(int64_t bytes, const DeviceTraits& traits) {
  // A binding starts at a multiple of the alignment, which may be before the first element.
  return std::max<int64_t>((traits.max_binding_bytes - traits.storage_alignment) / bytes, 1);
}

Dim shard_of(const Dim& repeat) { return repeat.is(1) ? Dim(0) : Dim(kShard); }

Dim product(const Dims& shape, size_t first, size_t last) {
  Dim product = 1;
  for (size_t d = first; d < last; ++d) product = product * shape[d];
  return product;
}

Dims dims_attr(const Attrs& attrs, const std::string& name) {
  for (const auto& [key, attr] : attrs) {
    if (key != name) continue;
    if (const Dims* dims = std::get_if<Dims>(&attr.variant())) return *dims;
    const Ints& numbers = attrs.get<Ints>(name);
    return {numbers.begin(), numbers.end()};
  }
  return {};
}

std::optional<HostValue> reshaped_host_value(const InferSite& site) {
  if (!site.has_host(0)) return std::nullopt;
  InferSite quiet = site;  // its checks have been made
  quiet.checks = nullptr;
  const Dims shape = site.op.infer(quiet)[0].shape;
  if (!is_concrete(shape)) return std::nullopt;
  return HostValue{concrete(shape), site.host(0).elements};
}

Value zeros(Value like, const Dims& shape) { return expand(scalar(like, 0), shape); }

const OpDef& slice_op();

Value slice_axis(Value x, size_t axis, const Dim& start, const Dim& end) {
  return x.apply(
      slice_op(), {x},
      {{"starts", Dims{start}}, {"ends", Dims{end}}, {"axes", Ints{static_cast<int64_t>(axis)}}});
}

}  // namespace rlx
