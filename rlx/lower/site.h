// What an op sees while it is lowered: its node, the device, and the values its steps may name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rlx/base/device_traits.h"
#include "rlx/image/storage.h"
#include "rlx/lower/step.h"

namespace rlx {

// Tuned parameters by key, with defaults where nothing was measured.
struct Choices {
  std::map<std::string, int64_t> values;

  int64_t get(const std::string& key, int64_t otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second;
  }
};

struct LoweredBody {
  Steps steps;
  std::vector<Operand> outputs;
};

inline bool is_wide_integer(DType dtype) { return dtype == DType::i64 || dtype == DType::u64; }

struct LowerSite {
  const Node& node;
  const DeviceTraits& traits;
  const Choices& choices;
  std::vector<Operand> inputs;   // of the node, with their layouts; value -1: absent
  std::vector<Operand> results;  // contiguous
  std::function<ValueId(const TensorType&)> make_temporary;
  std::function<LoweredBody(const GraphPtr&, const std::vector<Operand>& inputs,
                            const std::optional<Dim>& iteration)>
      lower_body;  // `iteration` is what its first input is known to be
  std::function<Steps(const Operand& from, const Operand& to)> copy;  // follows `from`'s view
  // The node as a call of its reference, for a reason that the report shows.
  std::function<Steps(const std::string& reason)> on_host;
  // A body over the operands' types, so that it speaks the symbols of the site.
  std::function<std::shared_ptr<const Graph>(const GraphPtr&)> instantiate;
  // Of the host: the result is to lie with its channels innermost; how it then lies.
  std::function<Operand(size_t result)> put_channels_last = {};

  bool has(size_t i) const { return i < inputs.size() && inputs[i].value >= 0; }
  const TensorType& in(size_t i) const { return node.inputs[i].type(); }
  const TensorType& out(size_t i = 0) const { return node.types[i]; }
  const Attrs& attrs() const { return node.attrs; }
  // The elements of a host operand, as expressions the binding will know.
  const HostValue& host(size_t i) const {
    return *node.inputs[i].producer().host_values[size_t(node.inputs[i].result)];
  }

  // For integers that a device keeps in 32 bits, which the op's results may leave.
  Steps wide_integers_on_host() const;
  // Operand i as the kernel will read it, through whatever view it is.
  Operand read(const std::string& name, size_t i) const;
  Operand write(const std::string& name, size_t i = 0) const;
  Operand update(const std::string& name, size_t i = 0) const;
  // A value of the op's own, alive from its first write to its last read.
  Operand temporary(const std::string& name, const TensorType& type) const;
  static Operand named(Operand operand, const std::string& name, Access access);
  // What the kernel sees as type T of an operand: f32, i32, u32, bool.
  std::string compute_type(DType dtype) const;
};

}  // namespace rlx
