// Puts steps down with what they need around them: values, copies of views, packing of small
// dtypes, windows of large values, the error flag, and the node they belong to.
#pragma once

#include <string>
#include <utility>

#include "rlx/compile/lower_graph.h"
#include "rlx/lower/lowered.h"

namespace rlx::detail {

class Emission {
 public:
  // With `strict`, tensor compute on the host of another device is an Error.
  Emission(Lowered& lowered, const DeviceTraits& traits, const LowerOptions& options)
      : lowered_(lowered), traits_(traits), options_(options) {}

  ValueId make_value(ValueKind kind, const std::string& name, const TensorType& type);
  // The host's own, of which a device sees nothing.
  ValueId make_host_value(const TensorType& type, const std::string& name);
  static Operand whole(ValueId value, const TensorType& type) {
    return {value, type, Access::read};
  }

  // Nodes are numbers of Lowered::nodes; -1: none.
  void emit(Steps more, int node, Steps& steps);
  template <class S>
  static void add(S step, int node, Steps& steps) {
    steps.add(std::move(step));
    steps.list.back().node = node;
  }

  Steps copy_steps(const Operand& from, const Operand& to) const;
  // The operand as a whole value: a copy where it is a view, or only the first part of one.
  Operand contiguous(const Operand& operand, Steps& steps);

 private:
  void emit(Dispatch dispatch, int node, Steps& steps);
  bool is_part_of_large(const Dispatch& dispatch, ValueId value) const;
  void bind_part(Operand& operand) const;
  bool fits(ValueId value) const;  // can it always be bound whole?
  void join_shards(Dispatch& dispatch) const;
  void check_strict(const std::string& op, const std::string& reason) const;

  Lowered& lowered_;
  const DeviceTraits& traits_;
  const LowerOptions& options_;
};

}  // namespace rlx::detail
