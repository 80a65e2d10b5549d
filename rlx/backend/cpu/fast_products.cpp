#include "rlx/backend/cpu/fast_products.h"

#include <algorithm>

#include "rlx/backend/cpu/packed_of.h"

namespace rlx::detail {
namespace {

using image::Argument;

// Where the matrices of a batch begin, in an operand whose batch dims broadcast to the result's.
int64_t start_of(const Argument& x, const Steps& strides, const Shape& result, int64_t index) {
  const size_t own = x.shape.size() - 2, axes = result.size() - 2;
  int64_t start = 0;
  for (size_t d = axes; d-- > 0; index /= result[d])
    if (d + own >= axes && x.shape[d + own - axes] != 1)
      start += index % result[d] * strides[d + own - axes];
  return start;
}

// What is done to blocks of the result as they are finished.
struct Finish {
  const TileProgram* tile;
  int64_t first_row;  // of the matrix at hand among the tile's rows
  static void run(const void* context, vector::Range rows, vector::Range columns) {
    const auto& self = *static_cast<const Finish*>(context);
    self.tile->run({self.first_row + rows.begin, self.first_row + rows.end}, columns);
  }
};

class ProductKernel : public image::CallKernel {
 public:
  ProductKernel(CpuEnginePtr engine, ProductOptions options, std::unique_ptr<TileProgram> tile)
      : engine_(std::move(engine)), options_(options), tile_(std::move(tile)) {}

  bool run(image::CallSite& site) override {
    const Argument &a = site.inputs[0], &b = site.inputs[1];
    const Argument* bias = options_.has_bias ? &site.inputs[2] : nullptr;
    Tensor& result = site.results[0];
    if (!takes(site)) return false;
    if (tile_ && !tile_->place(site, result.shape().size() - 1)) return false;
    const TileProgram::Start start = bias    ? TileProgram::Start{floats_of(*bias), 0}
                                     : tile_ ? tile_->take_start()
                                             : TileProgram::Start{};
    if (result.count() == 0) return true;
    Products made = product_of(site);
    vector::Product& product = made.product;
    const int64_t matrices = made.matrices;
    const Steps a_strides(a), b_strides(b);
    float* c = result.mutable_data<float>().data();
    product.a.data = floats_of(a);
    product.c = c;
    product.start = start.data;
    product.start_row = start.row;
    if (packs(b, product))
      product.b.data = product.packed_b = packed(b, product);  // the former is not read
    else
      product.b.data = readable(b);
    const Finish finish{tile_ && !tile_->is_idle() ? tile_.get() : nullptr, 0};
    if (finish.tile) {
      product.finish = Finish::run;
      product.context = &finish;
    }
    if (matrices == 1) {
      vector::multiply(product, engine_->gemm, engine_->team);
      return true;
    }
    const auto matrix = [&](int64_t i, const auto& multiply) {
      vector::Product each = product;
      Finish own = finish;
      each.a.data += start_of(a, a_strides, result.shape(), i);
      each.b.data += start_of(b, b_strides, result.shape(), i);
      each.c = c + i * product.rows * product.columns;
      own.first_row = i * product.rows;
      each.start += each.start ? own.first_row * product.start_row : 0;
      each.context = &own;
      multiply(each);
    };
    if (matrices < engine_->team.threads()) {
      for (int64_t i = 0; i < matrices; ++i)
        matrix(i, [&](const vector::Product& each) {
          vector::multiply(each, engine_->gemm, engine_->team);
        });
      return true;
    }
    const int64_t work = product.rows * product.columns * product.inner;
    engine_->team.run(matrices, (1 << 15) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        matrix(i, [&](const vector::Product& each) {
          engine_->gemm.run(each, {0, each.rows}, {0, engine_->gemm.panels(each.columns)});
        });
    });
    return true;
  }

  bool hold(const image::CallSite& site, image::Holdings& holdings) override {
    if (!takes(site)) return false;
    const Argument& b = site.inputs[1];
    if (site.results[0].count() == 0) return true;
    const vector::Product product = product_of(site).product;
    if (packs(b, product)) holdings.pack(1, order_of(b, product), 4 * packed_size(product));
    return true;
  }
  void pack(const image::CallSite& site) override {
    const Argument& b = site.inputs[1];
    if (site.results[0].count() == 0) return;
    const vector::Product product = product_of(site).product;
    if (packs(b, product)) packed(b, product);
  }

 private:
  bool takes(const image::CallSite& site) const {
    const Argument &a = site.inputs[0], &b = site.inputs[1];
    const Argument* bias = options_.has_bias ? &site.inputs[2] : nullptr;
    const bool is_half = b.present && half_of(b.tensor.dtype());
    return is_f32(a) && (is_half ? is_one(b) && options_.keeps_b : is_f32(b)) &&
           (!bias || (is_f32(*bias) && !bias->is_view)) && site.results[0].dtype() == DType::f32 &&
           a.shape.size() >= 2 && b.shape.size() >= 2 && has_few_axes(a) && has_few_axes(b);
  }

