// Every op rlx has.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// The built-in ops; add your own to a copy and hand it to parse, import or compile.
OpSet catalog();

}  // namespace rlx
