// The functions of rlx/vector beside the machine's limit and, where it is installed, oneDNN.
//   rlx_vector_bench [WORD]   only the lines that have the word
#include <cstdlib>
#include <cstring>

#include "bench/contest.h"
#include "rlx/image/call.h"
#include "rlx/vector/attention.h"
#include "rlx/vector/byte_gemm.h"
#include "rlx/vector/byte_winograd.h"
#include "rlx/vector/copy.h"
#include "rlx/vector/elementwise.h"
#include "rlx/vector/gemm.h"
#include "rlx/vector/limits.h"
#include "rlx/vector/reduce.h"
#include "rlx/vector/rows.h"
#include "rlx/vector/team.h"

namespace rlx::vector {
namespace {

// What a processor without 512 bits would take is timed beside what this one takes.
std::vector<Isa> isas() {
  if (best_isa() == Isa::avx512) return {Isa::avx512, Isa::avx2};
  return {best_isa()};
}

void peak(const Contest& contest) {
  volatile float keep = 0;
  for (const Isa isa : isas()) {
    const LimitFunctions limits = limit_functions(isa);
    contest.compare("multiply-add peak", static_cast<double>(limits.flops_per_round) * 1e6,
                    "GFLOP/s", {{name_of(isa), [&] { keep = limits.multiply_adds(1'000'000); }}});
  }
}

#ifdef RLX_ONEDNN
using namespace dnnl;
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

void products(const Contest& contest, int threads) {
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
    contest.compare("product " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                        std::to_string(k) + " on " + std::to_string(threads),
                    2.0 * static_cast<double>(m * n * k), "GFLOP/s", contenders);
  }
}

// Of bytes; both sides are laid out before.
void byte_products(const Contest& contest) {
  struct Size {
    int64_t m, n, k;
  };
  for (const Size& size : {Size{3136, 64, 576},
                           {784, 128, 1152},
                           {196, 256, 2304},
                           {49, 512, 4608},
                           {128, 288, 288},
                           {1, 1152, 288}}) {
    const int64_t m = size.m, n = size.n, k = size.k;
    const std::vector<uint8_t> a(static_cast<size_t>(m * k), 3), b(static_cast<size_t>(k * n), 5);
    const int32_t zero = 1;
    std::vector<int32_t> c(static_cast<size_t>(m * n));
    struct Packed {
      std::vector<uint32_t> a, b;
      std::vector<int32_t> sums;
    };
    std::vector<Packed> packs;
    packs.reserve(3);
    std::vector<Contender> contenders;
    const auto add = [&](Isa isa, bool by_fours) {
      const ByteGemm code = byte_gemm(isa, by_fours);
      Packed& packed = packs.emplace_back();
      packed.a.resize(static_cast<size_t>(m * code.words(k)) + 16);
      packed.b.resize(static_cast<size_t>(code.packed_words(k, n)) + 16);
      packed.sums.resize(static_cast<size_t>(code.panels(n) * code.panel_columns));
      uint32_t* aligned =
          packed.b.data() + (64 - reinterpret_cast<uintptr_t>(packed.b.data()) % 64) / 4;
      code.take_rows({a.data(), false, k, 1}, k, {0, m}, packed.a.data(), nullptr);
      code.pack({b.data(), true, n, 1}, k, n, {0, code.panels(n)}, aligned, packed.sums.data());
      const ByteProduct product{.rows = m,
                                .columns = n,
                                .inner = k,
                                .a = packed.a.data(),
                                .b = aligned,
                                .b_sums = packed.sums.data(),
                                .a_zero = &zero,
                                .c = c.data(),
                                .c_row = n};
      contenders.push_back({std::string(name_of(isa)) + (by_fours ? " by fours" : ""), [=] {
                              code.run(product, {0, m}, {0, code.panels(n)});
                            }});
    };
    if (multiplies_bytes()) add(best_isa(), true);
    for (const Isa isa : isas()) add(isa, false);
    contest.compare(
        "bytes " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
        2.0 * static_cast<double>(m * n * k), "GOP/s", contenders);
  }
}

// By all products of pairs, and by Winograd's, which are counted as if they were all.
void byte_convolutions(const Contest& contest) {
  for (const auto& [channels, extent] :
       {std::pair<int64_t, int64_t>{64, 56}, {128, 28}, {256, 14}, {512, 7}}) {
    const std::string title =
        "bytes 3x3 " + std::to_string(channels) + " at " + std::to_string(extent);
    if (!contest.wants(title)) continue;
    const Windows::Axis axis{extent, extent, 3, 1, 1, 1};
    const std::vector<uint8_t> x(static_cast<size_t>(channels * extent * extent), 3);
    const std::vector<int8_t> w(static_cast<size_t>(channels * channels * 9), 5);
    const BytePicture picture = ByteWinogradCode::picture(
        {x.data(), 1, channels, extent * channels, false, 0, channels, {axis, axis}});
    std::vector<uint32_t> words(static_cast<size_t>(picture.words(2)));
    take_pixels(picture, 2, {0, picture.rows()}, words.data());
    struct Site {
      std::vector<uint32_t> packed, scratch;
    };
    std::vector<Site> sites(isas().size());
    std::vector<Contender> contenders;
    for (size_t i = 0; i < sites.size(); ++i) {
      const Isa isa = isas()[i];
      const ByteWinogradCode code(isa, byte_gemm(isa, false));
      Site& site = sites[i];
      site.packed.resize(static_cast<size_t>(code.packed_words(channels, channels)));
      code.pack(w.data(), channels, channels, {0, code.panels(channels)}, site.packed.data());
      const ByteWinograd conv{channels, channels,          extent, extent, words.data(),
                              0,        site.packed.data()};
      const ByteWinogradBlocks blocks = code.blocks(conv, 1);
      site.scratch.resize(static_cast<size_t>(blocks.scratch_size));
      contenders.push_back({std::string(name_of(isa)) + " winograd", [=, &site] {
                              for (int64_t b = 0; b < blocks.count(); ++b)
                                code.run(conv, blocks, b, site.scratch.data());
                            }});
    }
    contest.compare(title, 18.0 * static_cast<double>(channels * channels * extent * extent),
                    "GOP/s", contenders);
  }
}

void attentions(const Contest& contest) {
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
    contest.compare("attention " + std::to_string(heads) + " heads " + std::to_string(queries) +
                        "x" + std::to_string(keys) + "x" + std::to_string(size),
                    4.0 * static_cast<double>(heads * queries * keys * size), "GFLOP/s",
                    contenders);
  }
}

