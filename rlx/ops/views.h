// What the ops that move elements without changing them share: layouts, copies, bounds of dims.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// Copies `count` elements from `from`, element `first` on, to `to`, element `at` on.
void copy_elements(const Tensor& from, int64_t first, Tensor& to, int64_t at, int64_t count);
// Fills `to` in row-major order with the elements of `from` that a layout names.
void copy_strided(const Tensor& from, int64_t offset, const Shape& strides, Tensor& to);
void copy_strided(const Tensor& from, const Layout& layout, Tensor& to,
                  const SymbolValues& symbols);

// The layout with the stride of each extent of 1, which is never used, as row-major order has it:
// what is contiguous then also looks it.
Layout tidy(Layout layout, const Dims& shape);

// The axis of x that each dim of its transpose is: `given` with negative axes counted from the end,
// and none given reversing them. Graphs from files have any of these.
Ints transpose_order(const Ints& given, const TensorType& x);

// Lowers an op that is a view by copying it.
Steps copy_of_view(const LowerSite& site);

// Does operand i cover the whole value it lies in, in order? Only then may a Copy stand for it.
bool is_whole(const LowerSite& site, size_t i);

// Elements of host tensors may be negative, extents never are. The elements' symbols have a dot.
Interval range_of(const Dim& dim);
bool may_be_negative(const Dim& dim);
// min and max that know that extents are not negative.
Dim smaller(const Dim& a, const Dim& b);
Dim larger(const Dim& a, const Dim& b);

// Elements of `bytes` each that can be bound at once from wherever they start.
int64_t window_elements(int64_t bytes, const DeviceTraits& traits);
// The number of the shard where there are several.
Dim shard_of(const Dim& repeat);

Dim product(const Dims& shape, size_t first, size_t last);

// A list attribute of numbers or of expressions over symbols; absent: empty.
Dims dims_attr(const Attrs& attrs, const std::string& name);

// The same elements in the shape that the op infers: what a view does to a host value.
std::optional<HostValue> reshaped_host_value(const InferSite& site);

// For gradients, whose shapes may have symbols.
Value zeros(Value like, const Dims& shape);
Value slice_axis(Value x, size_t axis, const Dim& start, const Dim& end);

}  // namespace rlx
