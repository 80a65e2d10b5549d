// Convolutions and pools of rlx/vector on one thread, beside oneDNN's in its own layouts where it
// is installed.
//   rlx_conv_bench [WORD]   only the lines that have the word
#include <cstdlib>
#include <cstring>

#include "bench/contest.h"
#include "rlx/vector/conv.h"
#include "rlx/vector/gemm.h"
#include "rlx/vector/pool.h"
#include "rlx/vector/team.h"
#include "rlx/vector/unfold.h"

namespace rlx::vector {
namespace {

Windows::Axis window_axis(int64_t in, int64_t window, int64_t stride) {
  const int64_t before = window / 2;
  return {in, (in + 2 * before - window) / stride + 1, window, stride, 1, before};
}
std::string text_of(const ConvSize& size) {
  const Windows::Axis& x = size.windows.x;
  return std::to_string(x.window) + "x" + std::to_string(x.window) +
         (x.stride > 1 ? "/" + std::to_string(x.stride) : "") + " " + std::to_string(size.inputs) +
         ">" + std::to_string(size.outputs) + " at " + std::to_string(x.in);
}
std::vector<Isa> isas() {
  if (best_isa() == Isa::avx512) return {Isa::avx512, Isa::avx2};
  return {best_isa()};
}
// As the engine has it: on a line of the cache.
struct Floats {
  std::vector<float> all;
  explicit Floats(int64_t count) : all(numbers(count + 16)) {}
  float* data() {
    return all.data() + (64 - reinterpret_cast<uintptr_t>(all.data()) % 64) / 4 % 16;
  }
};

#ifdef RLX_ONEDNN
using namespace dnnl;
// In its own layouts, which somebody would have to make and to undo.
Contender dnn_convolution(Dnn& dnn, const ConvSize& size) {
  using tag = memory::format_tag;
  const auto any = [](memory::dims dims) {
    return memory::desc(dims, memory::data_type::f32, tag::any);
  };
  const Windows& w = size.windows;
  const auto after = [](const Windows::Axis& a) {
    return (a.out - 1) * a.stride + a.window - a.in - a.before;
  };
  const int64_t inputs = size.inputs, outputs = size.outputs, groups = size.groups;
  memory::dims taps = {outputs, inputs, w.y.window, w.x.window};
  if (groups > 1) taps = {groups, outputs / groups, inputs / groups, w.y.window, w.x.window};
  const convolution_forward::primitive_desc pd({prop_kind::forward_inference,
                                                algorithm::convolution_direct,
                                                any({1, inputs, w.y.in, w.x.in}),
                                                any(taps),
                                                any({1, outputs, w.y.out, w.x.out}),
                                                {w.y.stride, w.x.stride},
                                                {w.y.before, w.x.before},
                                                {after(w.y), after(w.x)}},
                                               dnn.cpu);
  memory x(pd.src_desc(), dnn.cpu), weights(pd.weights_desc(), dnn.cpu), y(pd.dst_desc(), dnn.cpu);
  std::memset(x.get_data_handle(), 0, pd.src_desc().get_size());
  std::memset(weights.get_data_handle(), 0, pd.weights_desc().get_size());
  return {
      "dnn", [&dnn, p = convolution_forward(pd), x, weights, y] {
        p.execute(dnn.queue, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, y}});
      }};
}
#endif

// Everything that a convolution reads and writes, and the contenders for it.
class Site {
 public:
  explicit Site(const ConvSize& size)
      : size_(size),
        x_(size.inputs * size.windows.y.in * size.windows.x.in),
        weights_(size.outputs * size.inner()),
        y_(size.outputs * size.pixels()) {}

