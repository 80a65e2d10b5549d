#include "rlx/backend/cpu/fast_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rlx/backend/cpu/fast_attention.h"
#include "rlx/backend/cpu/fast_blocks.h"
#include "rlx/backend/cpu/fast_convolution.h"
#include "rlx/backend/cpu/fast_copies.h"
#include "rlx/backend/cpu/fast_elementwise.h"
#include "rlx/backend/cpu/fast_loops.h"
#include "rlx/backend/cpu/fast_products.h"
#include "rlx/backend/cpu/fast_rows.h"
#include "rlx/backend/cpu/fast_windows.h"
#include "rlx/backend/cpu/onednn.h"

namespace rlx::detail {
namespace {

// The activations that are fused into products most.
struct Activation {
  std::string_view name;
  vector::Elementwise::Function vector::Elementwise::*function;
};
constexpr Activation kActivations[] = {
    {"", nullptr},
    {"relu", &vector::Elementwise::relu},
    {"gelu", &vector::Elementwise::gelu_quick},
    {"sigmoid", &vector::Elementwise::sigmoid},
    {"silu", &vector::Elementwise::silu},
    {"tanh", &vector::Elementwise::tanh},
};
const Activation* activation_of(const Attrs& attrs) {
  const auto& name = attrs.get<std::string>("activation");
  for (const Activation& activation : kActivations)
    if (activation.name == name) return &activation;
  return nullptr;
}
// What a kernel has beside its operands.
struct Tools {
  OneDnn& onednn;
  const CpuEngine& engine;
};

bool fast_batch_norm(const Attrs& attrs, const std::vector<const Tensor*>& inputs,
                     std::vector<Tensor>& results, Tools /*tools*/) {
  const auto channels = static_cast<size_t>(inputs[0]->shape()[1]);
  std::vector<double> scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    const auto at = [&](size_t i, double otherwise) {
      return inputs[i] ? inputs[i]->at(static_cast<int64_t>(c)) : otherwise;
    };
    scale[c] = at(1, 1) / std::sqrt(at(4, 1) + attrs.get<double>("epsilon"));
    shift[c] = at(2, 0) - at(3, 0) * scale[c];
  }
  return scale_channels(*inputs[0], scale, shift, results[0]);
}

bool fast_matmul_integer(const Attrs& /*attrs*/, const std::vector<const Tensor*>& inputs,
                         std::vector<Tensor>& results, Tools tools) {
  const auto given = [&](size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
  return multiply_bytes(*inputs[0], *inputs[1], given(2), given(3), results[0], tools.onednn);
}

bool fast_dequantise(const Attrs& /*attrs*/, const std::vector<const Tensor*>& inputs,
                     std::vector<Tensor>& results, Tools /*tools*/) {
  return scale_bytes(*inputs[0], *inputs[1], inputs.size() > 2 ? inputs[2] : nullptr, results[0]);
}

// y = x with a block overwritten: where y has the memory of x, only the block is touched.
bool fast_write_slice(const Attrs& /*attrs*/, const std::vector<const Tensor*>& inputs,
                      std::vector<Tensor>& results, Tools /*tools*/) {
  const Tensor &x = *inputs[0], &update = *inputs[1], &starts = *inputs[2];
  Tensor& y = results[0];
  if (y.shape() != x.shape() || update.shape().size() != x.shape().size()) return false;
  const Shape strides = strides_of(x.shape()), rows = strides_of(update.shape());
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    const int64_t start = starts.integer_at(static_cast<int64_t>(d));
    if (start < 0 || start > x.shape()[d] - update.shape()[d]) return false;  // for its message
    offset += start * strides[d];
  }
  if (y.count() == 0) return true;
  std::byte* to = y.mutable_bytes().data();
  if (to != x.bytes().data()) std::memcpy(to, x.bytes().data(), x.bytes().size());
  image::StridedCopy(update.shape(), {0, rows}, {offset, strides}, bytes_of(x.dtype()))
      .run(update.bytes().data(), to);
  return true;
}

// True when it did the work; false hands the call to the next implementation.
using FastOp = bool (*)(const Attrs& attrs, const std::vector<const Tensor*>& inputs,
                        std::vector<Tensor>& results, Tools tools);

class FastKernel : public image::CallKernel {
 public:
  FastKernel(FastOp op, const Attrs& attrs, CpuEnginePtr engine)
      : op_(op), attrs_(attrs), engine_(std::move(engine)) {}
  bool run(image::CallSite& site) override {
    inputs_.clear();
    for (size_t i = 0; i < site.inputs.size(); ++i) {
      inputs_.push_back(site.in(i));
    }
    return op_(attrs_, inputs_, site.results, {onednn_, *engine_});
  }

