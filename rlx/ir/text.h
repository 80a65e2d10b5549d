// The text form of a graph, one node per line. parse() reads exactly what print() writes.
#pragma once

#include <string>
#include <string_view>

#include "rlx/base/function.h"
#include "rlx/ir/value.h"

namespace rlx {

struct PrintOptions {
  // Tensors with more elements than this are named instead of written; `large` is told of each.
  int64_t inline_elements = 16;
  Function<void(const std::string& key, const Tensor& tensor)> large = {};
};
struct ParseOptions {
  Function<Tensor(const std::string& key)> large = {};  // finds a tensor that was named
  std::string file = {};                                // for messages
};

std::string print(const Graph& graph, const PrintOptions& options = {});
// Errors are invalid_model with file, line and column.
Graph parse(std::string_view source, const OpSet& ops, const ParseOptions& options = {});

// Equal, where graphs are compared by what they print.
bool same_attrs(const Attrs& a, const Attrs& b);

// A float as the shortest text that reads back as the same bits.
std::string print_float(double value, bool single = false);

}  // namespace rlx
