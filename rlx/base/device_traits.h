// What lowering may know of a device: limits, features, and which kind of machine it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rlx {

enum class DeviceClass { host, software, integrated, discrete };

struct CallTraits {
  std::string op = {};
  bool reads_views = false;  // without a copy
  bool finishes = false;     // what follows on single elements, while they are in the cache
  bool in_tiles = false;     // is itself such an op, though none of floats alone
  // Tensors whose second axis lies innermost in memory: it gives its result so.
  enum class ChannelsLast : uint8_t { never, if_operands_are, always };
  ChannelsLast channels_last = ChannelsLast::never;
  bool operator==(const CallTraits&) const = default;
};

struct DeviceTraits {
  std::string name = "cpu";  // short, as a user types it: cpu, lavapipe, swiftshader, ...
  DeviceClass device_class = DeviceClass::host;

  bool f16 = false;  // shader-f16: f16 storage without packing
  bool subgroups = false;
  bool timestamps = false;
  int64_t subgroup_min = 0, subgroup_max = 0;

  int64_t max_binding_bytes = INT64_MAX;
  int64_t max_buffer_bytes = INT64_MAX;
  int64_t max_storage_buffers = 8;  // per dispatch
  int64_t max_workgroup_invocations = 256;
  int64_t max_workgroup_bytes = 16384;
  int64_t max_workgroups = 65535;   // per dimension
  int64_t storage_alignment = 256;  // of binding offsets
  int64_t uniform_alignment = 256;

  // Of the host: what the calls of an op can do, by its name.
  std::vector<CallTraits> calls = {};

  bool operator==(const DeviceTraits&) const = default;
  CallTraits calls_of(const std::string& op) const {
    for (const CallTraits& each : calls)
      if (each.op == op) return each;
    return {};
  }
  bool on_host() const { return device_class == DeviceClass::host; }
};

}  // namespace rlx
