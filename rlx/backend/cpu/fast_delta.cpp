#include "rlx/backend/cpu/fast_delta.h"

#include <cmath>

#include "rlx/backend/cpu/scratch.h"

namespace rlx::detail {
namespace {

constexpr int64_t kChunk = 64, kColumns = 128, kFewSteps = 4;
// Products of a chunk's steps with each other are less of the whole where there are many keys.
int64_t chunk_of(int64_t keys) { return keys < 128 ? kChunk / 2 : kChunk; }

// The operands of gated_delta_net, and one head of one sequence of them.
struct Delta {
  const float *q, *k, *v, *g, *beta, *start;
  float *o, *next;
  int64_t batches, steps, heads, keys, values;
  float scale;

  Delta(image::CallSite& site, double given)
      : q(elements(site, 0)),
        k(elements(site, 1)),
        v(elements(site, 2)),
        g(elements(site, 3)),
        beta(elements(site, 4)),
        start(elements(site, 5)),
        o(site.results[0].mutable_data<float>().data()),
        next(site.results[1].mutable_data<float>().data()),
        batches(site.in(0)->shape()[0]),
        steps(site.in(0)->shape()[1]),
        heads(site.in(0)->shape()[2]),
        keys(site.in(0)->shape()[3]),
        values(site.in(2)->shape()[3]),
        scale(static_cast<float>(given != 0 ? given : 1 / std::sqrt(static_cast<double>(keys)))) {}
  static const float* elements(const image::CallSite& site, size_t i) {
    return site.in(i) ? site.in(i)->data<float>().data() : nullptr;
  }
  bool is_empty() const {
    return batches == 0 || steps == 0 || heads == 0 || keys == 0 || values == 0;
  }
  // Of step t of a head: keys and values begin at so many times theirs.
  int64_t at(int64_t head, int64_t t) const {
    return (head / heads * steps + t) * heads + head % heads;
  }
  // The state of some columns of a head as it is before the first step.
  float* first_state(int64_t head, int64_t first, int64_t columns) const {
    const int64_t begin = head * keys * values + first;
    for (int64_t n = 0; n < keys; ++n)
      for (int64_t i = 0; i < columns; ++i)
        next[begin + n * values + i] = start ? start[begin + n * values + i] : 0;
    return next + begin;
  }
};

// What a chunk of steps adds to the state, d of each, solves (1 + M) d = beta * (v - decay * S^T
// k), M[t][s] = beta[t] * decay[t][s] * k[t] . k[s] for s < t. The inverse of a few steps is small,
// and all the rest are products of matrices: the state is read and written once for a chunk.
class DeltaChunk {
 public:
  static int64_t floats(int64_t keys) {
    return 2 * kChunk * keys + 4 * kChunk * kChunk + 3 * kChunk * kColumns + kChunk;
  }
  DeltaChunk(const CpuEngine& engine, const Delta& delta, float* scratch)
      : gemm_(engine.gemm), code_(engine.sequence), delta_(delta) {
    const auto take = [&](int64_t count) {
      float* part = scratch;
      scratch += count;
      return part;
    };
    rows_ = take(2 * kChunk * delta.keys);
    by_keys_ = take(2 * kChunk * kChunk);
    decay_ = take(kChunk * kChunk);
    inverse_ = take(kChunk * kChunk);
    of_state_ = take(2 * kChunk * kColumns);
    adds_ = take(kChunk * kColumns);
    from_start_ = take(kChunk);
  }

