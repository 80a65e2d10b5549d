#include <gtest/gtest.h>

#include "rlx/compile/build_image.h"
#include "rlx/ops/ops_core.h"

namespace rlx::image {

using namespace detail;
namespace {

// As the compiler leaves it, without the passes: what they do changes more often than how it
// prints.
TEST(ImageText, SaysWhatAGraphBecame) {
  Graph graph;
  const Dim batch = graph.symbol("batch", 64, 1);
  const rlx::Value x = graph.input("x", f32({batch, 3})), x2 = graph.input("x2", f32({batch, 2}));
  const rlx::Value scale = graph.weight("scale", Tensor::of(DType::f32, {3, 1}, {1, 2, 3}));
  const rlx::Value w = graph.weight("w", Tensor(DType::f32, {3, 2}));
  const rlx::Value b = graph.weight("b", Tensor(DType::f32, {2}));
  graph.output("y", gelu(matmul(x, scale * w) + b) + x2);
  EXPECT_EQ(to_text(build_image(graph, DeviceTraits{})), R"(image 6  cpu, host

numbers
  n0 = batch in 1..64
  n3 = n0 * 12
  n6 = n0 * 8

values
  v0  input   x         f32[n0, 3]  n3 bytes
  v1  input   x2        f32[n0, 2]  n6 bytes
  v2  weight  scale     f32[3, 1]   12 bytes  source 12 bytes, once only
  v3  weight  w         f32[3, 2]   24 bytes  source 24 bytes, once only
  v4  weight  b         f32[2]      8 bytes   source 8 bytes
  v5  once    mul_5     f32[3, 2]   24 bytes
  v6  result  matmul_6  f32[n0, 2]  n6 bytes
  v7  result  add_7     f32[n0, 2]  n6 bytes  in v6
  v8  result  gelu_8    f32[n0, 2]  n6 bytes  in v6
  v9  result  add_9     f32[n0, 2]  n6 bytes  in v6

once
  0  call mul  reads v2, v3  writes v5  # mul mul_5

run
  0  call matmul {transpose_a=false, transpose_b=false}  reads v0, v5  writes v6  # matmul matmul_6
  1  call add  reads v6, v4  writes v7  v7 in place of v6  # add add_7
  2  call gelu  reads v7  writes v8  v8 in place of v7  # gelu gelu_8
  3  call add  reads v8, v1  writes v9  v9 in place of v8  # add add_9

inputs
  x   f32[batch, 3]  v0
  x2  f32[batch, 2]  v1

outputs
  y  f32[batch, 2]  v9

weights
  scale  f32[3, 1]  v2
  w      f32[3, 2]  v3
  b      f32[2]     v4
)");
}

// One of each kind of step, by hand, for a device.
Image every_step() {
  Image image;
  image.traits.name = "paper";
  image.traits.device_class = DeviceClass::integrated;
  image.traits.max_binding_bytes = 1 << 20;
  image.traits.subgroup_min = 4, image.traits.subgroup_max = 8;
  Numbers& numbers = image.numbers;
  numbers.count = 8;
  numbers.known = {{1, 4}, {2, 16}};
  numbers.symbols = {{"n", 0, true, {1, 9}}, {"count", 5, false, {}}};
  using Op = Instruction::Op;
  numbers.code = {{Op::multiply, 3, 0, 2},
                  {Op::floor_divide, 4, 3, 1},
                  {Op::broadcast, 6, 0, 5},
                  {Op::minimum, 7, 0, 1}};  // nothing uses it
  numbers.checks = {{Relation::equal, 6, 0, 5, "rows of \"a\" and b", "the sum"}};
  numbers.segments = {{{2}, {0}}};
  Value x{Kind::input, "x", DType::f32, Storage::native, {0, 1}, 3, 0};
  Value kept{Kind::state, "kept", DType::f32, Storage::native, {0, 1}, 3, 1};
  Value y{Kind::result, "y of x", DType::f32, Storage::native, {0, 1}, 3, 1};
  Value flag{Kind::flag, "flag", DType::u32, Storage::native, {1}, 2, 3};
  image.values = {x, kept, y, flag};
  image.flag = 3;
  image.kernels = {
      {"wide", "wide", {Access::read, Access::read_write}, 16, {}, true, true, 128, 512},
      {"plain", "", {Access::read, Access::read_write}, 16, {}, false, false, 64}};
  image.nodes = {{"sum", "the sum"}};
  std::vector<std::byte> params(16);
  params[7] = std::byte{0x3f};
  const std::vector<Bound> bound = {{0, Access::read, 1, 2}, {2, Access::read_write}};
  image.run = {
      {Dispatch{bound, {{0, 4, 0, params, {{0, 3}}}, {1, kNone, 4, params, {}}}}, 0},
      {Call{"count",
            {{"axes", Ints{0, 1}}, {"fill", 0.1}, {"mode", "ends"}, {"to", DType::i64}},
            {{"body", "a\nb\n"}},
            {{0, {1, 0}, {1, 0}, 1}, {}},
            {2},
            {},
            {{"n", 0}},
            {{0, 1, 5}},
            0,
            "there is no kernel"},
       0},
      {Copy{{0, {0, 1}}, {2, {0, 1}}}, -1},
      {Clear{2}, -1},
      {Write{2, {0, 1}}, -1},
      {Fetch{2, {5, kNone}, 0, "a branch needs it"}, -1},
      {Bind{5, 1, {0}, 0}, -1},
      {Jump{0, 5}, -1},
      {Jump{9}, -1},
  };
  image.inputs = {{"x", f32({"n", 4}), 0, {0, 1}, {}}};
  image.outputs = {{"y", f32({Dim("n") * Dim(4)}), 2, {3}}};
  image.states = {{"kept", f32({36}), 1, 2}};
  return image;
}

TEST(ImageText, HasEveryKindOfStep) {
  const std::string text = to_text(every_step());
  EXPECT_EQ(text.substr(text.find("\nrun\n")), R"(
run
  0  dispatch k0 {n3, 0x3f000000, 0, 0} x n0 when n4  reads v0[4 + 16]  updates v2  # sum "the sum"
           or k1 {0, 0x3f000000, 0, 0} x n4
  1  call count {axes=[0, 1], fill=0.1, mode="ends", to=i64, body={..}}  reads v0[4, n0] by [4, n0] from 4, _  writes v2  n = n0  tells n5 = extent 1 of v2  because "there is no kernel"  # sum "the sum"
       body:
       | a
       | b
  2  copy v0 to v2
  3  clear v2
  4  write {n0, 4} to v2
  5  fetch {n5, _} from v2  because "a branch needs it"
  6  bind n5 = 4  forgets n0
  7  jump 0 unless n5
  8  jump 9

inputs
  x  f32[n, 4]  v0

outputs
  y  f32[4*n]  v2  [n3]

states
  kept  f32[36]  v1  next v2
)");
  EXPECT_EQ(
      text.substr(0, text.find("\nrun\n")),
      R"(image 6  paper, integrated, f16, subgroups 4..8, storage_buffers 2, binding_bytes 144, workgroup_invocations 128, workgroup_bytes 512, storage_alignment 256

numbers
  n0 = n in 1..9
  n3 = n0 * 16
  n4 = n3 / 4
  n5 = count
  n6 = broadcast(n0, n5)
  check n6 == n0 when n5  "rows of \"a\" and b" at "the sum"

values
  v0  input   x         f32[n0, 4]  n3 bytes
  v1  state   kept      f32[n0, 4]  n3 bytes
  v2  result  "y of x"  f32[n0, 4]  n3 bytes  in v1
  v3  flag    flag      u32[4]      16 bytes

kernels
  k0  wide   read update  16 bytes of params  128 lanes  512 bytes shared  f16 subgroups  )" +
          text.substr(text.find("f16 subgroups  ") + 15, 8) +
          "\n  k1  plain  read update  16 bytes of params  64 lanes                                    ef46db37\n");
}

TEST(ImageText, OfEqualImagesIsEqual) {
  EXPECT_EQ(to_text(every_step()), to_text(every_step()));
  EXPECT_TRUE(every_step() == every_step());
  Image other = every_step();
  std::get<Jump>(other.run[8].what).target = 0;
  EXPECT_NE(to_text(other), to_text(every_step()));
  EXPECT_FALSE(other == every_step());
}

TEST(ImageText, OfImagesThatDifferInATensorMayBeEqualButNotTheImages) {
  Image a, b;
  a.sources = {Tensor::scalar(DType::f32, 1)};
  b.sources = {Tensor::scalar(DType::f32, 1)};
  EXPECT_TRUE(a == b);
  b.sources = {Tensor::scalar(DType::f32, 2)};
  EXPECT_FALSE(a == b);
}

// A run gives and gets i64; the device has two words for each.
TEST(ImageText, SaysWhatEntersAndLeavesInTwoWords) {
  Image image;
  image.numbers.count = 2;
  image.numbers.known = {{0, 2}, {1, 16}};
  image.values.push_back({.kind = Kind::input,
                          .name = "x",
                          .dtype = DType::u32,
                          .shape = {0, 0},
                          .bytes = 1,
                          .place = 0});
  image.inputs.push_back({"x", i64({2}), 0, {0}, {}});
  image.outputs.push_back({"y", i64({2}), 0, {0}});
  const std::string printed = to_text(image);
  EXPECT_NE(printed.find("  x  i64[2]  v0   in two words\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("  y  i64[2]  v0  [2] in two words\n"), std::string::npos) << printed;
}

}  // namespace
}  // namespace rlx::image
