#include "rlx/ops/sorting.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/sort_radix.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

// What one workgroup sorts by itself: so many elements to each lane.
struct Block {
  int64_t lanes = 128, each = 8;

  int64_t size() const { return lanes * each; }
};

// No more lanes than a short row has use for.
Block choose_block(const Dim& length, bool many_lanes) {
  Block block;
  if (!length.is_number() || length.number() >= block.size()) return block;
  if (many_lanes && length.number() <= block.size() / 2) block.each = 4;
  block.lanes = 8;
  while (block.size() < length.number()) block.lanes *= 2;
  return block;
}

// Elements as what their order is decided by: doubles, or 64-bit integers of either sign.
template <class Key, class Read, class Less>
void sort_rows(const ReferenceSite& site, const Ordering& ordering, Read read, Less less) {
  const Tensor& x = site.in(0);
  Tensor &values = site.out(0), &indices = site.out(1);
  const ConcreteRows from(x.shape(), ordering.axis), to(values.shape(), ordering.axis);
  std::vector<Key> keys(static_cast<size_t>(from.length));
  std::vector<int64_t> order(static_cast<size_t>(from.length));
  for (int64_t row = 0; row < from.count; ++row) {
    for (int64_t i = 0; i < from.length; ++i) keys[size_t(i)] = read(from.at(row, i));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return ordering.descending ? less(keys[size_t(b)], keys[size_t(a)])
                                 : less(keys[size_t(a)], keys[size_t(b)]);
    });
    for (int64_t i = 0; i < to.length; ++i) {
      copy_elements(x, from.at(row, order[size_t(i)]), values, to.at(row, i), 1);
      indices.set_integer(to.at(row, i), order[size_t(i)]);
    }
  }
}

// How often runs that start as blocks must be doubled to reach `length`.
Dim merge_passes(const Dim& length, const Block& block) {
  Dim passes = 0;
  for (int64_t run = block.size(); run < int64_t{1} << 31; run *= 2) {
    if (length.is_number() && length.number() <= run) break;
    passes = passes + (length.is_number() ? Dim(1) : min(max(length - run, 0), 1));
  }
  return passes;
}

enum Variant : int64_t {
  select_in_turn = 0,
  sort_and_merge = 1,
  sort_with_many_lanes = 2,
  sort_by_digit = 3,
  sort_by_digit_with_many_lanes = 4
};

// Passes over digits cost the same however few are kept; merges take more of them the longer rows
// are.
bool suits_digits(const Dim& length, const Dim& keep) {
  constexpr int64_t kLong = 16384;
  return length.is_number() && length.number() >= kLong && keep.is_number() &&
         keep.number() >= length.number() / 16;
}

// Rows so short, or so few of their elements, that a lane finds them by looking at each again.
int64_t choose_variant(const LowerSite& site, const Dim& length, const Dim& keep) {
  constexpr int64_t kMostSteps = 4096, kFewSteps = 1024, kShort = 64;
  const bool software = site.traits.device_class == DeviceClass::software;
  const bool by_digit = suits_digits(length, keep);
  const int64_t sorts = software
                            ? (by_digit ? sort_by_digit : sort_and_merge)
                            : (by_digit ? sort_by_digit_with_many_lanes : sort_with_many_lanes);
  const bool known = length.is_number() && keep.is_number() && keep.number() <= length.number();
  const int64_t steps = known ? length.number() * keep.number() : kMostSteps + 1;
  const bool suits = steps <= kFewSteps && length.number() <= kShort;
  const int64_t wanted = site.choices.get("sort.variant", suits ? select_in_turn : sorts);
  return wanted == select_in_turn && steps > kMostSteps ? sorts : wanted;
}

Dispatch select_dispatch(const LowerSite& site, const Rows& rows, const Dim& keep,
                         const std::string& key) {
  const int64_t lanes = site.traits.device_class == DeviceClass::software ? 16 : 64;
  return {
      .kernel = kernel("sort_select", {"sort_key"}),
      .operands = {site.read("x", 0), site.write("values", 0), site.write("indices", 1)},
      .constants = {{"WORKGROUP", lanes}},
      .params = {{"row_count", rows.count},
                 {"row_length", rows.length},
                 {"stride", rows.stride},
                 {"keep", keep}},
      .prelude = {key},
      .workgroups = ceil_div(rows.count, lanes),
  };
}

