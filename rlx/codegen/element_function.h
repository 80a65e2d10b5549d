// A kernel whose file says what one element of its result is (each_element.h), as a function for
// other kernels: what is gathered, padded or resized is then a map in their loads.
#pragma once

#include <optional>

#include "rlx/codegen/statements.h"

namespace rlx {

struct ElementFunction {
  std::string name;               // fn name(i: u32), of the result's compute type
  std::vector<Operand> operands;  // which it loads anywhere
  Module module;                  // the function, and what it needs beside the operands
  // Functions that are the same whatever the kernel is for, by name: once is enough.
  std::vector<std::pair<std::string, std::string>> common;
};

// `name` begins whatever the function needs. None where the steps are no such kernel, or one that
// sees parts of its operands.
std::optional<ElementFunction> element_function(const Steps& steps, const std::string& name);

}  // namespace rlx
