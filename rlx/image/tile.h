// What a call computes of single elements, behind the result of its op or by itself. An engine runs
// it over tiles that stay in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rlx/tensor/dtype.h"

namespace rlx::image {

// Every instruction makes a register, which holds a tile of one dtype. All that is read and written
// has one shape, or is read as if it had.
struct Tile {
  // Ops that are none of the catalogue's.
  static constexpr const char* kResult = "result";  // what the call's op gives: the first register
  static constexpr const char* kLoad = "load";      // the operand is an input of the call
  static constexpr const char* kNumber = "number";  // params[0]

  // So many, so that an engine can keep track of them on its stack.
  static constexpr size_t kMostRegisters = 128, kMostResults = 8;

  struct Instruction {
    std::string op = {};                 // an op on single elements, or one of those above
    std::vector<int32_t> operands = {};  // registers
    std::vector<double> params = {};     // the attributes of its formula, in its order
    DType dtype = DType::f32;            // of the register
    bool operator==(const Instruction&) const = default;
  };
  std::vector<Instruction> code = {};
  std::vector<int32_t> stores = {};  // by result of the call: the register
  int32_t own_inputs = 0;            // the first inputs of a call, which its op reads
  bool operator==(const Tile&) const = default;

  bool empty() const { return code.empty(); }
  bool has_anchor() const { return !code.empty() && code[0].op == kResult; }
  static bool is_source(const Instruction& each) {
    return each.op == kResult || each.op == kLoad || each.op == kNumber;
  }
};
// The call of a tile without an op of its own.
inline constexpr const char* kElements = "elements";

// "add + gelu"
std::string description(const Tile& tile);

}  // namespace rlx::image
