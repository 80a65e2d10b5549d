// The innermost loops of a nest, shared between the threads of a team.
#pragma once

#include "rlx/backend/cpu/engine.h"
#include "rlx/backend/cpu/nest.h"

namespace rlx::detail {

// run(offsets of the operands, element of the result, count): parts of rows along which operands
// move by nest.inner().steps.
template <class Run>
void each_row(const CpuEngine& engine, const Nest& nest, const Run& run) {
  const Nest::Loop& inner = nest.inner();
  if (nest.rows() == 1)
    return engine.team.run(inner.extent, CpuEngine::kGrain, [&](int64_t begin, int64_t end) {
      auto at = nest.at(0);
      for (size_t k = 0; k < at.size(); ++k) at[k] += begin * inner.steps[k];
      run(at, begin, end - begin);
    });
  engine.team.run(nest.rows(), CpuEngine::kGrain / std::max<int64_t>(inner.extent, 1) + 1,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      run(nest.at(i), i * inner.extent, inner.extent);
                  });
}

}  // namespace rlx::detail
