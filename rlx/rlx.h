// All that is public, in one include. This file is also the list of it: `cmake --install` installs
// these headers and what they lead to, and no others.
#pragma once

#include "rlx/autodiff/gradient.h"
#include "rlx/import/npy.h"
#include "rlx/import/onnx/import.h"
#include "rlx/import/rlx_file.h"
#include "rlx/import/safetensors.h"
#include "rlx/ir/text.h"
#include "rlx/lower/site.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/strings.h"