  Contender ours(std::string name, const ConvFunctions& code) {
    Floats& packed = keep(code.packed_size(size_));
    code.pack(size_, weights_.data(), {0, code.panels(size_)}, packed.data());
    Conv c{.size = size_,
           .x = x_.data(),
           .x_batch = size_.windows.y.in * size_.windows.x.in * size_.inputs,
           .x_row = size_.windows.x.in * size_.inputs,
           .x_pixel = size_.inputs,
           .weights = packed.data(),
           .y = y_.data(),
           .y_pixel = size_.outputs};
    const ConvBlocks blocks = code.blocks(c, 1);
    float* scratch = keep(blocks.scratch_size).data();
    return {std::move(name), [=] {
              for (int64_t i = 0; i < blocks.count(); ++i) code.run(c, blocks, i, scratch);
            }};
  }

  // Planes, as a product of the weights and the unfolded picture.
  Contender unfolded(Isa isa) {
    const Windows& w = size_.windows;
    const int64_t places = w.y.out * w.x.out, inner = size_.inner();
    Product product{.rows = size_.outputs,
                    .columns = places,
                    .inner = inner,
                    .a = {weights_.data(), inner, 1},
                    .b = {x_.data(), places, 1},
                    .c = y_.data(),
                    .c_row = places};
    unfold_ = {x_.data(), w};
    if (size_.taps() > 1) product.read_b = unfold(isa), product.read_context = &unfold_;
    return {"unfolded", [=, this] { multiply(product, gemm(isa), team_); }};
  }

  double work() const {
    return 2.0 * static_cast<double>(size_.pixels() * size_.outputs * size_.inner());
  }

 private:
  Floats& keep(int64_t count) { return *kept_.emplace_back(std::make_unique<Floats>(count)); }
  ConvSize size_;
  Floats x_, weights_, y_;
  std::vector<std::unique_ptr<Floats>> kept_;
  Unfold unfold_;
  Team team_{1};
};

void convolutions(const Contest& contest) {
#ifdef RLX_ONEDNN
  Dnn dnn;
#endif
  struct Size {
    int64_t inputs, outputs, extent, window, stride;
  };
  for (const Size& each : {Size{64, 64, 56, 3, 1},
                           {128, 128, 28, 3, 1},
                           {256, 256, 14, 3, 1},
                           {512, 512, 7, 3, 1},
                           {64, 128, 56, 3, 2},
                           {3, 64, 224, 7, 2},
                           {3, 32, 224, 3, 2},
                           {1, 16, 160, 3, 1},
                           {16, 96, 112, 1, 1},
                           {24, 144, 56, 1, 1},
                           {144, 24, 56, 1, 1},
                           {144, 32, 28, 1, 1},
                           {64, 384, 14, 1, 1},
                           {384, 64, 14, 1, 1},
                           {160, 960, 7, 1, 1},
                           {960, 160, 7, 1, 1},
                           {320, 1280, 7, 1, 1},
                           {64, 128, 56, 1, 2}}) {
    const ConvSize size{1,
                        {window_axis(each.extent, each.window, each.stride),
                         window_axis(each.extent, each.window, each.stride)},
                        1,
                        each.inputs,
                        each.outputs};
    const std::string title = "convolution " + text_of(size);
    if (!contest.wants(title)) continue;
    Site site(size);
    std::vector<Contender> contenders;
    for (const Isa isa : isas()) contenders.push_back(site.ours(name_of(isa), conv(isa)));
    if (winograd(best_isa()).accepts({.size = size, .x_channel = 1})) {
      contenders.push_back(site.ours("winograd", winograd(best_isa())));
      contenders.push_back(site.ours("small winograd", winograd_small(best_isa())));
    }
    if (each.stride == 1 || each.window > 1) contenders.push_back(site.unfolded(best_isa()));
#ifdef RLX_ONEDNN
    contenders.push_back(dnn_convolution(dnn, size));
#endif
    contest.compare(title, site.work(), "GFLOP/s", contenders);
  }
}

