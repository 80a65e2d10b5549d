#include "rlx/backend/cpu/fast_blocks.h"

#include <algorithm>
#include <cmath>

#include "rlx/backend/cpu/scratch.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx::detail {
namespace {

using image::Argument;

constexpr int64_t kFewRows =
    12;  // beyond, panels and their products are faster: bench/vector_bench
constexpr int64_t kGrain = 1 << 15;  // elements that are worth handing to another thread

// What the attributes of a call say of its weights; none where this is not for them.
std::optional<vector::BlockRows> block_rows(const CpuEngine& engine, const Attrs& attrs) {
  const auto& name = attrs.get<std::string>("format");
  if (name.empty()) return std::nullopt;
  const BlockFormat format = block_format(name, attrs.get<int64_t>("block"));
  vector::BlockRows rows;
  rows.shape = {format.elements, format.bytes, format.bits, format.has_zero};
  rows.decode = engine.blocks.decoder(name);
  if (!rows.decode) return std::nullopt;
  return rows;
}

// Binds the rows to an operand [.., N, bytes of a row].
bool bind(vector::BlockRows& rows, const Argument& w) {
  if (w.is_view || w.tensor.dtype() != DType::u8 || w.shape.back() % rows.shape.bytes) return false;
  rows.data = reinterpret_cast<const uint8_t*>(w.tensor.bytes().data());
  rows.row_bytes = w.shape.back();
  rows.inner = w.shape.back() / rows.shape.bytes * rows.shape.elements;
  return true;
}

int64_t grain_of(int64_t elements_each) { return kGrain / std::max<int64_t>(elements_each, 1) + 1; }

class BlockProductKernel : public image::CallKernel {
 public:
  BlockProductKernel(CpuEnginePtr engine, const vector::BlockRows& rows, const std::string& format,
                     bool back, bool grouped, Behind behind)
      : engine_(std::move(engine)),
        rows_(rows),
        bytes_(engine_->block_bytes.format(format, rows.shape)),
        back_(back),
        grouped_(grouped),
        behind_(std::move(behind)),
        scratch_(engine_->team.threads()) {
    scratch_.resize(engine_->blocks.scratch_size(rows.shape));
  }

  bool run(image::CallSite& site) override {
    const Argument &given = site.inputs[0], &w = site.inputs[1];
    Tensor& y = site.results[0];
    if (!is_f32(given) || y.dtype() != DType::f32 || !behind_.place(site)) return false;
    if (y.count() == 0) return true;
    if (!bind(rows_, w)) return false;
    std::optional<Argument> copy;
    const Argument& x = without_view(given, *engine_, copy);
    const int64_t n = w.shape[w.shape.size() - 2], width = x.shape.back();
    vector::BlockProduct product{.b = rows_,
                                 .a = floats_of(x),
                                 .rows = count(y.shape()) / y.shape().back(),
                                 .a_row = width,
                                 .c = y.mutable_data<float>().data(),
                                 .c_row = y.shape().back()};
    if (!grouped_) {
      multiply(product, n, 0);
      return true;
    }
    return multiply_groups(product, n, site.inputs[2], w.shape[0]);
  }

 private:
  // Neighbours that name one expert go together: all of them, where rows are sorted.
  bool multiply_groups(const vector::BlockProduct& all, int64_t n, const Argument& expert,
                       int64_t experts) {
    if (expert.is_view) return false;
    for (int64_t i = 0; i < all.rows; ++i) {
      const int64_t e = expert.tensor.integer_at(i);
      if (e < 0 || e >= experts) return false;  // for its message
    }
    for (int64_t first = 0, end = 0; first < all.rows; first = end) {
      const int64_t e = expert.tensor.integer_at(first);
      for (end = first + 1; end < all.rows && expert.tensor.integer_at(end) == e;) ++end;
      vector::BlockProduct some = all;
      some.b.data += e * n * all.b.row_bytes;
      some.rows = end - first;
      some.a += first * all.a_row;
      some.c += first * all.c_row;
      multiply(some, n, first);
    }
    return true;
  }

  // Rows from `first_row` on of the result.
  void multiply(const vector::BlockProduct& product, int64_t n, int64_t first_row) {
    const auto finish = [&](int64_t begin, int64_t end) {
      behind_.run({first_row, first_row + product.rows}, {begin, end});
    };
    const vector::BlockShape& shape = product.b.shape;
    if (back_) {
      engine_->team.run(product.b.inner / shape.elements, grain_of(n * shape.elements),
                        [&](int64_t begin, int64_t end) {
                          const Scratch::Part scratch(scratch_);
                          engine_->blocks.multiply_back(product, n, {begin, end}, scratch.data());
                          finish(begin * shape.elements, end * shape.elements);
                        });
    } else if (product.rows <= kFewRows && bytes_.multiply && take_rows(product)) {
      multiply_bytes(product, n, finish);
    } else if (product.rows <= kFewRows) {
      engine_->team.run(n, grain_of(product.b.inner), [&](int64_t begin, int64_t end) {
        const Scratch::Part scratch(scratch_);
        engine_->blocks.multiply(product, {begin, end}, scratch.data());
        finish(begin, end);
      });
    } else {
      multiply_panels(product, n, finish);
    }
  }

