#include "rlx/backend/cpu/fast_recurrent.h"

#include <algorithm>
#include <array>

#include "rlx/backend/cpu/packed_of.h"

namespace rlx::detail {
namespace {

using vector::Binary;
using Kind = RecurrentOptions::Kind;

// A weight [columns, inner], seen as its transpose and packed for products with rows of x or h.
class PackedWeight {
 public:
  // Of an operand the part that begins at `first`.
  struct Part {
    size_t input;
    int64_t first, inner, columns;
    PackedWeights::Order order() const { return {kPackedRecurrent, first, inner, columns}; }
    int64_t size(const vector::Gemm& gemm) const { return gemm.packed_size(inner, columns); }
  };
  void take(const CpuEngine& engine, const image::CallSite& site, bool is_kept, const Part& part) {
    const vector::Gemm& gemm = engine.gemm;
    const Tensor& w = *site.in(part.input);
    inner_ = part.inner;
    columns_ = part.columns;
    packed_ = kept_.get(engine, w, is_kept, part.order(), part.size(gemm), [&](float* to) {
      gemm.pack({w.data<float>().data() + part.first, 1, inner_}, inner_, columns_,
                {0, gemm.panels(columns_)}, to);
    });
  }
  // c = start + a * w^T
  void multiply(const CpuEngine& engine, const float* a, int64_t rows, const float* start,
                int64_t start_row, float* c, int64_t c_row) const {
    vector::multiply(vector::Product{.rows = rows,
                                     .columns = columns_,
                                     .inner = inner_,
                                     .a = {a, inner_, 1},
                                     .packed_b = packed_,
                                     .c = c,
                                     .c_row = c_row,
                                     .start = start,
                                     .start_row = start_row},
                     engine.gemm, engine.team);
  }

 private:
  int64_t inner_ = 0, columns_ = 0;
  PackedOf kept_;
  const float* packed_ = nullptr;
};

struct Extents {
  int64_t steps, batches, inputs, hidden, gates, directions;
  bool batch_first;
  int64_t row(int64_t time, int64_t batch) const {
    return batch_first ? batch * steps + time : time * batches + batch;
  }
  int64_t state(int64_t d, int64_t batch) const {
    return (batch_first ? batch * directions + d : d * batches + batch) * hidden;
  }
  int64_t y(int64_t time, int64_t d, int64_t batch) const {
    return (batch_first ? row(time, batch) * directions + d
                        : (time * directions + d) * batches + batch) *
           hidden;
  }
};

// One direction, with all that it keeps between steps and between runs.
class Direction {
 public:
  Direction(const CpuEngine& engine, const RecurrentOptions& options, int64_t d)
      : engine_(engine), code_(engine.elementwise), options_(options), d_(d) {
    const size_t each =
        options.activations.size() / static_cast<size_t>(std::max<int64_t>(options.directions, 1));
    for (size_t i = 0; i < each; ++i)
      functions_.push_back(engine.elementwise.*options.activations[size_t(d) * each + i]);
  }

  void run(const image::CallSite& site, const Extents& e, const std::vector<int64_t>& lengths,
           float* y, float* y_h, float* y_c) {
    e_ = e;
    const int64_t wide = e.gates * e.hidden;
    const auto sized = [](int64_t count) { return static_cast<size_t>(count); };
    take_weights(site, e);
    take_bias(site);
    from_x_.resize(sized(e.steps * e.batches * wide));
    sums_.resize(sized(e.batches * wide));
    scratch_.resize(sized(e.hidden * (e.batches + 1)));
    h_.assign(sized(e.batches * e.hidden), 0);
    c_.assign(sized(e.batches * e.hidden), 0);
    start_state(site.in(5), h_);
    if (options_.kind == Kind::lstm) start_state(site.in(6), c_);
    const Tensor* peepholes = options_.kind == Kind::lstm ? site.in(7) : nullptr;
    peepholes_ = peepholes ? peepholes->data<float>().data() + 3 * d_ * e.hidden : nullptr;

    w_.multiply(engine_, site.in(0)->data<float>().data(), e.steps * e.batches, bias_.data(), 0,
                from_x_.data(), wide);
    for (int64_t t = 0; t < e.steps; ++t) step(t, lengths, y);
    for (int64_t b = 0; b < e.batches; ++b) {
      std::copy_n(h_.data() + b * e.hidden, e.hidden, y_h + e.state(d_, b));
      if (y_c) std::copy_n(c_.data() + b * e.hidden, e.hidden, y_c + e.state(d_, b));
    }
  }

  void hold(const Extents& e, image::Holdings& holdings) const {
    for (const PackedWeight::Part& part : parts_of(e))
      if (part.columns > 0) holdings.pack(part.input, part.order(), 4 * part.size(engine_.gemm));
  }
  void take_weights(const image::CallSite& site, const Extents& e) {
    const std::array<PackedWeight::Part, 3> parts = parts_of(e);
    w_.take(engine_, site, options_.keeps_weights, parts[0]);
    r_.take(engine_, site, options_.keeps_weights, parts[1]);
    if (parts[2].columns > 0) last_r_.take(engine_, site, options_.keeps_weights, parts[2]);
  }

