// Turns steps into commands for the queue: params and bindings under the symbols of a run.
#pragma once

#include <map>
#include <vector>

#include "rlx/backend/webgpu/resources.h"
#include "rlx/codegen/render.h"

namespace rlx::webgpu {

struct KernelSlot {
  RenderedKernel rendered;
  PipelinePtr pipeline;
};

class Recorder {
 public:
  Recorder(const Compiled& compiled, const DeviceTraits& traits);

  // Every kernel of the graph, by its dispatch.
  std::map<const Dispatch*, KernelSlot>& kernels() { return kernels_; }
  // What the following records refer to.
  void use(Resources& resources, const MemoryPlan& plan, SymbolValues& symbols);

  void dispatch(const Dispatch& dispatch, int node, RunReport* report);
  void copy(ValueId source, ValueId target);
  void copy_out(ValueId source, Buffer& target, uint64_t offset = 0);
  void clear(ValueId value);
  // Copies values to a staging buffer; where each lies in it, and how long it is.
  struct Readback {
    BufferPtr staging;
    std::vector<uint64_t> offsets;
    uint64_t bytes = 0;
  };
  Readback read_back(const std::vector<ValueId>& values);

  // Makes room for a value that the plan could not size.
  void make_room(ValueId value);
  int64_t bytes_now(ValueId value) const;  // under the symbols as they are
  int64_t capacity(ValueId value) const;   // at their bounds

  // Fills in params and bind groups; the commands are then ready, and stay so until a buffer
  // changes.
  void complete();
  const std::vector<Command>& commands() const { return commands_; }
  size_t dispatches() const { return records_.size(); }
  void forget();

 private:
  // A dispatch as recorded: all but the bind group, which waits for the params buffer's size.
  struct Record {
    const Dispatch* dispatch = nullptr;
    Pipeline* pipeline = nullptr;
    std::vector<BufferRange> ranges;
    uint64_t params_offset = 0, params_bytes = 0;
    size_t command = 0;
    BindGroupPtr bindings = nullptr;  // held while the command points to it
  };
  BufferRange range_of(const Operand& operand, const Dispatch& dispatch) const;
  void fold(int64_t workgroups, Command& command, const Dispatch& dispatch) const;
  void shard(const Dispatch& dispatch, const KernelSlot& slot, int node, RunReport* report);
  void report_dispatch(const Record& record, int node, int64_t workgroups, RunReport& report) const;

  const Compiled& compiled_;
  const Lowered& lowered_;
  const DeviceTraits& traits_;
  std::map<const Dispatch*, KernelSlot> kernels_;
  Resources* resources_ = nullptr;
  const MemoryPlan* plan_ = nullptr;
  SymbolValues* symbols_ = nullptr;
  std::vector<Command> commands_;
  std::vector<Record> records_;
  std::vector<std::byte> params_;
};

inline uint64_t whole_words(int64_t bytes) { return static_cast<uint64_t>((bytes + 3) / 4 * 4); }

}  // namespace rlx::webgpu