 private:
  FastOp op_;
  const Attrs& attrs_;
  CpuEnginePtr engine_;
  std::vector<const Tensor*> inputs_;
  OneDnn onednn_;
};

struct Entry {
  const char* op;
  FastOp implementation;
};
constexpr Entry kFastOps[] = {
    {"batch_norm", fast_batch_norm},
    {"dequantise", fast_dequantise},
    {"matmul_integer", fast_matmul_integer},
    {"write_slice", fast_write_slice},
};

using Kernel = std::unique_ptr<image::CallKernel>;

// Kernels of rlx/vector. They read views.
struct VectorEntry {
  const char* op;
  Kernel (*make)(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine);
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
Kernel softmax(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return softmax_kernel(engine, call.attrs.get<int64_t>("axis"), logarithm);
}
template <bool is_centred>
Kernel norm(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return norm_kernel(engine, call.attrs.get<int64_t>("axis"), call.attrs.get<double>("epsilon"),
                     is_centred);
}
template <vector::Fold fold>
Kernel reduction(const image::Call& call, const image::Image& /*image*/,
                 const CpuEnginePtr& engine) {
  return reduce_kernel(engine, call.attrs.get<Ints>("axes"), fold);
}
Kernel attention(const image::Call& call, const image::Image& /*image*/,
                 const CpuEnginePtr& engine) {
  const Attrs& attrs = call.attrs;
  return attention_kernel(engine, {.heads = attrs.get<int64_t>("heads"),
                                   .kv_heads = attrs.get<int64_t>("kv_heads"),
                                   .heads_inside = attrs.get<std::string>("layout") == "bshd",
                                   .is_causal = attrs.get<bool>("causal"),
                                   .empty_is_nan = attrs.get<std::string>("empty_row") == "nan",
                                   .window = attrs.get<int64_t>("window"),
                                   .scale = attrs.get<double>("scale"),
                                   .softcap = attrs.get<double>("softcap")});
}
Kernel concat(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return concat_kernel(engine, call.attrs.get<int64_t>("axis"));
}
Kernel gather(const image::Call& call, const image::Image& /*image*/, const CpuEnginePtr& engine) {
  return gather_kernel(engine, call.attrs.get<int64_t>("axis"));
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
Kernel matmul(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine) {
  return product_kernel(engine, {.transpose_a = call.attrs.get<bool>("transpose_a"),
                                 .transpose_b = call.attrs.get<bool>("transpose_b"),
                                 .keeps_b = is_kept(call, 1, image)});
}
Kernel linear(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine) {
  const Activation* activation = activation_of(call.attrs);
  if (!activation) return nullptr;
  return product_kernel(engine, {.transpose_b = call.attrs.get<bool>("transpose_w"),
                                 .keeps_b = is_kept(call, 1, image),
                                 .activation = activation->function});
}

template <bool grouped>
Kernel block_product(const image::Call& call, const image::Image& /*image*/,
                     const CpuEnginePtr& engine) {
  return block_product_kernel(engine, call.attrs, grouped);
}
Kernel block_gather(const image::Call& call, const image::Image& /*image*/,
                    const CpuEnginePtr& engine) {
  return block_gather_kernel(engine, call.attrs);
}

// Reads no views: oneDNN has an order of its own.
Kernel convolution(const image::Call& call, const image::Image& image, const CpuEnginePtr& engine) {
  const Activation* activation = activation_of(call.attrs);
  if (!activation) return nullptr;
  return convolution_kernel(
      engine, call.attrs,
      {.keeps_weights = is_kept(call, 1, image), .activation = activation->function});
}

using vector::Binary, vector::Elementwise, vector::Fold;
constexpr VectorEntry kVectorOps[] = {
    {"add", binary<Binary::add>},
    {"attention", attention},
    {"average_pool", pool<PoolOptions::Kind::average>},
    {"clip", clip},
    {"concat", concat},
    {"cos", unary<&Elementwise::cos>},
    {"div", binary<Binary::div>},
    {"erf", unary<&Elementwise::erf>},
    {"exp", unary<&Elementwise::exp>},
    {"gather", gather},
    {"gelu", unary<&Elementwise::gelu>},
    {"gelu_tanh", unary<&Elementwise::gelu_tanh>},
    {"l1", reduction<Fold::l1>},
    {"l2", reduction<Fold::l2>},
    {"layer_norm", norm<true>},
    {"linear", linear},
    {"log", unary<&Elementwise::log>},
    {"log_softmax", softmax<true>},
    {"matmul", matmul},
    {"max", binary<Binary::max>},
    {"max_pool", pool<PoolOptions::Kind::highest>},
    {"mean", reduction<Fold::mean>},
    {"mean_square", reduction<Fold::mean_square>},
    {"min", binary<Binary::min>},
    {"mul", binary<Binary::mul>},
    {"pow", power},
    {"prod", reduction<Fold::product>},
    {"quantised_gather", block_gather},
    {"quantised_grouped_matmul", block_product<true>},
    {"quantised_matmul", block_product<false>},
    {"reduce_max", reduction<Fold::highest>},
    {"reduce_min", reduction<Fold::lowest>},
    {"relu", unary<&Elementwise::relu>},
    {"rms_norm", norm<false>},
    {"sigmoid", unary<&Elementwise::sigmoid>},
    {"silu", unary<&Elementwise::silu>},
    {"sin", unary<&Elementwise::sin>},
    {"softmax", softmax<false>},
    {"sqrt", unary<&Elementwise::sqrt>},
    {"sub", binary<Binary::sub>},
    {"sum", reduction<Fold::sum>},
    {"sum_square", reduction<Fold::sum_square>},
    {"tanh", unary<&Elementwise::tanh>},
};

}  // namespace

image::Implementations fast_implementations(CpuEnginePtr engine) {
  if (!engine) engine = std::make_shared<const CpuEngine>(1);
  image::Implementations table;
  for (const VectorEntry& entry : kVectorOps)
    table[entry.op].push_back(
        {"vector", true,
         [make = entry.make, engine](const image::Call& call, const image::Image& image) {
           return make(call, image, engine);
         }});
  for (const char* op : {"conv", "conv_transpose"})
    table[op].push_back(
        {"fast", false, [engine](const image::Call& call, const image::Image& image) {
           return convolution(call, image, engine);
         }});
  for (const Entry& entry : kFastOps)
    table[entry.op].push_back(
        {"fast", false,
         [op = entry.implementation, engine](const image::Call& call, const image::Image&) {
           return std::make_unique<FastKernel>(op, call.attrs, engine);
         }});
  return table;
}

}  // namespace rlx::detail
