#include "rlx/ops/row_kernel.h"

namespace rlx {
namespace {

constexpr const char* kKey = "rows.variant";

bool below(const Dim& dim, int64_t limit) { return dim.is_number() && dim.number() < limit; }

// A workgroup has barriers to wait at, a lane walks its row alone.
RowVariant choose(const LowerSite& site, const Dim& count, const Dim& length, const Dim& stride) {
  constexpr int64_t kShort = 65, kManyRows = 1024;
  RowVariant suits = below(length, kShort) ? lane_per_row : workgroup_per_row;
  // Where neighbours in memory belong to different rows, neighbouring lanes read them together.
  if (!stride.is(1) && !below(stride, 32) && !below(count, kManyRows)) suits = lane_per_row;
  if (site.traits.device_class == DeviceClass::software) {
    const bool few_long_rows = below(count, 8) && !below(length, kManyRows);
    suits = few_long_rows ? workgroup_per_row : lane_per_row;
  }
  const int64_t chosen = site.choices.get(kKey, suits);
  return chosen == lane_per_row ? lane_per_row : workgroup_per_row;
}

}  // namespace

Variants row_variants() { return {kKey, 2}; }

Dispatch row_dispatch(const LowerSite& site, std::string_view file,
                      std::initializer_list<std::string_view> includes, const Dim& count,
                      const Dim& length, const Dim& stride) {
  Dispatch dispatch{.kernel = kernel(file, includes),
                    .operands = {},
                    .params = {{"row_count", count}, {"row_length", length}}};
  const auto include = [&](std::string_view name) {
    dispatch.kernel.includes.push_back(library(name));
  };
  if (choose(site, count, length, stride) == workgroup_per_row) {
    include("reduce");
    include("rows");
    dispatch.workgroups = count;
    return dispatch;
  }
  // Few lanes to a workgroup leave enough workgroups for the cores of a CPU.
  const int64_t lanes = site.traits.device_class == DeviceClass::software ? 16 : 64;
  include("lane_rows");
  dispatch.constants = {{"WORKGROUP", lanes}};
  dispatch.workgroups = ceil_div(count, lanes);
  return dispatch;
}

}  // namespace rlx
