#include "rlx/compile/numbers_builder.h"

#include <algorithm>

namespace rlx::detail {

using image::Instruction;
using image::kNone;
using image::Number;
using Op = Instruction::Op;

std::vector<Number> NumbersBuilder::of(const std::vector<Dim>& dims) {
  std::vector<Number> numbers;
  numbers.reserve(dims.size());
  for (const Dim& dim : dims) numbers.push_back(of(dim));
  return numbers;
}

Number NumbersBuilder::told(const std::string& symbol) {
  return definitions_.count(symbol) ? kNone : this->symbol(symbol);
}

Number NumbersBuilder::new_symbol(const std::string& name) {
  const Number cell = new_cell();
  const auto bound = bounds_.find(name);
  image::Symbol symbol{name, cell};
  if (bound != bounds_.end()) symbol.bounded = true, symbol.range = bound->second;
  numbers_.symbols.push_back(std::move(symbol));
  return cell;
}

int32_t NumbersBuilder::number(int64_t value) {
  const auto [at, added] = constants_.emplace(value, kNone);
  if (added) {
    at->second = new_cell();
    numbers_.known.push_back({at->second, value});
  }
  return at->second;
}

int32_t NumbersBuilder::symbol(const std::string& name) {
  if (const auto found = symbols_.find(name); found != symbols_.end()) return found->second;
  const auto meaning = definitions_.find(name);
  const Number cell = meaning == definitions_.end() ? new_symbol(name) : of(meaning->second);
  return symbols_[name] = cell;
}

int32_t NumbersBuilder::sum(int32_t a, int32_t b) { return compute(Op::add, a, b); }
int32_t NumbersBuilder::product(int32_t a, int32_t b) { return compute(Op::multiply, a, b); }

int32_t NumbersBuilder::call(Dim::Function function, int32_t a, int32_t b) {
  switch (function) {
    case Dim::Function::floor_div:
      return compute(Op::floor_divide, a, b);
    case Dim::Function::mod:
      return compute(Op::modulo, a, b);
    case Dim::Function::min:
      return compute(Op::minimum, a, b);
    case Dim::Function::broadcast:
      return compute(Op::broadcast, a, b);
    default:
      return compute(Op::maximum, a, b);
  }
}

Number NumbersBuilder::compute(Op op, Number a, Number b) {
  const bool ordered = op == Op::floor_divide || op == Op::modulo;
  if (!ordered && b < a) std::swap(a, b);
  const auto [at, added] = known_.emplace(std::tuple(op, a, b), kNone);
  if (added) {
    at->second = new_cell();
    numbers_.code.push_back({op, at->second, a, b});
  }
  return at->second;
}

void NumbersBuilder::add_check(image::Check check) {
  if (checks_.emplace(check.relation, check.a, check.b, check.guard).second)
    numbers_.checks.push_back(std::move(check));
}

int32_t NumbersBuilder::segment(std::vector<Number> told, std::vector<Number> wanted) {
  segments_.push_back({std::move(told), std::move(wanted)});
  return static_cast<int32_t>(segments_.size()) - 1;
}

image::Numbers NumbersBuilder::finish() {
  for (const auto& [told, wanted] : segments_) {
    std::vector<bool> changed(size_t(numbers_.count), false);
    std::vector<bool> needed(size_t(numbers_.count), wanted.empty());
    for (const Number cell : told) changed[size_t(cell)] = true;
    for (const Number cell : wanted)
      if (cell != kNone) needed[size_t(cell)] = true;
    for (auto code = numbers_.code.rbegin(); code != numbers_.code.rend(); ++code)
      if (needed[size_t(code->result)]) needed[size_t(code->a)] = needed[size_t(code->b)] = true;
    image::Segment segment;
    for (size_t i = 0; i < numbers_.code.size(); ++i) {
      const Instruction& code = numbers_.code[i];
      if (!changed[size_t(code.a)] && !changed[size_t(code.b)]) continue;
      changed[size_t(code.result)] = true;
      if (needed[size_t(code.result)]) segment.code.push_back(static_cast<int32_t>(i));
    }
    for (size_t i = 0; i < numbers_.checks.size(); ++i) {
      const image::Check& check = numbers_.checks[i];
      const bool touched = changed[size_t(check.a)] || changed[size_t(check.b)] ||
                           (check.guard != kNone && changed[size_t(check.guard)]);
      if (touched) segment.checks.push_back(static_cast<int32_t>(i));
    }
    numbers_.segments.push_back(std::move(segment));
  }
  return std::move(numbers_);
}

}  // namespace rlx::detail
