#include "rlx/cli/quantise_layers.h"

#include <algorithm>
#include <cmath>

#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
const OpDef& conv_integer_op();
const OpDef& quantise_op();
const OpDef& quantised_gather_op();
const OpDef& dequantise_op();
}  // namespace rlx

namespace rlx::cli {
namespace {

enum class Kind { none, product, grouped, table, convolution, transposed_convolution };

const Tensor* floats_in_file(const Value& value, size_t rank) {
  const Tensor* w = tensor_of(value.producer());
  return w && is_float(w->dtype()) && w->shape().size() == rank ? w : nullptr;
}

Kind kind_of(const Node& node) {
  const std::string& op = node.op->name;
  const auto has_floats = [&](size_t operand) {
    const DType dtype = node.inputs[operand].dtype();
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  };
  if (op == "linear" || op == "matmul") {
    if (op == "matmul" && node.attrs.get<bool>("transpose_a")) return Kind::none;
    return has_floats(0) && rank(node.inputs[0].type()) >= 2 && floats_in_file(node.inputs[1], 2)
               ? Kind::product
               : Kind::none;
  }
  if (op == "grouped_matmul")
    return has_floats(0) && floats_in_file(node.inputs[1], 3) ? Kind::grouped : Kind::none;
  if (op == "gather")
    return has_floats(0) && node.attrs.get<int64_t>("axis") == 0 &&
                   floats_in_file(node.inputs[0], 2)
               ? Kind::table
               : Kind::none;
  if (op == "conv" || op == "conv_transpose") {
    if (!has_floats(0) || !floats_in_file(node.inputs[1], rank(node.inputs[1].type())))
      return Kind::none;
    return op == "conv" ? Kind::convolution : Kind::transposed_convolution;
  }
  return Kind::none;
}

bool is_by_channel(Kind kind) {
  return kind == Kind::convolution || kind == Kind::transposed_convolution;
}
const Tensor& weights_in_file(const Node& node, Kind kind) {
  return *tensor_of(node.inputs[kind == Kind::table ? 0 : 1].producer());
}
// The same in f32, whatever the file has.
Tensor weights_of(const Node& node, Kind kind) {
  const Tensor& w = weights_in_file(node, kind);
  if (w.dtype() == DType::f32) return w.aligned();
  Tensor wide(DType::f32, w.shape());
  const std::span<float> data = wide.mutable_data<float>();
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(w.at(static_cast<int64_t>(i)));
  return wide;
}

// [.., K, N] -> [.., N, K].
Tensor turned(const Tensor& w) {
  Shape shape = w.shape();
  const size_t last = shape.size() - 1;
  const int64_t inner = shape[last - 1], outer = shape[last];
  std::swap(shape[last - 1], shape[last]);
  Tensor to(DType::f32, shape);
  const std::span<const float> from = w.data<float>();
  const std::span<float> data = to.mutable_data<float>();
  const int64_t each = inner * outer, matrices = each == 0 ? 0 : w.count() / each;
  for (int64_t m = 0; m < matrices; ++m)
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t n = 0; n < outer; ++n)
        data[static_cast<size_t>(m * each + n * inner + k)] =
            from[static_cast<size_t>(m * each + k * outer + n)];
  return to;
}

// Rows along what a product sums over, or rows of the table.
Tensor rows_of(const Node& node, Kind kind) {
  const Tensor w = weights_of(node, kind);
  if (kind == Kind::table) return w;
  if (kind == Kind::grouped) return turned(w);
  const bool are_rows =
      node.attrs.get<bool>(node.op->name == "linear" ? "transpose_w" : "transpose_b");
  return are_rows ? w : turned(w);
}
// Blocks, and what all that is computed with them is multiplied by.
struct Encoded {
  Tensor bytes;
  float scale = 1;
};
Tensor scaled(const Tensor& values, float scale) {
  if (scale == 1) return values;
  Tensor result = values.copy();
  for (float& value : result.mutable_data<float>()) value *= scale;
  return result;
}
Encoded encoded(const Tensor& rows, const BlockFormat& format) {
  const float scale = tensor_scale(rows, format);
  return {encode_blocks(scaled(rows, 1 / scale), format), scale};
}

Value as(DType dtype, const Value& x) { return x.dtype() == dtype ? x : cast(x, dtype); }

// Weights in bytes with a scale for each output channel; of a transposed convolution, for those of
// a group.
struct ByChannel {
  Tensor bytes, scales, back;
  int64_t axis;
};
ByChannel by_channel(const Tensor& w, Kind kind) {
  const int64_t axis = kind == Kind::convolution ? 0 : 1, channels = w.shape()[size_t(axis)];
  int64_t inside = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < w.shape().size(); ++i) inside *= w.shape()[i];
  ByChannel to{Tensor(DType::i8, w.shape()), Tensor(DType::f32, {channels}),
               Tensor(DType::f32, w.shape()), axis};
  const std::span<const float> from = w.data<float>();
  const std::span<float> scales = to.scales.mutable_data<float>(),
                         back = to.back.mutable_data<float>();
  const auto channel_of = [&](size_t i) {
    return static_cast<size_t>(static_cast<int64_t>(i) / inside % channels);
  };
  for (size_t i = 0; i < from.size(); ++i)
    scales[channel_of(i)] = std::max(scales[channel_of(i)], std::abs(from[i]) / 127);
  for (float& scale : scales)
    if (!(scale > 0)) scale = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    const float scale = scales[channel_of(i)];
    const double whole = std::clamp(std::nearbyint(from[i] / scale), -127.0F, 127.0F);
    to.bytes.set_integer(static_cast<int64_t>(i), static_cast<int64_t>(whole));
    back[i] = static_cast<float>(whole) * scale;
  }
  return to;
}

