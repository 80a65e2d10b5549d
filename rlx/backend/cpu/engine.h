// What the kernels of one CPU device share: its team of threads, and the code for its processor.
#pragma once

#include <functional>
#include <memory>

#include "rlx/backend/cpu/nest.h"
#include "rlx/image/call.h"
#include "rlx/vector/attention.h"
#include "rlx/vector/elementwise.h"
#include "rlx/vector/gemm.h"
#include "rlx/vector/reduce.h"
#include "rlx/vector/rows.h"
#include "rlx/vector/team.h"
#include "rlx/vector/unfold.h"
#include "rlx/vector/windows.h"

namespace rlx::detail {

struct CpuEngine {
  // 0 threads: as many as the machine has.
  explicit CpuEngine(int threads, vector::Isa isa = vector::best_isa())
      : team(threads),
        elementwise(vector::elementwise(isa)),
        rows(vector::rows(isa)),
        reductions(vector::reductions(isa)),
        gemm(vector::gemm(isa)),
        attention(vector::attention(isa)),
        windows(vector::window_functions(isa)),
        unfold(vector::unfold(isa)) {}

  mutable vector::Team team;
  const vector::Elementwise elementwise;
  const vector::Rows rows;
  const vector::Reductions reductions;
  const vector::Gemm gemm;
  const vector::Attention attention;
  const vector::WindowFunctions windows;
  const vector::Product::Read unfold;

  // Elements of a simple pass that are worth handing to another thread.
  static constexpr int64_t kGrain = 1 << 14;
};
using CpuEnginePtr = std::shared_ptr<const CpuEngine>;

// A kernel that is one function; false hands the call on.
inline std::unique_ptr<image::CallKernel> make_kernel(
    std::function<bool(image::CallSite& site)> run) {
  class Kernel : public image::CallKernel {
   public:
    explicit Kernel(std::function<bool(image::CallSite& site)> run) : run_(std::move(run)) {}
    bool run(image::CallSite& site) override { return run_(site); }

   private:
    std::function<bool(image::CallSite& site)> run_;
  };
  return std::make_unique<Kernel>(std::move(run));
}

inline bool is_f32(const image::Argument& x) {
  return !x.present || x.tensor.dtype() == DType::f32;
}
// The first element that a call reads of an f32 operand, which may be a view.
inline const float* floats_of(const image::Argument& x) {
  return x.tensor.data<float>().data() + (x.is_view ? x.offset : 0);
}
inline const std::byte* bytes_of(const image::Argument& x) {
  return x.tensor.bytes().data() + (x.is_view ? x.offset * bytes_of(x.tensor.dtype()) : 0);
}
inline Extents strides_of(const image::Argument& x) {
  return x.is_view ? Extents(x.strides) : Extents::row_major(x.shape);
}
// The same operand, row after row.
image::Argument without_view(const image::Argument& x, const CpuEngine& engine);

}  // namespace rlx::detail
