// The models that rlx bench measures where none are named.
#pragma once

#include "rlx/cli/inputs.h"

namespace rlx::cli {

struct BenchModel {
  std::string name, file;
  InputOptions inputs = {};
  std::string batch_symbol = {};  // empty: it has none
  std::vector<int64_t> batches = {1};
  // How far outputs may be apart, of their largest magnitude; of a model that quantises what it
  // computes, by the root of the mean square.
  double tolerance = 2e-5;
  bool quantises = false;
};

// Where the set's files are: those that tools/make-models writes, and those of npm's packages.
struct BenchFolders {
  std::string made, packages;
};

// All of the set. Which files are there is for the caller to see.
std::vector<BenchModel> built_in_models(const BenchFolders& folders);

}  // namespace rlx::cli
