#include "rlx/backend/cpu/fast_sequence.h"

namespace rlx::detail {
namespace {

const float* elements(const image::CallSite& site, size_t i) {
  return site.in(i) ? site.in(i)->data<float>().data() : nullptr;
}
float* result(image::CallSite& site, size_t i) {
  return site.results[i].mutable_data<float>().data();
}
bool all_f32(const image::CallSite& site) {
  for (const image::Argument& input : site.inputs)
    if (!is_f32(input)) return false;
  return true;
}
float* sized(std::vector<float>& scratch, int64_t count) {
  if (static_cast<int64_t>(scratch.size()) < count) scratch.resize(static_cast<size_t>(count));
  return scratch.data();
}

// The operands of selective_scan, in blocks of up to `lanes` channels of one group.
struct Scan {
  int64_t batches, steps, channels, states, groups, group_channels, lanes, blocks;
  const float *x, *delta, *a, *b, *c, *state;

  Scan(const image::CallSite& site, int64_t width, size_t state_operand)
      : batches(site.in(0)->shape()[0]),
        steps(site.in(0)->shape()[1]),
        channels(site.in(0)->shape()[2]),
        states(site.in(2)->shape()[1]),
        groups(site.in(3)->shape().size() == 4 ? site.in(3)->shape()[2] : 1),
        group_channels(groups > 0 ? channels / groups : 0),
        lanes(width),
        blocks(groups * ((group_channels + lanes - 1) / lanes)),
        x(elements(site, 0)),
        delta(elements(site, 1)),
        a(elements(site, 2)),
        b(elements(site, 3)),
        c(elements(site, 4)),
        state(elements(site, state_operand)) {}
  bool is_empty() const { return batches == 0 || steps == 0 || channels == 0 || states == 0; }
  int64_t work() const { return steps * states * lanes; }  // of a block

  struct Block {
    int64_t batch, group, first, count;  // channels
  };
  Block block(int64_t batch, int64_t i) const {
    const int64_t of_group = blocks / groups, group = i / of_group;
    const int64_t inside = i % of_group * lanes;
    return {batch, group, group * group_channels + inside,
            std::min(lanes, group_channels - inside)};
  }
  // From [channels, states] to [states, lanes], with zeros where there is no channel, and back.
  void to_lanes(const float* from, int64_t count, float* to) const {
    for (int64_t n = 0; n < states; ++n)
      for (int64_t lane = 0; lane < lanes; ++lane)
        to[n * lanes + lane] = from && lane < count ? from[lane * states + n] : 0;
  }
  void from_lanes(const float* from, int64_t count, float* to) const {
    for (int64_t lane = 0; lane < count; ++lane)
      for (int64_t n = 0; n < states; ++n) to[lane * states + n] = from[n * lanes + lane];
  }
  int64_t state_at(const Block& block) const {
    return (block.batch * channels + block.first) * states;
  }
  int64_t x_at(const Block& block, int64_t t) const {
    return (block.batch * steps + t) * channels + block.first;
  }
  int64_t b_at(const Block& block, int64_t t) const {
    return ((block.batch * steps + t) * groups + block.group) * states;
  }
  vector::ScanSteps from(const Block& block, int64_t t, int64_t count, const float* a_lanes,
                         float* state_lanes) const {
    return {.steps = count,
            .channels = block.count,
            .states = states,
            .row = channels,
            .state_row = groups * states,
            .x = x + x_at(block, t),
            .delta = delta + x_at(block, t),
            .a = a_lanes,
            .b = b + b_at(block, t),
            .c = c + b_at(block, t),
            .state = state_lanes};
  }
};

class ScanKernel : public image::CallKernel {
 public:
  explicit ScanKernel(CpuEnginePtr engine) : engine_(std::move(engine)) {}

  bool run(image::CallSite& site) override {
    if (!all_f32(site)) return false;
    const vector::Sequence& code = engine_->sequence;
    const Scan scan(site, code.lanes, 5);
    if (scan.is_empty()) return false;
    const int64_t tasks = scan.batches * scan.blocks, each = 2 * scan.states * scan.lanes;
    float *scratch = sized(scratch_, tasks * each), *y = result(site, 0), *next = result(site, 1);
    const int64_t grain = std::max<int64_t>(1, CpuEngine::kGrain / scan.work());
    engine_->team.run(tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const Scan::Block block = scan.block(task / scan.blocks, task % scan.blocks);
        float *a = scratch + task * each, *state = a + scan.states * scan.lanes;
        scan.to_lanes(scan.a + block.first * scan.states, block.count, a);
        scan.to_lanes(scan.state ? scan.state + scan.state_at(block) : nullptr, block.count, state);
        code.scan(scan.from(block, 0, scan.steps, a, state), y + scan.x_at(block, 0));
        scan.from_lanes(state, block.count, next + scan.state_at(block));
      }
    });
    return true;
  }

