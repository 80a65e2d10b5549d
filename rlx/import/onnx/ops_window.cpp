// ONNX operators over windows: convolution and pooling.

#include <cctype>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/ops_vision.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

std::string auto_pad_of(Site site) {
  std::string mode = site.string("auto_pad", "NOTSET");
  if (mode == "NOTSET") return "";
  for (char& c : mode) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return mode;
}

template <class Options>
Options window_options(Site site) {
  Options options;
  options.strides = site.ints("strides");
  options.dilations = site.ints("dilations");
  options.pads = site.ints("pads");
  options.auto_pad = auto_pad_of(site);
  if (!options.auto_pad.empty()) options.pads.clear();
  return options;
}

ConvOptions conv_options(Site site) {
  ConvOptions options = window_options<ConvOptions>(site);
  options.groups = site.integer("group", 1);
  return options;
}

Items conv_operator(Site site) {
  return {conv(site.in(0), site.in(1), site.maybe(2), conv_options(site))};
}
Items conv_integer_operator(Site site) {
  return {conv_integer(site.in(0), site.in(1), site.maybe(2), site.maybe(3), conv_options(site))};
}
Items qlinear_conv_operator(Site site) {
  return {qlinear_conv({site.in(0), site.in(1), site.in(2)}, {site.in(3), site.in(4), site.in(5)},
                       site.in(6), site.in(7), site.maybe(8), conv_options(site))};
}

Items deform_conv_operator(Site site) {
  return {deform_conv(site.in(0), site.in(1), site.in(2), site.maybe(3),
                      {.strides = site.ints("strides"),
                       .dilations = site.ints("dilations"),
                       .pads = site.ints("pads"),
                       .groups = site.integer("group", 1),
                       .offset_groups = site.integer("offset_group", 1),
                       .mask = site.maybe(4)})};
}

Items conv_transpose_operator(Site site) {
  ConvTransposeOptions options = window_options<ConvTransposeOptions>(site);
  options.groups = site.integer("group", 1);
  options.output_padding = site.ints("output_padding");
  options.output_shape = site.ints("output_shape");
  return {conv_transpose(site.in(0), site.in(1), site.maybe(2), options)};
}

PoolOptions pool_options(Site site) {
  PoolOptions options = window_options<PoolOptions>(site);
  options.ceil_mode = site.flag("ceil_mode");
  options.count_include_pad = site.flag("count_include_pad");
  options.storage_order = site.integer("storage_order", 0);
  return options;
}

Items max_pool_operator(Site site) {
  const TopK pooled = max_pool(site.in(0), site.ints("kernel_shape"), pool_options(site));
  return {pooled.values, pooled.indices};
}
Items average_pool_operator(Site site) {
  return {average_pool(site.in(0), site.ints("kernel_shape"), pool_options(site))};
}
double exponent(Site site) {
  return site.opset < 2 ? site.real("p", 2) : static_cast<double>(site.integer("p", 2));
}
Items lp_pool_operator(Site site) {
  return {lp_pool(site.in(0), site.ints("kernel_shape"), exponent(site), pool_options(site))};
}
Items global_lp(Site site) { return {global_lp_pool(site.in(0), exponent(site))}; }
Items global_max(Site site) { return {global_max_pool(site.in(0))}; }
Items global_average(Site site) { return {global_average_pool(site.in(0))}; }

Items max_unpool_operator(Site site) {
  const Value x = site.in(0);
  const Ints window = site.ints("kernel_shape");
  const Ints strides = site.ints("strides", Ints(window.size(), 1));
  const Ints pads = site.ints("pads", Ints(2 * window.size(), 0));
  const size_t axes = window.size();
  if (x.shape().size() != axes + 2 || strides.size() != axes || pads.size() != 2 * axes)
    site.fail_node("kernel_shape [", joined(window), "], strides [", joined(strides),
                   "] and pads [", joined(pads), "] are not those of the spatial dims of ",
                   x.type());
  Dims shape{x.shape()[0], x.shape()[1]};
  for (size_t d = 0; d < axes; ++d)
    shape.push_back((x.shape()[d + 2] - 1) * Dim(strides[d]) + window[d] - pads[d] -
                    pads[d + axes]);
  const Value y = max_unpool(x, site.in(1), shape);
  if (!site.has(2)) return {y};
  // The indices are of the plane that was pooled; what is asked for beyond it is zeros.
  const Dims asked = site.known_dims(2);
  if (asked.size() != shape.size()) site.fail_node("output_shape has ", asked.size(), " dims");
  Dims more(2 * shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) more[shape.size() + d] = asked[d] - shape[d];
  return {pad(y, more)};
}

}  // namespace

std::span<const Operator> window_operators() {
  static constexpr Operator kOperators[] = {
      {"AveragePool", average_pool_operator},
      {"Conv", conv_operator},
      {"ConvInteger", conv_integer_operator},
      {"ConvTranspose", conv_transpose_operator},
      {"DeformConv", deform_conv_operator},
      {"GlobalAveragePool", global_average},
      {"GlobalLpPool", global_lp},
      {"GlobalMaxPool", global_max},
      {"LpPool", lp_pool_operator},
      {"MaxPool", max_pool_operator},
      {"MaxUnpool", max_unpool_operator},
      {"QLinearConv", qlinear_conv_operator},
  };
  return kOperators;
}

}  // namespace rlx::onnx
