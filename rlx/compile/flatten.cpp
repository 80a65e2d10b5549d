#include "rlx/compile/flatten.h"

#include <algorithm>
#include <set>

#include "rlx/ir/text.h"

namespace rlx::detail {
namespace {

using image::kNone;
using image::Number;

bool is_constant(const std::vector<Dim>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_number(); });
}
bool is_constant(const Operand& operand) {
  return is_constant(operand.shape) && is_constant(operand.layout.strides) &&
         operand.layout.offset.is_number() &&
         (!operand.window ||
          (operand.window->first.is_number() && operand.window->count.is_number()));
}
bool is_constant(const Dispatch& dispatch) {
  return dispatch.repeat.is(1) && dispatch.workgroups.is_number() &&
         std::all_of(dispatch.operands.begin(), dispatch.operands.end(),
                     [](const Operand& operand) { return is_constant(operand); }) &&
         std::all_of(dispatch.params.begin(), dispatch.params.end(), [](const Param& param) {
           return param.number.is_number() && is_constant(param.list);
         });
}

// Attributes as an image keeps them: bodies are text.
void add_attrs(const Attrs& attrs, image::Call& call) {
  call.attrs = attrs;
  for (const auto& [name, attr] : attrs)
    if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) {
      call.bodies.push_back({name, print(**body, {.inline_elements = INT64_MAX})});
      call.attrs.erase(name);
    }
}

class Flattening {
 public:
  Flattening(const Lowered& lowered, NumbersBuilder& numbers)
      : lowered_(lowered), numbers_(numbers) {
    for (const Lowered::Source& input : lowered.inputs) {
      note(input.type.shape);
      note(input.elements);
    }
    note(lowered.bind);
    note(lowered.steps);
  }

  void add(const Steps& steps, int body) {
    for (const Step& step : steps.list)
      std::visit([&](const auto& what) { add(what, step.node, body); }, step.what);
  }

  FlatSteps list_;

 private:
  template <class S>
  FlatStep& push(S what, int node, int body) {
    list_.push_back({{std::move(what), node}, nullptr, {}, body, false, false, false});
    return list_.back();
  }

  void add(const Dispatch& dispatch, int node, int body) {
    image::Dispatch made;
    for (const Operand& operand : dispatch.operands)
      made.operands.push_back({operand.value, operand.access});
    made.flags_errors = dispatch.flags_errors;
    FlatStep& flat = push(std::move(made), node, body);
    flat.dispatch = &dispatch;
    flat.in_place = dispatch.in_place;
    flat.constant = is_constant(dispatch);
    flat.may_fail = dispatch.flags_errors;
  }

  image::Operand operand_of(const Operand& operand) {
    image::Operand made{operand.value, numbers_.of(operand.shape)};
    if (operand.value < 0 || operand.contiguous()) return made;
    made.strides = numbers_.of(operand.layout.strides);
    if (!operand.layout.offset.is(0)) made.offset = numbers_.of(operand.layout.offset);
    return made;
  }

