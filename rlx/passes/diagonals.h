// What is known of the elements of a value by where they are: masks that exporters make of ranges,
// comparisons and triangles are the same along each diagonal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rlx/ir/graph.h"

namespace rlx {

// Elements that depend on one sum of indices alone, each times the slope of its axis.
struct Along {
  struct Step {
    Dim last;  // of the sums that have this value
    double value;
  };

  Ints slopes;
  std::optional<Dim> ramp = {};  // the element is the sum and this
  std::vector<Step> steps = {};  // else it is that of the first step that the sum is not beyond,
  double rest = 0;               // and this beyond all

  bool is_number() const { return !ramp && steps.empty(); }
};

// Looks at a graph's values, each once.
class Diagonals {
 public:
  // None where elements depend on more, or on what a run brings.
  std::optional<Along> operator()(const Value& value);
  // The first weight that was in the way: what it holds is no constant, since set_weight may change
  // it. Empty: none was.
  const std::string& weight() const { return weight_; }

 private:
  std::optional<Along> found(const Value& value);
  std::optional<Along> of_source(const Value& value);
  std::optional<Along> of_view(const Value& value);
  std::optional<Along> of_concat(const Value& value);
  std::optional<Along> of_ramps(const Value& value);
  std::optional<Along> of_elements(const Value& value);
  std::optional<Along> of_triangle(const Value& value);

  std::map<std::pair<int, int>, std::optional<Along>> known_;
  std::string weight_;
  int depth_ = 0;
};

// Is a never less than b, whatever extents a run has?
bool is_never_less(const Dim& a, const Dim& b, const SymbolRanges& symbols);

}  // namespace rlx
