#include "rlx/ops/row_kernel.h"

#include <algorithm>

#include "rlx/codegen/shards.h"

namespace rlx {
namespace {

constexpr const char* kKey = "rows.variant";
constexpr int64_t kWorkgroup = 64;
constexpr int64_t kWideWorkgroup = 256;
constexpr int64_t kSmallWorkgroup = 16;  // leaves enough workgroups for the cores of a CPU

bool below(const Dim& dim, int64_t limit) { return dim.is_number() && dim.number() < limit; }

// A workgroup has barriers to wait at, a lane walks its row alone.
RowVariant choose(const LowerSite& site, const Rows& rows) {
  const auto& [count, length, stride] = rows;
  constexpr int64_t kShort = 65, kLong = 2048, kManyRows = 1024;
  RowVariant suits = below(length, kShort) ? lane_per_row : workgroup_per_row;
  if (length.is_number() && !below(length, kLong)) suits = wide_workgroup_per_row;
  // Where neighbours in memory belong to different rows, neighbouring lanes read them together.
  if (!stride.is(1) && !below(stride, 32) && !below(count, kManyRows)) suits = lane_per_row;
  if (site.traits.device_class == DeviceClass::software) {
    const bool few_long_rows = below(count, 8) && !below(length, kManyRows);
    suits = few_long_rows ? workgroup_per_row : lane_per_row;
  }
  const int64_t chosen = site.choices.get(kKey, suits);
  if (chosen == lane_per_row) return lane_per_row;
  const bool can = site.traits.max_workgroup_invocations >= kWideWorkgroup;
  return chosen == wide_workgroup_per_row && can ? wide_workgroup_per_row : workgroup_per_row;
}

DType stored(const Operand& operand) {  // packed results are made of wide ones
  return operand.access == Access::read ? operand.dtype : unpacked(operand.dtype);
}

}  // namespace

RowShards cut_rows(const Rows& rows, Operand& x, Operand& y, const Dim& results,
                   const DeviceTraits& traits) {
  struct Part {
    Operand& operand;
    const Dim& per_row;
  };
  const Part parts[] = {{x, rows.length}, {y, results}};
  RowShards whole{0, rows.count};
  int64_t blocks = INT64_MAX;  // of `stride` rows, whose elements lie among each other
  for (const Part& part : parts) {
    const DType dtype = stored(part.operand);
    if (fits_binding(dtype, part.operand.shape, traits)) continue;
    const Dim block = part.per_row * rows.stride;
    if (!part.operand.contiguous() || !block.is_number()) return whole;
    // A binding starts at a multiple of the alignment, which may be before the window.
    const int64_t room =
        (traits.max_binding_bytes - traits.storage_alignment) / device_storage(dtype, traits).bytes;
    blocks = std::min(blocks, room / std::max<int64_t>(block.number(), 1));
  }
  if (blocks == 0 || blocks == INT64_MAX) return whole;
  const Dim count = Dim(blocks) * rows.stride;
  RowShards shards{Dim(kShard) * count, 0, ceil_div(rows.count, count)};
  shards.end = min(rows.count, shards.first + count);
  for (const Part& part : parts)
    if (part.operand.contiguous())
      part.operand.window = {shards.first * part.per_row, shards.count() * part.per_row};
  return shards;
}

Variants row_variants() { return {kKey, 3}; }

Dispatch row_dispatch(const LowerSite& site, std::string_view file,
                      std::initializer_list<std::string_view> includes, const Rows& rows,
                      std::vector<Operand> operands) {
  const RowShards shards = cut_rows(rows, operands[0], operands[1], rows.length, site.traits);
  Dispatch dispatch{
      .kernel = kernel(file, includes),
      .operands = std::move(operands),
      .params = {
          {"first_row", shards.first}, {"row_count", shards.end}, {"row_length", rows.length}}};
  dispatch.repeat = shards.repeat;
  const auto include = [&](std::string_view name) {
    dispatch.kernel.includes.push_back(library(name));
  };
  const RowVariant variant = choose(site, rows);
  include("sums");
  const Constant is_long{"LONG", !below(rows.length, kLongRow)};
  if (variant != lane_per_row) {
    include("reduce");
    include("rows");
    const bool wide = variant == wide_workgroup_per_row;
    dispatch.constants = {{"WORKGROUP", wide ? kWideWorkgroup : kWorkgroup}, is_long};
    dispatch.workgroups = shards.count();
    return dispatch;
  }
  const bool software = site.traits.device_class == DeviceClass::software;
  const int64_t lanes = software ? kSmallWorkgroup : kWorkgroup;
  include("lane_rows");
  dispatch.constants = {{"WORKGROUP", lanes}, is_long};
  dispatch.workgroups = ceil_div(shards.count(), lanes);
  return dispatch;
}

// Few lanes for a short row. One lane where neighbouring lanes read neighbouring elements anyway
// and there are enough rows to occupy the device. A CPU is occupied by few rows, and barriers are
// expensive there.
LaneShare share_lanes(const Dim& outputs, const Dim& length, bool side_by_side,
                      const DeviceTraits& traits) {
  constexpr int64_t kManyRows = 1024, kBusyCpu = 32;
  if (traits.device_class == DeviceClass::software && !below(outputs, kBusyCpu))
    return {1, kSmallWorkgroup};
  if (side_by_side && !below(outputs, kManyRows)) return {1, kWorkgroup};
  if (!length.is_number()) return {kWorkgroup, kWorkgroup};
  int64_t lanes = 1;
  while (lanes < kWorkgroup && lanes * 4 < length.number()) lanes *= 2;
  return {lanes, kWorkgroup};
}

}  // namespace rlx
