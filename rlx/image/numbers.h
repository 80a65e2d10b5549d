// The symbol program: all that a run must compute before it may encode, as straight-line code over
// dense cells. Extents of inputs and elements that steps tell are written into cells; params,
// workgroup counts, sizes and checks are read from others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rlx/base/error.h"
#include "rlx/tensor/interval.h"
#include "rlx/tensor/relation.h"

namespace rlx::image {

using Number = int32_t;  // a cell
constexpr Number kNone = -1;

struct Instruction {
  enum class Op : uint8_t { add, multiply, floor_divide, modulo, minimum, maximum, broadcast };
  Op op = Op::add;
  Number result = kNone, a = kNone, b = kNone;
  bool operator==(const Instruction&) const = default;
};

// What must hold as soon as both cells are known, and `guard` too where there is one.
struct Check {
  Relation relation = Relation::equal;
  Number a = kNone, b = kNone, guard = kNone;
  std::string what = {};  // "matmul: rows of b and columns of a: k and n"
  std::string node = {};  // whose rule it is
  bool operator==(const Check&) const = default;
};

// What has to be computed again when a step has told some cells: indices of code and checks.
struct Segment {
  std::vector<int32_t> code, checks;
  bool operator==(const Segment&) const = default;
};

// A cell that has a name: one that a user binds, or that a step tells.
struct Symbol {
  std::string name = {};
  Number number = kNone;
  bool bounded = false;  // memory is planned for the bound
  Interval range = {0, kUnbounded};
  bool operator==(const Symbol&) const = default;
};

struct Numbers {
  struct Known {
    Number number = kNone;
    int64_t value = 0;
    bool operator==(const Known&) const = default;
  };
  int32_t count = 0;
  std::vector<Known> known = {};       // constants
  std::vector<Symbol> symbols = {};    // in the order of cells
  std::vector<Instruction> code = {};  // operands before results
  std::vector<Check> checks = {};
  std::vector<Segment> segments = {};
  bool operator==(const Numbers&) const = default;
};

// The cells of one program while it runs. A cell that nothing has told yet is unknown, and so is
// what depends on it; a check of unknown cells waits.
class Cells {
 public:
  explicit Cells(const Numbers& numbers);

  bool known(Number number) const { return state_[size_t(number)] == State::known; }
  // An Error where it is unknown, which names the symbol that is missing.
  int64_t at(Number number) const {
    if (!known(number)) unknown(number);
    return values_[size_t(number)];
  }
  std::vector<int64_t> at(const std::vector<Number>& numbers) const;
  bool known(const std::vector<Number>& numbers) const;

  void set(Number number, int64_t value) {
    values_[size_t(number)] = value;
    state_[size_t(number)] = State::known;
  }
  void forget(Number number) { state_[size_t(number)] = State::unknown; }
  void reset();  // only constants are known

  void evaluate();                        // all of it, and the checks
  void evaluate(const Segment& segment);  // what has changed

 private:
  enum class State : uint8_t { unknown, known, failed };
  void compute(const Instruction& instruction);
  void require(const Check& check) const;
  // For messages: what has more than `parts` ends in dots.
  std::string expression(Number number, int&& parts = 64) const {
    return expression(number, parts);
  }
  std::string expression(Number number, int& parts) const;
  [[noreturn]] void unknown(Number number) const;

  const Numbers* numbers_;
  std::vector<int64_t> values_;
  std::vector<State> state_;
  std::vector<Error> failures_;  // the first one, of a size that cannot be: told where it is used
};

// The interval each cell lies in: a bounded symbol in its bounds, another one where it is known at
// its value, and one that is not known anywhere from 0 on.
std::vector<Interval> ranges_of(const Numbers& numbers, const Cells& cells);

}  // namespace rlx::image
