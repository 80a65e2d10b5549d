#include "rlx/backend/cpu/onednn.h"

#ifdef RLX_ONEDNN

#include <oneapi/dnnl/dnnl.hpp>

namespace rlx {
namespace {

using dnnl::memory;
constexpr size_t kMaxDims = 6;  // it has faster kernels for few

memory::desc described(const Shape& dims, const Shape& strides) {
  return {dims, memory::data_type::f32, strides};
}
memory::desc described(const Shape& dims) { return described(dims, strides_of(dims)); }
// In whichever order of memory suits the primitive.
memory::desc any_order(const Shape& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

// One primitive at work. Operands go in and come out in row-major order.
class Work {
 public:
  Work() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}
  const dnnl::engine& engine() const { return engine_; }

  void read(int argument, const Tensor& tensor, const memory::desc& as,
            const memory::desc& wanted) {
    memory given(as, engine_, const_cast<float*>(tensor.data<float>().data()));
    if (as == wanted) {
      arguments_.emplace(argument, given);
      return;
    }
    memory ordered(wanted, engine_);
    dnnl::reorder(given, ordered).execute(stream_, given, ordered);
    arguments_.emplace(argument, ordered);
  }

  void run(const dnnl::primitive& primitive, Tensor& y, const memory::desc& as,
           const memory::desc& made) {
    memory result(as, engine_, y.mutable_data<float>().data());
    memory ordered = as == made ? result : memory(made, engine_);
    arguments_.insert_or_assign(DNNL_ARG_DST, ordered);
    primitive.execute(stream_, arguments_);
    if (as != made) dnnl::reorder(ordered, result).execute(stream_, ordered, result);
    stream_.wait();
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::unordered_map<int, memory> arguments_;
};

bool is_f32(const Tensor* tensor) { return !tensor || tensor->dtype() == DType::f32; }

// Of rank `rank`, with ones in front; the last two swapped where transposed.
memory::desc matrices(const Tensor& tensor, bool transposed, size_t rank) {
  Shape dims = tensor.shape();
  dims.insert(dims.begin(), rank - dims.size(), 1);
  Shape strides = strides_of(dims);
  if (transposed) {
    std::swap(dims[rank - 1], dims[rank - 2]);
    std::swap(strides[rank - 1], strides[rank - 2]);
  }
  return described(dims, strides);
}

template <class Description>
void convolve(const Description& description, const Tensor& x, const Tensor& w,
              const memory::desc& windows, const Tensor* bias, Tensor& y, Work& work) {
  work.read(DNNL_ARG_SRC, x, described(x.shape()), description.src_desc());
  work.read(DNNL_ARG_WEIGHTS, w, windows, description.weights_desc());
  if (bias) work.read(DNNL_ARG_BIAS, *bias, described(bias->shape()), description.bias_desc());
  work.run(dnnl::primitive(description.get()), y, described(y.shape()), description.dst_desc());
}

}  // namespace

bool onednn_matmul(const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b,
                   const Tensor* bias, Tensor& y) try {
  const size_t rank = std::max(a.shape().size(), b.shape().size());
  if (!is_f32(&a) || !is_f32(&b) || !is_f32(bias) || a.shape().size() < 2 || b.shape().size() < 2 ||
      rank > kMaxDims || y.count() == 0 || a.count() == 0)
    return false;
  Work work;
  const memory::desc left = matrices(a, transpose_a, rank), right = matrices(b, transpose_b, rank),
                     result = described(y.shape());
  Shape bias_dims(rank, 1);
  bias_dims.back() = y.shape().back();
  const memory::desc added = described(bias_dims);
  const dnnl::matmul::primitive_desc description(
      bias ? dnnl::matmul::desc(left, right, added, result)
           : dnnl::matmul::desc(left, right, result),
      work.engine());
  work.read(DNNL_ARG_SRC, a, left, left);
  work.read(DNNL_ARG_WEIGHTS, b, right, right);
  if (bias) work.read(DNNL_ARG_BIAS, *bias, added, added);
  work.run(dnnl::matmul(description), y, result, result);
  return true;
} catch (const dnnl::error&) {
  return false;
}

bool onednn_convolution(const Tensor& x, const Tensor& w, const Tensor* bias,
                        const ConvolutionWindow& window, Tensor& y) try {
  if (!is_f32(&x) || !is_f32(&w) || !is_f32(bias) || y.count() == 0 || x.count() == 0) return false;
  const size_t axes = x.shape().size() - 2;
  const int64_t groups = window.groups;
  // [out, in / groups, ..] as [groups, out / groups, in / groups, ..]; transposed, [in, out /
  // groups,
  // ..] as the same.
  Shape dims = {groups, w.shape()[0] / groups, w.shape()[1]};
  dims.insert(dims.end(), w.shape().begin() + 2, w.shape().end());
  Shape strides = strides_of(dims);
  if (window.transposed) {
    std::swap(dims[1], dims[2]);
    std::swap(strides[1], strides[2]);
  }
  Shape gaps, pads_after;  // dilations count from 0 there
  for (size_t d = 0; d < axes; ++d) {
    const int64_t tap = (w.shape()[2 + d] - 1) * window.dilations[d];
    const Shape &larger = window.transposed ? y.shape() : x.shape(),
                &smaller = window.transposed ? x.shape() : y.shape();
    gaps.push_back(window.dilations[d] - 1);
    pads_after.push_back((smaller[2 + d] - 1) * window.strides[d] + tap + 1 - larger[2 + d] -
                         window.pads_before[d]);
  }
  if (groups == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  const memory::desc windows = described(dims, strides), in = any_order(x.shape()),
                     out = any_order(y.shape()), taps = any_order(dims),
                     added = bias ? described(bias->shape()) : memory::desc();
  Work work;
  if (window.transposed) {
    const dnnl::deconvolution_forward::desc wanted(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, in, taps, added,
        out, window.strides, gaps, window.pads_before, pads_after);
    convolve(dnnl::deconvolution_forward::primitive_desc(wanted, work.engine()), x, w, windows,
             bias, y, work);
  } else {
    const dnnl::convolution_forward::desc wanted(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, in, taps, added,
        out, window.strides, gaps, window.pads_before, pads_after);
    convolve(dnnl::convolution_forward::primitive_desc(wanted, work.engine()), x, w, windows, bias,
             y, work);
  }
  return true;
} catch (const dnnl::error&) {
  return false;
}

}  // namespace rlx

#else

namespace rlx {

bool onednn_matmul(const Tensor&, bool, const Tensor&, bool, const Tensor*, Tensor&) {
  return false;
}
bool onednn_convolution(const Tensor&, const Tensor&, const Tensor*, const ConvolutionWindow&,
                        Tensor&) {
  return false;
}

}  // namespace rlx

#endif
