#include "rlx/backend/cpu/fast_tables.h"

#include "rlx/backend/cpu/fast_casts.h"
#include "rlx/backend/cpu/fast_channels.h"
#include "rlx/backend/cpu/fast_delta.h"
#include "rlx/backend/cpu/fast_fill.h"
#include "rlx/backend/cpu/fast_order.h"
#include "rlx/backend/cpu/fast_pad.h"
#include "rlx/backend/cpu/fast_places.h"
#include "rlx/backend/cpu/fast_products.h"
#include "rlx/backend/cpu/fast_quantised.h"
#include "rlx/backend/cpu/fast_recurrent.h"
#include "rlx/backend/cpu/fast_resize.h"
#include "rlx/backend/cpu/fast_sequence.h"
#include "rlx/backend/cpu/fast_splats.h"

namespace rlx::detail {
namespace {

using Kernel = std::unique_ptr<image::CallKernel>;

// Kernels that no attribute changes.
template <Kernel (*make)(CpuEnginePtr)>
Kernel plain(const image::Call& /*call*/, const image::Image& /*image*/,
             const CpuEnginePtr& engine) {
  return make(engine);
}

Kernel byte_rows(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  // Of bytes and their scales alone, and not the way back that gradients take.
  if (!call.attrs.get<std::string>("format").empty() || !call.attrs.get<bool>("transpose_w"))
    return nullptr;
  return byte_rows_kernel(engine, call.attrs.get<int64_t>("block"), std::move(behind));
}

// Null where it is none of those that take no numbers.
RecurrentOptions::Activation cell_activation(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name == "sigmoid" ? &vector::Elementwise::sigmoid
         : name == "tanh"  ? &vector::Elementwise::tanh
         : name == "relu"  ? &vector::Elementwise::relu
                           : nullptr;
}
template <RecurrentOptions::Kind kind>
Kernel recurrent(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine) {
  using Kind = RecurrentOptions::Kind;
  const Attrs& attrs = call.attrs;
  const std::string& direction = attrs.get<std::string>("direction");
  RecurrentOptions options{.kind = kind,
                           .directions = direction == "bidirectional" ? 2 : 1,
                           .reverse = direction == "reverse",
                           .batch_first = attrs.get<int64_t>("layout") == 1,
                           .clip = static_cast<float>(attrs.get<double>("clip")),
                           .keeps_weights = is_kept(call, 1, image) && is_kept(call, 2, image)};
  if (kind == Kind::lstm) options.input_forget = attrs.get<bool>("input_forget");
  if (kind == Kind::gru) options.linear_before_reset = attrs.get<bool>("linear_before_reset");
  Strings names = attrs.get<Strings>("activations");
  if (names.empty())
    for (int64_t d = 0; d < options.directions; ++d) {
      if (kind != Kind::rnn) names.emplace_back("sigmoid");
      if (kind == Kind::lstm) names.emplace_back("tanh");
      names.emplace_back("tanh");
    }
  for (const std::string& name : names) {
    options.activations.push_back(cell_activation(name));
    if (!options.activations.back()) return nullptr;
  }
  return recurrent_kernel(engine, std::move(options));
}

Kernel batch_norm(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  return batch_norm_kernel(engine, call.attrs.get<double>("epsilon"), std::move(behind));
}
Kernel group_norm(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  return group_norm_kernel(engine, call.attrs.get<int64_t>("groups"),
                           call.attrs.get<double>("epsilon"), std::move(behind));
}

// Which of some names an attribute is; none for others.
Kernel gated_delta_net(const image::Call& call, const image::Image& /*image*/,
                       const CpuEnginePtr& engine) {
  return gated_delta_net_kernel(engine, call.attrs.get<double>("scale"));
}

template <class Enum, size_t count>
std::optional<Enum> choice(const Attrs& attrs, const char* attr,
                           const std::string_view (&names)[count]) {
  const auto& name = attrs.get<std::string>(attr);
  for (size_t i = 0; i < count; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}
Kernel resize(const image::Call& call, const CpuEnginePtr& engine, Behind behind) {
  const Attrs& attrs = call.attrs;
  const auto mode = choice<ResizeOptions::Mode>(attrs, "mode", {"nearest", "linear", "cubic"});
  const auto coordinates = choice<ResizeOptions::Coordinates>(
      attrs, "coordinates",
      {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"});
  const auto rounding = choice<ResizeOptions::Rounding>(
      attrs, "rounding", {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"});
  if (!mode || !coordinates || !rounding || attrs.get<bool>("antialias") ||
      attrs.get<bool>("exclude_outside") || attrs.get<bool>("exact"))
    return nullptr;
  return resize_kernel(engine,
                       {.mode = *mode,
                        .coordinates = *coordinates,
                        .rounding = *rounding,
                        .axes = attrs.get<Ints>("axes"),
                        .scales = attrs.get<Floats>("scales"),
                        .cubic_a = attrs.get<double>("cubic_a")},
                       std::move(behind));
}

Dims dims_of(const Attrs& attrs, std::string_view name) {
  for (const auto& [key, attr] : attrs) {
    if (key != name) continue;
    if (const Dims* dims = std::get_if<Dims>(&attr.variant())) return *dims;
    if (const Ints* numbers = std::get_if<Ints>(&attr.variant()))
      return {numbers->begin(), numbers->end()};
  }
  return {};
}
Kernel pad(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  const auto mode =
      choice<PadOptions::Mode>(call.attrs, "mode", {"constant", "reflect", "edge", "wrap"});
  if (!mode) return nullptr;
  return pad_kernel(engine, {.mode = *mode,
                             .pads = dims_of(call.attrs, "pads"),
                             .axes = call.attrs.get<Ints>("axes"),
                             .value = call.attrs.get<double>("value")});
}

template <bool highest>
Kernel extreme(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return extreme_kernel(engine, {.axis = call.attrs.get<int64_t>("axis"),
                                 .highest = highest,
                                 .last = call.attrs.get<bool>("select_last")});
}
Kernel sort(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return order_kernel(engine, {.axis = call.attrs.get<int64_t>("axis"),
                               .descending = call.attrs.get<bool>("descending")});
}
Kernel top_k(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return order_kernel(engine, {.axis = call.attrs.get<int64_t>("axis"),
                               .descending = call.attrs.get<bool>("largest")});
}
template <bool multiplies>
Kernel scan(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  if (call.attrs.get_or("words", false)) return nullptr;
  return scan_kernel(engine, {.axis = call.attrs.get<int64_t>("axis"),
                              .multiplies = multiplies,
                              .exclusive = call.attrs.get<bool>("exclusive"),
                              .reverse = call.attrs.get<bool>("reverse")});
}

template <PlaceOptions::Kind kind>
PlaceOptions places_of(const Attrs& attrs) {
  const bool tuples = kind == PlaceOptions::Kind::tuples;
  return {kind, attrs.get<int64_t>(tuples ? "batch_dims" : "axis")};
}
template <PlaceOptions::Kind kind>
Kernel gather_places(const image::Call& call, const image::Image& /*image*/,
                     const CpuEnginePtr& engine) {
  return gather_places_kernel(engine, places_of<kind>(call.attrs));
}
template <PlaceOptions::Kind kind>
Kernel scatter(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  const auto update = choice<Update>(call.attrs, "reduction", {"none", "add", "mul", "max", "min"});
  return update ? scatter_kernel(engine, places_of<kind>(call.attrs), *update) : nullptr;
}

Kernel one_hot(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return one_hot_kernel(engine, call.attrs.get<int64_t>("axis"));
}
Kernel range(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  if (call.attrs.has("floats")) return nullptr;
  return range_kernel(engine, dims_of(call.attrs, "integers"));
}
Kernel rope(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return rope_kernel(engine, {.interleaved = call.attrs.get<bool>("interleaved"),
                              .heads_inside = call.attrs.get<std::string>("layout") == "bshd"});
}
Kernel trilu(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return triangle_kernel(engine, call.attrs.get<bool>("upper"), call.attrs.get<int64_t>("k"));
}

Kernel fake_quantise(const image::Call& call, const image::Image& /*image*/,
                     const CpuEnginePtr& engine) {
  return fake_quantise_kernel(engine, call.attrs.get<int64_t>("bits"));
}

constexpr auto kNever = CallTraits::ChannelsLast::never;
constexpr VectorEntry kNumbers[] = {
    {"cast", plain<cast_kernel>, true, kNever, -1, true},
    {"dequantise", plain<dequantise_kernel>},
    {"dequantise", plain<dequantise_kernel>, false},  // of copies
    {"fake_quantise", fake_quantise},
    {"fake_quantise", fake_quantise, false},  // of copies
    {"quantise", plain<quantise_kernel>},
    {"quantise", plain<quantise_kernel>, false},  // of copies
    finishing<byte_rows>("quantised_matmul", false),
};
constexpr VectorEntry kIndices[] = {
    {"argmax", extreme<true>, false},
    {"argmin", extreme<false>, false},
    {"cumprod", scan<true>, false},
    {"cumsum", scan<false>, false},
    {"gather_elements", gather_places<PlaceOptions::Kind::elements>, false, kNever, -1, true},
    {"gather_nd", gather_places<PlaceOptions::Kind::tuples>, false, kNever, -1, true},
    {"one_hot", one_hot, false},
    {"range", range, false},
    {"reshape", plain<copy_kernel>, true, kNever, -1, true},
    {"rope", rope, false},
    {"scatter", scatter<PlaceOptions::Kind::rows>, false, kNever, -1, true},
    {"scatter_elements", scatter<PlaceOptions::Kind::elements>, false, kNever, -1, true},
    {"scatter_nd", scatter<PlaceOptions::Kind::tuples>, false, kNever, -1, true},
    {"shape_of", plain<extents_kernel>, true, kNever, -1, true},
    {"size_of", plain<extents_kernel>, true, kNever, -1, true},
    {"sort", sort, false},
    {"top_k", top_k, false},
    {"trilu", trilu, false, kNever, -1, true},
    {"write_slice", plain<write_slice_kernel>, false, kNever, -1, true},
};

template <Kernel (*make)(CpuEnginePtr, SplatLimits)>
Kernel splat(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  const auto number = [&](const char* name) {
    return static_cast<float>(call.attrs.get<double>(name));
  };
  return make(engine, {number("cutoff"), number("threshold"), number("most_alpha")});
}

constexpr VectorEntry kPlanes[] = {
    finishing<batch_norm>("batch_norm", false),
    finishing<group_norm>("group_norm", false),
    {"pad", pad, false, kNever, -1, true},
    finishing<resize>("resize", true, CallTraits::ChannelsLast::if_operands_are),
    {"splat_raster", splat<splat_kernel>, false},
    {"splat_raster_gradient", splat<splat_gradient_kernel>, false},
};
constexpr VectorEntry kRecurrent[] = {
    {"gated_delta_net", gated_delta_net, false},
    {"gru", recurrent<RecurrentOptions::Kind::gru>, false},
    {"lstm", recurrent<RecurrentOptions::Kind::lstm>, false},
    {"rnn", recurrent<RecurrentOptions::Kind::rnn>, false},
    {"selective_scan", plain<selective_scan_kernel>, false},
    {"selective_scan_gradient", plain<selective_scan_gradient_kernel>, false},
};

}  // namespace

std::span<const VectorEntry> number_table() { return kNumbers; }
std::span<const VectorEntry> index_table() { return kIndices; }
std::span<const VectorEntry> plane_table() { return kPlanes; }
std::span<const VectorEntry> recurrent_table() { return kRecurrent; }

}  // namespace rlx::detail