  void add(const Call& call, int node, int body) {
    image::Call made;
    made.op = call.op;
    made.version = call.version;
    add_attrs(call.attrs, made);
    made.results = call.results;
    made.reason = call.reason;
    made.tile = call.tile;
    bool constant = true;
    for (const Operand& operand : call.stored) {
      made.stored.push_back(operand_of(operand));
      if (made.stored.back().strides.empty())
        made.stored.back().strides = numbers_.of(operand.layout.strides);
      constant &= is_constant(operand);
    }
    for (const Operand& operand : call.inputs) {
      made.inputs.push_back(operand_of(operand));
      constant &= is_constant(operand);
    }
    for (const std::string& symbol : symbols_of(call.attrs)) {
      made.names.push_back({symbol, numbers_.of(Dim(symbol))});
      constant = false;
    }
    std::vector<Number> told;
    for (size_t r = 0; r < call.results.size(); ++r) {
      const Dims& shape = lowered_.values[size_t(call.results[r])].type.shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        const auto symbol = shape[d].symbol();
        const Number cell = symbol ? numbers_.told(*symbol) : kNone;
        if (cell == kNone || !told_elsewhere_.insert(*symbol).second) {
          constant &= shape[d].is_number();
          continue;
        }
        made.told.push_back({static_cast<int32_t>(r), static_cast<int32_t>(d), cell});
        told.push_back(cell);
      }
    }
    if (!told.empty()) made.segment = numbers_.segment(std::move(told));
    FlatStep& flat = push(std::move(made), node, body);
    flat.in_place = call.in_place;
    flat.constant = constant;
    flat.may_fail = call.may_fail;
  }

  // Symbols that inputs, fetches and binds tell: no call does.
  void note(const std::vector<Dim>& dims) {
    for (const Dim& dim : dims)
      if (const auto symbol = dim.symbol()) told_elsewhere_.insert(*symbol);
  }
  void note(const Steps& steps) {
    for (const Step& step : steps.list) {
      if (const auto* fetch = std::get_if<Fetch>(&step.what)) note(fetch->elements);
      if (const auto* bind = std::get_if<Bind>(&step.what)) told_elsewhere_.insert(bind->symbol);
      if (const auto* branch = std::get_if<If>(&step.what))
        note(branch->then), note(branch->otherwise);
      if (const auto* loop = std::get_if<Loop>(&step.what)) note(loop->body);
    }
  }

  static std::vector<std::string> symbols_of(const Attrs& attrs) {
    std::vector<std::string> symbols;
    for (const auto& [name, attr] : attrs)
      if (const auto* dims = std::get_if<Dims>(&attr.variant()))
        for (const Dim& dim : *dims)
          for (std::string& symbol : dim.symbols())
            if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
              symbols.push_back(std::move(symbol));
    return symbols;
  }

  image::Operand whole(ValueId value) {
    return {value, numbers_.of(lowered_.values[size_t(value)].type.shape)};
  }

  void add(const Copy& copy, int node, int body) {
    image::Copy made{copy.from ? operand_of(*copy.from) : whole(copy.source),
                     copy.to ? operand_of(*copy.to) : whole(copy.target)};
    const bool constant =
        (copy.from ? is_constant(*copy.from) : is_constant(type_of(copy.source).shape)) &&
        (copy.to ? is_constant(*copy.to) : is_constant(type_of(copy.target).shape));
    push(std::move(made), node, body).constant = constant;
  }

  const TensorType& type_of(ValueId value) const { return lowered_.values[size_t(value)].type; }

  void add(const Clear& clear, int node, int body) {
    push(image::Clear{clear.target}, node, body).constant =
        is_constant(type_of(clear.target).shape);
  }

  void add(const Write& write, int node, int body) {
    push(image::Write{write.target, numbers_.of(write.elements)}, node, body).constant =
        is_constant(write.elements);
  }

  void add(const Fetch& fetch, int node, int body) {
    image::Fetch made{fetch.value, {}, -1, fetch.reason};
    std::vector<Number> told;
    for (const Dim& element : fetch.elements) {
      const auto symbol = element.symbol();
      made.elements.push_back(symbol ? numbers_.told(*symbol) : kNone);
      if (made.elements.back() != kNone) told.push_back(made.elements.back());
    }
    made.segment = numbers_.segment(std::move(told));
    push(std::move(made), node, body).constant = is_constant(type_of(fetch.value).shape);
  }

  void add(const Bind& bind, int node, int body) {
    image::Bind made{numbers_.told(bind.symbol), numbers_.of(bind.value)};
    std::vector<Number> told;
    if (made.number != kNone) told.push_back(made.number);
    for (const std::string& symbol : bind.forget)
      if (const Number cell = numbers_.told(symbol); cell != kNone && cell != made.number) {
        made.forget.push_back(cell);
        told.push_back(cell);
      }
    made.segment = numbers_.segment(std::move(told));
    push(std::move(made), node, body);
  }

  void jump_to_end(size_t from) {
    std::get<image::Jump>(list_[from].step.what).target = static_cast<int32_t>(list_.size());
  }

  // The symbols that say which bodies run, here and within.
  void forget_bodies(const Steps& steps, std::vector<Number>& forget) {
    for (const Step& step : steps.list) {
      if (const auto* bind = std::get_if<Bind>(&step.what); bind && bind->begins_body)
        forget.push_back(numbers_.told(bind->symbol));
      if (const auto* branch = std::get_if<If>(&step.what))
        forget_bodies(branch->then, forget), forget_bodies(branch->otherwise, forget);
      if (const auto* loop = std::get_if<Loop>(&step.what)) forget_bodies(loop->body, forget);
    }
  }

  void add(const If& branch, int node, int /*body*/) {
    const size_t test = list_.size();
    push(image::Jump{0, numbers_.of(branch.condition)}, node, ++bodies_);
    add(branch.then, bodies_);
    const size_t leave = list_.size();
    push(image::Jump{}, node, ++bodies_);
    jump_to_end(test);
    add(branch.otherwise, bodies_);
    jump_to_end(leave);
  }

  void add(const Loop& loop, int node, int /*body*/) {
    const Number counter = numbers_.told(loop.counter);
    const int body = ++bodies_;
    push(image::Bind{counter, numbers_.of(Dim(0)), {}, numbers_.segment({counter})}, node, body);
    const size_t test = list_.size();
    Dim left = max(loop.count - Dim(loop.counter), 0);
    if (!loop.condition.empty()) left = left * Dim(loop.condition);
    push(image::Jump{0, numbers_.of(left)}, node, body);
    add(loop.body, body);
    // Checks of the body hold for iterations that run, not for the number after the last.
    image::Bind next{counter, numbers_.of(Dim(loop.counter) + 1)};
    forget_bodies(loop.body, next.forget);
    std::vector<Number> told = next.forget;
    told.push_back(counter);
    next.segment = numbers_.segment(std::move(told));
    push(std::move(next), node, body);
    push(image::Jump{static_cast<int32_t>(test)}, node, body);
    jump_to_end(test);
  }

  const Lowered& lowered_;
  NumbersBuilder& numbers_;
  std::set<std::string> told_elsewhere_;
  int bodies_ = 0;
};

}  // namespace

FlatSteps flat_steps(const Steps& steps, const Lowered& lowered, NumbersBuilder& numbers) {
  Flattening flattening(lowered, numbers);
  flattening.add(steps, 0);
  return std::move(flattening.list_);
}

void remove_steps(FlatSteps& steps, const std::vector<bool>& removed) {
  std::vector<int32_t> place(steps.size() + 1, 0);
  for (size_t i = 0; i < steps.size(); ++i) place[i + 1] = place[i] + (removed[i] ? 0 : 1);
  FlatSteps kept;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (removed[i]) continue;
    kept.push_back(std::move(steps[i]));
    if (auto* jump = std::get_if<image::Jump>(&kept.back().step.what))
      jump->target = place[size_t(jump->target)];
  }
  steps = std::move(kept);
}

}  // namespace rlx::detail
