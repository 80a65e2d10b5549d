// WGSL that kernels share, by name: library("reduce") is lib/reduce.wgsl.
#pragma once

#include <string_view>

#include "rlx/lower/step.h"

namespace rlx {

KernelText library(std::string_view name);

}  // namespace rlx
