// All that is public but for those who write ops, in one include: see rlx/op.h for them. These two
// headers are also the list of what is public: `cmake --install` installs them and what they lead
// to, and no others.
#pragma once

#include "rlx/autodiff/gradient.h"
#include "rlx/import/npy.h"
#include "rlx/import/onnx/import.h"
#include "rlx/import/rlx_file.h"
#include "rlx/import/safetensors.h"
#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/blocks/format.h"
#include "rlx/tensor/strings.h"
