// The functions of rlx/vector beside the machine's limit and, where it is installed, oneDNN: every
// contender takes its turn in every round, so that what else the machine does falls on all alike.
//   rlx_vector_bench [WORD]   only the lines that have the word
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "rlx/image/call.h"
#include "rlx/vector/attention.h"
#include "rlx/vector/copy.h"
#include "rlx/vector/elementwise.h"
#include "rlx/vector/gemm.h"
#include "rlx/vector/limits.h"
#include "rlx/vector/reduce.h"
#include "rlx/vector/rows.h"
#include "rlx/vector/team.h"
#include "rlx/vector/unfold.h"
#ifdef RLX_ONEDNN
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace rlx::vector {
namespace {

struct Contender {
  std::string name;
  std::function<void()> run;
};

double seconds_of(const std::function<void()>& run, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

std::string wanted;

// One line: the best time of each, as work per second, and as a ratio to the first.
void compare(const std::string& title, double work, const char* unit,
             const std::vector<Contender>& contenders) {
  if (!wanted.empty() && title.find(wanted) == std::string::npos) return;
  std::vector<double> best(contenders.size(), 1e9);
  std::vector<int> repeats;
  for (const Contender& each : contenders) {
    each.run();
    repeats.push_back(std::max(1, static_cast<int>(2e-3 / seconds_of(each.run, 1))));
  }
  for (int round = 0; round < 60; ++round)
    for (size_t i = 0; i < contenders.size(); ++i)
      best[i] = std::min(best[i], seconds_of(contenders[i].run, repeats[i]));
  std::printf("%-34s", title.c_str());
  for (size_t i = 0; i < contenders.size(); ++i)
    std::printf("  %s %.1f %s (%.2f)", contenders[i].name.c_str(), work / best[i] * 1e-9, unit,
                best[0] / best[i]);
  std::printf("\n");
  std::fflush(stdout);
}

std::vector<float> numbers(int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 1024) / 512 - 1;
  return x;
}

void peak() {
  const LimitFunctions limits = limit_functions(best_isa());
  volatile float keep = 0;
  compare("multiply-add peak", static_cast<double>(limits.flops_per_round) * 1e6, "GFLOP/s",
          {{"one thread", [&] { keep = limits.multiply_adds(1'000'000); }}});
}

#ifdef RLX_ONEDNN
using namespace dnnl;
struct Dnn {
  engine cpu{engine::kind::cpu, 0};
  stream queue{cpu};
};
// As matmul with weights in its own layout, and as a 1x1 convolution of an nhwc picture.
std::vector<Contender> dnn_products(Dnn& dnn, int64_t m, int64_t n, int64_t k) {
  using tag = memory::format_tag;
  const auto desc = [](memory::dims dims, tag layout) {
    return memory::desc(dims, memory::data_type::f32, layout);
  };
  std::vector<Contender> both;
  {
    const auto a = desc({m, k}, tag::ab), c = desc({m, n}, tag::ab);
    const matmul::primitive_desc pd({a, desc({k, n}, tag::any), c}, dnn.cpu);
    memory x(a, dnn.cpu), w(pd.weights_desc(), dnn.cpu), y(c, dnn.cpu);
    std::memset(x.get_data_handle(), 0, a.get_size());
    std::memset(w.get_data_handle(), 0, pd.weights_desc().get_size());
    both.push_back(
        {"dnn matmul", [&dnn, p = matmul(pd), x, w, y] {
           p.execute(dnn.queue, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
         }});
  }
  {
    const auto a = desc({1, k, m, 1}, tag::nhwc), c = desc({1, n, m, 1}, tag::nhwc);
    const convolution_forward::primitive_desc pd({prop_kind::forward_inference,
                                                  algorithm::convolution_direct,
                                                  a,
                                                  desc({n, k, 1, 1}, tag::any),
                                                  c,
                                                  {1, 1},
                                                  {0, 0},
                                                  {0, 0}},
                                                 dnn.cpu);
    memory x(a, dnn.cpu), w(pd.weights_desc(), dnn.cpu), y(c, dnn.cpu);
    std::memset(x.get_data_handle(), 0, a.get_size());
    std::memset(w.get_data_handle(), 0, pd.weights_desc().get_size());
    both.push_back(
        {"dnn 1x1", [&dnn, p = convolution_forward(pd), x, w, y] {
           p.execute(dnn.queue, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
         }});
  }
  return both;
}
#endif

void products(int threads) {
#ifdef RLX_ONEDNN
  omp_set_num_threads(threads);
  Dnn dnn;
#endif
  Team team(threads);
  struct Size {
    int64_t m, n, k;
  };
  for (const Size& each_size : {Size{128, 384, 384},
                                {128, 1536, 384},
                                {128, 384, 1536},
                                {128, 768, 768},
                                {128, 3072, 768},
                                {128, 768, 3072},
                                {512, 512, 512},
                                {784, 128, 64},
                                {3136, 64, 64},
                                {49, 512, 512},
                                {1, 2048, 2048},
                                {1, 768, 768}}) {
    const int64_t m = each_size.m, n = each_size.n, k = each_size.k;
    const std::vector<float> a = numbers(m * k), b = numbers(k * n);
    std::vector<float> c(static_cast<size_t>(m * n));
    std::vector<std::vector<float>> packs;
    packs.reserve(4);
    std::vector<Contender> contenders;
    const auto add = [&](Isa isa, bool packed) {
      const Gemm code = gemm(isa);
      Product product{.rows = m,
                      .columns = n,
                      .inner = k,
                      .a = {a.data(), k, 1},
                      .b = {b.data(), n, 1},
                      .c = c.data(),
                      .c_row = n};
      if (packed) {
        std::vector<float>& pack = packs.emplace_back(code.packed_size(k, n) + 16);
        float* aligned = pack.data() + (64 - reinterpret_cast<uintptr_t>(pack.data()) % 64) / 4;
        code.pack(product.b, k, n, {0, code.panels(n)}, aligned);
        product.packed_b = aligned;
      }
      contenders.push_back({std::string(name_of(isa)) + (packed ? "" : " unpacked"),
                            [=, &team] { multiply(product, code, team); }});
    };
    add(best_isa(), true);
    if (best_isa() != Isa::avx2) add(Isa::avx2, true);
    add(best_isa(), false);
#ifdef RLX_ONEDNN
    for (Contender& each : dnn_products(dnn, m, n, k)) contenders.push_back(std::move(each));
#endif
    compare("product " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                " on " + std::to_string(threads),
            2.0 * static_cast<double>(m * n * k), "GFLOP/s", contenders);
  }
}

void attentions() {
  struct Size {
    int64_t heads, queries, keys, size;
  };
  for (const Size& each_size :
       {Size{12, 128, 128, 32}, {12, 128, 128, 64}, {12, 512, 512, 64}, {32, 1, 1024, 64}}) {
    const int64_t heads = each_size.heads, queries = each_size.queries, keys = each_size.keys,
                  size = each_size.size;
    // Heads lie side by side in the rows of q, k, v and y.
    const int64_t row = heads * size;
    const std::vector<float> q = numbers(queries * row), k = numbers(keys * row),
                             v = numbers(keys * row), bias = numbers(keys);
    std::vector<float> y(static_cast<size_t>(queries * row));
    std::vector<Contender> contenders;
    std::vector<Isa> isas{best_isa()};
    if (best_isa() != Isa::avx2) isas.push_back(Isa::avx2);
    for (const Isa isa : isas)
      contenders.push_back({name_of(isa), [&, isa, code = attention(isa)] {
                              std::vector<float> packed, scratch;
                              for (int64_t head = 0; head < heads; ++head) {
                                const AttentionHead h{.queries = queries,
                                                      .keys = keys,
                                                      .size = size,
                                                      .value_size = size,
                                                      .q = q.data() + head * size,
                                                      .k = k.data() + head * size,
                                                      .v = v.data() + head * size,
                                                      .y = y.data() + head * size,
                                                      .q_row = row,
                                                      .k_row = row,
                                                      .v_row = row,
                                                      .y_row = row,
                                                      .bias = bias.data(),
                                                      .bias_column = 1};
                                scratch.resize(
                                    static_cast<size_t>(std::max(code.scratch_size(h), keys)));
                                if (queries < 4) {
                                  code.few(h, {0, queries}, scratch.data());
                                  continue;
                                }
                                packed.resize(static_cast<size_t>(code.packed_size(h)));
                                code.pack(h, packed.data());
                                code.many(h, packed.data(), {0, queries}, scratch.data());
                              }
                            }});
    compare("attention " + std::to_string(heads) + " heads " + std::to_string(queries) + "x" +
                std::to_string(keys) + "x" + std::to_string(size),
            4.0 * static_cast<double>(heads * queries * keys * size), "GFLOP/s", contenders);
  }
}

// Beside a copy of the same bytes, which is the least that a pass over memory costs.
void rows_of(int64_t count, int64_t length) {
  const std::vector<float> x = numbers(count * length), gamma = numbers(length);
  std::vector<float> y(x.size()), few(static_cast<size_t>(std::max(count, length)));
  const auto line = [&](const char* name, std::function<void(Isa)> run) {
    compare(std::string(name) + " " + std::to_string(count) + "x" + std::to_string(length),
            static_cast<double>(x.size()), "elements/ns",
            {{name_of(best_isa()), [=] { run(best_isa()); }},
             {"avx2", [=] { run(Isa::avx2); }},
             {"copy", [&] { std::memcpy(y.data(), x.data(), x.size() * 4); }}});
  };
  line("softmax", [&](Isa isa) {
    rows(isa).softmax(
        {.x = x.data(), .y = y.data(), .length = length, .x_row = length, .y_row = length},
        {0, count});
  });
  line("softmax of columns", [&](Isa isa) {
    rows(isa).softmax_columns(
        {.x = x.data(), .y = y.data(), .length = count, .x_row = length, .y_row = length},
        {0, length});
  });
  line("layer norm", [&](Isa isa) {
    rows(isa).norm({.x = x.data(),
                    .y = y.data(),
                    .gamma = gamma.data(),
                    .beta = gamma.data(),
                    .length = length,
                    .x_row = length,
                    .y_row = length,
                    .epsilon = 1e-5},
                   {0, count});
  });
  line("sum", [&](Isa isa) {
    reductions(isa).rows({.x = x.data(), .y = few.data(), .length = length, .x_row = length},
                         {0, count});
  });
  line("sum of columns", [&](Isa isa) {
    reductions(isa).columns({.x = x.data(), .y = few.data(), .length = count, .x_row = length},
                            {0, length});
  });
}

#ifdef RLX_ONEDNN
// In its own layouts, which somebody would have to make and to undo.
std::vector<Contender> dnn_convolution(Dnn& dnn, int64_t channels, int64_t outputs, int64_t groups,
                                       const Windows& w) {
  using tag = memory::format_tag;
  const auto any = [](memory::dims dims) {
    return memory::desc(dims, memory::data_type::f32, tag::any);
  };
  const int64_t after_y = (w.y.out - 1) * w.y.stride + w.y.window - w.y.in - w.y.before,
                after_x = (w.x.out - 1) * w.x.stride + w.x.window - w.x.in - w.x.before;
  memory::dims taps = {outputs, channels / groups, w.y.window, w.x.window};
  if (groups > 1) taps = {groups, outputs / groups, channels / groups, w.y.window, w.x.window};
  const convolution_forward::primitive_desc pd({prop_kind::forward_inference,
                                                algorithm::convolution_direct,
                                                any({1, channels, w.y.in, w.x.in}),
                                                any(taps),
                                                any({1, outputs, w.y.out, w.x.out}),
                                                {w.y.stride, w.x.stride},
                                                {w.y.before, w.x.before},
                                                {after_y, after_x}},
                                               dnn.cpu);
  memory x(pd.src_desc(), dnn.cpu), weights(pd.weights_desc(), dnn.cpu), y(pd.dst_desc(), dnn.cpu);
  std::memset(x.get_data_handle(), 0, pd.src_desc().get_size());
  std::memset(weights.get_data_handle(), 0, pd.weights_desc().get_size());
  return {
      {"dnn", [&dnn, p = convolution_forward(pd), x, weights, y] {
         p.execute(dnn.queue, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, y}});
       }}};
}
#endif

Windows::Axis window_axis(int64_t in, int64_t window, int64_t stride) {
  const int64_t before = window / 2;
  return {in, (in + 2 * before - window) / stride + 1, window, stride, 1, before};
}

void convolutions() {
  struct Size {
    int64_t channels, outputs, extent, window, stride;
  };
#ifdef RLX_ONEDNN
  omp_set_num_threads(1);
  Dnn dnn;
#endif
  Team team(1);
  for (const Size& each_size : {Size{64, 64, 56, 3, 1},
                                {128, 128, 28, 3, 1},
                                {256, 256, 14, 3, 1},
                                {512, 512, 7, 3, 1},
                                {3, 64, 224, 7, 2},
                                {3, 32, 224, 3, 2},
                                {24, 144, 56, 1, 1},
                                {144, 24, 56, 1, 1},
                                {384, 64, 14, 1, 1},
                                {160, 960, 7, 1, 1}}) {
    const int64_t channels = each_size.channels, outputs = each_size.outputs,
                  extent = each_size.extent, window = each_size.window, stride = each_size.stride;
    const Windows w{window_axis(extent, window, stride), window_axis(extent, window, stride)};
    const int64_t inner = channels * window * window, places = w.y.out * w.x.out;
    const std::vector<float> x = numbers(channels * extent * extent),
                             weights = numbers(outputs * inner);
    std::vector<float> y(static_cast<size_t>(outputs * places));
    std::vector<Contender> contenders;
    const Unfold context{x.data(), w};
    for (const Isa isa : {best_isa(), Isa::avx2}) {
      Product product{.rows = outputs,
                      .columns = places,
                      .inner = inner,
                      .a = {weights.data(), inner, 1},
                      .b = {x.data(), places, 1},
                      .c = y.data(),
                      .c_row = places};
      if (window > 1) product.read_b = unfold(isa), product.read_context = &context;
      contenders.push_back({name_of(isa), [=, &team] { multiply(product, gemm(isa), team); }});
    }
#ifdef RLX_ONEDNN
    for (Contender& each : dnn_convolution(dnn, channels, outputs, 1, w))
      contenders.push_back(std::move(each));
#endif
    compare("convolution " + std::to_string(window) + "x" + std::to_string(window) + " " +
                std::to_string(channels) + ">" + std::to_string(outputs) + " at " +
                std::to_string(extent),
            2.0 * static_cast<double>(outputs * inner * places), "GFLOP/s", contenders);
  }
  for (const Size& each_size : {Size{32, 32, 112, 3, 1},
                                {96, 96, 112, 3, 2},
                                {144, 144, 56, 3, 1},
                                {384, 384, 14, 3, 1},
                                {960, 960, 7, 3, 1}}) {
    const int64_t channels = each_size.channels, outputs = each_size.outputs,
                  extent = each_size.extent, window = each_size.window, stride = each_size.stride;
    const Windows w{window_axis(extent, window, stride), window_axis(extent, window, stride)};
    const std::vector<float> x = numbers(channels * extent * extent),
                             weights = numbers(channels * 9);
    std::vector<float> y(static_cast<size_t>(channels * w.y.out * w.x.out));
    std::vector<Contender> contenders;
    for (const Isa isa : {best_isa(), Isa::avx2})
      contenders.push_back({name_of(isa), [&, isa, planes = channels] {
                              const WindowFunctions code = window_functions(isa);
                              std::vector<float> scratch(static_cast<size_t>(code.scratch_size(w)));
                              for (int64_t c = 0; c < planes; ++c)
                                code.weighted(
                                    w, x.data() + c * w.y.in * w.x.in, weights.data() + c * 9, 0,
                                    y.data() + c * w.y.out * w.x.out, {0, w.y.out}, scratch.data());
                            }});
#ifdef RLX_ONEDNN
    for (Contender& each : dnn_convolution(dnn, channels, channels, channels, w))
      contenders.push_back(std::move(each));
#endif
    compare("depthwise 3x3 " + std::to_string(channels) + " at " + std::to_string(extent),
            18.0 * static_cast<double>(y.size()), "GFLOP/s", contenders);
  }
}

void copies() {
  struct Layout {
    const char* name;
    std::vector<int64_t> extents, from;
  };
  for (const Layout& layout : {Layout{"768x768 transposed", {768, 768}, {1, 768}},
                               {"heads out of rows", {12, 128, 64}, {64, 768, 1}},
                               {"nchw to nhwc", {56, 56, 64}, {56, 1, 3136}},
                               {"nhwc to nchw", {64, 56, 56}, {1, 3584, 64}}}) {
    const Shape shape(layout.extents.begin(), layout.extents.end()),
        from(layout.from.begin(), layout.from.end());
    const Shape to = strides_of(shape);
    std::vector<Copy::Axis> axes;
    for (size_t d = 0; d < shape.size(); ++d) axes.push_back({shape[d], from[d], to[d]});
    Copy copy;
    copy.make(axes.data(), axes.size(), 4);
    const image::StridedCopy strided(shape, {0, from}, {0, to}, 4);
    const std::vector<float> x = numbers(count(shape));
    std::vector<float> y(x.size());
    compare(std::string("copy ") + layout.name, static_cast<double>(x.size()), "elements/ns",
            {{"vector",
              [&] {
                copy.run(x.data(), y.data(), {0, copy.units()});
              }},
             {"image::StridedCopy",
              [&] {
                strided.run(reinterpret_cast<const std::byte*>(x.data()),
                            reinterpret_cast<std::byte*>(y.data()));
              }},
             {"memcpy", [&] { std::memcpy(y.data(), x.data(), x.size() * 4); }}});
  }
}

void functions() {
  const int64_t count = 1 << 14;
  const std::vector<float> x = numbers(count);
  std::vector<float> y(x.size());
  const std::pair<const char*, Elementwise::Function Elementwise::*> all[] = {
      {"exp", &Elementwise::exp},
      {"log", &Elementwise::log},
      {"erf", &Elementwise::erf},
      {"tanh", &Elementwise::tanh},
      {"sigmoid", &Elementwise::sigmoid},
      {"gelu", &Elementwise::gelu},
      {"gelu_quick", &Elementwise::gelu_quick},
      {"silu", &Elementwise::silu},
      {"sin", &Elementwise::sin}};
  for (const auto& each : all)
    compare(std::string("function ") + each.first, static_cast<double>(count), "elements/ns",
            {{name_of(best_isa()),
              [&] { (elementwise(best_isa()).*each.second)(x.data(), y.data(), count); }},
             {"avx2", [&] { (elementwise(Isa::avx2).*each.second)(x.data(), y.data(), count); }}});
}

}  // namespace
}  // namespace rlx::vector

int main(int argc, char** argv) {
  using namespace rlx::vector;
  if (argc > 1) wanted = argv[1];
  peak();
  functions();
  copies();
  convolutions();
  attentions();
  rows_of(1536, 128);
  rows_of(128, 768);
  rows_of(4, 32000);
  products(1);
  products(2);
}
