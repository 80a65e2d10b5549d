// Gaussians come in the order of their depths; a stable sort by bins is then a sort by both. How
// many pairs of a bin and a Gaussian there are, only the data tells: the list has room for so many,
// and a bin that does not fit into it looks at all Gaussians.

#include "rlx/ops/splat_lists.h"

#include <algorithm>

#include "rlx/ops/cumulative.h"
#include "rlx/ops/kernel.h"

namespace rlx {
namespace {

constexpr int64_t kBin = 16;
constexpr const char* kKey = "splat_raster.listed";  // pairs for each Gaussian; 0: no list

// What one lane goes through. The table of counts (bin, slab) stays small.
int64_t choose_slabs(const Dim& count, int64_t bins) {
  constexpr int64_t kMost = 1024, kFewest = 16, kCells = 1 << 20, kLength = 64;
  const int64_t wanted =
      count.is_number() ? (count.number() + kLength - 1) / kLength : int64_t{256};
  return std::clamp<int64_t>(wanted, 1, std::clamp(kCells / bins, kFewest, kMost));
}

int64_t pairs_of_each(const LowerSite& site, const Dim& count, const Dim& bins) {
  constexpr int64_t kFew = 1024, kPairs = 8;
  const bool small = bins.is(1) || (count.is_number() && count.number() <= kFew);
  return site.choices.get(kKey, small ? 0 : kPairs);
}

Dispatch dispatch_of(const Operand& bounds, const Operand& cells, const std::vector<Param>& params,
                     const Dim& lanes, const char* add, const char* finish) {
  constexpr int64_t kWorkgroup = 64;
  return {.kernel = kernel("splat_lists", {"numbers"}),
          .operands = {LowerSite::named(bounds, "bounds", Access::read),
                       LowerSite::named(cells, "cells", Access::read_write)},
          .constants = {{"BIN", kBin}},
          .params = params,
          .prelude = {text("fn add(cell: u32, n: u32) { ", add, " }"),
                      text("fn finish(bin: u32, cell: u32) { ", finish, " }")},
          .workgroups = ceil_div(lanes, kWorkgroup)};
}

}  // namespace

Variants splat_list_variants() { return {kKey, 3}; }

SplatLists list_splats(const LowerSite& site, const Operand& bounds, const Dim& width,
                       const Dim& height) {
  const Dim count = bounds.shape[0], across = ceil_div(width, kBin), down = ceil_div(height, kBin),
            bins = across * down;
  const int64_t pairs = pairs_of_each(site, count, bins);
  if (pairs == 0 || !bins.is_number() || bins.is(0) || count.is(0)) return {};
  const int64_t room = site.traits.max_binding_bytes / 4 - bins.number();
  if (room <= 0) return {};
  const int64_t slabs = choose_slabs(count, bins.number());
  const Dim capacity = min(count * Dim(std::min(pairs, bins.number())), room);
  const std::vector<Param> params = {
      {"count", count},      {"slabs", Dim(slabs)},   {"slab_length", ceil_div(count, slabs)},
      {"bins", bins},        {"bins_across", across}, {"bins_down", down},
      {"capacity", capacity}};
  const TensorType table{DType::u32, {bins * Dim(slabs)}};
  const Operand counts = site.temporary("counts", table), places = site.temporary("places", table),
                list = site.temporary("list", {DType::u32, {bins + capacity}});
  SplatLists lists;
  lists.steps.add(Clear{counts.value});
  lists.steps.add(dispatch_of(bounds, counts, params, Dim(slabs) * down,
                              "store_cells(cell, load_cells(cell) + 1u);", ""));
  lists.steps.append(exclusive_sums(site, counts, places, 1, table.shape[0]));
  Dispatch place = dispatch_of(bounds, places, params, Dim(slabs) * down,
                               "let at = load_cells(cell);\n"
                               "  let fits = at < params.capacity;\n"
                               "  if (fits) { store_list(params.bins + at, n); }\n"
                               "  store_cells(cell, select(0xffffffffu, at + 1u, fits));",
                               "store_list(bin, load_cells(cell));");
  place.operands.push_back(LowerSite::named(list, "list", Access::write));
  lists.steps.add(std::move(place));
  lists.operands = {LowerSite::named(list, "list", Access::read)};
  lists.constants = {{"BIN", kBin}};
  lists.params = {{"bins", bins}, {"bins_across", across}, {"capacity", capacity}};
  lists.include = "splat_listed";
  return lists;
}

}  // namespace rlx
