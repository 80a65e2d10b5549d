// Turns a dispatch into a WGSL module: everything around the kernel's own text is generated from
// its operands and params, so that C++ and WGSL cannot disagree.
#pragma once

#include <string>
#include <vector>

#include "rlx/image/image.h"
#include "rlx/lower/site.h"

namespace rlx {

// Where a param lies in the uniform block. Lists come first: they align to 16 bytes.
struct ParamSlot {
  Param param;
  int64_t offset = 0;
};
struct ParamLayout {
  std::vector<ParamSlot> slots;
  int64_t bytes = 0;  // a multiple of 16
};

struct RenderedKernel {
  std::string label;
  std::string wgsl;
  std::vector<Access> bindings;  // of the operands, in order, then the flag's where there is one
  ParamLayout params;
  std::vector<image::Kernel::Section> sections;
  bool f16 = false, subgroups = false;  // the features that it enables
};

RenderedKernel render(const Dispatch& dispatch, const DeviceTraits& traits);

// The params of a dispatch with those that views and windows add, and their places.
ParamLayout layout_params(const Dispatch& dispatch, const DeviceTraits& traits);

// fn index_x(i) -> where logical element i of a view lies in the buffer, and the params it needs.
std::string index_function(const Operand& operand);
std::vector<Param> view_params(const Operand& operand);

bool same_window(const Operand& a, const Operand& b);

// A window moved down to where a binding may start, in elements.
Operand::Window aligned_window(const Operand& operand, const DeviceTraits& traits);

// Shape and strides with neighbours merged where they lie end to end, and extents of 1 gone.
struct ViewDims {
  Dims shape, strides;
};
ViewDims collapse(const Dims& shape, const Layout& layout);

// fn round_f16(v: f32) -> f32, or of bf16: the nearest number that the dtype has. Empty where all
// that is computed is stored.
std::string rounding_function(DType dtype);

}  // namespace rlx
