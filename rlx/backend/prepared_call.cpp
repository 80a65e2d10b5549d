#include "rlx/backend/prepared_call.h"

namespace rlx::detail {

using image::Argument;
using image::Cells;
using image::Operand;

PreparedCall::PreparedCall(const image::Call& call, int32_t node, const image::Image& image,
                           const image::Implementations& implementations)
    : image_(&image), call_(&call), node_(node) {
  const auto found = implementations.find(call.op);
  int32_t other = 0;  // a version that there is
  if (found != implementations.end())
    for (const image::Implementation& each : found->second) {
      if (each.version != call.version) {
        other = each.version;
        continue;
      }
      if (std::unique_ptr<image::CallKernel> kernel = each.prepare(call, image))
        kernels_.push_back({each.name, each.reads_views, std::move(kernel)});
    }
  if (kernels_.empty()) {
    const std::string at =
        node < 0 ? "" : text("\n  at node '", image.nodes[size_t(node)].name, "'");
    if (other == 0)
      fail(ErrorKind::unsupported, "there is no implementation of '", call.op, "'", at);
    fail(ErrorKind::unsupported, "the image calls version ", call.version, " of '", call.op,
         "', and here is version ", other, ": compile the model again", at);
  }
  site_.inputs.resize(call.inputs.size());
  for (const image::Call::Name& name : call.names) site_.symbols[name.symbol] = 0;
}

void PreparedCall::place(const Cells& cells, const Find& value, const Find& target) {
  for (size_t i = 0; i < call_->inputs.size(); ++i) {
    const Operand& operand = call_->inputs[i];
    Argument& argument = site_.inputs[i];
    argument.present = operand.value >= 0;
    if (!argument.present) continue;
    argument.tensor = value(operand.value);
    argument.shape.assign(operand.shape.size(), 0);
    for (size_t d = 0; d < operand.shape.size(); ++d)
      argument.shape[d] = cells.at(operand.shape[d]);
    argument.is_view = operand.is_view();
    has_views_ |= argument.is_view;
    if (!argument.is_view) {
      if (argument.tensor.shape() != argument.shape)
        argument.tensor = argument.tensor.first(argument.shape);
      continue;
    }
    argument.offset = operand.offset == image::kNone ? 0 : cells.at(operand.offset);
    argument.strides.assign(operand.strides.size(), 0);
    for (size_t d = 0; d < operand.strides.size(); ++d)
      argument.strides[d] = cells.at(operand.strides[d]);
  }
  site_.results.resize(call_->results.size());
  for (size_t r = 0; r < call_->results.size(); ++r) site_.results[r] = target(call_->results[r]);
  for (const image::Call::Name& name : call_->names)
    if (cells.known(name.number))
      site_.symbols[name.symbol] = cells.at(name.number);
    else
      site_.symbols.erase(name.symbol);  // not what another run had told
}

void PreparedCall::run() {
  std::vector<Argument> views;  // while copies stand for them
  try {
    for (ran_ = 0; ran_ < kernels_.size(); ++ran_) {
      if (!kernels_[ran_].reads_views && has_views_ && views.empty()) {
        views = site_.inputs;
        for (Argument& argument : site_.inputs) {
          if (argument.present) argument.tensor = argument.contiguous();
          argument.is_view = false;
        }
      }
      if (kernels_[ran_].kernel->run(site_)) break;
    }
    if (!views.empty()) site_.inputs = std::move(views);
    if (ran_ < kernels_.size()) return;
    ran_ = 0;
    fail(ErrorKind::unsupported, call_->op, ": no implementation takes these extents");
  } catch (Error& error) {
    if (!views.empty()) site_.inputs = std::move(views);
    if (node_ >= 0) error.add_note(text("at node '", image_->nodes[size_t(node_)].name, "'"));
    throw;
  }
}

bool PreparedCall::tell(Cells& cells) const {
  for (const image::Call::Told& told : call_->told) {
    const Shape& shape = site_.results[size_t(told.result)].shape();
    if (size_t(told.axis) < shape.size()) cells.set(told.number, shape[size_t(told.axis)]);
  }
  if (call_->segment >= 0) cells.evaluate(image_->numbers.segments[size_t(call_->segment)]);
  for (size_t r = 0; r < site_.results.size(); ++r) {
    const image::Value& value = image_->values[size_t(call_->results[r])];
    const Tensor& given = site_.results[r];
    int64_t elements = 1;
    for (const image::Number number : value.shape) elements *= cells.at(number);
    if (given.dtype() == value.dtype && given.count() == elements) continue;
    Shape shape;
    for (const image::Number number : value.shape) shape.push_back(cells.at(number));
    fail(ErrorKind::invalid_graph, "'", value.name, "' is ", TensorType{value.dtype, shape},
         ", and its op gave ", given.type());
  }
  return call_->segment >= 0;
}

}  // namespace rlx::detail