 private:
  std::array<PackedWeight::Part, 3> parts_of(const Extents& e) const {
    const int64_t wide = e.gates * e.hidden, from_r = d_ * wide * e.hidden;
    // What a gru makes of the state depends on two gates that come first.
    const int64_t first = options_.kind == Kind::gru ? 2 * e.hidden : wide;
    return {{{1, d_ * wide * e.inputs, e.inputs, wide},
             {2, from_r, e.hidden, first},
             {2, from_r + first * e.hidden, e.hidden, wide - first}}};
  }

  // Both halves as one, but where a gru scales what the second is added to.
  void take_bias(const image::CallSite& site) {
    const int64_t wide = e_.gates * e_.hidden;
    bias_.assign(static_cast<size_t>(wide), 0);
    last_bias_.assign(static_cast<size_t>(e_.hidden), 0);
    if (!site.in(3)) return;
    const float* given = site.in(3)->data<float>().data() + 2 * d_ * wide;
    const bool apart = options_.kind == Kind::gru && options_.linear_before_reset;
    for (int64_t i = 0; i < wide; ++i) {
      const bool second = !apart || i < 2 * e_.hidden;
      bias_[size_t(i)] = given[i] + (second ? given[wide + i] : 0);
      if (!second) last_bias_[size_t(i - 2 * e_.hidden)] = given[wide + i];
    }
  }

  void start_state(const Tensor* given, std::vector<float>& state) const {
    if (!given) return;
    const float* from = given->data<float>().data();
    for (int64_t b = 0; b < e_.batches; ++b)
      std::copy_n(from + e_.state(d_, b), e_.hidden, state.data() + b * e_.hidden);
  }

  void step(int64_t t, const std::vector<int64_t>& lengths, float* y) {
    const int64_t wide = e_.gates * e_.hidden;
    const bool backwards = options_.reverse || d_ == 1;
    const auto time_of = [&](int64_t b) {
      const int64_t length = lengths.empty() ? e_.steps : lengths[size_t(b)];
      return t >= length ? -1 : backwards ? length - 1 - t : t;
    };
    // The parts from x lie with one step between sequences, unless their times differ.
    const float* start = sums_.data();
    int64_t start_row = wide;
    if (lengths.empty()) {
      start = from_x_.data() + e_.row(time_of(0), 0) * wide;
      start_row = e_.batch_first ? e_.steps * wide : wide;
    } else {
      for (int64_t b = 0; b < e_.batches; ++b)
        std::copy_n(from_x_.data() + e_.row(std::max<int64_t>(time_of(b), 0), b) * wide, wide,
                    sums_.data() + b * wide);
    }
    r_.multiply(engine_, h_.data(), e_.batches, start, start_row, sums_.data(), wide);
    if (options_.kind == Kind::gru) gru_state(start, start_row);
    for (int64_t b = 0; b < e_.batches; ++b) {
      const int64_t time = time_of(b);
      if (time < 0) {
        std::fill_n(y + e_.y(t, d_, b), e_.hidden, 0.0f);
        continue;
      }
      float *sums = sums_.data() + b * wide, *h = h_.data() + b * e_.hidden,
            *c = c_.data() + b * e_.hidden;
      if (options_.kind == Kind::lstm) lstm_cell(sums, h, c);
      if (options_.kind == Kind::gru) gru_cell(sums, h);
      if (options_.kind == Kind::rnn) {
        activate(0, sums, e_.hidden);
        std::copy_n(sums, e_.hidden, h);
      }
      std::copy_n(h, e_.hidden, y + e_.y(time, d_, b));
    }
  }

  void activate(size_t which, float* x, int64_t count) const {
    if (options_.clip > 0) code_.clamp(x, -options_.clip, options_.clip, x, count);
    functions_[which](x, x, count);
  }
  void combine(Binary how, const float* a, const float* b, float* y) const {
    code_.combine(how, a, 1, b, 1, y, e_.hidden);
  }
  void add_peephole(int64_t which, const float* c, float* gate) {
    if (!peepholes_) return;
    combine(Binary::mul, peepholes_ + which * e_.hidden, c, scratch_.data());
    combine(Binary::add, gate, scratch_.data(), gate);
  }

  // The gates are input, output, forget, cell.
  void lstm_cell(float* sums, float* h, float* c) {
    const int64_t n = e_.hidden;
    float *i = sums, *o = sums + n, *f = sums + 2 * n, *g = sums + 3 * n;
    add_peephole(0, c, i);
    activate(0, i, n);
    if (options_.input_forget) {
      const float one = 1;
      code_.combine(Binary::sub, &one, 0, i, 1, f, n);
    } else {
      add_peephole(2, c, f);
      activate(0, f, n);
    }
    activate(1, g, n);
    combine(Binary::mul, f, c, c);
    combine(Binary::mul, i, g, g);
    combine(Binary::add, c, g, c);
    add_peephole(1, c, o);
    activate(0, o, n);
    std::copy_n(c, n, g);
    activate(2, g, n);
    combine(Binary::mul, o, g, h);
  }