  // Steps [begin, begin + count) of some columns of a head's state.
  void run(int64_t head, int64_t begin, int64_t count, int64_t first, int64_t columns,
           float* state) {
    const int64_t keys = delta_.keys, values = delta_.values, row = delta_.heads * values;
    take_rows(head, begin, count);
    multiply(2 * count, count, keys, {rows_, keys, 1}, {rows_, 1, keys}, by_keys_, kChunk);
    take_decays(head, begin, count);
    invert(head, begin, count);
    multiply(2 * count, columns, keys, {rows_, keys, 1}, {state, values, 1}, of_state_, kColumns);
    const int64_t at = delta_.at(head, begin) * values + first;
    for (int64_t t = 0; t < count; ++t) {
      float* known = of_state_ + t * kColumns;
      code_.add(delta_.v + at + t * row, -from_start_[t], known, columns, known);
      code_.scale(delta_.scale * from_start_[t], of_state_ + (count + t) * kColumns, columns,
                  delta_.o + at + t * row);
    }
    multiply(count, columns, count, {inverse_, kChunk, 1}, {of_state_, kColumns, 1}, adds_,
             kColumns);
    for (int64_t t = 0; t < count; ++t)  // of queries with keys up to their own step
      for (int64_t s = 0; s < count; ++s)
        by_keys_[(count + t) * kChunk + s] *= s <= t ? delta_.scale * decay_[t * kChunk + s] : 0.0F;
    add(count, columns, count, {by_keys_ + count * kChunk, kChunk, 1}, delta_.o + at, row);
    const float* left = decay_ + (count - 1) * kChunk;
    for (int64_t t = 0; t < count; ++t)
      code_.scale(left[t], adds_ + t * kColumns, columns, adds_ + t * kColumns);
    for (int64_t n = 0; n < keys; ++n)
      code_.scale(from_start_[count - 1], state + n * values, columns, state + n * values);
    add(keys, columns, count, {rows_, 1, keys}, state, values);
  }

 private:
  // Keys, then queries.
  void take_rows(int64_t head, int64_t begin, int64_t count) {
    const int64_t keys = delta_.keys;
    for (int64_t t = 0; t < count; ++t) {
      const int64_t at = delta_.at(head, begin + t) * keys;
      std::copy_n(delta_.k + at, keys, rows_ + t * keys);
      std::copy_n(delta_.q + at, keys, rows_ + (count + t) * keys);
    }
  }
  // What a step leaves of the state before the chunk, and of what each step before it added. As
  // products of the steps' own: a quotient of two of the former could be 0 / 0.
  void take_decays(int64_t head, int64_t begin, int64_t count) {
    for (int64_t t = 0; t < count; ++t) {
      const float own = std::exp(delta_.g[delta_.at(head, begin + t)]);
      from_start_[t] = t == 0 ? own : from_start_[t - 1] * own;
      float* row = decay_ + t * kChunk;
      for (int64_t s = 0; s < t; ++s) row[s] = row[s - kChunk] * own;
      row[t] = 1;
    }
  }
  // (1 + M)^-1 times beta: row t is beta[t] less what the rows before it have of step t.
  void invert(int64_t head, int64_t begin, int64_t count) {
    for (int64_t t = 0; t < count; ++t) {
      const float rate = delta_.beta[delta_.at(head, begin + t)];
      float* row = inverse_ + t * kChunk;
      std::fill_n(row, count, 0.0F);
      for (int64_t s = 0; s < t; ++s) {
        const float m = rate * decay_[t * kChunk + s] * by_keys_[t * kChunk + s];
        code_.add(row, -m, inverse_ + s * kChunk, s + 1, row);
      }
      row[t] = rate;
    }
  }

  void multiply(int64_t rows, int64_t columns, int64_t inner, const vector::Matrix& a,
                const vector::Matrix& b, float* c, int64_t c_row) const {
    run({.rows = rows, .columns = columns, .inner = inner, .a = a, .b = b, .c = c, .c_row = c_row});
  }
  // c += a . adds
  void add(int64_t rows, int64_t columns, int64_t inner, const vector::Matrix& a, float* c,
           int64_t c_row) const {
    run({.rows = rows,
         .columns = columns,
         .inner = inner,
         .a = a,
         .b = {adds_, kColumns, 1},
         .c = c,
         .c_row = c_row,
         .start = c,
         .start_row = c_row});
  }
  void run(const vector::Product& product) const {
    gemm_.run(product, {0, product.rows}, {0, gemm_.panels(product.columns)});
  }

