// Operands of an op in a body, as its kernel reads them: those of the group, seen through views,
// and values that the body computes where the kernel loads them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rlx/codegen/statements.h"

namespace rlx {

// A value that the body computes: one of its own while the op that reads it is lowered.
struct Computed {
  ValueId value = -1;
  int node = -1;  // of the body
};
struct BodyOperands {
  std::vector<Operand> operands;
  std::vector<Computed> computed;
};
std::optional<BodyOperands> operands_in_body(const LowerSite& site, const Graph& body,
                                             const Node& node);

// A node of a body lowered by itself; none where that would be a step of the host.
std::optional<Steps> lower_in_body(const LowerSite& site, const Node& node,
                                   std::vector<Operand> inputs, std::vector<Operand> results);
// A node lowered over values of its own, which are counted from 0: operands, then results.
std::optional<Steps> lower_alone(const Node& node, const DeviceTraits& traits,
                                 const Choices& choices);

// Is the node lowered to a kernel with a function of one element (element_function.h) that says how
// often it loads? It is then a map: other kernels call the function where they load or store.
bool is_map(const Node& node, const DeviceTraits& traits, const Choices& choices);

// By node: is one of `nodes` computed from it? What only those of `stops` read does not count.
std::vector<bool> made_of(const Graph& body, const std::vector<int>& nodes,
                          const std::vector<bool>& stops);
// By node: those that are neither on single elements nor views. What they read is at other
// elements.
std::vector<bool> kernels_of(const Graph& body);

// Writes statements for the nodes that are needed, of which the anchor is one at most: what its
// kernel has at hand, or has stored.
bool add_all(Statements& statements, const Graph& body, const std::vector<bool>& needed, int anchor,
             const std::optional<Operand>& staged = {});

// Writes load_<name> of an operand that the body computes. False where it cannot be written.
bool write_load(const LowerSite& site, const Graph& body, const Computed& computed,
                const Operand& x, Module& module);

// Writes the function of a map, and how it loads; its name.
std::optional<std::string> write_map(const LowerSite& site, const Graph& body, int at,
                                     Module& module);

}  // namespace rlx
