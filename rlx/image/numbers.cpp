#include "rlx/image/numbers.h"

#include <algorithm>

namespace rlx::image {
namespace {

using Op = Instruction::Op;

int64_t result_of(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::add:
      return checked_add(a, b);
    case Op::multiply:
      return checked_mul(a, b);
    case Op::floor_divide:
      return floor_div_number(a, b);
    case Op::modulo:
      return mod_number(a, b);
    case Op::minimum:
      return std::min(a, b);
    case Op::maximum:
      return std::max(a, b);
    case Op::broadcast:
      break;
  }
  return a == 1 ? b : a;
}

Interval range_of(Op op, Interval a, Interval b) {
  switch (op) {
    case Op::add:
      return interval_sum(a, b);
    case Op::multiply:
      return interval_product(a, b);
    case Op::floor_divide:
      return interval_floor_div(a, b);
    case Op::modulo:
      return interval_mod(a, b);
    case Op::minimum:
      return interval_min(a, b);
    case Op::maximum:
      return interval_max(a, b);
    case Op::broadcast:
      break;
  }
  return interval_broadcast(a, b);
}

}  // namespace

Cells::Cells(const Numbers& numbers)
    : numbers_(&numbers), values_(size_t(numbers.count)), state_(size_t(numbers.count)) {
  reset();
}

void Cells::reset() {
  std::fill(state_.begin(), state_.end(), State::unknown);
  failures_.clear();
  for (const Numbers::Known& known : numbers_->known) set(known.number, known.value);
}

std::vector<int64_t> Cells::at(const std::vector<Number>& numbers) const {
  std::vector<int64_t> values;
  values.reserve(numbers.size());
  for (const Number number : numbers) values.push_back(at(number));
  return values;
}

bool Cells::known(const std::vector<Number>& numbers) const {
  return std::all_of(numbers.begin(), numbers.end(), [&](Number number) { return known(number); });
}

void Cells::compute(const Instruction& instruction) {
  const State a = state_[size_t(instruction.a)], b = state_[size_t(instruction.b)];
  State& result = state_[size_t(instruction.result)];
  if (a != State::known || b != State::known) {
    result = a == State::failed || b == State::failed ? State::failed : State::unknown;
    return;
  }
  const int64_t x = values_[size_t(instruction.a)], y = values_[size_t(instruction.b)];
  try {
    if (instruction.op == Op::broadcast && x != y && x != 1 && y != 1)
      fail(ErrorKind::invalid_input, "cannot broadcast ", expression(instruction.a), " with ",
           expression(instruction.b), ", they are ", x, " and ", y);
    values_[size_t(instruction.result)] = result_of(instruction.op, x, y);
    result = State::known;
  } catch (const Error& error) {
    result = State::failed;
    if (failures_.empty()) failures_.push_back(error);
  }
}

std::string Cells::expression(Number number, int& parts) const {
  if (parts-- <= 0) return "...";
  for (const Symbol& symbol : numbers_->symbols)
    if (symbol.number == number) return symbol.name;
  for (const Instruction& code : numbers_->code) {
    if (code.result != number) continue;
    const std::string a = expression(code.a, parts), b = expression(code.b, parts);
    switch (code.op) {
      case Op::add:
        return text(a, " + ", b);
      case Op::multiply:
        return text(a, '*', b);
      case Op::floor_divide:
        return text("floor_div(", a, ", ", b, ')');
      case Op::modulo:
        return text("mod(", a, ", ", b, ')');
      case Op::minimum:
        return text("min(", a, ", ", b, ')');
      case Op::maximum:
        return text("max(", a, ", ", b, ')');
      case Op::broadcast:
        return text("broadcast(", a, ", ", b, ')');
    }
  }
  return text(values_[size_t(number)]);
}

void Cells::require(const Check& check) const {
  if (!known(check.a) || !known(check.b) || (check.guard != kNone && !known(check.guard))) return;
  const int64_t a = at(check.a), b = at(check.b);
  if (holds(check.relation, a, b)) return;
  fail(ErrorKind::invalid_input, check.what, broken(check.relation, a, b), "\n  at node '",
       check.node, "'");
}

void Cells::evaluate() {
  for (const Instruction& instruction : numbers_->code) compute(instruction);
  for (const Check& check : numbers_->checks) require(check);
}

void Cells::evaluate(const Segment& segment) {
  for (const int32_t at : segment.code) compute(numbers_->code[size_t(at)]);
  for (const int32_t at : segment.checks) require(numbers_->checks[size_t(at)]);
}

void Cells::unknown(Number number) const {
  if (state_[size_t(number)] == State::failed) throw failures_.front();
  std::vector<Number> waiting{number};
  while (!waiting.empty()) {
    const Number next = waiting.back();
    waiting.pop_back();
    for (const Symbol& symbol : numbers_->symbols)
      if (symbol.number == next)
        fail(ErrorKind::invalid_input, "symbol '", symbol.name,
             "' has no value: no input binds it");
    for (const Instruction& instruction : numbers_->code)
      if (instruction.result == next)
        for (const Number operand : {instruction.a, instruction.b})
          if (!known(operand)) waiting.push_back(operand);
  }
  fail(ErrorKind::invalid_input, "a size is not known yet");
}

std::vector<Interval> ranges_of(const Numbers& numbers, const Cells& cells) {
  std::vector<Interval> ranges(size_t(numbers.count), Interval{0, kUnbounded});
  for (const Numbers::Known& known : numbers.known)
    ranges[size_t(known.number)] = {known.value, known.value};
  for (const Symbol& symbol : numbers.symbols) {
    Interval& range = ranges[size_t(symbol.number)];
    if (symbol.bounded)
      range = symbol.range;
    else if (cells.known(symbol.number))
      range = {cells.at(symbol.number), cells.at(symbol.number)};
  }
  for (const Instruction& instruction : numbers.code)
    ranges[size_t(instruction.result)] =
        range_of(instruction.op, ranges[size_t(instruction.a)], ranges[size_t(instruction.b)]);
  return ranges;
}

}  // namespace rlx::image