  const vector::Gemm& gemm_;
  const vector::Sequence& code_;
  const Delta& delta_;
  float *rows_, *by_keys_;   // [2 * count, keys], and their products with the keys of the chunk
  float *decay_, *inverse_;  // [t, s]
  float *of_state_, *adds_;  // [2 * count, columns], [count, columns]
  float* from_start_;
};

// One step after the other: what a step adds is added while the next one reads the state.
class DeltaSteps {
 public:
  static int64_t floats(int64_t width) { return 3 * width; }
  DeltaSteps(const vector::Sequence& code, const Delta& delta, int64_t width, float* scratch)
      : code_(code),
        delta_(delta),
        adds_(scratch),
        by_key_(adds_ + width),
        by_query_(by_key_ + width) {}

  void run(int64_t head, int64_t first, int64_t columns, float* state) const {
    const int64_t keys = delta_.keys, values = delta_.values;
    std::fill_n(adds_, columns, 0.0f);
    vector::DeltaStep step{.keys = keys,
                           .columns = columns,
                           .row = values,
                           .decay = 1,
                           .k_before = delta_.k + delta_.at(head, 0) * keys,
                           .adds = adds_,
                           .k = nullptr,
                           .q = nullptr,
                           .state = state,
                           .by_key = by_key_,
                           .by_query = by_query_};
    for (int64_t t = 0; t < delta_.steps; ++t) {
      const int64_t at = delta_.at(head, t);
      step.k = delta_.k + at * keys;
      step.q = delta_.q + at * keys;
      code_.delta(step);
      float both = 0;
      for (int64_t n = 0; n < keys; ++n) both += step.k[n] * step.q[n];
      const float decay = std::exp(delta_.g[at]), rate = delta_.beta[at];
      const float* v = delta_.v + at * values + first;
      float* o = delta_.o + at * values + first;
      for (int64_t i = 0; i < columns; ++i) {
        adds_[i] = (v[i] - decay * by_key_[i]) * rate;
        o[i] = delta_.scale * (decay * by_query_[i] + both * adds_[i]);
      }
      step.decay = decay;
      step.k_before = step.k;
    }
    code_.delta(step);  // adds what the last step left
  }

 private:
  const vector::Sequence& code_;
  const Delta& delta_;
  float *adds_, *by_key_, *by_query_;
};

class DeltaKernel : public image::CallKernel {
 public:
  DeltaKernel(CpuEnginePtr engine, double scale)
      : engine_(std::move(engine)), scale_(scale), scratch_(engine_->team.threads()) {}

  bool run(image::CallSite& site) override {
    for (const image::Argument& input : site.inputs)
      if (!is_f32(input)) return false;
    const Delta delta(site, scale_);
    if (delta.is_empty()) return false;
    const bool in_chunks = delta.steps > kFewSteps;
    const int64_t width = in_chunks ? kColumns : 4 * engine_->sequence.lanes,
                  blocks = (delta.values + width - 1) / width;
    scratch_.resize(in_chunks ? DeltaChunk::floats(delta.keys) : DeltaSteps::floats(width));
    const int64_t grain =
        std::max<int64_t>(1, CpuEngine::kGrain / (delta.steps * delta.keys * width));
    engine_->team.run(delta.batches * delta.heads * blocks, grain, [&](int64_t begin, int64_t end) {
      const Scratch::Part scratch(scratch_);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t head = task / blocks, first = task % blocks * width,
                      columns = std::min(width, delta.values - first);
        float* state = delta.first_state(head, first, columns);
        if (in_chunks) {
          DeltaChunk chunk(*engine_, delta, scratch.data());
          const int64_t most = chunk_of(delta.keys);
          for (int64_t t = 0; t < delta.steps; t += most)
            chunk.run(head, t, std::min(most, delta.steps - t), first, columns, state);
        } else {
          DeltaSteps(engine_->sequence, delta, width, scratch.data())
              .run(head, first, columns, state);
        }
      }
    });
    return true;
  }

 private:
  CpuEnginePtr engine_;
  double scale_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<image::CallKernel> gated_delta_net_kernel(CpuEnginePtr engine, double scale) {
  return std::make_unique<DeltaKernel>(std::move(engine), scale);
}

}  // namespace rlx::detail
