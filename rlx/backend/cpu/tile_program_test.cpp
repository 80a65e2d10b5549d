#include "rlx/backend/cpu/tile_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rlx/backend/cpu/fast_tables.h"

namespace rlx::detail {
namespace {

using image::Tile;

double add(const double* x, const double*) { return x[0] + x[1]; }
double clip(const double* x, const double* params) {
  return std::fmin(std::fmax(x[0], params[0]), params[1]);
}
double scaled(const double* x, const double* params) { return x[0] * params[0]; }

const TileOps& ops() {
  static const TileOps table = {{"add",
                                 {[](const CpuEngine& with, const TileArguments& a) {
                                    with.elementwise.combine(vector::Binary::add, a.floats(0),
                                                             a.steps[0], a.floats(1), a.steps[1],
                                                             a.results(), a.count);
                                  },
                                  nullptr, nullptr, TileOp::Known::sum}},
                                {"plus", {nullptr, nullptr, add}},
                                {"clip", {nullptr, nullptr, clip, TileOp::Known::clip}},
                                {"scaled", {nullptr, nullptr, scaled}}};
  return table;
}

CpuEnginePtr engine(int threads = 2) { return std::make_shared<const CpuEngine>(threads); }

Tensor numbers(const Shape& shape, float first = 0) {
  Tensor tensor(DType::f32, shape);
  float x = first;
  for (float& each : tensor.mutable_data<float>()) each = x++;
  return tensor;
}
image::Argument whole(const Tensor& tensor) {
  image::Argument made;
  made.tensor = tensor;
  made.present = true;
  made.shape = tensor.shape();
  return made;
}
image::Argument view(const Tensor& tensor, Shape shape, Shape strides, int64_t offset = 0) {
  image::Argument made = whole(tensor);
  made.is_view = true;
  made.shape = std::move(shape);
  made.strides = std::move(strides);
  made.offset = offset;
  return made;
}
Tile::Instruction load(int32_t input) { return {Tile::kLoad, {input}, {}}; }

TEST(TileProgram, OperandsOfAnyStridesMeetElementByElement) {
  // [2, 3, 700]: rows, a column repeated along rows, a number for each row, a transposed view.
  const Shape shape{2, 3, 700};
  const Tensor a = numbers(shape), b = numbers({700}), c = numbers({2, 3}),
               d = numbers({700, 3, 2});
  const Tile tile{{load(0),
                   load(1),
                   load(2),
                   load(3),
                   {"add", {0, 1}, {}},
                   {"plus", {4, 2}, {}},
                   {"add", {3, 5}, {}},
                   {"scaled", {6}, {0.5}}},
                  {7}};
  image::CallSite site;
  site.inputs = {whole(a), view(b, shape, {0, 0, 1}), view(c, shape, {3, 1, 0}),
                 view(d, shape, {1, 2, 6})};
  site.results = {Tensor(DType::f32, shape)};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site));
  program.run_all();
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 700; ++k) {
        const int64_t at = (i * 3 + j) * 700 + k;
        EXPECT_EQ(site.results[0].at(at),
                  0.5 * (a.at(at) + b.at(k) + c.at(i * 3 + j) + d.at(k * 6 + j * 2 + i)))
            << i << ' ' << j << ' ' << k;
      }
}

TEST(TileProgram, ResultsMayLieWithTheirChannelsInnermost) {
  const Shape shape{2, 5, 3, 4}, strides{60, 1, 20, 5};
  const Tensor x = numbers({2, 3, 4, 5}), scale = numbers({2, 5});
  const Tile tile{{load(0), load(1), {"add", {0, 1}, {}}}, {2}};
  image::CallSite site;
  site.inputs = {view(x, shape, strides), view(scale, shape, {5, 1, 0, 0})};
  site.results = {Tensor(DType::f32, {2, 3, 4, 5})};
  site.stored = {{shape, strides}};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site));
  program.run_all();
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t pixel = 0; pixel < 12; ++pixel)
      for (int64_t c = 0; c < 5; ++c)
        EXPECT_EQ(site.results[0].at((n * 12 + pixel) * 5 + c),
                  x.at((n * 12 + pixel) * 5 + c) + scale.at(n * 5 + c));
}

