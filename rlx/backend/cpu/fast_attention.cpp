#include "rlx/backend/cpu/fast_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rlx/backend/cpu/scratch.h"

namespace rlx::detail {
namespace {

using image::Argument;

// One of q, k, v and y.
struct Heads {
  int64_t batches = 0, heads = 0, length = 0, size = 0;
  int64_t by_batch = 0, by_head = 0, by_row = 0, by_element = 0;

  template <class Strides>
  Heads(const Shape& shape, const Strides& strides, int64_t packed, bool inside) {
    if (shape.size() == 3) {
      batches = shape[0], heads = packed, length = shape[1], size = shape[2] / packed;
      by_batch = strides[0], by_head = size * strides[2], by_row = strides[1],
      by_element = strides[2];
      return;
    }
    const size_t head = inside ? 2 : 1, row = inside ? 1 : 2;
    batches = shape[0], heads = shape[head], length = shape[row], size = shape[3];
    by_batch = strides[0], by_head = strides[head], by_row = strides[row], by_element = strides[3];
  }
  int64_t at(int64_t batch, int64_t head) const { return batch * by_batch + head * by_head; }
};

// Steps of an operand that broadcasts to the scores [B, H, Q, K].
struct Broadcast {
  int64_t steps[4] = {};
  explicit Broadcast(const Argument& x) {
    if (!x.present) return;
    const Steps strides(x);
    for (size_t d = 0; d < x.shape.size(); ++d)
      steps[d + 4 - x.shape.size()] = x.shape[d] == 1 ? 0 : strides[d];
  }
  int64_t at(int64_t batch, int64_t head) const { return batch * steps[0] + head * steps[1]; }
};

const Argument& side_by_side(const Argument& x, const CpuEngine& engine,
                             std::optional<Argument>& copy) {
  const bool far = x.is_view && !x.shape.empty() && x.shape.back() != 1 && x.strides.back() != 1;
  return far ? without_view(x, engine, copy) : x;
}
// Those of a result, row after row.
std::array<int64_t, 4> rows_of(const Shape& shape) {
  std::array<int64_t, 4> steps = {};
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d]) steps[d] = step;
  return steps;
}

class AttentionKernel : public image::CallKernel {
 public:
  AttentionKernel(CpuEnginePtr engine, AttentionOptions options, Behind behind)
      : engine_(std::move(engine)),
        options_(options),
        behind_(std::move(behind)),
        scratch_(engine_->team.threads()) {}

