// The layers of a graph that have weights in the file, each with the form of few bits that it can
// take: products, products by experts and rows of tables in blocks, convolutions in bytes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rlx/passes/pass.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx::cli {

struct InputRange {
  double least = 0, most = 0;  // and 0 between them
};

// What quantising a layer costs.
struct Layer {
  int node = 0;
  std::string name, kept;  // why it stays as it is
  std::string form;        // what its weights become
  int64_t bytes = 0, bytes_after = 0;
  double weight_error = 0, error = 0, energy = 0;  // squares of results, over all samples
  std::optional<InputRange> range;  // a convolution of bytes: what its input was seen to hold
  double loss() const;
};

double square_sum(const Tensor& a, const Tensor* minus = nullptr);

std::vector<Layer> find_layers(const Graph& graph, const BlockFormat& format);
// A convolution that gains by bytes: it has enough products for each element that is made a byte,
// or is a sum that is scaled. Those of groups and most of windows of one element have not.
bool takes_bytes(const Node& node);

// What stands for a layer's result.
Value quantised(const RewriteSite& site, const Layer& layer, const BlockFormat& format);

}  // namespace rlx::cli
