// What an op of one's own needs beside rlx/rlx.h: OpDef and what its functions see, the nodes of a
// graph, the steps an op lowers to, and evaluate(), which runs references.
#pragma once

#include "rlx/ir/evaluate.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/op_def.h"
#include "rlx/lower/site.h"
#include "rlx/lower/step.h"