 private:
  CpuEnginePtr engine_;
  std::vector<float> scratch_;
};

// Forwards to the state before each chunk, then backwards chunk by chunk. Blocks of channels add to
// the same db and dc: each of `parts` has its own, and they are added up in order.
class ScanGradientKernel : public image::CallKernel {
 public:
  explicit ScanGradientKernel(CpuEnginePtr engine) : engine_(std::move(engine)) {}

  bool run(image::CallSite& site) override {
    if (!all_f32(site)) return false;
    const Scan scan(site, engine_->sequence.lanes, 6);
    if (scan.is_empty()) return false;
    // As many parts whatever the number of threads: what they share is added up in one order.
    constexpr int64_t kParts = 4;
    const int64_t parts = std::min<int64_t>(scan.blocks, kParts);
    const int64_t wide = scan.states * scan.lanes, chunk = engine_->sequence.most_gradient_steps,
                  chunks = (scan.steps + chunk - 1) / chunk,
                  shared = scan.batches * scan.steps * scan.groups * scan.states,
                  each = (chunks + 4) * wide;
    if (site.results[2].shape()[1] != chunks) return false;
    float* scratch = sized(scratch_, parts * (each + 2 * shared));
    std::fill_n(scratch, parts * 2 * shared, 0.0f);
    engine_->team.run(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        for (int64_t batch = 0; batch < scan.batches; ++batch)
          for (int64_t i = part * scan.blocks / parts; i < (part + 1) * scan.blocks / parts; ++i)
            run_block(site, scan, scan.block(batch, i), scratch + part * 2 * shared, shared,
                      scratch + parts * 2 * shared + part * each);
    });
    for (const size_t which : {0, 1}) {
      float* total = result(site, 3 + which);
      for (int64_t i = 0; i < shared; ++i) {
        total[i] = 0;
        for (int64_t part = 0; part < parts; ++part)
          total[i] += scratch[(2 * part + static_cast<int64_t>(which)) * shared + i];
      }
    }
    return true;
  }

 private:
  void run_block(image::CallSite& site, const Scan& scan, const Scan::Block& block, float* db,
                 int64_t shared, float* scratch) const {
    const vector::Sequence& code = engine_->sequence;
    const int64_t wide = scan.states * scan.lanes, chunk = code.most_gradient_steps,
                  chunks = (scan.steps + chunk - 1) / chunk;
    float *a = scratch, *state = a + wide, *d_state = state + wide, *da = d_state + wide,
          *before = da + wide;
    scan.to_lanes(scan.a + block.first * scan.states, block.count, a);
    scan.to_lanes(scan.state ? scan.state + scan.state_at(block) : nullptr, block.count, state);
    const float* d_next = elements(site, 7);
    scan.to_lanes(d_next ? d_next + scan.state_at(block) : nullptr, block.count, d_state);
    float *dx = result(site, 0), *d_delta = result(site, 1);
    const auto length = [&](int64_t c) { return std::min(chunk, scan.steps - c * chunk); };
    for (int64_t c = 0; c < chunks; ++c) {  // what y is then written over by dx
      std::copy_n(state, wide, before + c * wide);
      code.scan(scan.from(block, c * chunk, length(c), a, state), dx + scan.x_at(block, c * chunk));
    }
    for (int64_t c = chunks; c-- > 0;) {
      const int64_t t = c * chunk, at = scan.x_at(block, t), of_state = scan.b_at(block, t);
      code.scan_gradient({.of = scan.from(block, t, length(c), a, before + c * wide),
                          .dy = elements(site, 5) + at,
                          .dx = dx + at,
                          .d_delta = d_delta + at,
                          .db = db + of_state,
                          .dc = db + shared + of_state,
                          .da = da,
                          .d_state = d_state});
      scan.from_lanes(da, block.count,
                      result(site, 2) +
                          ((block.batch * chunks + c) * scan.channels + block.first) * scan.states);
    }
    scan.from_lanes(d_state, block.count, result(site, 5) + scan.state_at(block));
  }

  CpuEnginePtr engine_;
  std::vector<float> scratch_;
};

}  // namespace

std::unique_ptr<image::CallKernel> selective_scan_kernel(CpuEnginePtr engine) {
  return std::make_unique<ScanKernel>(std::move(engine));
}
std::unique_ptr<image::CallKernel> selective_scan_gradient_kernel(CpuEnginePtr engine) {
  return std::make_unique<ScanGradientKernel>(std::move(engine));
}

}  // namespace rlx::detail
