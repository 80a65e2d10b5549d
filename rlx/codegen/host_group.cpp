#include "rlx/codegen/host_group.h"

#include <algorithm>
#include <map>

#include "rlx/codegen/channels_last.h"
#include "rlx/codegen/elementwise.h"

namespace rlx {
namespace {

using image::Tile;

bool is_float_of_tiles(const Value& value) {
  return value.present() && is_tile_float(value.dtype());
}
bool is_truth(const Value& value) { return value.dtype() == DType::boolean; }
// Ops on integers have no rule for how their scales would be rounded.
bool is_number_of_tiles(DType dtype) {
  return flows_channels_last(dtype) && (dtype == DType::f32 || !is_tile_float(dtype));
}

// Registers are stored when a tile has been computed, so that the result may take the place of an
// operand that is read at the same elements.
void share_place(Call& call, const Operand& result) {
  for (const Operand& input : call.inputs)
    if (input.shape == result.shape && input.layout == result.layout && input.dtype == result.dtype)
      call.in_place.push_back({input.value, result.value});
}

std::vector<double> params_of(const Node& node) {
  std::vector<double> params;
  if (!node.op->elementwise) return params;
  for (const std::string& name : node.op->elementwise->params)
    params.push_back(node.attrs.get<double>(name));
  return params;
}

// Writes the body as a tile program, and its operands as the inputs of the call.
class Program {
 public:
  Program(const LowerSite& site, const Graph& body, int anchor)
      : site_(site), body_(body), shape_(body.outputs()[0].value.shape()) {
    registers_.resize(body.nodes().size(), -1);
    size_t next = 0;
    for (size_t at = 0; at < body.nodes().size(); ++at)
      inputs_.push_back(is_input(body.nodes()[at]) ? static_cast<int>(next++) : -1);
    if (anchor >= 0) take_anchor(anchor);
    call.may_fail = anchor >= 0;
    call.tile.own_inputs = static_cast<int32_t>(call.inputs.size());
    for (size_t at = 0; at < body.nodes().size(); ++at)
      if (static_cast<int>(at) != anchor && !is_source(body.nodes()[at])) add(static_cast<int>(at));
    const CallTraits traits =
        anchor < 0 ? CallTraits{.channels_last = CallTraits::ChannelsLast::if_operands_are}
                   : site.traits.calls_of(call.op);
    const bool channels_last = gives_channels_last(traits, shape_, site.inputs);
    for (size_t r = 0; r < body.outputs().size(); ++r) {
      call.tile.stores.push_back(register_of(body.outputs()[r].value));
      call.results.push_back(site.results[r].value);
      if (channels_last) call.stored.push_back(site.put_channels_last(r));
    }
    if (anchor < 0 && site.results.size() == 1)
      share_place(call, channels_last ? call.stored[0] : site.results[0]);
  }

  Steps steps;
  Call call{image::kElements, {}, {}, {}, ""};

 private:
  void take_anchor(int at) {
    const Node& node = body_.node(at);
    const bool views = site_.traits.calls_of(node.op->name).reads_views;
    call.op = node.op->name;
    call.version = node.op->version;
    call.attrs = node.attrs;
    for (const Value& input : node.inputs) {
      Operand operand;
      if (input.present() && inputs_[size_t(input.node)] >= 0)
        operand = site_.inputs[size_t(inputs_[size_t(input.node)])];
      if (operand.value >= 0 && !views && !operand.contiguous()) {
        const TensorType type{operand.dtype, operand.shape};
        const Operand copy(site_.make_temporary(type), type, Access::read);
        steps.append(site_.copy(operand, copy));
        operand = copy;
      }
      call.inputs.push_back(operand);
    }
    registers_[size_t(at)] = append({Tile::kResult, {}, {}, node.types[0].dtype});
  }

  void add(int at) {
    const Node& node = body_.node(at);
    Tile::Instruction made{node.op->name};
    for (const Value& input : node.inputs)
      if (input.present()) made.operands.push_back(register_of(input));
    made.params = params_of(node);
    made.dtype = node.types[0].dtype;
    registers_[size_t(at)] = append(std::move(made));
  }