void depthwise_convolutions(const Contest& contest) {
#ifdef RLX_ONEDNN
  Dnn dnn;
#endif
  struct Size {
    int64_t channels, extent, window, stride;
  };
  for (const Size& each : {Size{32, 112, 3, 1},
                           {96, 112, 3, 2},
                           {144, 56, 3, 1},
                           {144, 56, 3, 2},
                           {192, 28, 3, 1},
                           {384, 14, 3, 1},
                           {576, 14, 3, 2},
                           {960, 7, 3, 1},
                           {120, 28, 5, 1},
                           {240, 28, 5, 2},
                           {672, 14, 5, 1}}) {
    const Windows::Axis axis = window_axis(each.extent, each.window, each.stride);
    const ConvSize size{1, {axis, axis}, each.channels, each.channels, each.channels};
    const std::string title = "depthwise " + text_of(size);
    if (!contest.wants(title)) continue;
    Site site(size);
    std::vector<Contender> contenders;
    for (const Isa isa : isas()) contenders.push_back(site.ours(name_of(isa), depthwise(isa)));
#ifdef RLX_ONEDNN
    contenders.push_back(dnn_convolution(dnn, size));
#endif
    contest.compare(title, site.work(), "GFLOP/s", contenders);
  }
}

#ifdef RLX_ONEDNN
Contender dnn_pool(Dnn& dnn, const ConvSize& size, float* from) {
  const Windows& w = size.windows;
  const auto desc = [](memory::dims dims) {
    return memory::desc(dims, memory::data_type::f32, memory::format_tag::nChw16c);
  };
  const auto after = [](const Windows::Axis& a) {
    return (a.out - 1) * a.stride + a.window - a.in - a.before;
  };
  const auto x = desc({1, size.inputs, w.y.in, w.x.in}),
             y = desc({1, size.inputs, w.y.out, w.x.out});
  const pooling_forward::primitive_desc pd({prop_kind::forward_inference,
                                            algorithm::pooling_max,
                                            x,
                                            y,
                                            {w.y.stride, w.x.stride},
                                            {w.y.window, w.x.window},
                                            {w.y.before, w.x.before},
                                            {after(w.y), after(w.x)}},
                                           dnn.cpu);
  return {"dnn",
          [&dnn, p = pooling_forward(pd), in = memory(x, dnn.cpu, from), out = memory(y, dnn.cpu)] {
            p.execute(dnn.queue, {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}});
          }};
}
#endif

void pools(const Contest& contest) {
#ifdef RLX_ONEDNN
  Dnn dnn;
#endif
  struct Size {
    int64_t channels, extent, window, stride;
  };
  for (const Size& each : {Size{64, 112, 3, 2}, {64, 112, 2, 2}, {256, 28, 3, 1}}) {
    const Windows::Axis axis = window_axis(each.extent, each.window, each.stride);
    const ConvSize size{1, {axis, axis}, each.channels, each.channels, each.channels};
    Floats x(size.inputs * axis.in * axis.in), y(size.outputs * size.pixels());
    std::vector<Contender> contenders;
    for (const Isa isa : isas())
      contenders.push_back({name_of(isa), [&, code = pool(isa)] {
                              const Conv conv{.size = size,
                                              .x = x.data(),
                                              .x_row = axis.in * size.inputs,
                                              .x_pixel = size.inputs,
                                              .y = y.data(),
                                              .y_pixel = size.outputs};
                              const ConvBlocks blocks = code.blocks(conv, 1);
                              for (int64_t i = 0; i < blocks.count(); ++i)
                                code.highest(conv, blocks, i);
                            }});
#ifdef RLX_ONEDNN
    contenders.push_back(dnn_pool(dnn, size, x.data()));
#endif
    contest.compare("max pool " + text_of(size),
                    static_cast<double>(size.pixels() * size.outputs * size.taps()), "taps/ns",
                    contenders);
  }
}

}  // namespace
}  // namespace rlx::vector

int main(int argc, char** argv) {
  const rlx::Contest contest(argc > 1 ? argv[1] : "");
#ifdef RLX_ONEDNN
  omp_set_num_threads(1);
#endif
  rlx::vector::convolutions(contest);
  rlx::vector::depthwise_convolutions(contest);
  rlx::vector::pools(contest);
}