bool is_finite(const Tensor& w) {
  const std::span<const float> data = w.data<float>();
  return std::all_of(data.begin(), data.end(), [](float x) { return std::isfinite(x); });
}

Value beside(const RewriteSite& site, const char* what, const Tensor& tensor) {
  return site.to.weight(text(site.node.name, " ", what, " ", site.at), tensor);
}

// With its input in bytes as well, where its range is known.
Value quantised_convolution(const RewriteSite& site, Kind kind, const Layer& layer) {
  const ByChannel w = by_channel(weights_of(site.node, kind), kind);
  const Value bytes = beside(site, "bytes", w.bytes);
  const DType dtype = site.inputs[0].dtype();
  if (!layer.range) {
    Values inputs = site.inputs;
    Shape shape(w.bytes.shape().size(), 1);
    shape[static_cast<size_t>(w.axis)] = w.scales.count();
    const Value scales = beside(site, "scales", w.scales.reshaped(shape));
    inputs[1] = as(dtype, bytes.apply(dequantise_op(), {bytes, scales}));
    return site.to.add(site.node.op, inputs, site.attrs, site.node.name);
  }
  const InputRange range = *layer.range;
  const double step = range.most > range.least ? (range.most - range.least) / 255 : 1;
  const double zero = std::clamp(std::nearbyint(-range.least / step), 0.0, 255.0);
  const Value scale = constant_beside(bytes, Tensor::scalar(DType::f32, step)),
              zero_point = constant_beside(bytes, Tensor::scalar(DType::u8, zero));
  Attrs windows;
  for (const char* name : {"strides", "dilations", "pads"})
    windows.set(name, site.attrs.get<Ints>(name));
  windows.set("auto_pad", site.attrs.get<std::string>("auto_pad"));
  const Value x = bytes.apply(quantise_op(), {as(DType::f32, site.inputs[0]), scale, zero_point});
  const Value sums = bytes.apply(conv_integer_op(), {x, bytes, zero_point, Value()}, windows);
  Tensor scales(DType::f32, w.scales.shape());
  for (int64_t i = 0; i < scales.count(); ++i) scales.set(i, w.scales.at(i) * step);
  Dims shape(rank(sums.type()), Dim(1));
  shape[1] = Dim(scales.count());
  Value y = cast(sums, DType::f32) * reshape(beside(site, "scales", scales), shape);
  if (site.inputs.size() > 2 && site.inputs[2].present())
    y = y + reshape(as(DType::f32, site.inputs[2]), shape);
  return as(dtype, y);
}

}  // namespace

