#include "rlx/vector/gemm.h"

#include <gtest/gtest.h>

#include "rlx/vector/team.h"
#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

struct Case {
  int64_t rows, columns, inner;
};
const Case kCases[] = {{0, 5, 3},     {5, 0, 3},   {5, 7, 0},    {1, 1, 1},    {1, 17, 255},
                       {2, 99, 17},   {3, 3, 3},   {4, 24, 8},   {8, 48, 384}, {17, 50, 385},
                       {13, 53, 400}, {255, 3, 1}, {200, 49, 9}, {3, 130, 390}};

enum class How { packed, as_it_lies };
struct Layout {
  bool a_transposed, b_transposed;
};

// The largest error of c, in units of the sum of absolute products.
double error_of(Isa isa, const Case& x, Layout layout, How how, bool with_start, Team& team) {
  const Gemm code = gemm(isa);
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const std::vector<float> a = random_floats(x.rows * x.inner, -1, 1, 1),
                           b = random_floats(x.inner * x.columns, -1, 1, 2),
                           start = random_floats(x.rows * x.columns, -1, 1, 3);
  const int64_t c_row = x.columns + 3;
  std::vector<float> c(size(x.rows * c_row), 77), packed;
  Product product{.rows = x.rows, .columns = x.columns, .inner = x.inner};
  product.a = layout.a_transposed ? Matrix{a.data(), 1, x.rows} : Matrix{a.data(), x.inner, 1};
  product.b = layout.b_transposed ? Matrix{b.data(), 1, x.inner} : Matrix{b.data(), x.columns, 1};
  if (how == How::packed) {
    packed.resize(size(code.packed_size(x.inner, x.columns)) + 1);
    const int64_t panels = code.panels(x.columns);
    code.pack(product.b, x.inner, x.columns, {0, panels / 2}, packed.data());
    code.pack(product.b, x.inner, x.columns, {panels / 2, panels}, packed.data());
    product.packed_b = packed.data();
  }
  product.c = c.data();
  product.c_row = c_row;
  if (with_start) {
    product.start = start.data();
    product.start_row = x.columns;
  }
  multiply(product, code, team);
  double worst = 0;
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) {
      double sum = with_start ? start[size(i * x.columns + j)] : 0, magnitude = 1;
      for (int64_t k = 0; k < x.inner; ++k) {
        const double term =
            static_cast<double>(product.a.data[i * product.a.row + k * product.a.column]) *
            static_cast<double>(product.b.data[k * product.b.row + j * product.b.column]);
        sum += term;
        magnitude += std::abs(term);
      }
      worst =
          std::max(worst, std::abs(sum - static_cast<double>(c[size(i * c_row + j)])) / magnitude);
    }
    for (int64_t j = x.columns; j < c_row; ++j)
      if (c[size(i * c_row + j)] != 77) return INFINITY;  // beyond the row
  }
  return worst;
}

TEST(VectorGemm, EveryInstructionSetAndLayoutAgreesWithSumsOfDoubles) {
  Team team(3);
  for (const Isa isa : isas()) {
    for (const Case& x : kCases)
      for (const Layout layout : {Layout{false, false}, {false, true}, {true, false}, {true, true}})
        for (const How how : {How::packed, How::as_it_lies})
          for (const bool with_start : {false, true})
            EXPECT_LT(error_of(isa, x, layout, how, with_start, team), 1e-6)
                << name_of(isa) << " " << x.rows << "x" << x.columns << "x" << x.inner << " "
                << layout.a_transposed << layout.b_transposed << with_start
                << (how == How::packed ? " packed" : " as it lies");
  }
}

TEST(VectorGemm, ThreadsHaveRowsOfTheirOwnWhereBIsPackedAndThereAreEnough) {
  const Gemm functions = gemm(best_isa());
  const float b = 0;
  const auto blocks = [&](int64_t tiles, const float* packed, int64_t inner = 384) {
    return blocks_of({.rows = tiles * functions.tile_rows,
                      .columns = 8 * functions.panel_columns,
                      .inner = inner,
                      .packed_b = packed},
                     functions, 2);
  };
  EXPECT_EQ(blocks(16, &b).row_blocks, 2);
  EXPECT_EQ(blocks(16, &b).rows, 8 * functions.tile_rows);
  EXPECT_EQ(blocks(15, &b).row_blocks, 1);
  EXPECT_EQ(blocks(16, nullptr).row_blocks, 1);
  // Weights that no cache keeps until the next run are not read by all.
  const int64_t large = (1 << 20) / (8 * functions.panel_columns) + 1;
  EXPECT_EQ(blocks(16, &b, large).row_blocks, 1);
  EXPECT_EQ(blocks(384 / functions.tile_rows, &b, large).row_blocks, 2);
}

struct Doubled {
  float* c;
  int64_t c_row;
  static void finish(const void* context, Range rows, Range columns) {
    const auto& self = *static_cast<const Doubled*>(context);
    for (int64_t r = rows.begin; r < rows.end; ++r)
      for (int64_t j = columns.begin; j < columns.end; ++j) self.c[r * self.c_row + j] *= 2;
  }
};

TEST(VectorGemm, EveryElementIsFinishedOnceWhenItsSumIsWhole) {
  Team team(2);
  for (const Isa isa : isas())
    for (const int64_t rows : {1, 2, 17, 400}) {
      const int64_t columns = 101, inner = 900;
      const std::vector<float> a(static_cast<size_t>(rows * inner), 1),
          b(static_cast<size_t>(inner * columns), 1), bias(static_cast<size_t>(columns), 5);
      std::vector<float> c(static_cast<size_t>(rows * columns));
      const Doubled doubled{c.data(), columns};
      multiply({.rows = rows,
                .columns = columns,
                .inner = inner,
                .a = {a.data(), inner, 1},
                .b = {b.data(), columns, 1},
                .c = c.data(),
                .c_row = columns,
                .start = bias.data(),
                .finish = Doubled::finish,
                .context = &doubled},
               gemm(isa), team);
      for (const float x : c) ASSERT_EQ(x, 2 * (900 + 5)) << name_of(isa);
    }
}

}  // namespace
}  // namespace rlx::vector
