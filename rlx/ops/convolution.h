// The sum over channels and windows that conv, conv_transpose and conv_integer are: one kernel, one
// reference, one gradient for the weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rlx/ir/graph.h"
#include "rlx/lower/site.h"
#include "rlx/ops/windows.h"

namespace rlx {

// x [B, groups * inputs, in..] to y [B, groups * outputs, out..]. Weights are [groups * outputs,
// inputs, window..], or [groups * inputs, outputs, window..] when transposed: then x is spread over
// y by its windows, where else it is gathered.
template <class Number>
struct ConvolutionOf {
  Slide<Number> slide;  // over x; when transposed, over y
  Number batches, groups, inputs, outputs;
  bool transposed = false;
};
using Convolution = ConvolutionOf<Dim>;
ConvolutionOf<int64_t> bound(const Convolution& convolution, const SymbolValues& symbols);

// Of a node (x, w, ..) that gathers: the shape of y, or an Error; and its form.
Dims convolution_shape(const InferSite& site);
Convolution convolution_of(const Attrs& attrs, const Dims& x, const Dims& w, const Dims& y);

// The sums, in the order of y's elements.
std::vector<double> convolve(const ConvolutionOf<int64_t>& convolution,
                             const std::vector<double>& x, const std::vector<double>& w);

// The kernel, and what it takes from the op that uses it.
struct ConvolutionKernel {
  Convolution convolution;
  Operand x, w, y;
  std::string type = "f32";  // that it adds up in
  // WGSL: of element i of x; of element i of w, in a channel of y; of a sum v in a channel of y.
  std::string x_value = "load_x(i)", w_value = "load_w(i)", finish = "v";
  std::vector<Operand> operands = {};  // that these read
  std::vector<std::string> functions = {};
  std::vector<KernelText> includes = {};
};
// "conv.variant": the general kernel for everything, or their own for depthwise and 1 x 1.
enum ConvolutionVariant : int64_t { general_kernel = 0, own_kernels = 1 };
Steps lower_convolution(const LowerSite& site, const ConvolutionKernel& kernel);

// The kernel of a node (x, w, bias), and its reference from the sums on.
ConvolutionKernel float_convolution(const LowerSite& site, const Convolution& convolution);
void finish_convolution(const ReferenceSite& site, const std::vector<double>& sums);

// How y = conv(x, w) depends on w, from x and dy: [groups * outputs, inputs, window..].
Value convolution_weight_gradient(Value x, Value dy, const Windows& windows, const Dims& window,
                                  int64_t groups);

std::optional<Value> bias_gradient(Value bias, Value dy);

// Elements of a tensor as numbers.
std::vector<double> numbers_of(const Tensor& tensor);

// An Error unless a bias, where there is one, is [channels] of the dtype.
void require_bias(const InferSite& site, size_t i, DType dtype, const Dim& channels);

// Attributes of a convolution that slides as `windows` do over x, with pads as numbers or symbols.
Attrs convolution_attrs(const Windows& windows, const Dims& before, const Dims& after,
                        int64_t groups);

}  // namespace rlx
