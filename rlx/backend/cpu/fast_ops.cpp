#include "rlx/backend/cpu/fast_ops.h"

#include <iterator>

#include "rlx/backend/cpu/fast_attention.h"
#include "rlx/backend/cpu/fast_blocks.h"
#include "rlx/backend/cpu/fast_convolution.h"
#include "rlx/backend/cpu/fast_copies.h"
#include "rlx/backend/cpu/fast_elementwise.h"
#include "rlx/backend/cpu/fast_fft.h"
#include "rlx/backend/cpu/fast_groups.h"
#include "rlx/backend/cpu/fast_halves.h"
#include "rlx/backend/cpu/fast_nearest.h"
#include "rlx/backend/cpu/fast_pictures.h"
#include "rlx/backend/cpu/fast_products.h"
#include "rlx/backend/cpu/fast_quantised.h"
#include "rlx/backend/cpu/fast_rows.h"
#include "rlx/backend/cpu/fast_tables.h"
#include "rlx/backend/cpu/fast_windows.h"

namespace rlx::detail {
namespace {

using Kernel = std::unique_ptr<image::CallKernel>;

// Kernels that also run the tile of a call.
struct TiledEntry {
  const char* op;
  Kernel (*make)(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine,
                 std::unique_ptr<TileProgram> tile);
  bool channels_last = false;  // gives its result so
  int anywhere = -1;           // as VectorEntry has it
};

template <vector::Elementwise::Function vector::Elementwise::*function>
Kernel unary(const image::Call& /*call*/, const image::Image& /*image*/,
             const CpuEnginePtr& engine) {
  return unary_kernel(engine, function);
}
template <vector::Binary how>
Kernel binary(const image::Call& /*call*/, const image::Image& /*image*/,
              const CpuEnginePtr& engine) {
  return binary_kernel(engine, how);
}
Kernel clip(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return clamp_kernel(engine, static_cast<float>(call.attrs.get<double>("min")),
                      static_cast<float>(call.attrs.get<double>("max")));
}
Kernel power(const image::Call& /*call*/, const image::Image& /*image*/,
             const CpuEnginePtr& engine) {
  return power_kernel(engine);
}
template <bool logarithm>
Kernel softmax(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  return softmax_kernel(engine, call.attrs.get<int64_t>("axis"), logarithm, std::move(behind));
}
template <bool is_centred>
Kernel norm(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  return norm_kernel(engine, call.attrs.get<int64_t>("axis"), call.attrs.get<double>("epsilon"),
                     is_centred, std::move(behind));
}
template <vector::Fold fold>
Kernel reduction(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  return reduce_kernel(engine, call.attrs.get<Ints>("axes"), fold, std::move(behind));
}
Kernel attention(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  const Attrs& attrs = call.attrs;
  return attention_kernel(engine,
                          {.heads = attrs.get<int64_t>("heads"),
                           .kv_heads = attrs.get<int64_t>("kv_heads"),
                           .heads_inside = attrs.get<std::string>("layout") == "bshd",
                           .is_causal = attrs.get<bool>("causal"),
                           .empty_is_nan = attrs.get<std::string>("empty_row") == "nan",
                           .window = attrs.get<int64_t>("window"),
                           .scale = attrs.get<double>("scale"),
                           .softcap = attrs.get<double>("softcap")},
                          std::move(behind));
}
Kernel fourier(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return fourier_kernel(engine, call.attrs.get<bool>("inverse"), call.attrs.get<double>("scale"));
}
Kernel half_spectrum(const image::Call& call, const image::Image& /*image*/,
                     const CpuEnginePtr& engine) {
  return half_spectrum_kernel(engine, call.attrs.get<bool>("inverse"),
                              call.attrs.get<double>("ends"));
}
Kernel nearest(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return nearest_kernel(engine, call.attrs.get<bool>("products"),
                        call.attrs.get<bool>("skip_self"));
}
Kernel concat(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return concat_kernel(engine, call.attrs.get<int64_t>("axis"));
}
Kernel gather(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  return gather_kernel(engine, call.attrs.get<int64_t>("axis"), std::move(behind));
}
template <PoolOptions::Kind kind>
Kernel pool(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine) {
  const auto& extents = call.attrs.get<Ints>("window");
  const auto window = window_of(call.attrs, extents.size());
  constexpr bool averages = kind == PoolOptions::Kind::average;
  if (!window || (!averages && is_read(call, 1, image))) return nullptr;  // the indices are wanted
  PoolOptions options{
      .extents = Shape(extents.begin(), extents.end()), .window = *window, .kind = kind};
  if (averages) options.counts_pads = call.attrs.get<bool>("count_include_pad");
  for (const auto& [name, attr] : call.attrs)
    if (const Ints* pads = std::get_if<Ints>(&attr.variant());
        name == "pads" && pads && !pads->empty())
      options.pads_after.assign(pads->begin() + static_cast<int64_t>(extents.size()), pads->end());
  return pool_kernel(engine, std::move(options));
}
Kernel matmul(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine,
              std::unique_ptr<TileProgram> tile) {
  return product_kernel(engine,
                        {.transpose_a = call.attrs.get<bool>("transpose_a"),
                         .transpose_b = call.attrs.get<bool>("transpose_b"),
                         .keeps_b = is_kept(call, 1, image),
                         .has_bias = has_own(call, 2)},
                        std::move(tile));
}
Kernel linear(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine,
              std::unique_ptr<TileProgram> tile) {
  return product_kernel(engine,
                        {.transpose_b = call.attrs.get<bool>("transpose_w"),
                         .keeps_b = is_kept(call, 1, image),
                         .has_bias = has_own(call, 2)},
                        std::move(tile));
}

Kernel byte_product(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine,
                    std::unique_ptr<TileProgram> tile) {
  return byte_product_kernel(engine, is_kept(call, 1, image), std::move(tile));
}
Kernel byte_convolution(const image::Call& call, const image::Image& image,
                        const CpuEnginePtr& engine, std::unique_ptr<TileProgram> tile) {
  return byte_convolution_kernel(engine, call.attrs, is_kept(call, 1, image), std::move(tile));
}

using MakePicture = std::unique_ptr<image::CallKernel> (*)(CpuEnginePtr engine, const Attrs& attrs,
                                                           PictureOptions options,
                                                           std::unique_ptr<TileProgram> tile);
template <MakePicture make>
Kernel picture_convolution(const image::Call& call, const image::Image& image,
                           const CpuEnginePtr& engine, std::unique_ptr<TileProgram> tile) {
  const size_t rank = call.inputs[0].shape.size();
  if (rank != 4 && !(rank == 3 && make == picture_convolution_kernel)) return nullptr;
  return make(engine, call.attrs,
              {.keeps_weights = is_kept(call, 1, image),
               .has_bias = has_own(call, 2),
               .winograd = !call.attrs.has("winograd") || call.attrs.get<int64_t>("winograd") != 0},
              std::move(tile));
}

template <bool grouped>
Kernel block_product(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  return block_product_kernel(engine, call.attrs, grouped, std::move(behind));
}
Kernel grouped_product(const image::Call& /*call*/, const CpuEnginePtr& engine, Behind behind) {
  return grouped_product_kernel(engine, std::move(behind));
}
Kernel block_gather(const image::Call& call, const image::Image& /*image*/,
                    const CpuEnginePtr& engine) {
  return block_gather_kernel(engine, call.attrs);
}

// Reads no views: oneDNN has an order of its own.
Kernel convolution(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine) {
  return convolution_kernel(engine, call.attrs, {.keeps_weights = is_kept(call, 1, image)});
}

using vector::Binary, vector::Elementwise, vector::Fold;
constexpr auto kKept = CallTraits::ChannelsLast::if_operands_are;
constexpr VectorEntry kVectorOps[] = {
    {"add", binary<Binary::add>},
    finishing<attention>("attention"),
    {"average_pool", pool<PoolOptions::Kind::average>, true, kKept},
    {"clip", clip},
    {"concat", concat, true, kKept, -1, true},
    {"cos", unary<&Elementwise::cos>},
    {"div", binary<Binary::div>},
    {"erf", unary<&Elementwise::erf>},
    {"exp", unary<&Elementwise::exp>},
    {"fourier", fourier},
    {"half_spectrum", half_spectrum},
    finishing<gather>("gather", true, CallTraits::ChannelsLast::never, 0, true),
    {"gelu", unary<&Elementwise::gelu>},
    {"gelu_tanh", unary<&Elementwise::gelu_tanh>},
    finishing<grouped_product>("grouped_matmul"),
    finishing<reduction<Fold::l1>>("l1"),
    finishing<reduction<Fold::l2>>("l2"),
    finishing<norm<true>>("layer_norm"),
    {"log", unary<&Elementwise::log>},
    finishing<softmax<true>>("log_softmax"),
    {"max", binary<Binary::max>},
    {"max_pool", pool<PoolOptions::Kind::highest>, true, kKept},
    finishing<reduction<Fold::mean>>("mean"),
    finishing<reduction<Fold::mean_square>>("mean_square"),
    {"min", binary<Binary::min>},
    {"mul", binary<Binary::mul>},
    {"nearest", nearest, false},
    {"pow", power},
    finishing<reduction<Fold::product>>("prod"),
    {"quantised_gather", block_gather},
    finishing<block_product<true>>("quantised_grouped_matmul"),
    finishing<block_product<false>>("quantised_matmul"),
    finishing<reduction<Fold::highest>>("reduce_max"),
    finishing<reduction<Fold::lowest>>("reduce_min"),
    {"relu", unary<&Elementwise::relu>},
    finishing<norm<false>>("rms_norm"),
    {"sigmoid", unary<&Elementwise::sigmoid>},
    {"silu", unary<&Elementwise::silu>},
    {"sin", unary<&Elementwise::sin>},
    finishing<softmax<false>>("softmax"),
    {"sqrt", unary<&Elementwise::sqrt>},
    {"sub", binary<Binary::sub>},
    finishing<reduction<Fold::sum>>("sum"),
    finishing<reduction<Fold::sum_square>>("sum_square"),
    {"tanh", unary<&Elementwise::tanh>},
};

constexpr TiledEntry kTiledOps[] = {
    {"conv", picture_convolution<picture_convolution_kernel>, true},
    {"conv_integer", byte_convolution, true},
    {"conv_transpose", picture_convolution<picture_transposed_kernel>, true},
    {"linear", linear, false, 1},
    {"matmul", matmul, false, 1},
    {"matmul_integer", byte_product},
};

std::array<std::span<const VectorEntry>, 5> vector_tables() {
  return {kVectorOps, number_table(), plane_table(), recurrent_table(), index_table()};
}

}  // namespace

std::vector<CallTraits> call_traits() {
  std::vector<CallTraits> traits;
  using ChannelsLast = CallTraits::ChannelsLast;
  for (const std::span<const VectorEntry> entries : vector_tables())
    for (const VectorEntry& entry : entries)
      traits.push_back({.op = entry.op,
                        .reads_views = entry.reads_views,
                        .finishes = entry.make_with != nullptr,
                        .in_tiles = is_tile_op_of_numbers(entry.op),
                        .channels_last = entry.channels_last});
  for (const TiledEntry& entry : kTiledOps)
    traits.push_back(
        {.op = entry.op,
         .reads_views = true,
         .finishes = true,
         .channels_last = entry.channels_last ? ChannelsLast::always : ChannelsLast::never});
  return traits;
}

bool reads_anywhere(const image::Call& call, size_t input) {
  const auto says_so = [&](const auto& entry) {
    return entry.anywhere == static_cast<int>(input) && call.op == entry.op;
  };
  if (std::any_of(std::begin(kTiledOps), std::end(kTiledOps), says_so)) return true;
  const auto tables = vector_tables();
  return std::any_of(tables.begin(), tables.end(), [&](std::span<const VectorEntry> entries) {
    return std::any_of(entries.begin(), entries.end(), says_so);
  });
}

image::Implementations fast_implementations(CpuEnginePtr engine,
                                            const image::Implementations& others) {
  if (!engine) engine = std::make_shared<const CpuEngine>(1);
  image::Implementations table, in_f32;
  const auto add = [&](const char* op, image::Implementation made, bool takes_halves) {
    in_f32[op].push_back(widened(made, engine));
    if (!takes_halves)
      made.prepare = [prepare = std::move(made.prepare)](const image::Call& call,
                                                         const image::Image& image) {
        return has_halves(call, image) ? nullptr : prepare(call, image);
      };
    table[op].push_back(std::move(made));
  };
  const auto ops = std::make_shared<const TileOps>(tile_ops(others));
  for (const std::span<const VectorEntry> entries : vector_tables())
    for (const VectorEntry& entry : entries) {
      image::Implementation plain{
          .name = "vector",
          .reads_views = entry.reads_views,
          .prepare = [make = entry.make, engine](
                         const image::Call& call,
                         const image::Image& image) { return make(call, image, engine); },
          .stores = entry.channels_last != CallTraits::ChannelsLast::never};
      if (entry.make_with) {
        image::Implementation& finishing = table[entry.op].emplace_back(plain);
        finishing.finishes = true;
        finishing.prepare = [entry, engine, ops](const image::Call& call,
                                                 const image::Image& image) -> Kernel {
          if (call.tile.empty()) return nullptr;  // the plain one serves
          auto tile = std::make_shared<TileProgram>(call.tile, *ops, engine);
          return widening(
              entry.make_with(call, engine,
                              Behind(std::move(tile), static_cast<size_t>(call.tile.own_inputs))),
              call, image, engine, false);
        };
      }
      add(entry.op, std::move(plain), entry.halves);
    }
  for (const TiledEntry& entry : kTiledOps)
    table[entry.op].push_back(
        {.name = "vector",
         .reads_views = true,
         .prepare =
             [make = entry.make, engine, ops](const image::Call& call, const image::Image& image) {
               Kernel kernel = make(call, image, engine,
                                    call.tile.empty() ? nullptr
                                                      : std::make_unique<TileProgram>(
                                                            call.tile, *ops, engine, true));
               return widening(std::move(kernel), call, image, engine, true);
             },
         .finishes = true,
         .stores = entry.channels_last});
  table[image::kElements].push_back(
      {.name = "vector",
       .reads_views = true,
       .prepare = [engine, ops](
                      const image::Call& call,
                      const image::Image&) { return elements_kernel(call, *ops, engine); },
       .finishes = true,
       .stores = true});
  for (const char* op : {"conv", "conv_transpose"})
    add(op,
        {.name = "fast",
         .prepare = [engine](
                        const image::Call& call,
                        const image::Image& image) { return convolution(call, image, engine); }},
        false);
  for (auto& [op, list] : in_f32)
    std::move(list.begin(), list.end(), std::back_inserter(table[op]));
  return table;
}

}  // namespace rlx::detail