  int32_t register_of(const Value& value) {
    int32_t& known = registers_[size_t(value.node)];
    if (known >= 0) return known;
    if (const Node& node = value.producer(); is_constant(node))
      return known = append({Tile::kNumber, {}, {tensor_of(node)->at(0)}, value.dtype()});
    Operand operand = broadcast(site_.inputs[size_t(inputs_[size_t(value.node)])], shape_);
    operand.access = Access::read;
    call.inputs.push_back(operand);
    const auto input = static_cast<int32_t>(call.inputs.size()) - 1;
    return known = append({Tile::kLoad, {input}, {}, operand.dtype});
  }

  int32_t append(Tile::Instruction instruction) {
    call.tile.code.push_back(std::move(instruction));
    return static_cast<int32_t>(call.tile.code.size()) - 1;
  }

  const LowerSite& site_;
  const Graph& body_;
  const Dims shape_;
  std::vector<int32_t> registers_;  // by node
  std::vector<int> inputs_;         // by node: which operand of the group it is
};

}  // namespace

bool is_tile_op(const Node& node, const DeviceTraits& traits) {
  if (is_source(node) || node.inputs.size() > 3) return false;
  if (traits.calls_of(node.op->name).in_tiles)
    return is_number_of_tiles(node.types[0].dtype) &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [](const Value& input) {
             return !input.present() || is_number_of_tiles(input.dtype()) || is_truth(input);
           });
  if (!node.op->elementwise || !node.op->elementwise->floating) return false;
  const DType result = node.types[0].dtype;
  return (is_tile_float(result) ||
          (node.op->elementwise->comparison && result == DType::boolean)) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [](const Value& input) {
           return is_float_of_tiles(input) || is_truth(input);
         });
}

bool may_go_on(const Node& node, const DeviceTraits& traits) {
  const DType dtype = node.types[0].dtype;
  const std::vector<size_t>& host = node.op->host_inputs;
  return traits.calls_of(node.op->name).finishes && (is_tile_float(dtype) || dtype == DType::i32) &&
         std::none_of(host.begin(), host.end(), [&](size_t i) {
           return i < node.inputs.size() && node.inputs[i].present();  // a body has no such lists
         });
}

std::optional<int> anchor_of(const Graph& body, const DeviceTraits& traits) {
  int anchor = -1;
  if (body.nodes().size() > Tile::kMostRegisters || body.outputs().size() > Tile::kMostResults)
    return std::nullopt;
  for (size_t at = 0; at < body.nodes().size(); ++at) {
    const Node& node = body.nodes()[at];
    if (is_input(node) || (is_constant(node) && tensor_of(node)->count() == 1) ||
        is_tile_op(node, traits))
      continue;
    if (is_source(node) || anchor >= 0 || node.types.size() != 1 || has_body(node))
      return std::nullopt;
    anchor = static_cast<int>(at);
  }
  const Dims& shape = body.outputs()[0].value.shape();
  for (const GraphOutput& output : body.outputs())
    if (!(output.value.shape() == shape) || !flows_channels_last(output.value.dtype()) ||
        is_source(output.value.producer()))
      return std::nullopt;
  if (anchor < 0) return anchor;
  const Node& node = body.node(anchor);
  if (!may_go_on(node, traits) || !(node.types[0].shape == shape)) return std::nullopt;
  // Floats are left where the first result will be.
  if (is_float_of_tiles(body.value(anchor)) && !is_float_of_tiles(body.outputs()[0].value))
    return std::nullopt;
  for (const Value& input : node.inputs)
    if (input.present() && !is_input(input.producer())) return std::nullopt;
  return anchor;
}

Call tile_call(const Node& node, const std::vector<Operand>& inputs, const Operand& result) {
  Call call{image::kElements, {}, {}, {result.value}, ""};
  call.may_fail = false;
  Tile::Instruction made{node.op->name, {}, params_of(node), result.dtype};
  for (const Operand& input : inputs) {
    if (input.value < 0) continue;
    const auto i = static_cast<int32_t>(call.inputs.size());
    call.inputs.push_back(broadcast(input, result.shape));
    call.tile.code.push_back({Tile::kLoad, {i}, {}, input.dtype});
    made.operands.push_back(i);
  }
  call.tile.stores = {static_cast<int32_t>(call.tile.code.size())};
  call.tile.code.push_back(std::move(made));
  call.stored = {result};
  share_place(call, result);
  return call;
}

std::optional<Steps> lower_host_group(const LowerSite& site, const Graph& body) {
  const std::optional<int> anchor = anchor_of(body, site.traits);
  if (!anchor) return std::nullopt;
  Program program(site, body, *anchor);
  program.steps.add(std::move(program.call));
  return std::move(program.steps);
}

}  // namespace rlx
