#include "rlx/backend/prepared_call.h"

#include <algorithm>
#include <new>

namespace rlx::detail {

using image::Argument;
using image::CallSite;
using image::Cells;
using image::Operand;

PreparedCall::PreparedCall(const image::Call& call, int32_t node, const image::Image& image,
                           const image::Implementations& implementations)
    : image_(&image), call_(&call), node_(node) {
  try {
    const auto found = implementations.find(call.op);
    if (!call.tile.empty() && call.op != image::kElements) make_aside(image, implementations);
    int32_t other = 0;  // a version that there is
    if (found != implementations.end())
      for (const image::Implementation& each : found->second) {
        if (each.version != call.version) {
          other = each.version;
          continue;
        }
        const bool alone = aside_ && !each.finishes;
        if (std::unique_ptr<image::CallKernel> kernel =
                each.prepare(alone ? aside_->own : call, image)) {
          if (kernels_.empty()) has_first_ = &each == found->second.data();
          kernels_.push_back(
              {each.name, each.reads_views, each.finishes, each.stores, std::move(kernel)});
        }
      }
    if (kernels_.empty() && other == 0)
      fail(ErrorKind::unsupported, "there is no implementation of '", call.op, "'");
    if (kernels_.empty())
      fail(ErrorKind::unsupported, "the image calls version ", call.version, " of '", call.op,
           "', and here is version ", other, ": compile the model again");
  } catch (Error& error) {
    if (node >= 0) error.add_note(text("at node '", image.nodes[size_t(node)].name, "'"));
    throw;
  }
  if (const auto check = implementations.find(image::check_name(call.op));
      check != implementations.end())
    check_ = check->second[0].prepare(call, image);
  site_.inputs.resize(call.inputs.size());
  for (const image::Call::Name& name : call.names) site_.symbols[name.symbol] = 0;
}

void PreparedCall::make_aside(const image::Image& image,
                              const image::Implementations& implementations) {
  aside_ = std::make_unique<Aside>();
  const image::Tile& tile = call_->tile;
  image::Call &own = aside_->own, &rest = aside_->rest;
  own = *call_;
  own.tile = {};
  own.stored.clear();
  own.inputs.resize(size_t(tile.own_inputs));
  own.results.resize(1);
  // The tile loads what the op gave as its first input.
  rest.op = image::kElements;
  rest.inputs = {{call_->results[0]}};
  rest.inputs.insert(rest.inputs.end(), call_->inputs.begin() + tile.own_inputs,
                     call_->inputs.end());
  rest.results = call_->results;
  rest.stored = call_->stored;
  rest.tile = tile;
  for (image::Tile::Instruction& each : rest.tile.code) {
    if (each.op == image::Tile::kLoad) each.operands[0] += 1 - tile.own_inputs;
    if (each.op == image::Tile::kResult) each = {image::Tile::kLoad, {0}, {}, each.dtype};
  }
  rest.tile.own_inputs = 0;
  const auto found = implementations.find(image::kElements);
  if (found != implementations.end() && !found->second.empty())
    aside_->rest_kernel = found->second[0].prepare(rest, image);
  if (!aside_->rest_kernel)
    fail(ErrorKind::unsupported, "there is no implementation of '", image::kElements, "'");
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
    image::check_view(argument.shape, argument.offset, argument.strides, argument.tensor.count());
  }
  site_.results.resize(call_->results.size());
  for (size_t r = 0; r < call_->results.size(); ++r) site_.results[r] = target(call_->results[r]);
  if (aside_) aside_->copies.clear();
  site_.stored.resize(call_->stored.size());
  for (size_t r = 0; r < call_->stored.size(); ++r) {
    const std::vector<int64_t> shape = cells.at(call_->stored[r].shape),
                               strides = cells.at(call_->stored[r].strides);
    site_.stored[r] = {Shape(shape.begin(), shape.end()), Shape(strides.begin(), strides.end())};
    image::check_view(site_.stored[r].shape, 0, site_.stored[r].strides, site_.results[r].count());
  }
  for (const image::Call::Name& name : call_->names)
    if (cells.known(name.number))
      site_.symbols[name.symbol] = cells.at(name.number);
    else
      site_.symbols.erase(name.symbol);  // not what another run had told
  if (check_) run_check();
}

