#include "rlx/ops/product.h"

#include <algorithm>
#include <utility>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/row_kernel.h"
#include "rlx/ops/strided.h"

namespace rlx {
namespace {

bool forward(const Dim& stride) { return !runs_backwards(stride); }

bool repeated(const MatrixView& view) {  // the same matrix in every batch
  return std::all_of(view.batch_strides.begin(), view.batch_strides.end(),
                     [](const Dim& stride) { return stride.is(0); });
}

// Merges batch dims that lie end to end in both operands, and drops extents of 1.
void merge_batch(Product& product) {
  Dims batch, a, b;
  for (size_t d = 0; d < product.batch.size(); ++d) {
    const Dim &extent = product.batch[d], &a_stride = product.a.batch_strides[d],
              &b_stride = product.b.batch_strides[d];
    if (extent.is(1)) continue;
    if (!batch.empty() && a.back() == a_stride * extent && b.back() == b_stride * extent) {
      batch.back() = batch.back() * extent;
      a.back() = a_stride;
      b.back() = b_stride;
    } else {
      batch.push_back(extent);
      a.push_back(a_stride);
      b.push_back(b_stride);
    }
  }
  product.batch = batch;
  product.a.batch_strides = a;
  product.b.batch_strides = b;
}

// One b for all: the batch is just more rows of a, where they lie end to end.
void merge_rows(Product& product) {
  while (product.merges_rows && !product.batch.empty() && repeated(product.b)) {
    const bool one_row = product.m.is(1);
    if (!one_row && !(product.a.batch_strides.back() == product.a.row_stride * product.m)) return;
    if (one_row) product.a.row_stride = product.a.batch_strides.back();
    product.m = product.m * product.batch.back();
    for (Dims* dims : {&product.batch, &product.a.batch_strides, &product.b.batch_strides})
      dims->pop_back();
  }
}

// What one dispatch of the product covers; expressions over the shard.
struct Part {
  struct Range {
    Dim first = 0, end = 0;
    Dim count() const { return end - first; }
  };
  Range batch, m, n, k;
  Dim shards = 1;
  bool accumulates = false;  // k comes in several parts
};

Part::Range chunk(const Dim& index, const Dim& size, const Dim& end) {
  const Dim first = index * size;
  return {first, min(end, first + size)};
}

// How many elements of a dtype can always be bound, wherever their window begins.
int64_t bindable(DType dtype, const DeviceTraits& traits) {
  const int64_t bytes = std::max<int64_t>(traits.max_binding_bytes - traits.storage_alignment, 4);
  return std::max<int64_t>(bytes / device_storage(dtype, traits).bytes, 1);
}

Dim rows_that_fit(int64_t elements, const Dim& stride) {
  return max(floor_div(elements, max(stride, 1)), 1);
}

// A batch goes by whole matrices.
Part cut_batch(Product& product, const DeviceTraits& traits) {
  const Dim batch_count = count(product.batch), matrix = product.m * product.n;
  Part part{{0, batch_count}, {0, product.m}, {0, product.n}, {0, product.k}};
  const bool one_stride = product.batch.size() == 1;
  Dim size = rows_that_fit(bindable(unpacked(product.y.dtype), traits), matrix);
  const auto step = [](const MatrixView& view) {
    return view.behind ? *view.behind : view.batch_strides[0];
  };
  for (const MatrixView* view : {&product.a, &product.b})
    if (one_stride && !view->batch_strides[0].is(0))
      size = min(size, rows_that_fit(bindable(view->operand.dtype, traits), step(*view)));
  part.batch = chunk(kShard, size, batch_count);
  part.shards = ceil_div(batch_count, size);
  product.y.window = {part.batch.first * matrix, part.batch.count() * matrix};
  const auto bind = [&](MatrixView& view, const Dim& rows, const Dim& columns) {
    if (view.behind)
      view.operand.window = {part.batch.first * *view.behind, part.batch.count() * *view.behind};
    else if (one_stride && forward(view.batch_strides[0]) && forward(view.row_stride) &&
             forward(view.column_stride))
      view.operand.window = window_of(view.offset + part.batch.first * view.batch_strides[0],
                                      {part.batch.count(), rows, columns},
                                      {view.batch_strides[0], view.row_stride, view.column_stride});
  };
  bind(product.a, product.m, product.k);
  bind(product.b, product.k, product.n);
  return part;
}

// Splits one product by rows of the operand that is too large, and splits rows where one row is
// still too large. Extents that only a run knows are split along m, where a shard costs only a
// window.
Part cut_matrices(Product& product, bool a_large, bool b_large, bool y_large,
                  const DeviceTraits& traits) {
  MatrixView &a = product.a, &b = product.b;
  const bool known = product.m.is_number() && product.n.is_number() && product.k.is_number();
  const DType wide = unpacked(product.y.dtype);
  Dim m = product.m, n = product.n, k = product.k;
  const auto shrink = [&](DType dtype, Dim& rows, const Dim& row_stride, Dim& columns,
                          const Dim& column_stride) {
    const int64_t elements = bindable(dtype, traits);
    rows = min(rows, rows_that_fit(elements, row_stride));
    if (known && row_stride.is_number() && row_stride.number() > elements)
      columns = min(columns, rows_that_fit(elements, column_stride));
  };
  const bool a_by_rows = a.column_stride.is(1), b_by_columns = b.row_stride.is(1);
  if (a_large && a_by_rows) shrink(a.operand.dtype, m, a.row_stride, k, a.column_stride);
  if (a_large && !a_by_rows && known) shrink(a.operand.dtype, k, a.column_stride, m, a.row_stride);
  if (b_large && b_by_columns && known)
    shrink(b.operand.dtype, n, b.column_stride, k, b.row_stride);
  if (b_large && !b_by_columns && known)
    shrink(b.operand.dtype, k, b.row_stride, n, b.column_stride);
  if (y_large) shrink(wide, m, product.n, n, 1);

  Part part;
  part.batch = {0, 1};
  const auto parts = [](const Dim& extent, const Dim& size) {
    return extent == size ? Dim(1) : ceil_div(extent, size);
  };
  const Dim k_parts = parts(product.k, k), n_parts = parts(product.n, n);
  part.k = chunk(mod(kShard, k_parts), k, product.k);
  part.n = chunk(mod(floor_div(kShard, k_parts), n_parts), n, product.n);
  part.m = chunk(floor_div(kShard, k_parts * n_parts), m, product.m);
  part.shards = parts(product.m, m) * n_parts * k_parts;
  part.accumulates = !k_parts.is(1);
  if (y_large)
    product.y.window = window_of(part.m.first * product.n + part.n.first,
                                 {part.m.count(), part.n.count()}, {product.n, 1});
  const auto bind = [](MatrixView& view, const Part::Range& rows, const Part::Range& columns) {
    if (forward(view.row_stride) && forward(view.column_stride))
      view.operand.window =
          window_of(view.offset + rows.first * view.row_stride + columns.first * view.column_stride,
                    {rows.count(), columns.count()}, {view.row_stride, view.column_stride});
  };
  if (a_large && (a_by_rows || known)) bind(a, part.m, part.k);
  if (b_large && known) bind(b, part.k, part.n);
  return part;
}

// Cuts the product so that every operand can be bound, and gives operands their windows.
Part cut(Product& product, const DeviceTraits& traits) {
  const bool y_large = !fits_binding(unpacked(product.y.dtype), product.y.shape, traits);
  const bool a_large = !fits_binding(product.a.operand.dtype, product.a.operand.shape, traits);
  const Dims behind_b =
      product.b.behind ? Dims{count(product.batch), *product.b.behind} : product.b.operand.shape;
  const bool b_large = !fits_binding(product.b.operand.dtype, behind_b, traits);
  const Dim batch_count = count(product.batch);
  if (!a_large && !b_large && !y_large)
    return {{0, batch_count}, {0, product.m}, {0, product.n}, {0, product.k}};
  if (!batch_count.is(1)) return cut_batch(product, traits);
  return cut_matrices(product, a_large, b_large, y_large, traits);
}

enum Variant : int64_t { registers = 0, shared_tiles = 1 };

struct Shape2 {
  int64_t rows, columns;
};

struct Registers {
  int64_t rows, lanes;
  std::vector<Constant> constants() const { return {{"WORKGROUP", lanes}, {"ROWS", rows}}; }
  Shape2 block() const { return {rows, 4 * lanes}; }
};

Registers registers_for(const LowerSite& site, const Product& product) {
  const bool software = site.traits.device_class == DeviceClass::software;
  int64_t rows = site.choices.get("matmul.rows", 8);
  if (product.m.is_number()) rows = std::clamp<int64_t>(product.m.number(), 1, rows);
  return {rows, site.choices.get("matmul.lanes", software ? 8 : 64)};
}

// Picks the kernel; the block of y that one workgroup computes.
Shape2 choose_kernel(const LowerSite& site, const Product& product, Dispatch& dispatch) {
  const bool software = site.traits.device_class == DeviceClass::software;
  const int64_t variant = site.choices.get("matmul.variant", software ? registers : shared_tiles);
  const Constant is_long{"LONG", !product.k.is_number() || product.k.number() >= kLongRow};
  const bool few_rows = product.m.is_number() && product.m.number() < 8;
  if (variant == shared_tiles && !few_rows) {
    dispatch.kernel = kernel("matmul_tile", {"product"});
    dispatch.constants = {{"WORKGROUP", int64_t{256}}, is_long};
    return {64, 64};
  }
  const Registers registers = registers_for(site, product);
  dispatch.kernel = kernel("matmul", {"product"});
  dispatch.constants = registers.constants();
  dispatch.constants.push_back(is_long);
  return registers.block();
}

// Where only a run knows how many rows there are, a single one, as in a step of a decoder, has a
// kernel that computes no other; and few have one that wastes no tile.
void add_kernels_for_few_rows(const LowerSite& site, const Product& product, const Part& part,
                              const Shape2& block, Dispatch& dispatch) {
  if (product.m.is_number()) return;
  Registers registers = registers_for(site, product);
  const auto add = [&](int64_t below) {
    const Shape2 small = registers.block();
    const Dim is_below = 1 - min(floor_div(product.m, below), 1);
    dispatch.alternatives.push_back(
        {is_below, kernel("matmul", {}).source, registers.constants(),
         ceil_div(part.m.count(), small.rows) * ceil_div(part.n.count(), small.columns) *
             part.batch.count()});
  };
  const int64_t rows = std::exchange(registers.rows, 1);
  if (rows > 1) add(2);
  registers.rows = rows;
  if (block.rows > rows) add(rows);
}

}  // namespace

MatrixView matrix_view(const Operand& operand, const Dims& batch, bool transposed) {
  const Dims &shape = operand.shape, &strides = operand.layout.strides;
  const size_t rank = shape.size(), extra = batch.size() + 2 - rank;
  MatrixView view{flat(operand), operand.layout.offset, {}, strides[rank - 2], strides[rank - 1]};
  if (transposed) std::swap(view.row_stride, view.column_stride);
  for (size_t d = 0; d < batch.size(); ++d)
    view.batch_strides.push_back(
        d < extra ? Dim(0) : repeating_stride(strides[d - extra], shape[d - extra], batch[d]));
  return view;
}

Steps lower_product(const LowerSite& site, Product product) {
  merge_batch(product);
  merge_rows(product);
  const Operand result = product.y;
  const Part part = cut(product, site.traits);
  const std::string type = site.compute_type(result.dtype);

  Dispatch dispatch;
  const Shape2 block = choose_kernel(site, product, dispatch);
  dispatch.kernel.name = site.node.op->name;
  dispatch.prelude.push_back(text("alias T = ", type, ";"));
  // What an infinity has lost is not a number; integers lose nothing.
  dispatch.prelude.emplace_back(
      type == "f32" ? "fn with_rest(sum: vec4<T>, rest: vec4<T>) -> vec4<T> {\n"
                      "  let exponents = bitcast<vec4<u32>>(sum) & vec4<u32>(0x7f800000u);\n"
                      "  return select(sum + rest, sum, exponents == vec4<u32>(0x7f800000u));\n}"
                    : "fn with_rest(sum: vec4<T>, rest: vec4<T>) -> vec4<T> { return sum; }");
  dispatch.prelude.push_back(
      text("fn a_value(i: u32, row: u32) -> T { return ", product.a_value, "; }"));
  dispatch.prelude.push_back(
      text("fn b_value(i: u32, column: u32) -> T { return ", product.b_value, "; }"));
  if (part.accumulates) {
    const TensorType wide{unpacked(result.dtype), result.shape};
    if (wide.dtype != result.dtype) {
      const auto window = product.y.window;
      product.y = site.temporary("y", wide);
      product.y.window = window;
    }
    product.y.access = Access::read_write;
    dispatch.prelude.emplace_back(
        "fn start(i: u32) -> T {\n  if (params.k_first == 0u) { return T(0); }\n  return load_y(i);\n}");
    dispatch.prelude.push_back(text(
        "fn finish(v: T, row: u32, column: u32) -> T {\n  if (params.k_end < params.k) { return v; }\n  return ",
        product.finish, ";\n}"));
  } else {
    dispatch.prelude.emplace_back("fn start(i: u32) -> T { return T(0); }");
    dispatch.prelude.push_back(
        text("fn finish(v: T, row: u32, column: u32) -> T { return ", product.finish, "; }"));
  }
  dispatch.operands = {LowerSite::named(product.a.operand, "a", Access::read),
                       LowerSite::named(product.b.operand, "b", Access::read),
                       LowerSite::named(product.y, "y", product.y.access)};
  for (const Operand& operand : product.finish_operands) dispatch.operands.push_back(operand);

  Dims batch;  // extent and both strides of each dim
  if (product.batch.empty()) batch = {1, 0, 0};
  for (size_t d = 0; d < product.batch.size(); ++d)
    for (const Dim& entry :
         {product.batch[d], product.a.batch_strides[d], product.b.batch_strides[d]})
      batch.push_back(entry);
  dispatch.constants.push_back({"BATCH_RANK", static_cast<int64_t>(batch.size() / 3)});
  dispatch.params = {{"batch", batch},
                     {"batch_first", part.batch.first},
                     {"batch_end", part.batch.end},
                     {"m", product.m},
                     {"n", product.n},
                     {"k", product.k},
                     {"m_first", part.m.first},
                     {"m_end", part.m.end},
                     {"n_first", part.n.first},
                     {"n_end", part.n.end},
                     {"k_first", part.k.first},
                     {"k_end", part.k.end},
                     {"a_first", product.a.offset},
                     {"a_row", product.a.row_stride},
                     {"a_column", product.a.column_stride},
                     {"b_first", product.b.offset},
                     {"b_row", product.b.row_stride},
                     {"b_column", product.b.column_stride},
                     {"zero", 0}};
  dispatch.workgroups = ceil_div(part.m.count(), block.rows) *
                        ceil_div(part.n.count(), block.columns) * part.batch.count();
  dispatch.repeat = part.shards;
  add_kernels_for_few_rows(site, product, part, block, dispatch);

  Steps steps = dispatch;
  if (product.y.value != result.value) steps.add(copy_view(product.y, result, site.traits));
  return steps;
}

}  // namespace rlx
