// Sorting by digits of the keys, from the lowest to the highest: count the digits of each tile, add
// the counts up to places, move. Each pass keeps the order of the one before it.

#include "rlx/ops/sort_radix.h"

#include "rlx/ops/cumulative.h"

namespace rlx {
namespace {

// A lane has a tile. Few lanes take long ones with many digits; many take short ones.
struct Tiling {
  int64_t bits;
  Dim length, count;
};
Tiling choose_tiling(const Rows& rows, bool many_lanes) {
  constexpr int64_t kLanes = 512, kShortest = 512;
  if (many_lanes) return {4, 64, ceil_div(rows.length, 64)};
  const int64_t known = rows.length.is_number() ? rows.length.number() : kLanes * kShortest;
  const int64_t length = std::max(kShortest, (known + kLanes - 1) / kLanes);
  return {8, length, ceil_div(rows.length, length)};
}

}  // namespace

SortedKeys sort_by_digits(const LowerSite& site, const Operand& x, const Rows& rows,
                          const std::string& key, bool many_lanes) {
  constexpr int64_t kKeyBits = 32, kWorkgroup = 64;
  const int64_t lanes = many_lanes ? kWorkgroup : 16;
  const Tiling tiling = choose_tiling(rows, many_lanes);
  const Dim elements = rows.count * rows.length, digits = int64_t{1} << tiling.bits;
  const TensorType halves{DType::u32, {elements * Dim(2)}},
      table{DType::u32, {rows.count, digits, tiling.count}};
  const Operand keys = site.temporary("keys", halves), order = site.temporary("order", halves);
  const Operand counts = site.temporary("counts", table), places = site.temporary("y", table);
  Steps steps = Dispatch{
      .kernel = kernel("sort_radix_keys", {"sort_key"}),
      .operands = {LowerSite::named(x, "x", Access::read), keys, order},
      .params = {{"count", elements}, {"row_length", rows.length}, {"stride", rows.stride}},
      .prelude = {key},
      .workgroups = ceil_div(elements, kWorkgroup),
  };
  for (int64_t shift = 0; shift < kKeyBits; shift += tiling.bits) {
    const bool odd = shift / tiling.bits % 2 == 1;
    const std::vector<Param> params = {{"count", elements},
                                       {"row_count", rows.count},
                                       {"row_length", rows.length},
                                       {"tiles", tiling.count},
                                       {"tile_length", tiling.length},
                                       {"shift", Dim(shift)},
                                       {"source", odd ? elements : Dim(0)}};
    steps.add(Dispatch{
        .kernel = kernel("sort_radix_count"),
        .operands = {LowerSite::named(keys, "keys", Access::read), counts},
        .constants = {{"WORKGROUP", lanes}, {"BITS", tiling.bits}},
        .params = params,
        .workgroups = ceil_div(rows.count * tiling.count, lanes),
    });
    steps.append(exclusive_sums(site, counts, places, rows.count, digits * tiling.count));
    steps.add(Dispatch{
        .kernel = kernel("sort_radix_move"),
        .operands = {LowerSite::named(keys, "keys", Access::read_write),
                     LowerSite::named(order, "order", Access::read_write),
                     LowerSite::named(places, "places", Access::read)},
        .constants = {{"WORKGROUP", lanes}, {"BITS", tiling.bits}},
        .params = params,
        .workgroups = ceil_div(rows.count * tiling.count, lanes),
    });
  }
  return {steps, LowerSite::named(keys, "keys", Access::read),
          LowerSite::named(order, "order", Access::read), 0};
}

}  // namespace rlx
