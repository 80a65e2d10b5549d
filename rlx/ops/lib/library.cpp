#include "rlx/ops/lib/library.h"

namespace rlx {

std::string_view embedded_ops_lib(std::string_view file);  // generated from the .wgsl files here

KernelText library(std::string_view name) {
  const std::string file = text(name, ".wgsl");
  return {"lib/" + file, std::string(embedded_ops_lib(file))};
}

}  // namespace rlx