// Beside a copy of the same bytes, which is the least that a pass over memory costs.
void rows_of(const Contest& contest, int64_t count, int64_t length) {
  const std::vector<float> x = numbers(count * length), gamma = numbers(length);
  std::vector<float> y(x.size()), few(static_cast<size_t>(std::max(count, length)));
  const auto line = [&](const char* name, std::function<void(Isa)> run) {
    contest.compare(std::string(name) + " " + std::to_string(count) + "x" + std::to_string(length),
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

void copies(const Contest& contest) {
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
    contest.compare(std::string("copy ") + layout.name, static_cast<double>(x.size()),
                    "elements/ns",
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

void functions(const Contest& contest) {
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
    contest.compare(
        std::string("function ") + each.first, static_cast<double>(count), "elements/ns",
        {{name_of(best_isa()),
          [&] { (elementwise(best_isa()).*each.second)(x.data(), y.data(), count); }},
         {"avx2", [&] { (elementwise(Isa::avx2).*each.second)(x.data(), y.data(), count); }}});
}

}  // namespace
}  // namespace rlx::vector

int main(int argc, char** argv) {
  using namespace rlx::vector;
  const rlx::Contest contest(argc > 1 ? argv[1] : "");
  peak(contest);
  functions(contest);
  copies(contest);
  attentions(contest);
  rows_of(contest, 1536, 128);
  rows_of(contest, 128, 768);
  rows_of(contest, 4, 32000);
  byte_products(contest);
  byte_convolutions(contest);
  products(contest, 1);
  products(contest, 2);
}
