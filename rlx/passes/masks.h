// Which keys a query sees, where a mask says the same of each diagonal.
#pragma once

#include "rlx/passes/diagonals.h"

namespace rlx {

// So low that no score beside it is seen: what is added to it is lost in rounding.
constexpr double kLowest = -1e30;

// Keys from `first` to `last` of a row, counted from the row's own number.
struct Sight {
  bool sees_all = false;
  std::optional<Dim> first;  // none: from the first key on
  Dim last;
  bool is_finite = false;  // the number that hides a key
};

// Of a bool mask, or of what is added to scores: 0 where a key is seen, and a low number elsewhere.
std::optional<Sight> sight_of(const Value& mask, const Along& along, bool hides);

}  // namespace rlx