void PreparedCall::run_check() {
  try {
    check_->run(site_);
  } catch (Error& error) {
    if (node_ >= 0) error.add_note(text("at node '", image_->nodes[size_t(node_)].name, "'"));
    throw;
  }
}

void PreparedCall::copy_views() {
  views_ = site_.inputs;
  for (Argument& argument : site_.inputs) {
    if (argument.present) argument.tensor = argument.contiguous();
    argument.is_view = false;
  }
}

void PreparedCall::forget() {
  for (Argument& argument : site_.inputs) argument.tensor = Tensor();
  site_.results.clear();
  if (!aside_) return;
  aside_->own_site = {};
  aside_->rest_site = {};
}

bool PreparedCall::is_known(const Cells& cells) const {
  const auto is_known = [&](const Operand& operand) {
    return operand.value < 0 || (cells.known(operand.shape) && cells.known(operand.strides) &&
                                 (operand.offset == image::kNone || cells.known(operand.offset)) &&
                                 cells.known(image_->values[size_t(operand.value)].shape));
  };
  return std::all_of(call_->inputs.begin(), call_->inputs.end(), is_known) &&
         std::all_of(call_->stored.begin(), call_->stored.end(), is_known) &&
         std::all_of(call_->results.begin(), call_->results.end(), [&](image::ValueId result) {
           return cells.known(image_->values[size_t(result)].shape);
         });
}

void PreparedCall::hold(const Cells& cells, const Find& value, const Find& target,
                        image::Holdings& holdings, bool packs) {
  if (!is_known(cells)) return;
  try {
    place(cells, value, target);
    hold(holdings, packs);
  } catch (const Error&) {  // a run will say what is wrong
  }
  forget();
}

void PreparedCall::hold(image::Holdings& holdings, bool packs) {
  holdings.begin(*call_);
  for (Kernel& each : kernels_) {
    CallSite site = site_;
    const bool finishes = call_->tile.empty() || each.finishes;
    if (!finishes) {
      site.inputs.resize(size_t(call_->tile.own_inputs));
      site.results = {Tensor(call_->tile.code[0].dtype, site.shape_of(0))};
    }
    if (!finishes || !each.stores) site.stored.clear();
    bool copies = false;
    for (Argument& argument : site.inputs) {
      if (each.reads_views || !argument.present || !argument.is_view) continue;
      argument = {Tensor(argument.tensor.dtype(), argument.shape), true, false, argument.shape};
      copies = true;
    }
    if (!each.kernel->hold(site, holdings)) continue;
    if (packs && !copies) each.kernel->pack(site);
    return;
  }
}

// Only the first implementation of an op copes with operands at odd addresses of a file: the others
// read whole elements.
void PreparedCall::align_inputs() {
  const auto lies_oddly = [](const Tensor& tensor) {
    return reinterpret_cast<uintptr_t>(tensor.bytes().data()) % size_t(bytes_of(tensor.dtype())) !=
           0;
  };
  for (Argument& argument : site_.inputs)
    if (argument.present && lies_oddly(argument.tensor))
      argument.tensor = argument.tensor.aligned();
}

