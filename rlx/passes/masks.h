// Which keys a query sees, where a mask says the same of each diagonal.
#pragma once

#include "rlx/passes/diagonals.h"

namespace rlx {

// So low that no score beside it is seen: what is added to it is lost in rounding.
constexpr double kLowest = -1e30;

// What exporters write for what no score comes near: it hides keys of rows that see another, as
// long as that one's score is not itself about as low. Beside it, a score 104 higher has all the
// weight that f32 can tell.
constexpr double kLowerThanScores = -1e4;

// Keys from `first` to `last` of a row, counted from the row's own number.
struct Sight {
  bool sees_all = false;
  std::optional<Dim> first;  // none: from the first key on
  Dim last;
  bool is_finite = false;  // the number that hides a key
};

// Of a bool mask, or of what is added to scores: 0 where a key is seen, and a low number elsewhere.
std::optional<Sight> sight_of(DType mask, const Along& along, bool hides);

}  // namespace rlx
