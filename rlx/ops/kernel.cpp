#include "rlx/ops/kernel.h"

#include <algorithm>

namespace rlx {

std::string_view embedded_ops(std::string_view file);  // generated from the .wgsl files here

Kernel kernel(std::string_view name, std::initializer_list<std::string_view> includes) {
  const std::string file = text(name, ".wgsl");
  Kernel kernel{std::string(name), {file, std::string(embedded_ops(file))}, {}};
  for (const std::string_view include : includes) kernel.includes.push_back(library(include));
  return kernel;
}

size_t axis_of(std::string_view op, int64_t axis, const TensorType& type) {
  require(-rank(type) <= axis && axis < rank(type), op, ": axis ", axis, " is out of range for ",
          type, " (rank ", rank(type), ")");
  return static_cast<size_t>(axis < 0 ? axis + rank(type) : axis);
}

namespace {

size_t axis_attr(const OpDef& op, const Attrs& attrs, const TensorType& x) {
  return axis_of(op.name, attrs.get<int64_t>("axis"), x);
}

}  // namespace

size_t axis_of(const InferSite& site) { return axis_attr(site.op, site.attrs, site.in(0)); }
size_t axis_of(const ReferenceSite& site) {
  return axis_attr(site.op, site.attrs, site.in(0).type());
}
size_t axis_of(const LowerSite& site) { return axis_attr(*site.node.op, site.attrs(), site.in(0)); }
size_t axis_of(const GradientSite& site) {
  return axis_attr(*site.node.op, site.attrs(), site.in(0).type());
}

Rows::Rows(const Dims& shape, size_t axis) : length(shape[axis]) {
  for (size_t i = axis + 1; i < shape.size(); ++i) stride = stride * shape[i];
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != axis) count = count * shape[i];
}

ConcreteRows::ConcreteRows(const Shape& shape, size_t axis) : length(shape[axis]) {
  for (size_t i = axis + 1; i < shape.size(); ++i) stride *= shape[i];
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != axis) count *= shape[i];
}

}  // namespace rlx