  bool run(image::CallSite& site) override {
    Tensor& result = site.results[0];
    for (size_t i = 0; i < 3; ++i)
      if (!is_f32(site.inputs[i])) return false;
    const Argument& none = none_;
    const auto given = [&](size_t i) -> const Argument& {
      return i < behind_.own(site.inputs) && site.inputs[i].present ? site.inputs[i] : none;
    };
    const bool bool_bias = given(3).present && given(3).tensor.dtype() == DType::boolean;
    const Argument &bias = bool_bias ? none : given(3), &mask = bool_bias ? given(3) : given(4);
    const Argument& sink = given(5);
    if (!is_f32(bias) || !is_f32(sink) || (bool_bias && given(4).present)) return false;
    if (!behind_.place(site)) return false;
    if (result.count() == 0) return true;

    std::optional<Argument> copies[3];
    const Argument &q = side_by_side(site.inputs[0], *engine_, copies[0]),
                   &k = side_by_side(site.inputs[1], *engine_, copies[1]),
                   &v = side_by_side(site.inputs[2], *engine_, copies[2]);
    const int64_t shared = options_.kv_heads == 0 ? options_.heads : options_.kv_heads;
    const bool inside = options_.heads_inside;
    const Heads qs(q.shape, Steps(q), options_.heads, inside),
        ks(k.shape, Steps(k), shared, inside), vs(v.shape, Steps(v), shared, inside),
        ys(result.shape(), rows_of(result.shape()), options_.heads, inside);
    if (qs.size == 0 || ks.length == 0) return false;
    const float *q_data = floats_of(q), *k_data = floats_of(k), *v_data = floats_of(v);
    const float* bias_data = bias.present ? floats_of(bias) : nullptr;
    const auto* mask_data =
        mask.present ? reinterpret_cast<const uint8_t*>(bytes_of(mask)) : nullptr;
    const Broadcast bias_steps(bias), mask_steps(mask);
    const float* sink_data = sink.present ? floats_of(sink) : nullptr;
    const int64_t sink_step = sink.present ? Steps(sink)[0] : 0;
    float* y_data = result.mutable_data<float>().data();
    const double scale =
        options_.scale == 0 ? 1 / std::sqrt(static_cast<double>(qs.size)) : options_.scale;

    const int64_t group = qs.heads / ks.heads;
    const auto head_of = [&](int64_t batch, int64_t head) {
      vector::AttentionHead h{
          .queries = qs.length,
          .keys = ks.length,
          .size = qs.size,
          .value_size = vs.size,
          .q = q_data + qs.at(batch, head),
          .k = k_data + ks.at(batch, head / group),
          .v = v_data + vs.at(batch, head / group),
          .y = y_data + ys.at(batch, head),
          .q_row = qs.by_row,
          .k_row = ks.by_row,
          .v_row = vs.by_row,
          .y_row = ys.by_row,
          .scale = static_cast<float>(scale),
          .softcap = static_cast<float>(options_.softcap),
          .is_causal = options_.is_causal,
          .window = std::min(options_.window, ks.length),
          .empty = options_.empty_is_nan ? NAN : 0,
      };
      if (bias_data) {
        h.bias = bias_data + bias_steps.at(batch, head);
        h.bias_row = bias_steps.steps[2];
        h.bias_column = bias_steps.steps[3];
      }
      if (sink_data) h.sink = sink_data[head * sink_step];
      if (mask_data) {
        h.mask = mask_data + mask_steps.at(batch, head);
        h.mask_row = mask_steps.steps[2];
        h.mask_column = mask_steps.steps[3];
      }
      return h;
    };
    const vector::Attention& code = engine_->attention;
    const auto finish = [&](int64_t batch, int64_t head, vector::Range queries) {
      if (behind_) run_behind(ys, ys.at(batch, head), queries);
    };

    constexpr int64_t kFew = 4;  // queries, for which packing k and v would be most of the work
    if (qs.length < kFew) {
      const int64_t work = ks.length * (qs.size + vs.size) * qs.length;
      scratch_.resize(ks.length);
      engine_->team.run(
          qs.batches * qs.heads, CpuEngine::kGrain / (work + 1) + 1,
          [&](int64_t begin, int64_t end) {
            const Scratch::Part scratch(scratch_);
            for (int64_t i = begin; i < end; ++i) {
              code.few(head_of(i / qs.heads, i % qs.heads), {0, qs.length}, scratch.data());
              finish(i / qs.heads, i % qs.heads, {0, qs.length});
            }
          });
      return true;
    }
    // One task packs k and v of a head and takes all queries of the heads that share them, or a
    // part where there are fewer of those than threads.
    const int64_t shares = qs.batches * ks.heads;
    const int64_t splits = std::min<int64_t>(
        std::max<int64_t>(1, 2 * engine_->team.threads() / std::max<int64_t>(shares, 1)),
        std::max<int64_t>(1, qs.length / 64));
    const int64_t blocks = (qs.length + code.together - 1) / code.together,
                  part = (blocks + splits - 1) / splits * code.together;
    const vector::AttentionHead any = head_of(0, 0);
    constexpr int64_t kLine = 16;  // floats of a line of the cache
    const int64_t packed_size = (code.packed_size(any) + kLine - 1) / kLine * kLine;
    scratch_.resize(packed_size + std::max(code.scratch_size(any), ks.length));
    engine_->team.run(shares * splits, 1, [&](int64_t begin, int64_t end) {
      const Scratch::Part part_of_scratch(scratch_);
      float *packed = part_of_scratch.data(), *scratch = packed + packed_size;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / splits / ks.heads, kv = i / splits % ks.heads;
        const vector::Range queries{i % splits * part,
                                    std::min(i % splits * part + part, qs.length)};
        if (queries.count() <= 0) continue;
        const bool finite = code.pack(head_of(batch, kv * group), packed);
        for (int64_t head = kv * group; head < (kv + 1) * group; ++head) {
          if (finite)
            code.many(head_of(batch, head), packed, queries, scratch);
          else
            code.few(head_of(batch, head), queries, scratch);
          finish(batch, head, queries);
        }
      }
    });
    return true;
  }

 private:
  // Where rows of a head do not lie end to end, each by itself.
  void run_behind(const Heads& ys, int64_t first, vector::Range queries) const {
    if (ys.by_row == ys.size)
      return behind_.run(first + queries.begin * ys.size, first + queries.end * ys.size);
    for (int64_t row = queries.begin; row < queries.end; ++row)
      behind_.run(first + row * ys.by_row, first + row * ys.by_row + ys.size);
  }

  CpuEnginePtr engine_;
  AttentionOptions options_;
  Behind behind_;
  const Argument none_ = {};
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<image::CallKernel> attention_kernel(CpuEnginePtr engine, AttentionOptions options,
                                                    Behind behind) {
  return std::make_unique<AttentionKernel>(std::move(engine), options, std::move(behind));
}

}  // namespace rlx::detail
