#include "rlx/image/numbers.h"

#include <gtest/gtest.h>

#include "rlx/testing.h"

namespace rlx::image {
namespace {

// A file may have n + n, the sum of that with itself, and so on: written out it has 2^60 terms.
TEST(Cells, AMessageNamesALongExpressionByItsBeginning) {
  Numbers numbers;
  numbers.symbols.push_back({.name = "n", .number = 0});
  numbers.known.push_back({1, 3});
  numbers.count = 2;
  Number sum = 0;
  for (int i = 0; i < 60; ++i) {
    numbers.code.push_back({Instruction::Op::add, numbers.count, sum, sum});
    sum = numbers.count++;
  }
  const Number result = numbers.count++;
  numbers.code.push_back({Instruction::Op::broadcast, result, sum, 1});
  Cells cells(numbers);
  cells.set(0, 2);
  cells.evaluate();
  const std::string message = error_of([&] { cells.at(result); });
  EXPECT_NE(message.find("cannot broadcast n + n"), std::string::npos) << message;
  EXPECT_NE(message.find("..."), std::string::npos) << message;
  EXPECT_LT(message.size(), 1000u);
}

}  // namespace
}  // namespace rlx::image