// (sums - zero) * scale by columns, in steps of a byte.
Tile requantised() {
  return {{{Tile::kResult, {}, {}, DType::i32},
           {Tile::kLoad, {0}, {}, DType::f32},
           {Tile::kLoad, {1}, {}, DType::i32},
           {"dequantise", {0, 1, 2}, {}, DType::f32},
           {Tile::kNumber, {}, {1}, DType::f32},
           {Tile::kLoad, {2}, {}, DType::u8},
           {"quantise", {3, 4, 5}, {}, DType::u8}},
          {6}};
}

TEST(TileProgram, SumsOfBytesBecomeBytesBlockByBlock) {
  const Shape shape{9, 70};
  Tensor scale(DType::f32, {70}), zero(DType::i32, {70}), level(DType::u8, {});
  for (int64_t i = 0; i < 70; ++i) {
    scale.set(i, 0.25 * static_cast<double>(1 + i % 3));
    zero.set(i, static_cast<double>(i - 30));
  }
  level.set(0, 7);
  image::CallSite site;
  site.inputs = {view(scale, shape, {0, 1}), view(zero, shape, {0, 1}), view(level, shape, {0, 0})};
  site.results = {Tensor(DType::u8, shape)};
  TileProgram program(requantised(), tile_ops({}), engine());
  ASSERT_TRUE(program.place(site, 1));
  const auto sum = [](int64_t row, int64_t column) {
    return static_cast<int32_t>(row * 100 + column * 3 - 200);
  };
  for (const auto& [rows, columns] : {std::pair(vector::Range{0, 4}, vector::Range{0, 48}),
                                      std::pair(vector::Range{0, 4}, vector::Range{48, 70}),
                                      std::pair(vector::Range{4, 9}, vector::Range{0, 70})}) {
    constexpr int64_t kApart = 80;
    std::vector<int32_t> block(5 * kApart, -1);
    for (int64_t r = rows.begin; r < rows.end; ++r)
      for (int64_t c = columns.begin; c < columns.end; ++c)
        block[static_cast<size_t>((r - rows.begin) * kApart + c - columns.begin)] = sum(r, c);
    program.run(rows, columns, {block.data(), kApart});
  }
  for (int64_t r = 0; r < 9; ++r)
    for (int64_t c = 0; c < 70; ++c)
      EXPECT_EQ(site.results[0].at(r * 70 + c),
                std::clamp(std::nearbyint((sum(r, c) - zero.at(c)) * scale.at(c)) + 7, 0.0, 255.0))
          << r << ' ' << c;
}

TEST(TileProgram, FloatsAreNotWrittenOverTheBytesTheyAreMadeOf) {
  const Shape shape{40, 50};
  Tensor bytes(DType::u8, {50, 40});
  for (int64_t i = 0; i < bytes.count(); ++i) bytes.set(i, static_cast<double>(i % 251));
  const Tile tile{{{Tile::kLoad, {0}, {}, DType::u8},
                   {Tile::kNumber, {}, {0.5}, DType::f32},
                   {"dequantise", {0, 1}, {}, DType::f32},
                   {"add", {2, 1}, {}}},
                  {3}};
  image::CallSite site;
  site.inputs = {view(bytes, shape, {1, 40})};  // columns, which are copied together
  site.results = {Tensor(DType::f32, shape)};
  TileProgram program(tile, tile_ops({}), engine());
  ASSERT_TRUE(program.place(site));
  program.run_all();
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < 50; ++j)
      ASSERT_EQ(site.results[0].at(i * 50 + j), bytes.at(j * 40 + i) * 0.5 + 0.5) << i << ' ' << j;
}

TEST(TileProgram, HalvesBetweenIntegersStillRound) {
  Tensor integers(DType::i32, {2, 40});  // of which f16 has the even ones
  for (int64_t i = 0; i < 80; ++i) integers.set(i, static_cast<double>(2048 + i));
  const Tile tile{{{Tile::kLoad, {0}, {}, DType::i32},
                   {Tile::kNumber, {}, {1}, DType::f16},
                   {Tile::kNumber, {}, {0}, DType::i32},
                   {"dequantise", {0, 1, 2}, {}, DType::f16},
                   {Tile::kNumber, {}, {17}, DType::f16},
                   {Tile::kNumber, {}, {0}, DType::i8},
                   {"quantise", {3, 4, 5}, {}, DType::i8}},
                  {6}};
  image::CallSite site;
  site.inputs = {whole(integers)};
  site.results = {Tensor(DType::i8, {2, 40})};
  TileProgram program(tile, tile_ops({}), engine());
  ASSERT_TRUE(program.place(site));
  program.run_all();
  for (int64_t i = 0; i < 80; ++i) {
    const float half(Half(static_cast<float>(integers.at(i))));
    EXPECT_EQ(site.results[0].at(i), std::nearbyint(half / 17)) << integers.at(i);
  }
}