void PreparedCall::run() {
  const struct Views {
    PreparedCall& call;
    ~Views() { call.put_views_back(); }  // whatever is thrown
  } views{*this};
  try {
    for (ran_ = 0; ran_ < kernels_.size(); ++ran_) {
      if (ran_ > 0 || !has_first_) align_inputs();
      if (!kernels_[ran_].reads_views && has_views_ && views_.empty()) copy_views();
      if (run_kernel(kernels_[ran_])) break;
    }
    if (ran_ < kernels_.size()) return;
    ran_ = 0;
    fail(ErrorKind::unsupported, call_->op, ": no implementation takes these extents");
  } catch (Error& error) {
    if (node_ >= 0) error.add_note(text("at node '", image_->nodes[size_t(node_)].name, "'"));
    throw;
  } catch (const std::bad_alloc&) {
    std::vector<TensorType> types;
    for (const Tensor& result : site_.results) types.push_back(result.type());
    Error error(ErrorKind::out_of_memory,
                text(call_->op, ": the host has no memory to compute ", joined(types)));
    if (node_ >= 0) error.add_note(text("at node '", image_->nodes[size_t(node_)].name, "'"));
    throw error;
  }
}

void PreparedCall::put_views_back() {
  if (!views_.empty()) site_.inputs = std::move(views_);
  views_.clear();
}

bool PreparedCall::run_kernel(Kernel& kernel) {
  const bool finishes = call_->tile.empty() || kernel.finishes;
  return finishes && (site_.stored.empty() || kernel.stores) ? kernel.kernel->run(site_)
                                                             : run_aside(kernel);
}

bool PreparedCall::run_aside(Kernel& kernel) {
  if (!aside_) aside_ = std::make_unique<Aside>();
  const bool finishes = call_->tile.empty() || kernel.finishes;
  CallSite &own = aside_->own_site, &rest = aside_->rest_site;
  const size_t inputs = finishes ? site_.inputs.size() : size_t(call_->tile.own_inputs);
  own.inputs.assign(site_.inputs.begin(), site_.inputs.begin() + static_cast<int64_t>(inputs));
  own.symbols = site_.symbols;
  own.results.resize(finishes ? site_.results.size() : 1);
  for (size_t r = 0; r < own.results.size(); ++r) {
    const Shape& shape = site_.shape_of(r);
    const DType dtype = finishes ? site_.results[r].dtype() : call_->tile.code[0].dtype;
    if (own.results[r].shape() != shape || own.results[r].dtype() != dtype)
      own.results[r] = Tensor(dtype, shape);
  }
  if (!kernel.kernel->run(own)) return false;
  if (finishes) {
    for (size_t r = aside_->copies.size(); r < own.results.size(); ++r) {
      const Shape rows = strides_of(site_.stored[r].shape);
      aside_->copies.emplace_back(site_.stored[r].shape, image::StridedCopy::Layout{0, rows},
                                  image::StridedCopy::Layout{0, site_.stored[r].strides},
                                  bytes_of(own.results[r].dtype()));
    }
    for (size_t r = 0; r < own.results.size(); ++r)
      aside_->copies[r].run(own.results[r].bytes().data(), site_.results[r].mutable_bytes().data());
    return true;
  }
  // Assigned one by one: the vectors within keep their memory, and the next run allocates none.
  rest.inputs.resize(1 + site_.inputs.size() - inputs);
  Argument& given = rest.inputs[0];
  given.tensor = own.results[0];
  given.present = true;
  given.shape = own.results[0].shape();
  std::copy(site_.inputs.begin() + static_cast<int64_t>(inputs), site_.inputs.end(),
            rest.inputs.begin() + 1);
  rest.stored = site_.stored;
  const struct Lent {  // they are the run's
    std::vector<Tensor>&results, &to;
    Lent(std::vector<Tensor>& from, std::vector<Tensor>& lent) : results(from), to(lent) {
      results.swap(to);
    }
    ~Lent() {
      results.swap(to);
      to.clear();
    }
  } lent(site_.results, rest.results);
  return aside_->rest_kernel->run(rest);
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
    for (const image::Number number : value.shape)
      elements = checked_mul(elements, cells.at(number));
    if (given.dtype() == value.dtype && given.count() == elements) continue;
    Shape shape;
    for (const image::Number number : value.shape) shape.push_back(cells.at(number));
    fail(ErrorKind::invalid_graph, "'", value.name, "' is ", TensorType{value.dtype, shape},
         ", and its op gave ", given.type());
  }
  return call_->segment >= 0;
}

}  // namespace rlx::detail
