// How an image is written to a file, and read.
#pragma once

#include <string>
#include <vector>

#include "rlx/base/file_options.h"

namespace rlx::image {

struct WriteOptions {
  bool weights = true;                    // false: none; set_weight() gives them
  std::vector<std::string> without = {};  // weights to leave out
};
struct ReadOptions {
  bool checksums = true;   // false reads less of a large file, and finds less of what is damaged
  FileOptions files = {};  // for read_image()
};

}  // namespace rlx::image