TEST(TileProgram, RefusesDtypesThatItsOpsDoNotTake) {
  Tile wrong = requantised();
  wrong.code[3].op = "add";
  wrong.code[3].operands = {0, 1};
  EXPECT_THROW(TileProgram(wrong, tile_ops({}), engine()), Error);
  wrong = requantised();
  wrong.code[5].dtype = DType::i8;
  EXPECT_THROW(TileProgram(wrong, tile_ops({}), engine()), Error);
  const Shape shape{2, 3};
  image::CallSite site;
  site.inputs = {view(numbers({3}), shape, {0, 1}), view(numbers({3}), shape, {0, 1}),
                 view(Tensor(DType::u8, {}), shape, {0, 0})};
  site.results = {Tensor(DType::u8, shape)};
  EXPECT_FALSE(TileProgram(requantised(), tile_ops({}), engine()).place(site, 1));
}

TEST(TileProgram, AnOpsResultIsFinishedBlockByBlock) {
  const Shape shape{9, 70};
  const Tensor bias = numbers({70});
  // The op's own result is asked for, too, and it lies where the first result will.
  const Tile tile{{{Tile::kResult, {}, {}}, load(0), {"add", {0, 1}, {}}}, {2, 0}};
  image::CallSite site;
  site.inputs = {view(bias, shape, {0, 1})};
  site.results = {numbers(shape, 1000), Tensor(DType::f32, shape)};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site, 1));
  EXPECT_EQ(program.rows(), 9);
  EXPECT_EQ(program.columns(), 70);
  program.run({0, 4}, {0, 48});
  program.run({0, 4}, {48, 70});
  program.run({4, 9}, {0, 70});
  for (int64_t i = 0; i < 9 * 70; ++i) {
    EXPECT_EQ(site.results[0].at(i), 1000.0 + static_cast<double>(i) + bias.at(i % 70)) << i;
    EXPECT_EQ(site.results[1].at(i), 1000.0 + static_cast<double>(i)) << i;
  }
}

TEST(TileProgram, WhatIsAddedFirstMayBeTheStartOfTheSums) {
  const Shape shape{9, 70};
  const Tensor bias = numbers({70}), residual = numbers(shape);
  const Tile tile{
      {{Tile::kResult, {}, {}}, load(0), {"add", {0, 1}, {}}, load(1), {"add", {3, 2}, {}}}, {4}};
  image::CallSite site;
  site.inputs = {view(bias, shape, {0, 1}), whole(residual)};
  site.results = {numbers(shape, 1000)};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site, 1));
  const TileProgram::Start start = program.take_start();
  EXPECT_EQ(start.data, bias.data<float>().data());
  EXPECT_EQ(start.row, 0);
  EXPECT_FALSE(program.is_idle());
  program.run({0, 9}, {0, 70});  // as if the sums had begun with it
  for (int64_t i = 0; i < 9 * 70; ++i)
    EXPECT_EQ(site.results[0].at(i), 1000.0 + 2.0 * static_cast<double>(i)) << i;
}

TEST(TileProgram, WhatIsPassedOnKeepsItsTile) {
  // Rows of a block that do not lie end to end are copied; a later load must not take their place.
  const Shape shape{9, 70};
  const Tensor bias = numbers({70}), more = numbers(shape);
  const Tile tile{{{Tile::kResult, {}, {}},
                   load(0),
                   {"add", {0, 1}, {}},
                   load(1),
                   {"scaled", {3}, {2}},
                   {"plus", {2, 4}, {}}},
                  {5}};
  image::CallSite site;
  site.inputs = {view(bias, shape, {0, 1}), whole(more)};
  site.results = {numbers(shape, 1000)};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site, 1));
  ASSERT_NE(program.take_start().data, nullptr);
  program.run({0, 9}, {0, 48});
  program.run({0, 9}, {48, 70});
  for (int64_t i = 0; i < 9 * 70; ++i)
    EXPECT_EQ(site.results[0].at(i), 1000.0 + 3.0 * static_cast<double>(i)) << i;
}