// Where a sorted block goes.
constexpr const char* kPutKeys = R"(fn put(row: u32, place: u32, key: u32, index: u32) {
  store_keys(row * params.row_length + place, key);
  store_order(row * params.row_length + place, index);
})";
constexpr const char* kPutResults = R"(fn put(row: u32, place: u32, key: u32, index: u32) {
  let outer = row / params.stride * params.stride;
  let to = outer * params.keep + row % params.stride + place * params.stride;
  store_values(to, load_x(outer * params.row_length + row % params.stride + index * params.stride));
  store_indices(to, i32(index));
})";

}  // namespace

std::string sort_key_function(const LowerSite& site, DType dtype, bool descending) {
  std::string key;
  switch (info(dtype).dtype_class) {
    case DTypeClass::floating:
      key = "float_key(v)";
      break;
    case DTypeClass::signed_integer:
      key = "bitcast<u32>(v) ^ 0x80000000u";
      break;
    case DTypeClass::boolean:
      key = "select(0u, 1u, v)";
      break;
    default:
      key = "v";
  }
  return text("fn sort_key(v: ", site.compute_type(dtype), ") -> u32 { return ",
              descending ? text("~(", key, ")") : key, "; }");
}

Variants sort_variants() { return {"sort.variant", 5}; }

void sort_reference(const ReferenceSite& site, const Ordering& ordering) {
  const Tensor& x = site.in(0);
  if (is_float(x.dtype())) {
    sort_rows<double>(
        site, ordering, [&](int64_t i) { return x.at(i); },
        [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
  } else if (is_signed_integer(x.dtype())) {
    sort_rows<int64_t>(
        site, ordering, [&](int64_t i) { return x.integer_at(i); }, std::less<>());
  } else {
    sort_rows<uint64_t>(
        site, ordering, [&](int64_t i) { return static_cast<uint64_t>(x.integer_at(i)); },
        std::less<>());
  }
}

namespace {

// The kernel that sorts blocks of x; where its results go is left to add.
Dispatch block_dispatch(const Operand& x, const Rows& rows, const Dim& keep, const std::string& key,
                        const Block& block) {
  const Dim blocks = ceil_div(rows.length, block.size());
  return {
      .kernel = kernel("sort_blocks", {"sort_key", "sort_merge"}),
      .operands = {LowerSite::named(x, "x", Access::read)},
      .constants = {{"WORKGROUP", block.lanes}, {"EACH", block.each}, {"BLOCK", block.size()}},
      .params = {{"block_count", rows.count * blocks},
                 {"blocks_per_row", blocks},
                 {"row_length", rows.length},
                 {"keep", keep},
                 {"stride", rows.stride}},
      .prelude = {key},
      .workgroups = rows.count * blocks,
  };
}

// Blocks are sorted in workgroup memory as pairs (key, index), runs are then merged two by two,
// from one half of the temporaries to the other.
SortedKeys sort_pairs(const LowerSite& site, const Operand& x, const Rows& rows, const Dim& keep,
                      const std::string& key, const Block& block) {
  const Dim elements = rows.count * rows.length, passes = merge_passes(rows.length, block);
  const TensorType halves{DType::u32, {elements * Dim(2)}};
  const Operand keys = site.temporary("keys", halves), order = site.temporary("order", halves);
  Dispatch sort = block_dispatch(x, rows, keep, key, block);
  sort.operands.push_back(keys);
  sort.operands.push_back(order);
  sort.prelude.emplace_back(kPutKeys);
  Steps steps = sort;
  const bool few = keep.is_number() && keep.number() < block.size();
  const Dim blocks = ceil_div(rows.length, block.size());
  const Dim parts =
      few ? ceil_div(blocks, 2) * ceil_div(keep, block.each) : ceil_div(rows.length, block.each);
  if (!passes.is(0))
    steps.add(Dispatch{
        .kernel = kernel("sort_merge", {"sort_merge"}),
        .operands = {LowerSite::named(keys, "keys", Access::read_write),
                     LowerSite::named(order, "order", Access::read_write)},
        .constants = {{"EACH", block.each}, {"BLOCK", block.size()}, {"FEW", few}},
        .params = {{"count", elements},
                   {"row_count", rows.count},
                   {"row_length", rows.length},
                   {"keep", keep},
                   {"level", Dim(kShard)}},
        .workgroups = ceil_div(rows.count * parts, 64),
        .repeat = passes,
    });
  return {steps, LowerSite::named(keys, "keys", Access::read),
          LowerSite::named(order, "order", Access::read), mod(passes, 2) * elements};
}

}  // namespace

SortedKeys sort_keys(const LowerSite& site, const Operand& x) {
  const Rows row({count(x.shape)}, 0);
  const std::string key = sort_key_function(site, x.dtype);
  if (suits_digits(row.length, row.length))
    return sort_by_digits(site, x, row, key, site.traits.device_class != DeviceClass::software);
  return sort_pairs(site, x, row, row.length, key, choose_block(row.length, false));
}

Steps lower_sort(const LowerSite& site, const Ordering& ordering) {
  const Rows rows(site.in(0).shape, ordering.axis);
  const Dim keep = site.out().shape[ordering.axis];
  const Operand& x = site.inputs[0];
  const std::string key = sort_key_function(site, site.in(0).dtype, ordering.descending);
  const int64_t variant = choose_variant(site, rows.length, keep);
  if (variant == select_in_turn) return select_dispatch(site, rows, keep, key);
  const bool by_digit = variant >= sort_by_digit;
  const Block block = choose_block(rows.length, variant == sort_with_many_lanes);
  if (!by_digit && merge_passes(rows.length, block).is(0) &&
      keep.is_number()) {  // a row is a block
    Dispatch sort = block_dispatch(x, rows, keep, key, block);
    sort.operands.push_back(site.write("values", 0));
    sort.operands.push_back(site.write("indices", 1));
    sort.prelude.emplace_back(kPutResults);
    return sort;
  }
  const SortedKeys sorted = by_digit ? sort_by_digits(site, x, rows, key, variant != sort_by_digit)
                                     : sort_pairs(site, x, rows, keep, key, block);
  Steps steps = sorted.steps;
  steps.add(Dispatch{
      .kernel = kernel("sort_take"),
      .operands = {site.read("x", 0), sorted.order, site.write("values", 0),
                   site.write("indices", 1)},
      .params = {{"count", rows.count * keep},
                 {"half", sorted.first},
                 {"row_length", rows.length},
                 {"keep", keep},
                 {"stride", rows.stride}},
      .workgroups = ceil_div(rows.count * keep, 64),
  });
  return steps;
}

Gradients sort_gradient(const GradientSite& site, size_t axis) {
  Gradients gradients(site.inputs.size());
  if (!site.result_gradients[0]) return gradients;  // the indices have none
  const Value x = site.in(0), indices = cast(site.y(1), DType::i32);
  Ints swap(x.shape().size());  // the axis goes last, and back
  std::iota(swap.begin(), swap.end(), int64_t{0});
  std::swap(swap[axis], swap.back());
  const Dim length = x.shape()[axis], keep = indices.shape()[axis];
  Dims turned = x.shape();
  std::swap(turned[axis], turned.back());
  const Dim rows = product(turned, 0, turned.size() - 1);

  const int64_t at = static_cast<int64_t>(axis);
  const Value row_length = cast(slice(shape_of(x), {at}, {at + 1}), DType::i32);
  const Value row = reshape(counting(x, rows, DType::i32), {rows, 1});
  const Value places = row * row_length + reshape(transpose(indices, swap), {rows, keep});
  const Value dy = reshape(transpose(site.dy(), swap), {rows * keep});
  const Value flat =
      scatter(zeros(x, {rows * length}), reshape(places, {rows * keep}), dy, 0, "add");
  gradients[0] = transpose(reshape(flat, turned), swap);
  return gradients;
}

}  // namespace rlx