  // Where the matrices lie is left out.
  struct Products {
    vector::Product product;
    int64_t matrices;
  };
  Products product_of(const image::CallSite& site) const {
    const Argument &a = site.inputs[0], &b = site.inputs[1];
    const Shape& result = site.results[0].shape();
    const Steps a_strides(a), b_strides(b);
    const size_t a_last = a.shape.size() - 1, b_last = b.shape.size() - 1;
    const size_t a_row = options_.transpose_a ? a_last : a_last - 1,
                 b_row = options_.transpose_b ? b_last : b_last - 1;
    int64_t matrices = 1;
    for (size_t d = 0; d + 2 < result.size(); ++d) matrices *= result[d];
    vector::Product product{.rows = a.shape[a_row],
                            .columns = result.back(),
                            .inner = a.shape[2 * a_last - 1 - a_row],
                            .a = {nullptr, a_strides[a_row], a_strides[2 * a_last - 1 - a_row]},
                            .b = {nullptr, b_strides[b_row], b_strides[2 * b_last - 1 - b_row]},
                            .c_row = result.back()};
    if (is_one(b) && matrices > 1 && rows_run_on(a, a_strides, a_row)) {
      product.rows *= matrices;
      matrices = 1;
    }
    return {product, matrices};
  }

  bool packs(const Argument& b, const vector::Product& product) const {
    return is_one(b) && options_.keeps_b &&
           (half_of(b.tensor.dtype()) || product.rows >= engine_->gemm.tile_rows);
  }
  int64_t packed_size(const vector::Product& product) const {
    return engine_->gemm.packed_size(product.inner, product.columns);
  }
  // A view of the weight may be another part of it in every run.
  static PackedWeights::Order order_of(const Argument& b, const vector::Product& product) {
    return {kPackedProduct, product.inner,    product.columns,
            product.b.row,  product.b.column, b.is_view ? b.offset : 0};
  }

  static bool is_one(const Argument& b) {
    const size_t axes = b.shape.size();
    return axes == 2 || (axes > 2 && count(b.shape) == b.shape[axes - 1] * b.shape[axes - 2]);
  }
  // The batch of a is more rows of one matrix.
  static bool rows_run_on(const Argument& a, const Steps& strides, size_t row) {
    if (row + 2 != a.shape.size()) return false;  // transposed
    int64_t expected = strides[row] * a.shape[row];
    for (size_t d = row; d-- > 0; expected *= a.shape[d])
      if (a.shape[d] != 1 && strides[d] != expected) return false;
    return count(a.shape) > 0;
  }

  // A file may have a weight at any address: it is copied to be packed, or to be read as it is.
  static bool is_aligned(const Argument& b) {
    return reinterpret_cast<uintptr_t>(b.tensor.bytes().data()) % sizeof(float) == 0;
  }
  static const float* floats_in(const Tensor& tensor, const Argument& b) {
    return tensor.data<float>().data() + (b.is_view ? b.offset : 0);
  }
  const float* readable(const Argument& b) {
    if (is_aligned(b)) return floats_of(b);
    const Tensor::Mark mark = b.tensor.mark();
    if (!(mark == copied_mark_)) {
      copied_ = b.tensor.aligned();
      copied_mark_ = mark;
    }
    return floats_in(copied_, b);
  }

  const float* packed(const Argument& b, const vector::Product& product) {
    const auto make = [&](float* to) {
      const vector::Gemm& gemm = engine_->gemm;
      const Tensor tensor = as_f32(b.tensor, *engine_);
      vector::Matrix from = product.b;
      from.data = floats_in(tensor, b);
      engine_->team.run(gemm.panels(product.columns), 4, [&](int64_t begin, int64_t end) {
        gemm.pack(from, product.inner, product.columns, {begin, end}, to);
      });
    };
    return packed_.get(*engine_, b.tensor, true, order_of(b, product), packed_size(product), make);
  }

  CpuEnginePtr engine_;
  ProductOptions options_;
  std::unique_ptr<TileProgram> tile_;
  PackedOf packed_;
  Tensor copied_;
  Tensor::Mark copied_mark_;
};

}  // namespace

std::unique_ptr<image::CallKernel> product_kernel(CpuEnginePtr engine, ProductOptions options,
                                                  std::unique_ptr<TileProgram> tile) {
  return std::make_unique<ProductKernel>(std::move(engine), options, std::move(tile));
}

bool has_own(const image::Call& call, size_t input) {
  const size_t own = call.tile.empty() ? call.inputs.size() : size_t(call.tile.own_inputs);
  return input < own && call.inputs[input].value >= 0;
}

bool is_kept(const image::Call& call, size_t input, const image::Image& image) {
  if (input >= call.inputs.size() || call.inputs[input].value < 0) return false;
  const image::Kind kind = image.values[static_cast<size_t>(call.inputs[input].value)].kind;
  return kind == image::Kind::weight || kind == image::Kind::constant || kind == image::Kind::once;
}

}  // namespace rlx::detail