  // The gates are update, reset, hidden; the third part of the sums depends on the second.
  void gru_state(const float* start, int64_t start_row) {
    const int64_t n = e_.hidden, wide = 3 * n;
    float* states = scratch_.data() + n;
    for (int64_t b = 0; b < e_.batches; ++b) {
      float* sums = sums_.data() + b * wide;
      activate(0, sums, 2 * n);
      combine(Binary::mul, sums + n, h_.data() + b * n, states + b * n);
    }
    if (!options_.linear_before_reset)
      return last_r_.multiply(engine_, states, e_.batches, start + 2 * n, start_row,
                              sums_.data() + 2 * n, wide);
    last_r_.multiply(engine_, h_.data(), e_.batches, last_bias_.data(), 0, states, n);
    for (int64_t b = 0; b < e_.batches; ++b) {
      float* sums = sums_.data() + b * wide;
      combine(Binary::mul, sums + n, states + b * n, states + b * n);
      combine(Binary::add, start + b * start_row + 2 * n, states + b * n, sums + 2 * n);
    }
  }
  // h = (1 - z) * candidate + z * h
  void gru_cell(float* sums, float* h) {
    const int64_t n = e_.hidden;
    float *z = sums, *rest = sums + n, *candidate = sums + 2 * n;
    const float one = 1;
    activate(1, candidate, n);
    code_.combine(Binary::sub, &one, 0, z, 1, rest, n);
    combine(Binary::mul, rest, candidate, candidate);
    combine(Binary::mul, z, h, h);
    combine(Binary::add, h, candidate, h);
  }

  const CpuEngine& engine_;
  const vector::Elementwise& code_;
  const RecurrentOptions& options_;
  int64_t d_;
  std::vector<vector::Elementwise::Function> functions_;
  Extents e_ = {};
  PackedWeight w_, r_, last_r_;
  std::vector<float> bias_, last_bias_, from_x_, sums_, scratch_, h_, c_;
  const float* peepholes_ = nullptr;
};

class RecurrentKernel : public image::CallKernel {
 public:
  RecurrentKernel(CpuEnginePtr engine, RecurrentOptions options)
      : engine_(std::move(engine)), options_(std::move(options)) {
    directions_.reserve(static_cast<size_t>(options_.directions));
    for (int64_t d = 0; d < options_.directions; ++d)
      directions_.emplace_back(*engine_, options_, d);
  }

  bool run(image::CallSite& site) override {
    if (!takes(site)) return false;
    const Extents e = extents_of(site);
    if (!take_lengths(site.in(4), e)) return false;
    float *y = site.results[0].mutable_data<float>().data(),
          *y_h = site.results[1].mutable_data<float>().data(),
          *y_c =
              options_.kind == Kind::lstm ? site.results[2].mutable_data<float>().data() : nullptr;
    const auto each = [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d)
        directions_[size_t(d)].run(site, e, lengths_, y, y_h, y_c);
    };
    // Of two each has a thread; of one the products are shared.
    if (e.directions == 1)
      each(0, 1);
    else
      engine_->team.run(e.directions, 1, each);
    return true;
  }

  bool hold(const image::CallSite& site, image::Holdings& holdings) override {
    if (!takes(site)) return false;
    if (options_.keeps_weights)
      for (const Direction& each : directions_) each.hold(extents_of(site), holdings);
    return true;
  }
  void pack(const image::CallSite& site) override {
    if (!options_.keeps_weights) return;
    const Extents e = extents_of(site);
    engine_->team.run(e.directions, 1, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) directions_[size_t(d)].take_weights(site, e);
    });
  }

 private:
  bool takes(const image::CallSite& site) const {
    for (size_t i = 0; i < site.inputs.size(); ++i)
      if (i != 4 && !is_f32(site.inputs[i])) return false;
    const Extents e = extents_of(site);
    return e.batches != 0 && e.hidden != 0 && e.steps != 0;
  }
  Extents extents_of(const image::CallSite& site) const {
    const Shape& x = site.in(0)->shape();
    return {.steps = x[options_.batch_first ? 1 : 0],
            .batches = x[options_.batch_first ? 0 : 1],
            .inputs = x[2],
            .hidden = site.in(2)->shape()[2],
            .gates = options_.kind == Kind::lstm  ? 4
                     : options_.kind == Kind::gru ? 3
                                                  : 1,
            .directions = options_.directions,
            .batch_first = options_.batch_first};
  }
  // False where one is out of range, for its message.
  bool take_lengths(const Tensor* given, const Extents& e) {
    lengths_.clear();
    for (int64_t b = 0; given && b < e.batches; ++b) {
      lengths_.push_back(given->integer_at(b));
      if (lengths_.back() < 0 || lengths_.back() > e.steps) return false;
    }
    return true;
  }

  CpuEnginePtr engine_;
  RecurrentOptions options_;
  std::vector<Direction> directions_;
  std::vector<int64_t> lengths_;
};

}  // namespace

std::unique_ptr<image::CallKernel> recurrent_kernel(CpuEnginePtr engine, RecurrentOptions options) {
  return std::make_unique<RecurrentKernel>(std::move(engine), std::move(options));
}

}  // namespace rlx::detail