TEST(TileProgram, ASumThatIsOneOfSeveralResultsIsNotPassedOn) {
  const Shape shape{3, 70};
  const Tensor bias = numbers({70});
  const Tile tile{{{Tile::kResult, {}, {}}, load(0), {"add", {0, 1}, {}}, {"scaled", {2}, {2}}},
                  {3, 2}};
  image::CallSite site;
  site.inputs = {view(bias, shape, {0, 1})};
  site.results = {numbers(shape, 1000), Tensor(DType::f32, shape)};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site, 1));
  EXPECT_EQ(program.take_start().data, nullptr);
  program.run({0, 3}, {0, 70});
  for (int64_t i = 0; i < 3 * 70; ++i) {
    const double sum = 1000.0 + static_cast<double>(i) + bias.at(i % 70);
    EXPECT_EQ(site.results[1].at(i), sum) << i;
    EXPECT_EQ(site.results[0].at(i), 2 * sum) << i;
  }
}

TEST(TileProgram, LimitsBehindASumMayBeTheOpsOwn) {
  const Shape shape{2, 8};
  const Tensor bias = numbers({8});
  const auto program = [&](std::vector<Tile::Instruction> code, std::vector<int32_t> stores) {
    const Tile tile{std::move(code), std::move(stores)};
    return TileProgram(tile, ops(), engine());
  };
  const Tile::Instruction result{Tile::kResult, {}, {}}, sum{"add", {0, 1}, {}},
      cut{"clip", {2}, {1, 6}};
  image::CallSite site;
  site.inputs = {view(bias, shape, {0, 1})};
  site.results = {numbers(shape)};
  TileProgram both = program({result, load(0), sum, cut}, {3});
  ASSERT_TRUE(both.place(site, 1));
  both.take_start();
  EXPECT_EQ(both.take_limits().high, 6);
  EXPECT_TRUE(both.is_idle());
  // Nothing is taken of a sum that the op does not begin with, nor of one that is read twice.
  TileProgram later = program({result, load(0), sum, cut}, {3});
  ASSERT_TRUE(later.place(site, 1));
  EXPECT_EQ(later.take_limits().low, -std::numeric_limits<float>::infinity());
  TileProgram twice = program({result, load(0), sum, cut, {"add", {3, 2}, {}}}, {4});
  ASSERT_TRUE(twice.place(site, 1));
  twice.take_start();
  EXPECT_EQ(twice.take_limits().low, -std::numeric_limits<float>::infinity());
}

TEST(TileProgram, AResultMayTakeThePlaceOfAnOperand) {
  const Shape shape{3, 1000};
  Tensor x = numbers(shape);
  const Tile tile{{load(0), {"add", {0, 0}, {}}, {"scaled", {0}, {3}}, {"add", {1, 2}, {}}}, {3}};
  image::CallSite site;
  site.inputs = {whole(x)};
  site.results = {x};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site));
  program.run_all();
  for (int64_t i = 0; i < 3000; ++i) EXPECT_EQ(site.results[0].at(i), 5.0 * static_cast<double>(i));
}

TEST(TileProgram, NumbersAloneFillTheResult) {
  const Tile tile{{{Tile::kNumber, {}, {2}}, {Tile::kNumber, {}, {3}}, {"add", {0, 1}, {}}}, {2}};
  image::CallSite site;
  site.results = {Tensor(DType::f32, {2, 700})};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site));
  program.run_all();
  for (int64_t i = 0; i < 1400; ++i) EXPECT_EQ(site.results[0].at(i), 5);
}

TEST(TileProgram, NothingIsComputedOfNothing) {
  const Tile tile{{load(0), {"add", {0, 0}, {}}}, {1}};
  image::CallSite site;
  site.inputs = {whole(numbers({0, 7}))};
  site.results = {Tensor(DType::f32, {0, 7})};
  TileProgram program(tile, ops(), engine());
  ASSERT_TRUE(program.place(site));
  program.run_all();
}

TEST(TileProgram, AnOpThatNobodyHasIsNamed) {
  const Tile tile{{load(0), {"unheard_of", {0}, {}}}, {1}};
  try {
    TileProgram(tile, ops(), engine());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("unheard_of"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rlx::detail
