#include "rlx/compile/drop_unused.h"

#include <algorithm>
#include <type_traits>

namespace rlx::detail {
namespace {

using image::Image;
using image::kNone;
using image::Number;
using image::ValueId;

// Calls `see` with every value that a step names.
template <class See>
void each_value(image::Step& step, const See& see) {
  std::visit(
      [&](auto& what) {
        using S = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<S, image::Dispatch>) {
          for (image::Bound& bound : what.operands) see(bound.value);
        } else if constexpr (std::is_same_v<S, image::Call>) {
          for (auto* operands : {&what.inputs, &what.stored})
            for (image::Operand& operand : *operands) see(operand.value);
          for (ValueId& result : what.results) see(result);
        } else if constexpr (std::is_same_v<S, image::Copy>) {
          see(what.source.value), see(what.target.value);
        } else if constexpr (std::is_same_v<S, image::Clear> || std::is_same_v<S, image::Write>) {
          see(what.target);
        } else if constexpr (std::is_same_v<S, image::Fetch>) {
          see(what.value);
        }
      },
      step.what);
}

template <class See>
void each_value(Image& image, const See& see) {
  for (image::Steps* steps : {&image.bind, &image.once, &image.run})
    for (image::Step& step : *steps) each_value(step, see);
  for (image::Input& input : image.inputs) see(input.value);
  for (image::Output& output : image.outputs) see(output.value);
  for (image::Weight& weight : image.weights) see(weight.value);
  for (image::State& state : image.states) see(state.value), see(state.next);
  see(image.flag);
}

// An input or weight that no step names, and no output or state is, needs no value.
void forget_unread(Image& image) {
  std::vector<bool> named(image.values.size(), false);
  const auto name = [&](ValueId value) {
    if (value >= 0) named[size_t(value)] = true;
  };
  for (image::Steps* steps : {&image.bind, &image.once, &image.run})
    for (image::Step& step : *steps) each_value(step, name);
  for (const image::Output& output : image.outputs) name(output.value);
  for (const image::State& state : image.states) name(state.value), name(state.next);
  const auto forget = [&](auto& list) {
    for (auto& each : list)
      if (each.value >= 0 && !named[size_t(each.value)]) each.value = -1;
  };
  forget(image.inputs);
  forget(image.weights);
}

void drop_values(Image& image) {
  std::vector<bool> used(image.values.size(), false);
  each_value(image, [&](ValueId& value) {
    if (value < 0) return;
    used[size_t(value)] = true;
    used[size_t(image.values[size_t(value)].place)] = true;
  });
  std::vector<ValueId> moved(image.values.size(), -1);
  std::vector<image::Value> kept;
  std::vector<Tensor> sources;
  for (size_t v = 0; v < image.values.size(); ++v) {
    if (!used[v]) continue;
    moved[v] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(image.values[v]));
    int32_t& source = kept.back().source;
    if (source < 0) continue;
    sources.push_back(std::move(image.sources[size_t(source)]));
    source = static_cast<int32_t>(sources.size()) - 1;
  }
  for (image::Value& value : kept) value.place = moved[size_t(value.place)];
  each_value(image, [&](ValueId& value) {
    if (value >= 0) value = moved[size_t(value)];
  });
  image.values = std::move(kept);
  image.sources = std::move(sources);
}

// Calls `see` with every cell that something besides instructions reads or tells.
template <class See>
void each_number(Image& image, const See& see) {
  const auto all = [&](std::vector<Number>& numbers) {
    for (Number& number : numbers) see(number);
  };
  const auto operand = [&](image::Operand& each) {
    all(each.shape), all(each.strides), see(each.offset);
  };
  for (image::Steps* steps : {&image.bind, &image.once, &image.run})
    for (image::Step& step : *steps) {
      if (auto* dispatch = std::get_if<image::Dispatch>(&step.what)) {
        see(dispatch->repeat), see(dispatch->shard);
        for (image::Bound& bound : dispatch->operands) see(bound.first), see(bound.bytes);
        for (image::Choice& choice : dispatch->choices) {
          see(choice.guard), see(choice.workgroups);
          for (image::Choice::Word& word : choice.words) see(word.number);
        }
      } else if (auto* call = std::get_if<image::Call>(&step.what)) {
        for (auto* operands : {&call->inputs, &call->stored})
          for (image::Operand& each : *operands) operand(each);
        for (image::Call::Name& name : call->names) see(name.number);
        for (image::Call::Told& told : call->told) see(told.number);
      } else if (auto* copy = std::get_if<image::Copy>(&step.what)) {
        operand(copy->source), operand(copy->target);
      } else if (auto* write = std::get_if<image::Write>(&step.what)) {
        all(write->elements);
      } else if (auto* fetch = std::get_if<image::Fetch>(&step.what)) {
        all(fetch->elements);
      } else if (auto* bind = std::get_if<image::Bind>(&step.what)) {
        see(bind->number), see(bind->from), all(bind->forget);
      } else if (auto* jump = std::get_if<image::Jump>(&step.what)) {
        see(jump->unless);
      }
    }
  for (image::Value& value : image.values) all(value.shape), see(value.bytes);
  for (image::Input& input : image.inputs) all(input.shape), all(input.elements);
  for (image::Output& output : image.outputs) all(output.shape);
  for (image::Check& check : image.numbers.checks) see(check.a), see(check.b), see(check.guard);
}

// Cells are numbered anew: each is a constant, a symbol or the result of an instruction.
void drop_cells(Image& image) {
  image::Numbers& numbers = image.numbers;
  std::vector<bool> used(size_t(numbers.count), false);
  each_number(image, [&](Number& number) {
    if (number != kNone) used[size_t(number)] = true;
  });
  for (auto code = numbers.code.rbegin(); code != numbers.code.rend(); ++code)
    if (used[size_t(code->result)]) used[size_t(code->a)] = used[size_t(code->b)] = true;

  std::vector<Number> moved(used.size(), kNone);
  numbers.count = 0;
  for (size_t cell = 0; cell < used.size(); ++cell)
    if (used[cell]) moved[cell] = numbers.count++;
  const auto move = [&](Number& number) {
    if (number != kNone) number = moved[size_t(number)];
  };

  std::vector<int32_t> place(numbers.code.size(), -1);
  std::vector<image::Instruction> kept;
  for (size_t i = 0; i < numbers.code.size(); ++i) {
    image::Instruction code = numbers.code[i];
    if (!used[size_t(code.result)]) continue;
    place[i] = static_cast<int32_t>(kept.size());
    move(code.result), move(code.a), move(code.b);
    kept.push_back(code);
  }
  numbers.code = std::move(kept);
  for (image::Segment& segment : numbers.segments) {
    for (int32_t& code : segment.code) code = place[size_t(code)];
    std::erase(segment.code, -1);
  }
  const auto unused = [&](const auto& each) { return !used[size_t(each.number)]; };
  std::erase_if(numbers.known, unused);
  std::erase_if(numbers.symbols, unused);
  for (auto& known : numbers.known) move(known.number);
  for (image::Symbol& symbol : numbers.symbols) move(symbol.number);
  each_number(image, move);
}

}  // namespace

void drop_unused(Image& image) {
  forget_unread(image);
  drop_values(image);
  drop_cells(image);
}

}  // namespace rlx::detail
