// Products with weights kept as bytes, scales and zero points beside them.

#include <algorithm>

#include "rlx/backend/cpu/fast_quantised.h"

namespace rlx::detail {
namespace {

// Panels of the rows, transposed, as floats.
struct RowPanels {
  const vector::Bytes& code;
  const vector::ByteRows& rows;
  static void read(const void* context, vector::Range inner, vector::Range columns, int64_t panel,
                   float* to) {
    const auto& [code, rows] = *static_cast<const RowPanels*>(context);
    const auto integer = rows.is_signed ? vector::Integer::i8 : vector::Integer::u8;
    const auto* data = static_cast<const uint8_t*>(rows.data);
    constexpr int64_t kPart = 64;
    float row[kPart];
    for (int64_t j = 0; j < panel; ++j) {
      const int64_t column = columns.begin + j;
      for (int64_t k = inner.begin; k < inner.end;) {
        const int64_t end = std::min({inner.end, k + kPart, (k / rows.block + 1) * rows.block});
        if (column < columns.end)
          code.dequantise(integer, data + column * rows.inner + k, rows.scales_at(column, k), row,
                          end - k);
        else
          std::fill(row, row + (end - k), 0.0f);
        for (int64_t i = k; i < end; ++i) to[(i - inner.begin) * panel + j] = row[i - k];
        k = end;
      }
    }
  }
};

// From the scales or zero points of a row to those of the next.
int64_t step_of(const Tensor& each) { return each.shape()[0] == 1 ? 0 : each.shape()[1]; }

void finish_block(const void* context, vector::Range rows, vector::Range columns) {
  static_cast<const Behind*>(context)->run(rows, columns);
}

bool run_byte_rows(const CpuEngine& engine, int64_t block, const Behind& behind,
                   image::CallSite& site) {
  const Tensor &x = *site.in(0), &w = *site.in(1), &scales = *site.in(2);
  const Tensor* zeros =
      behind.own(site.inputs) > 3 && site.inputs[3].present ? site.in(3) : nullptr;
  Tensor& y = site.results[0];
  if (x.dtype() != DType::f32 || scales.dtype() != DType::f32 || y.dtype() != DType::f32)
    return false;
  if (y.count() == 0) return true;
  const int64_t columns = w.shape()[0], inner = w.shape()[1], rows = y.count() / columns;
  const vector::ByteRowsProduct product{.b = {.data = w.bytes().data(),
                                              .is_signed = w.dtype() == DType::i8,
                                              .inner = inner,
                                              .block = block,
                                              .scales = scales.data<float>().data(),
                                              .scales_row = step_of(scales),
                                              .zeros = zeros ? zeros->bytes().data() : nullptr,
                                              .zeros_row = zeros ? step_of(*zeros) : 0},
                                        .a = x.data<float>().data(),
                                        .rows = rows,
                                        .a_row = inner,
                                        .c = y.mutable_data<float>().data(),
                                        .c_row = columns};
  constexpr int64_t kLongest = 4096;  // products are summed as f32
  if (rows < engine.gemm.tile_rows || inner > kLongest) {
    engine.team.run(columns, CpuEngine::kGrain / (inner + 1) + 1, [&](int64_t begin, int64_t end) {
      engine.bytes.multiply(product, {begin, end});
      behind.run({0, rows}, {begin, end});
    });
    return true;
  }
  const RowPanels panels{engine.bytes, product.b};
  vector::multiply(vector::Product{.rows = rows,
                                   .columns = columns,
                                   .inner = inner,
                                   .a = {product.a, inner, 1},
                                   .read_b = RowPanels::read,
                                   .read_context = &panels,
                                   .c = product.c,
                                   .c_row = columns,
                                   .finish = behind ? finish_block : nullptr,
                                   .context = &behind},
                   engine.gemm, engine.team);
  return true;
}

}  // namespace

std::unique_ptr<image::CallKernel> byte_rows_kernel(CpuEnginePtr engine, int64_t block,
                                                    Behind behind) {
  return make_kernel(
      [engine = std::move(engine), block, behind = std::move(behind)](image::CallSite& site) {
        return behind.place(site) && run_byte_rows(*engine, block, behind, site);
      });
}

}  // namespace rlx::detail
