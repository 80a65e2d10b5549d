// A product with weights that are dequantised on the way becomes one that reads the bytes, so that
// no run makes floats of them: scales and zero points of the whole matrix, one for each column of
// the product, or one for each block of a column. Transposes on the way are taken along; bytes the
// wrong way round are turned once, where they are weights.

#include <algorithm>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/ops/views.h"
#include "rlx/passes/near_misses.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& dequantise_op();
const OpDef& linear_op();
const OpDef& matmul_op();
const OpDef& reshape_op();
const OpDef& transpose_op();

namespace {

// Columns of the product, as rows of bytes: w[N, K], scales and zeros [N or 1, K / block].
struct ByteColumns {
  Value w, scales, zeros;
  int64_t block = 0;
};

bool is_turned(const Value& value) {
  const Node& node = value.producer();
  return node.op.get() == &transpose_op() && rank(value.type()) == 2 &&
         transpose_order(node.attrs.get<Ints>("order"), node.inputs[0].type()) == Ints{1, 0};
}

// What does not let a dequantised matrix be read as bytes; empty: nothing.
std::string obstacle(const Node& dequantised) {
  const TensorType& w = dequantised.inputs[0].type();
  if (rank(w) < 2 || rank(w) > 3) return "the weights are no matrix";
  if (w.dtype != DType::i8 && w.dtype != DType::u8) return "the weights are no bytes";
  if (dequantised.types[0].dtype != DType::f32) return "the weights do not become f32";
  for (const Value& operand : dequantised.inputs)
    if (operand.present() && !is_concrete(operand.shape())) return "a run tells their extents";
  return count(w.shape).is(0) ? "the weights are empty" : "";
}

// A scale or zero point [N or 1, 1]; none where it varies along the dim that is summed over.
Value per_column(Value operand, size_t column_axis) {
  Dims shape(2 - operand.shape().size(), Dim(1));
  shape.insert(shape.end(), operand.shape().begin(), operand.shape().end());
  if (!shape[1 - column_axis].is(1)) return {};
  return reshape(operand, Dims{shape[column_axis], 1});
}

// Bytes as rows of columns; none where they would have to be turned at every run.
Value as_rows(Value w, bool by_columns, std::string& why) {
  if (is_turned(w)) {
    w = w.producer().inputs[0];
    by_columns = !by_columns;
  }
  if (by_columns) return w;
  if (is_weight(w.producer()) || is_constant(w.producer())) return transpose(w, {1, 0});
  why = "the bytes lie the wrong way round, and are no weight";
  return {};
}

bool is_part_of_blocks(const Value& matrix) {
  const Node& node = matrix.producer();
  return node.op.get() == &reshape_op() && rank(matrix.type()) == 2 &&
         node.inputs[0].producer().op.get() == &dequantise_op() && rank(node.inputs[0].type()) == 3;
}

// A matrix [K / block * block, N] that is seen as [K / block, block, N] while it is dequantised, or
// as [N, K / block, block] where `by_columns`.
std::optional<ByteColumns> block_columns(const Value& matrix, bool by_columns, std::string& why) {
  const Node& node = matrix.producer().inputs[0].producer();
  const Value parted = node.inputs[0];
  why = obstacle(node);
  if (!why.empty()) return std::nullopt;
  const Dims &parts = parted.shape(), &whole = matrix.shape();
  const size_t first = by_columns ? 1 : 0;  // the axis of blocks
  const bool fits = parts[first] * parts[first + 1] == whole[first] &&
                    parts[by_columns ? 0 : 2] == whole[by_columns ? 0 : 1];
  const auto per_block = [&](const Value& operand) -> Value {
    const Dims& shape = operand.shape();
    if (shape.size() != 3 || !(shape[first] == parts[first]) || !shape[first + 1].is(1)) return {};
    if (by_columns) return reshape(operand, Dims{shape[0], shape[1]});
    return transpose(reshape(operand, Dims{shape[0], shape[2]}), {1, 0});
  };
  ByteColumns found{{}, per_block(node.inputs[1]), {}, parts[first + 1].number()};
  const bool has_zeros = node.inputs.size() > 2 && node.inputs[2].present();
  if (has_zeros) found.zeros = per_block(node.inputs[2]);
  if (!fits || !found.scales || (has_zeros && !found.zeros)) {
    why = "scales and zero points are not those of blocks of what is summed over";
    return std::nullopt;
  }
  const Node& view = parted.producer();
  const bool is_view = view.op.get() == &reshape_op() && view.inputs[0].shape() == whole;
  found.w = as_rows(is_view ? view.inputs[0] : reshape(parted, whole), by_columns, why);
  return found.w ? std::optional(found) : std::nullopt;
}

// Of a matrix [K, N], or [N, K] where `by_columns`.
std::optional<ByteColumns> byte_columns(Value matrix, bool by_columns, std::string& why) {
  if (is_turned(matrix)) {
    matrix = matrix.producer().inputs[0];
    by_columns = !by_columns;
  }
  if (is_part_of_blocks(matrix)) return block_columns(matrix, by_columns, why);
  const Node& node = matrix.producer();
  if (node.op.get() != &dequantise_op()) return std::nullopt;
  why = obstacle(node);
  if (!why.empty()) return std::nullopt;
  ByteColumns found{node.inputs[0], per_column(node.inputs[1], by_columns ? 0 : 1), {}, 0};
  bool fits = found.scales.present();
  if (node.inputs.size() > 2 && node.inputs[2].present()) {
    found.zeros = per_column(node.inputs[2], by_columns ? 0 : 1);
    fits = fits && found.zeros.present();
  }
  if (!fits) {
    why = "a scale or zero point varies along the dim that is summed over";
    return std::nullopt;
  }
  found.w = as_rows(found.w, by_columns, why);
  if (!found.w) return std::nullopt;
  found.block = found.w.shape()[1].number();
  return found;
}

std::optional<Values> rewritten(const RewriteSite& site, NearMisses* misses) {
  const Node& node = site.node;
  const bool is_linear = node.op.get() == &linear_op();
  if (!is_linear && node.op.get() != &matmul_op()) return std::nullopt;
  if (site.inputs[0].dtype() != DType::f32 || rank(site.inputs[1].type()) != 2) return std::nullopt;
  std::string why;
  const auto refused = [&] {
    if (misses && !why.empty())
      misses->note({site.at, node.op->name, node.name.empty() ? node.origin : node.name, 2, why});
    return std::nullopt;
  };
  const auto found = byte_columns(
      site.inputs[1], site.attrs.get<bool>(is_linear ? "transpose_w" : "transpose_b"), why);
  if (found && !is_linear && site.attrs.get<bool>("transpose_a")) why = "x is transposed";
  if (!found || !why.empty()) return refused();
  Value y = quantised_matmul(site.inputs[0], found->w, found->scales, found->block, found->zeros);
  if (is_linear && site.inputs.size() > 2 && site.inputs[2].present()) y = y + site.inputs[2];
  if (y.type() == node.types[0]) return Values{y};
  why = text("the result would be ", y.type(), ", not ", node.types[0]);
  return refused();
}

PassResult run(const Graph& graph, NearMisses* misses) {
  int64_t changes = 0;
  if (misses) misses->begin_graph();
  const Nodes& nodes = graph.nodes();
  if (std::none_of(nodes.begin(), nodes.end(),
                   [](const Node& node) { return node.op.get() == &dequantise_op(); }))
    return {};
  Graph result = rebuild(graph, [&](const RewriteSite& site) {
    std::optional<Values> values = rewritten(site, misses);
    changes += values.has_value();
    return values;
  });
  return {std::move(result), changes};
}

}  // namespace

const Pass find_quantised_products{
    "find-quantised-products", "Finds products with weights that are dequantised on the way.", run};

}  // namespace rlx
