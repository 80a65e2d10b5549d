// Which nodes of a graph one kernel computes, and what they are as a body.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rlx/codegen/group.h"
#include "rlx/ir/renaming.h"
#include "rlx/passes/fuse_cost.h"
#include "rlx/passes/near_misses.h"

namespace rlx {

class Grouping {
 public:
  Grouping(const Graph& graph, const DeviceTraits& traits, const Choices& choices,
           NearMisses* misses);

  struct Group {
    std::vector<int> nodes;  // of the graph, sorted
    int anchor = -1;
    int64_t anchor_bindings = 0;
    int turn = -1;              // a transpose: what it is made of has its elements in another order
    std::set<int> before = {};  // that is what is before it
    std::set<int> maps = {};    // members that other kernels call as functions of one element
  };

  std::vector<Group> find();

  const std::vector<int>& group_of() const { return group_; }

  // Values that members read and no member makes, in order; scalars are constants of the body.
  Values inputs_of(const Group& group) const;
  // What a reshape is made of beside its operand is in its type.
  Values read_by(int at) const;
  // Is the operand a constant that the body has itself?
  bool in_body(const Group& group, int reader, const Value& input) const;
  // The group as a graph, over inputs of these types.
  Graph body_of(const Group& group, const Types& types, const Renaming& renaming) const;
  // Results that are read elsewhere.
  Values outputs_of(const Group& group) const;

 private:
  static bool is_member(const Group& group, int node);
  bool is_host(int reader, const Value& value) const;

  bool scalar(int at) const;
  size_t scalar_count(const Group& group) const;

  bool exists(const TensorType& type) const { return device_storage(type.dtype, traits_).exists; }
  bool on_device(const Node& node) const;
  // Integers that shapes may be made of stay where the host sees them.
  static bool is_shape_arithmetic(const Node& node);
  bool may_join(int at) const;
  // What runs over the same elements; the host finds them by their axes, not by their number.
  bool runs_along(const Value& input, const Group& group) const;

  const Dims& shape_of(const Group& group) const;

  void grow(Group& group, int number);
  // A map that is alone is the anchor: its kernel may have parts of large values, and loads taken.
  void keep_one_map(Group& group) const;

  // A transpose that only the group reads.
  bool may_turn(int at) const;
  static bool is_before(const Group& group, int node);
  // Has the node its elements in the order that its readers and operands have them in?
  bool in_order(const Group& group, int node, bool before) const;
  // Behind a transpose others' elements are found by its axes, or by their number where there are
  // as many of them, one behind the other.
  bool can_turn_back(const Group& group) const;

  // The op that the most work stands behind, as a rule the latest.
  void take_anchor(Group& group, int number);

  AnchorTraits store_of(const Node& node) const;

  // Is it lowered to a function of one element, which the kernel of a group can call?
  bool may_be_map(int at) const;
  bool computes_each(int at) const;
  // No map of a group reads a member: it would be at other elements.
  bool reads_outside(const Group& group, int node, bool as_map) const;

  bool may_be_anchor(int at) const;
  static bool knows_host_inputs(const Node& node);

  bool is_any_packed(const Values& values) const;
  // Bindings of the device, and whole words where results are packed.
  bool fits(const Group& group) const;

  void take_loads();

  // Is it neither on single elements nor a view?
  bool is_kernel(int at) const;
  // A view that only one node reads.
  bool is_own_view(int at) const;
  // The nodes that compute operand i of an anchor and nothing else of weight: views, and an op on
  // single elements or a group of such. None where there are none that could be its load.
  std::vector<int> in_front_of(int anchor, size_t i) const;

  void take_load(int anchor, const Value& operand, std::vector<int> nodes,
                 const std::optional<Dim>& loads);

  ComputedLoad load_of(const Value& value, const std::vector<int>& nodes, const Dim& loads,
                       bool stored) const;

  // As codegen answers it, for operands that are not views.
  bool is_one_kernel(const Group& group) const;

  // Does no way lead from the group out and back into it?
  bool is_closed(const Group& group) const;

  // Does no way lead from the node out of the group and back into it, other groups being one step?
  bool closed_with(const Group& group, int node) const;

  // A body knows the symbols of its inputs' types, and no others.
  bool speaks_of_inputs(const Group& group) const;

  // More would save little, and a kernel's text and registers grow with them.
  static constexpr size_t kMostNodes = 32;

  const Graph& graph_;
  const DeviceTraits& traits_;
  const Choices& choices_;
  NearMisses* misses_;
  size_t size_;
  std::vector<std::vector<int>> readers_;
  std::vector<bool> once_;    // made of weights and constants alone: computed once, outside
  std::vector<bool> leaves_;  // the graph, as an output or the next value of a state
  mutable std::map<int, bool> is_map_;  // by node, where it was asked for
  std::vector<bool> several_;           // of its results more than the first is read
  std::vector<int> group_;              // by node; -1: none
  std::vector<Group> groups_;
};

}  // namespace rlx
