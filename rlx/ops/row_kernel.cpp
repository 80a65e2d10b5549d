#include "rlx/ops/row_kernel.h"

namespace rlx {
namespace {

constexpr const char* kKey = "rows.variant";
constexpr int64_t kWorkgroup = 64;
constexpr int64_t kWideWorkgroup = 256;
constexpr int64_t kSmallWorkgroup = 16;  // leaves enough workgroups for the cores of a CPU

bool below(const Dim& dim, int64_t limit) { return dim.is_number() && dim.number() < limit; }

// A workgroup has barriers to wait at, a lane walks its row alone.
RowVariant choose(const LowerSite& site, const Dim& count, const Dim& length, const Dim& stride) {
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

}  // namespace

Variants row_variants() { return {kKey, 3}; }

Dispatch row_dispatch(const LowerSite& site, std::string_view file,
                      std::initializer_list<std::string_view> includes, const Dim& count,
                      const Dim& length, const Dim& stride) {
  Dispatch dispatch{.kernel = kernel(file, includes),
                    .operands = {},
                    .params = {{"row_count", count}, {"row_length", length}}};
  const auto include = [&](std::string_view name) {
    dispatch.kernel.includes.push_back(library(name));
  };
  const RowVariant variant = choose(site, count, length, stride);
  if (variant != lane_per_row) {
    include("reduce");
    include("rows");
    const bool wide = variant == wide_workgroup_per_row;
    dispatch.constants = {{"WORKGROUP", wide ? kWideWorkgroup : kWorkgroup}};
    dispatch.workgroups = count;
    return dispatch;
  }
  const bool software = site.traits.device_class == DeviceClass::software;
  const int64_t lanes = software ? kSmallWorkgroup : kWorkgroup;
  include("lane_rows");
  dispatch.constants = {{"WORKGROUP", lanes}};
  dispatch.workgroups = ceil_div(count, lanes);
  return dispatch;
}

// Few for a short row, and one where lanes read what lies together anyway, if there are rows enough
// to keep a device busy. A CPU is busy with few, and pays for the barriers of shared rows.
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
