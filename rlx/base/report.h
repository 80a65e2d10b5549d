// What a compilation and a run did, as data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rlx {

// Exact counts since the program was made.
struct Counters {
  uint64_t runs = 0, plans = 0, pipelines = 0, buffers = 0, bind_groups = 0, submits = 0;
  uint64_t uploads = 0, upload_bytes = 0, readbacks = 0, readback_bytes = 0, dispatches = 0,
           host_steps = 0;
};

Counters difference(const Counters& after, const Counters& before);

struct DispatchReport {
  std::string kernel, node;
  std::string shape;  // of what it writes
  int64_t workgroups = 0;
  int64_t bytes = 0;         // of all its operands
  double microseconds = -1;  // by the device's clock; -1: not measured
};

struct HostStepReport {
  std::string op, node, reason;
  double microseconds = -1;
  std::string implementation = {};
};

// A cache of bounded size: the least recently used entry goes first.
struct CacheReport {
  std::string of;  // plans, pipelines
  int64_t held = 0, most = 0, dropped = 0;
};

struct RunReport {
  std::string device;
  std::vector<DispatchReport> dispatches;
  std::vector<HostStepReport> host_steps;  // and reads that steer the run
  int64_t slots = 0, peak_bytes = 0;
  int64_t weight_bytes = 0, state_bytes = 0;
  int64_t packed_bytes = 0;  // weights in the order of kernels, of all programs of the device
  // What calls hold as f32 of narrower operands and weights, of all programs of the device.
  int64_t widened_bytes = 0;
  int64_t packs = 0;  // of weights, made by all programs of the device since it is there
  std::vector<CacheReport> caches;
  std::vector<std::string> restored_states;  // from their snapshots, since the device was lost
  Counters counters;                         // of this run alone
  double microseconds = 0;
};

}  // namespace rlx
