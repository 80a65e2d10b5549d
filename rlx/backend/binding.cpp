#include "rlx/backend/binding.h"

#include <algorithm>

#include "rlx/image/uses.h"

namespace rlx::detail {

using image::Cells;
using image::Image;
using image::Kind;
using image::kNone;
using image::Number;

namespace {

bool is_on_device(const RunRequest& request, size_t i) {
  return i < request.device_inputs.size() && request.device_inputs[i].present();
}
DType dtype_of(const RunRequest& request, size_t i) {
  return is_on_device(request, i) ? request.device_inputs[i].dtype() : request.inputs[i].dtype();
}
const Shape& shape_of(const RunRequest& request, size_t i) {
  return is_on_device(request, i) ? request.device_inputs[i].shape() : request.inputs[i].shape();
}

// May a run tell cells that the inputs do not?
bool has_telling_steps(const Image& image) {
  return std::any_of(image.run.begin(), image.run.end(), [](const image::Step& step) {
    const auto* call = std::get_if<image::Call>(&step.what);
    const auto* dispatch = std::get_if<image::Dispatch>(&step.what);
    return std::holds_alternative<image::Fetch>(step.what) ||
           std::holds_alternative<image::Bind>(step.what) || (call && !call->told.empty()) ||
           (dispatch && dispatch->shard != kNone);
  });
}

}  // namespace

RunBinding::RunBinding(const Image& image, const image::Implementations& implementations)
    : image_(image),
      cells_(image.numbers),
      by_inputs_(image.numbers),
      steps_tell_(has_telling_steps(image)),
      seen_(image.inputs.size()),
      input_of_(image.values.size(), -1),
      host_values_(image.values.size()) {
  for (size_t i = 0; i < image.inputs.size(); ++i) {
    const image::Input& input = image.inputs[i];
    if (input.value >= 0) input_of_[size_t(input.value)] = static_cast<int>(i);
    std::vector<bool>& symbols = is_symbol_.emplace_back();
    for (const Dim& dim : input.type.shape) symbols.push_back(dim.symbol().has_value());
  }
  for (const image::Input& input : image.inputs) decides_.push_back(!input.elements.empty());
  for (const image::Step& step : image.bind)
    for (const image::ValueId value : image::use_of(step, image.flag).reads)
      if (const int i = input_of_[size_t(value)]; i >= 0) decides_[size_t(i)] = true;
  for (const image::Step& step : image.bind) {
    const auto* call = std::get_if<image::Call>(&step.what);
    calls_.push_back(call ? PreparedCall(*call, step.node, image, implementations)
                          : PreparedCall());
  }
}

bool RunBinding::has_changed(const RunRequest& request) {
  bool changed = !valid_;
  for (size_t i = 0; i < seen_.size(); ++i) {
    const bool decides = decides_[i];
    if (decides && is_on_device(request, i)) {
      valid_ = false;
      fail(ErrorKind::invalid_input, "run: input '", image_.inputs[i].name,
           "' decides shapes or control flow, so it must be a host tensor");
    }
    const Tensor::Mark mark = decides ? request.inputs[i].mark() : Tensor::Mark{};
    const bool may_differ = decides && request.inputs[i].may_change();
    Seen& seen = seen_[i];
    if (seen.dtype == dtype_of(request, i) && seen.shape == shape_of(request, i) &&
        seen.elements == mark && !may_differ)
      continue;
    seen = {dtype_of(request, i), shape_of(request, i), mark};
    changed = true;
  }
  return changed;
}

void RunBinding::bind_input(size_t i, const RunRequest& request) {
  const image::Input& input = image_.inputs[i];
  const Shape& shape = shape_of(request, i);
  const auto differ = [&](const std::string& why) {
    fail(ErrorKind::invalid_input, "run: input '", input.name, "' is ",
         TensorType{dtype_of(request, i), shape}, ", the graph wants ", input.type, why);
  };
  if (dtype_of(request, i) != input.type.dtype || shape.size() != input.shape.size()) differ("");
  for (size_t d = 0; d < shape.size(); ++d) {
    const Number cell = input.shape[d];
    if (!is_symbol_[i][d]) {
      if (input.type.shape[d].is_number() && input.type.shape[d].number() != shape[d]) differ("");
      continue;
    }
    if (cells_.known(cell) && cells_.at(cell) != shape[d])
      differ(text(", and '", input.type.shape[d], "' is ", cells_.at(cell), " elsewhere"));
    cells_.set(cell, shape[d]);
  }
  for (size_t e = 0; e < input.elements.size(); ++e)
    if (input.elements[e] != kNone)
      cells_.set(input.elements[e], request.inputs[i].integer_at(static_cast<int64_t>(e)));
}

// Dims that are expressions, now that their symbols are known.
void RunBinding::check_input(size_t i, const RunRequest& request) const {
  const image::Input& input = image_.inputs[i];
  const Shape& shape = shape_of(request, i);
  for (size_t d = 0; d < shape.size(); ++d) {
    const Number cell = input.shape[d];
    if (is_symbol_[i][d] || !cells_.known(cell) || cells_.at(cell) == shape[d]) continue;
    fail(ErrorKind::invalid_input, "run: input '", input.name, "' is ",
         TensorType{dtype_of(request, i), shape}, ", the graph wants ", input.type, ", where ",
         input.type.shape[d], " is ", cells_.at(cell));
  }
}

void RunBinding::take_once(const Cells& cells) {
  told_once_.clear();
  for (const Number number : cells_told_by(image_.once))
    if (cells.known(number)) told_once_.push_back({number, cells.at(number)});
  if (!told_once_.empty()) valid_ = false;
}

bool RunBinding::update(const RunRequest& request) {
  if (!has_changed(request)) {
    // What the data of the last run told is forgotten: this run's may tell something else.
    if (steps_tell_) cells_ = by_inputs_;
    return false;
  }
  valid_ = false;  // until all of it has succeeded
  cells_.reset();
  for (const image::Numbers::Known& told : told_once_) cells_.set(told.number, told.value);
  for (size_t i = 0; i < image_.inputs.size(); ++i) bind_input(i, request);
  for (const image::Symbol& symbol : image_.numbers.symbols) {
    if (!symbol.bounded || !cells_.known(symbol.number)) continue;
    const int64_t value = cells_.at(symbol.number);
    if (value < symbol.range.low || value > symbol.range.high)
      fail(ErrorKind::invalid_input, "run: symbol '", symbol.name, "' is ", value,
           ", the graph allows ", symbol.range.low, " to ", symbol.range.high);
  }
  cells_.evaluate();
  for (size_t i = 0; i < image_.inputs.size(); ++i) check_input(i, request);
  run_bind_steps(request);
  by_inputs_ = cells_;
  valid_ = true;
  return true;
}

// A step whose operands are not at hand is left out: another one will tell its symbols.
void RunBinding::run_bind_steps(const RunRequest& request) {
  std::vector<bool> there(image_.values.size(), false);
  const auto find = [&](image::ValueId v) -> Tensor {
    if (const int i = input_of_[size_t(v)]; i >= 0) return request.inputs[size_t(i)].aligned();
    const int32_t source = image_.values[size_t(v)].source;
    return source >= 0 ? image_.sources[size_t(source)].aligned() : host_values_[size_t(v)];
  };
  const auto is_there = [&](image::ValueId v) {
    if (const int i = input_of_[size_t(v)]; i >= 0) return !is_on_device(request, size_t(i));
    return there[size_t(v)] || image_.values[size_t(v)].source >= 0;
  };
  const auto target = [&](image::ValueId v) {
    const image::Value& value = image_.values[size_t(v)];
    Shape shape{0};
    if (cells_.known(value.shape)) {
      const std::vector<int64_t> extents = cells_.at(value.shape);
      shape.assign(extents.begin(), extents.end());
    }
    return Tensor(value.dtype, shape);
  };
  for (size_t at = 0; at < image_.bind.size(); ++at) {
    const image::Step& step = image_.bind[at];
    if (const auto* call = std::get_if<image::Call>(&step.what)) {
      const bool ready =
          std::all_of(call->inputs.begin(), call->inputs.end(), [&](const image::Operand& operand) {
            return operand.value < 0 || (is_there(operand.value) && cells_.known(operand.shape));
          });
      if (!ready) continue;
      calls_[at].place(cells_, find, target);
      calls_[at].run();
      calls_[at].tell(cells_);
      for (size_t r = 0; r < call->results.size(); ++r) {
        host_values_[size_t(call->results[r])] = calls_[at].site().results[r];
        there[size_t(call->results[r])] = true;
      }
    } else if (const auto* write = std::get_if<image::Write>(&step.what)) {
      if (!cells_.known(write->elements)) continue;
      Tensor tensor = target(write->target);
      for (size_t i = 0; i < write->elements.size(); ++i)
        tensor.set_integer(static_cast<int64_t>(i), cells_.at(write->elements[i]));
      host_values_[size_t(write->target)] = tensor;
      there[size_t(write->target)] = true;
    } else if (const auto* fetch = std::get_if<image::Fetch>(&step.what)) {
      if (is_there(fetch->value)) take_fetched(*fetch, find(fetch->value), image_, cells_);
    }
  }
}

std::vector<Number> cells_told_by(const image::Steps& steps) {
  std::vector<Number> told;
  for (const image::Step& step : steps) {
    if (const auto* fetch = std::get_if<image::Fetch>(&step.what))
      told.insert(told.end(), fetch->elements.begin(), fetch->elements.end());
    if (const auto* bind = std::get_if<image::Bind>(&step.what)) {
      told.push_back(bind->number);
      told.insert(told.end(), bind->forget.begin(), bind->forget.end());
    }
    if (const auto* call = std::get_if<image::Call>(&step.what))
      for (const image::Call::Told& each : call->told) told.push_back(each.number);
  }
  std::erase(told, kNone);
  return told;
}

void bind_step(const image::Bind& bind, const Image& image, Cells& cells) {
  for (const Number number : bind.forget) cells.forget(number);
  if (bind.number != kNone) {
    // What the other cell holds may depend on what has just been forgotten.
    if (!bind.forget.empty()) cells.evaluate(image.numbers.segments[size_t(bind.segment)]);
    cells.set(bind.number, cells.at(bind.from));
  }
  if (bind.segment >= 0) cells.evaluate(image.numbers.segments[size_t(bind.segment)]);
}

void take_fetched(const image::Fetch& fetch, const Tensor& tensor, const Image& image,
                  Cells& cells) {
  for (size_t i = 0; i < fetch.elements.size(); ++i)
    if (fetch.elements[i] != kNone)
      cells.set(fetch.elements[i], tensor.integer_at(static_cast<int64_t>(i)));
  if (fetch.segment >= 0) cells.evaluate(image.numbers.segments[size_t(fetch.segment)]);
}

}  // namespace rlx::detail
