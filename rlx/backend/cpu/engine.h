// What the kernels of one CPU device share: its team of threads, and the code for its processor.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "rlx/backend/cpu/packed_weights.h"
#include "rlx/backend/cpu/wide_memory.h"
#include "rlx/image/call.h"
#include "rlx/vector/attention.h"
#include "rlx/vector/block_bytes.h"
#include "rlx/vector/blocks.h"
#include "rlx/vector/byte_depthwise.h"
#include "rlx/vector/byte_gemm.h"
#include "rlx/vector/byte_winograd.h"
#include "rlx/vector/bytes.h"
#include "rlx/vector/conv.h"
#include "rlx/vector/elementwise.h"
#include "rlx/vector/fft.h"
#include "rlx/vector/gemm.h"
#include "rlx/vector/nearest.h"
#include "rlx/vector/planes.h"
#include "rlx/vector/pool.h"
#include "rlx/vector/reduce.h"
#include "rlx/vector/rows.h"
#include "rlx/vector/sequence.h"
#include "rlx/vector/team.h"
#include "rlx/vector/unfold.h"
#include "rlx/vector/windows.h"

namespace rlx::detail {

struct CpuEngine {
  // 0 threads: one for each core.
  explicit CpuEngine(int threads, vector::Isa set = vector::best_isa(),
                     std::shared_ptr<PackedWeights> weights = nullptr)
      : isa(set),
        team(threads),
        packed(weights ? std::move(weights) : std::make_shared<PackedWeights>()),
        elementwise(vector::elementwise(set)),
        rows(vector::rows(set)),
        reductions(vector::reductions(set)),
        gemm(vector::gemm(set)),
        attention(vector::attention(set)),
        blocks(vector::block_functions(set)),
        block_bytes(vector::block_bytes(set, vector::multiplies_bytes())),
        byte_gemm(vector::byte_gemm(set)),
        byte_winograd(set, byte_gemm),
        byte_depthwise(vector::byte_depthwise(set)),
        bytes(vector::bytes(set)),
        fft(vector::fft(set)),
        nearest(vector::nearest(set)),
        planes(vector::planes(set)),
        windows(vector::window_functions(set)),
        unfold(vector::unfold(set)),
        convolutions{vector::conv(set), vector::depthwise(set), vector::winograd(set),
                     vector::winograd_small(set)},
        pool(vector::pool(set)),
        sequence(vector::sequence(set)) {}

  const vector::Isa isa;
  mutable vector::Team team;
  mutable WideMemory wide;
  const std::shared_ptr<PackedWeights> packed;
  const vector::Elementwise elementwise;
  const vector::Rows rows;
  const vector::Reductions reductions;
  const vector::Gemm gemm;
  const vector::Attention attention;
  const vector::BlockFunctions blocks;
  const vector::BlockBytesFunctions block_bytes;
  const vector::ByteGemm byte_gemm;
  const vector::ByteWinogradCode byte_winograd;
  const vector::RunByteDepthwise byte_depthwise;
  const vector::Bytes bytes;
  const vector::FftFunctions fft;
  const vector::NearestFunctions nearest;
  const vector::Planes planes;
  const vector::WindowFunctions windows;
  const vector::Product::Read unfold;
  // Of pictures whose channels lie innermost.
  const std::array<vector::ConvFunctions, 4> convolutions;  // by ConvWay
  const vector::PoolFunctions pool;
  const vector::Sequence sequence;

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

inline std::optional<vector::Element> half_of(DType dtype) {
  if (dtype == DType::f16) return vector::Element::f16;
  if (dtype == DType::bf16) return vector::Element::bf16;
  return std::nullopt;
}
inline bool is_f32_or_half(const image::Argument& x) {
  return !x.present || x.tensor.dtype() == DType::f32 || half_of(x.tensor.dtype());
}
// The same numbers as f32: itself where it is that, and lies where it can be read so.
Tensor as_f32(const Tensor& x, const CpuEngine& engine);

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
// The strides of an operand of up to kMostAxes axes, without a place on the heap: a run that has
// been bound allocates nothing.
struct Steps {
  static constexpr size_t kMostAxes = 16;
  explicit Steps(const image::Argument& x) {
    int64_t step = 1;
    for (size_t d = std::min(x.shape.size(), kMostAxes); d-- > 0; step *= x.shape[d])
      steps_[d] = x.is_view ? x.strides[d] : step;
  }
  int64_t operator[](size_t axis) const { return steps_[axis]; }

 private:
  std::array<int64_t, kMostAxes> steps_ = {};
};
inline bool has_few_axes(const image::Argument& x) { return x.shape.size() <= Steps::kMostAxes; }
inline Shape strides_of(const image::Argument& x) {
  return x.is_view ? x.strides : strides_of(x.shape);
}
// The same operand, row after row: a copy of a view, else itself.
image::Argument without_view(const image::Argument& x, const CpuEngine& engine);
inline const image::Argument& without_view(const image::Argument& x, const CpuEngine& engine,
                                           std::optional<image::Argument>& copy) {
  return x.is_view ? copy.emplace(without_view(x, engine)) : x;
}

}  // namespace rlx::detail
