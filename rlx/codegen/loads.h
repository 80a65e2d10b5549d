// How kernels load their operands: whether a load can be computed instead, and how many there are.
#pragma once

#include <optional>

#include "rlx/lower/step.h"

namespace rlx {

struct Load {
  Dispatch* dispatch = nullptr;
  // Of single elements in a run, as the kernel's file says; none where it does not.
  std::optional<Dim> times = {};
};

// Of the steps' only read of a value, where it is by load_<name>(i) of one kernel; none otherwise.
//
// The head of a kernel's file says how often it loads what, or a comment in the prelude where that
// differs from dispatch to dispatch, in a sentence of these forms that begins a line:
//   Loads: x 3, gamma 1.               each element of what it sees as x three times, of gamma once
//   Loads: x 1 for each y.             one element of x for each element of y
//   Loads: x window for each y.        so many as the param or constant `window` says; a list
//                                      counts as the product of its elements
//   Loads: x rows * n/64 in all.       so many, whatever x is: a product, a quotient rounded up
//   Loads: x* 1.                       of all operands that begin so
std::optional<Load> only_load(Steps& steps, ValueId value);

}  // namespace rlx
