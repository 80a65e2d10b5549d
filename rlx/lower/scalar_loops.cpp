#include "rlx/lower/scalar_loops.h"

#include <array>

namespace rlx {
namespace {

constexpr size_t kMaxOperands = 3, kMaxAxes = 16;

// How far operands and the result move in each loop, the innermost last.
struct Nest {
  struct Loop {
    int64_t extent = 1;
    std::array<int64_t, kMaxOperands + 1> steps = {};  // in elements; the result's is the last
  };
  std::array<Loop, kMaxAxes> loops;
  size_t count = 0;
  std::array<int64_t, kMaxOperands> offsets = {};
};

// Neighbours that move alike in every operand become one loop.
void add_loop(Nest& nest, const Nest::Loop& loop) {
  if (loop.extent == 1) return;
  if (nest.count > 0) {
    Nest::Loop& outer = nest.loops[nest.count - 1];
    bool alike = true;
    for (size_t k = 0; k <= kMaxOperands; ++k)
      alike &= outer.steps[k] == loop.steps[k] * loop.extent;
    if (alike) {
      const int64_t extent = outer.extent * loop.extent;
      outer = loop;
      outer.extent = extent;
      return;
    }
  }
  nest.loops[nest.count++] = loop;
}

// False where there are more axes than we count.
bool make_nest(const image::CallSite& site, Nest& nest) {
  const Shape& shape = site.results[0].shape();
  if (shape.size() > kMaxAxes || site.inputs.size() > kMaxOperands) return false;
  std::array<std::array<int64_t, kMaxAxes>, kMaxOperands + 1> steps = {};
  const auto rows = [&](const Shape& extents, size_t k) {
    int64_t step = 1;
    for (size_t d = extents.size(); d-- > 0; step *= extents[d])
      steps[k][d + shape.size() - extents.size()] = step;
  };
  for (size_t k = 0; k < site.inputs.size(); ++k) {
    const image::Argument& operand = site.inputs[k];
    const Shape& extents = operand.is_view ? operand.shape : operand.tensor.shape();
    if (extents.size() > shape.size()) return false;
    const size_t extra = shape.size() - extents.size();
    rows(extents, k);
    for (size_t d = 0; d < extents.size(); ++d) {
      if (operand.is_view) steps[k][d + extra] = operand.strides[d];
      if (extents[d] == 1) steps[k][d + extra] = 0;
      if (extents[d] != 1 && extents[d] != shape[d + extra]) return false;
    }
    nest.offsets[k] = operand.is_view ? operand.offset : 0;
  }
  rows(shape, kMaxOperands);
  for (size_t d = 0; d < shape.size(); ++d) {
    Nest::Loop loop;
    loop.extent = shape[d];
    for (size_t k = 0; k <= kMaxOperands; ++k) loop.steps[k] = steps[k][d];
    add_loop(nest, loop);
  }
  if (nest.count == 0) nest.count = 1;
  return true;
}

// Walks the nest; `row` does the innermost loop, from element offsets.
template <class Row>
void walk(const Nest& nest, size_t depth, std::array<int64_t, kMaxOperands + 1> at,
          const Row& row) {
  const Nest::Loop& loop = nest.loops[depth];
  if (depth + 1 == nest.count) return row(at, loop);
  for (int64_t i = 0; i < loop.extent; ++i) {
    walk(nest, depth + 1, at, row);
    for (size_t k = 0; k < at.size(); ++k) at[k] += loop.steps[k];
  }
}

template <class T>
T load(const Tensor& tensor, int64_t at) {
  if constexpr (std::is_same_v<T, double>)
    return tensor.at(at);
  else
    return static_cast<T>(tensor.integer_at(at));
}
template <class T>
void store(Tensor& tensor, int64_t at, T value) {
  if (std::is_same_v<T, double> && tensor.dtype() != DType::boolean)
    tensor.set(at, static_cast<double>(value));
  else
    tensor.set_integer(at, static_cast<int64_t>(value));
}

class ScalarLoops : public image::CallKernel {
 public:
  ScalarLoops(OpRef op, const Attrs& attrs) : op_(std::move(op)) {
    for (const std::string& name : op_->elementwise->params)
      params_.push_back(attrs.get<double>(name));
  }

  bool run(image::CallSite& site) override {
    Nest nest;
    if (!make_nest(site, nest)) return false;
    if (site.results[0].count() == 0) return true;
    const Elementwise& scalar = *op_->elementwise;
    switch (info(site.inputs.back().tensor.dtype()).dtype_class) {
      case DTypeClass::floating:
        return all_f32(site) ? floats(site, nest, scalar.floating)
                             : elements(site, nest, scalar.floating);
      case DTypeClass::signed_integer:
        return elements(site, nest, scalar.signed_integer);
      case DTypeClass::unsigned_integer:
        return elements(site, nest, scalar.unsigned_integer);
      case DTypeClass::boolean:
        return elements(site, nest, scalar.boolean);
      case DTypeClass::complex:
        break;
    }
    return false;
  }

 private:
  static bool all_f32(const image::CallSite& site) {
    bool all = site.results[0].dtype() == DType::f32;
    for (const image::Argument& operand : site.inputs) all &= operand.tensor.dtype() == DType::f32;
    return all;
  }

  bool floats(image::CallSite& site, const Nest& nest, Elementwise::Float f) const {
    const size_t operands = site.inputs.size();
    std::array<const float*, kMaxOperands> from = {};
    for (size_t k = 0; k < operands; ++k)
      from[k] = site.inputs[k].tensor.data<float>().data() + nest.offsets[k];
    float* to = site.results[0].mutable_data<float>().data();
    walk(nest, 0, {}, [&](const auto& at, const Nest::Loop& loop) {
      std::array<double, kMaxOperands> x = {};
      for (int64_t i = 0; i < loop.extent; ++i) {
        for (size_t k = 0; k < operands; ++k)
          x[k] = static_cast<double>(from[k][at[k] + i * loop.steps[k]]);
        to[at[kMaxOperands] + i * loop.steps[kMaxOperands]] =
            static_cast<float>(f(x.data(), params_.data()));
      }
    });
    return true;
  }

  template <class T>
  bool elements(image::CallSite& site, const Nest& nest, T (*f)(const T*, const double*)) const {
    if (f == nullptr) return false;
    walk(nest, 0, {}, [&](const auto& at, const Nest::Loop& loop) {
      std::array<T, kMaxOperands> x = {};
      for (int64_t i = 0; i < loop.extent; ++i) {
        for (size_t k = 0; k < site.inputs.size(); ++k)
          x[k] = load<T>(site.inputs[k].tensor, nest.offsets[k] + at[k] + i * loop.steps[k]);
        store(site.results[0], at[kMaxOperands] + i * loop.steps[kMaxOperands],
              f(x.data(), params_.data()));
      }
    });
    return true;
  }

  OpRef op_;
  std::vector<double> params_;
};

}  // namespace

image::Implementation scalar_loops(const OpRef& op) {
  return {.name = "scalar loops",
          .reads_views = true,
          .prepare =
              [op](const image::Call& call, const image::Image&) {
                return std::make_unique<ScalarLoops>(op, call.attrs);
              },
          .scalar = op->elementwise->floating};
}

}  // namespace rlx
