#include "rlx/codegen/workgroup.h"

#include <gtest/gtest.h>

namespace rlx {
namespace {

std::optional<int64_t> bytes_of(const std::string& declarations) {
  return workgroup_of(declarations + "@compute @workgroup_size(1) fn main() {}").bytes;
}

TEST(Workgroup, HasTheInvocationsOfAllItsDimensions) {
  const auto of = [](const std::string& text) { return workgroup_of(text).invocations; };
  EXPECT_EQ(of("const WORKGROUP = 64u;\n@compute @workgroup_size(WORKGROUP)\nfn main() {}"), 64);
  EXPECT_EQ(of("@compute @workgroup_size(8, 4u, 2 + 1) fn main() {}"), 96);
  EXPECT_EQ(of("@workgroup_size(SIDE * SIDE,) fn main() {} const SIDE = 1u << BITS; "
               "const BITS: u32 = 3;"),
            64);
}

TEST(Workgroup, CountsWhatItsLanesShareAsWebGpuDoes) {
  EXPECT_EQ(bytes_of(""), 0);
  EXPECT_EQ(bytes_of("var<workgroup> flag: atomic<u32>;"), 16);
  EXPECT_EQ(bytes_of("var<workgroup> a: array<f32, 5>; var<workgroup> b: array<f16, 9>;"), 32 + 32);
  EXPECT_EQ(bytes_of("const TILE = 64u; const DEPTH = 16u; alias T = f16;"
                     "var<workgroup> a: array<T, TILE * DEPTH>;"
                     "var<workgroup> b: array<vec4<T>, TILE / 4u * DEPTH>;"),
            2048 + 2048);
  EXPECT_EQ(bytes_of("var<workgroup> rows: array<vec3<f32>, 4>;"), 64);
  EXPECT_EQ(bytes_of("var<workgroup> rows: array<array<vec2h, 3>, 4>;"), 48);
  // A struct's members lie where they are aligned, and so does the next struct.
  EXPECT_EQ(bytes_of("var<workgroup> all: array<Pair, 3>; struct Pair { a: f32, b: vec2<f32>, }"),
            48);
}

TEST(Workgroup, IsNotWhatAFunctionOrACommentSays) {
  const Workgroup found = workgroup_of(
      "// @workgroup_size(256) var<workgroup> x: array<f32, 99>;\n"
      "/* var<workgroup> /* nested */ y: array<f32, 99>; */\n"
      "fn helper() { const SIZE = 7u; var local: array<f32, 99>; }\n"
      "const SIZE = 2u;\n"
      "var<workgroup> z: array<vec4f, SIZE>;\n"
      "var<private> mine: array<f32, 99>;\n"
      "@compute @workgroup_size(4) fn main() {}");
  EXPECT_EQ(found.invocations, 4);
  EXPECT_EQ(found.bytes, 32);
}

TEST(Workgroup, IsNotKnownWhereItIsSaidInOtherWords) {
  EXPECT_EQ(bytes_of("var<workgroup> x: array<f32, max(2, 3)>;"), std::nullopt);
  EXPECT_EQ(bytes_of("struct S { @size(32) a: f32 } var<workgroup> x: S;"), std::nullopt);
  EXPECT_EQ(bytes_of("var<workgroup> x: array<f32, 4294967295u * 4294967295u>;"), std::nullopt);
  EXPECT_EQ(bytes_of("var<workgroup> x: array<f32, 1 / 0>;"), std::nullopt);
  EXPECT_EQ(bytes_of("var<workgroup> x"), std::nullopt);
  EXPECT_EQ(workgroup_of("@workgroup_size(0)").invocations, std::nullopt);
  EXPECT_EQ(workgroup_of("@workgroup_size(LANES)").invocations, std::nullopt);
  EXPECT_EQ(workgroup_of("@workgroup_size(4").invocations, std::nullopt);
  EXPECT_EQ(workgroup_of("").invocations, std::nullopt);
}

}  // namespace
}  // namespace rlx