double Layer::loss() const { return energy > 0 ? std::sqrt(error / energy) : 0; }

double square_sum(const Tensor& a, const Tensor* minus) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = a.at(i) - (minus ? minus->at(i) : 0);
    sum += x * x;
  }
  return sum;
}

bool takes_bytes(const Node& node) {
  constexpr int64_t kLeast = 200;
  if (kind_of(node) != Kind::convolution || node.attrs.get<int64_t>("groups") != 1) return false;
  const Shape w = weights_of(node, Kind::convolution).shape();
  return count(w) >= kLeast * (w[0] + w[1]);
}

std::vector<Layer> find_layers(const Graph& graph, const BlockFormat& format) {
  std::vector<Layer> layers;
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) {
    const Node& node = graph.node(n);
    const Kind kind = kind_of(node);
    if (kind == Kind::none) continue;
    Layer layer;
    layer.node = n;
    layer.name = node.name.empty() ? text("node ", n) : node.name;
    const Tensor weights = weights_of(node, kind);
    layer.bytes = layer.bytes_after =
        static_cast<int64_t>(weights_in_file(node, kind).bytes().size());
    if (!is_finite(weights)) {
      layer.kept = "a weight is infinite or no number";
    } else if (is_by_channel(kind)) {
      const ByChannel w = by_channel(weights, kind);
      layer.form = "i8";
      layer.bytes_after = static_cast<int64_t>(w.bytes.bytes().size() + w.scales.bytes().size());
      const double all = square_sum(weights);
      layer.weight_error = all > 0 ? std::sqrt(square_sum(weights, &w.back) / all) : 0;
    } else {
      const Tensor rows = rows_of(node, kind);
      const int64_t inner = rows.shape().back();
      if (rows.count() == 0 || inner % format.elements != 0) {
        layer.kept = text(inner, kind == Kind::table ? " columns" : " inputs",
                          " are no multiple of ", format.elements);
      } else {
        const Encoded w = encoded(rows, format);
        const Tensor back = scaled(decode_blocks(w.bytes, format), w.scale);
        layer.form = std::string(format.name);
        layer.bytes_after = static_cast<int64_t>(w.bytes.bytes().size());
        const double all = square_sum(rows);
        layer.weight_error = all > 0 ? std::sqrt(square_sum(rows, &back) / all) : 0;
      }
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

Value quantised(const RewriteSite& site, const Layer& layer, const BlockFormat& format) {
  const Kind kind = kind_of(site.node);
  if (is_by_channel(kind)) return quantised_convolution(site, kind, layer);
  const std::string name(format.name);
  const Encoded blocks = encoded(rows_of(site.node, kind), format);
  const Value w = beside(site, text("in ", name).c_str(), blocks.bytes);
  // Before they are multiplied by it results are as much larger, more than f16 may hold.
  const DType dtype = site.inputs[0].dtype(), inside = blocks.scale == 1 ? dtype : DType::f32;
  const auto finished = [&](const Value& y) {
    return blocks.scale == 1 ? y : as(dtype, y * scalar(y, blocks.scale));
  };
  if (kind == Kind::table)
    return finished(
        w.apply(quantised_gather_op(), {w, site.inputs[1]}, {{"format", name}, {"dtype", inside}}));
  const Value x = as(inside, site.inputs[0]);
  if (kind == Kind::grouped) return finished(grouped_matmul(x, w, site.inputs[2], name));
  Value y = finished(quantised_matmul(x, w, name));
  if (site.node.op->name == "matmul") return y;
  if (site.inputs.size() > 2 && site.inputs[2].present()) y = y + site.inputs[2];
  return y;
}

}  // namespace rlx::cli