  // False where a row has numbers that are not to be had so.
  bool take_rows(const vector::BlockProduct& product) {
    const int64_t inner = product.b.inner, words = vector::WholeRow::words(inner),
                  floats = vector::WholeRow::floats(inner);
    words_.resize(static_cast<size_t>(product.rows * words));
    floats_.resize(static_cast<size_t>(product.rows * floats));
    whole_.clear();
    for (int64_t r = 0; r < product.rows; ++r) {
      whole_.emplace_back(words_.data() + r * words, floats_.data() + r * floats, inner);
      if (!engine_->block_bytes.take_row(product.a + r * product.a_row, inner, bytes_,
                                         whole_.back()))
        return false;
    }
    return true;
  }

  template <class Finish>
  void multiply_bytes(const vector::BlockProduct& product, int64_t n, const Finish& finish) {
    const vector::BlockBytesProduct whole{.b = product.b,
                                          .a = whole_.data(),
                                          .rows = product.rows,
                                          .c = product.c,
                                          .c_row = product.c_row};
    engine_->team.run(n, grain_of(product.b.inner), [&](int64_t begin, int64_t end) {
      bytes_.multiply(whole, {begin, end});
      for (int64_t j = begin; j < end; ++j)
        if (!is_finite(product, j)) {  // a scale is not, or a sum beyond f32
          const Scratch::Part scratch(scratch_);
          engine_->blocks.multiply(product, {j, j + 1}, scratch.data());
        }
      finish(begin, end);
    });
  }
  static bool is_finite(const vector::BlockProduct& product, int64_t column) {
    for (int64_t r = 0; r < product.rows; ++r)
      if (!std::isfinite(product.c[r * product.c_row + column])) return false;
    return true;
  }

  // Each member decodes some rows of b, which are columns of the product, and multiplies with them.
  template <class Finish>
  void multiply_panels(const vector::BlockProduct& product, int64_t n, const Finish& finish) {
    const vector::BlockRows& b = product.b;
    const int64_t width = engine_->gemm.panel_columns, chunks = (n + width - 1) / width;
    const int64_t floats = width * b.inner;
    panels_.resize(static_cast<size_t>(engine_->team.threads() * floats));
    engine_->team.region([&](int member, int members, vector::Barrier&) {
      float* panel = panels_.data() + member * floats;
      for (int64_t chunk = member; chunk < chunks; chunk += members) {
        const int64_t first = chunk * width, columns = std::min(width, n - first);
        for (int64_t j = 0; j < columns; ++j)
          b.decode(b.shape, b.data + (first + j) * b.row_bytes, b.inner / b.shape.elements,
                   panel + j * b.inner);
        const vector::Product part{.rows = product.rows,
                                   .columns = columns,
                                   .inner = b.inner,
                                   .a = {product.a, product.a_row, 1},
                                   .b = {panel, 1, b.inner},
                                   .c = product.c + first,
                                   .c_row = product.c_row};
        engine_->gemm.run(part, {0, part.rows}, {0, engine_->gemm.panels(columns)});
        finish(first, first + columns);
      }
    });
  }

  CpuEnginePtr engine_;
  vector::BlockRows rows_;
  vector::BlockBytesFormat bytes_;
  bool back_, grouped_;
  Behind behind_;
  Scratch scratch_;             // for a stretch that is decoded
  std::vector<int32_t> words_;  // of x, as whole numbers
  std::vector<float> floats_;
  std::vector<vector::WholeRow> whole_;
  std::vector<float> panels_;  // one for each member of the team
};

}  // namespace

std::unique_ptr<image::CallKernel> block_product_kernel(CpuEnginePtr engine, const Attrs& attrs,
                                                        bool grouped, Behind behind) {
  const auto rows = block_rows(*engine, attrs);
  if (!rows) return nullptr;
  return std::make_unique<BlockProductKernel>(
      std::move(engine), *rows, attrs.get<std::string>("format"), !attrs.get<bool>("transpose_w"),
      grouped, std::move(behind));
}

std::unique_ptr<image::CallKernel> block_gather_kernel(CpuEnginePtr engine, const Attrs& attrs) {
  auto known = block_rows(*engine, attrs);
  if (!known) return nullptr;
  return make_kernel([engine = std::move(engine), rows = *known](image::CallSite& site) mutable {
    const Argument &w = site.inputs[0], &indices = site.inputs[1];
    Tensor& y = site.results[0];
    if (y.dtype() != DType::f32 || indices.is_view || !bind(rows, w)) return false;
    const int64_t n = w.shape[0], wanted = indices.tensor.count();
    for (int64_t i = 0; i < wanted; ++i) {
      const int64_t at = indices.tensor.integer_at(i);
      if (at < -n || at >= n) return false;  // for its message
    }
    if (y.count() == 0) return true;
    float* to = y.mutable_data<float>().data();
    engine->team.run(wanted, grain_of(rows.inner), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = indices.tensor.integer_at(i), row = at < 0 ? at + n : at;
        rows.decode(rows.shape, rows.data + row * rows.row_bytes, rows.inner / rows.shape.elements,
                    to + i * rows.inner);
      }
    });
    return true;
  });
}

}  // namespace rlx::detail
