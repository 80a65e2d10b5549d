#include "rlx/image/file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "rlx/base/file.h"
#include "rlx/codegen/workgroup.h"
#include "rlx/compile/build_image.h"
#include "rlx/conformance/kernels.h"
#include "rlx/conformance/runner.h"
#include "rlx/image/needs.h"
#include "rlx/image/verify.h"
#include "rlx/import/test_folder.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/passes/passes.h"
#include "rlx/testing.h"

namespace rlx {

using namespace detail;
namespace {

using image::from_bytes;
using image::Image;
using image::to_bytes;

using Bytes = std::vector<std::byte>;

void expect_same_after_a_round_trip(const Image& image, const std::string& what) {
  try {
    image::verify(image);
    const Bytes bytes = to_bytes(image);
    const Image back = from_bytes(bytes, nullptr, "bytes");
    EXPECT_TRUE(back == image) << what;
    EXPECT_EQ(to_text(back), to_text(image)) << what;
    EXPECT_EQ(to_bytes(back), bytes) << what;
    EXPECT_EQ(error_of([&] { image::check_device(back, image.traits); }), "") << what;
  } catch (const Error& error) {
    ADD_FAILURE() << what << ": " << error.what();
  }
}

// Of the catalogue's own kernels; of others it may be all that a device has.
void expect_known_workgroups(const Image& image, const std::string& what) {
  for (const image::Kernel& kernel : image.kernels) {
    const Workgroup takes = workgroup_of(kernel.wgsl);
    EXPECT_EQ(takes.invocations, kernel.workgroup_invocations) << what;
    EXPECT_EQ(takes.bytes, kernel.workgroup_bytes) << what;
  }
}

// The CPU and the two devices on paper.
class ImageRows : public testing::TestWithParam<CaseFamily> {};
INSTANTIATE_TEST_SUITE_P(Families, ImageRows, testing::ValuesIn(case_families()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ImageRows, AreEqualWhenReadBack) {
  const OpSet ops = catalog();
  std::vector<DeviceTraits> devices = paper_devices();
  devices.push_back(Device().traits());
  for (const OpCase& row : GetParam().rows()) {
    const Graph graph = run_passes(case_graph(row, ops).graph);
    for (const DeviceTraits& device : devices) {
      const std::string what = text(row.op, " '", row.why, "' on ", device.name);
      const Image image = build_image(graph, device);
      expect_same_after_a_round_trip(image, what);
      expect_known_workgroups(image, what);
    }
  }
}

// An `if` and a loop, symbols, a state, a weight, and an attribute of most kinds.
Image small_image() {
  const Graph graph = parse(R"(rlx 1
symbol n in 1..8
%0 = input @"x" : f32[n, 2]
%1 = input @"c" : bool[]
%2 = weight value=f32[2, 2]{1, 2, 3, 4} @"w" : f32[2, 2]
%3 = matmul %0, %2 transpose_a=false transpose_b=false @"product" : f32[n, 2]
%4 = if_else %1, %3 else={
  %0 = input @"v" : f32[n, 2]
  output "o" %0
} then={
  %0 = input @"v" : f32[n, 2]
  %1 = neg %0 : f32[n, 2]
  output "o" %1
} @"if" : f32[n, 2]
%5 = state @"s" : f32[2]
%6 = sum %4 axes=[0] keep=false @"sum" : f32[2]
%7 = add %5, %6 @"next" : f32[2]
update %5 <- %7
output "y" %4
)",
                            catalog());
  return build_image(graph, DeviceTraits{});
}

TEST(ImageFile, HasAllItNeeds) { expect_same_after_a_round_trip(small_image(), "small"); }

TEST(ImageFile, AttributesAndExpressionsOfAllKindsAreKept) {
  Image image = small_image();
  const Dim n("n"), m("long_name.0");
  const Dim expression = Dim(3) * n * n * m - floor_div(n + Dim(1), m) * max(n, Dim(2) * m) +
                         mod(min(n, m), Dim(7)) + broadcast(n, broadcast(m, Dim("k"))) + Dim(-5);
  Attrs attrs{{"bool", true},
              {"int", int64_t{INT64_MIN}},
              {"float", -0.0},
              {"nan", std::nan("")},
              {"string", std::string("a\0\n\xff", 4)},
              {"dtype", DType::bf16},
              {"dims", Dims{expression, n, Dim(4)}},
              {"bools", Bools{true, false, true}},
              {"ints", Ints{INT64_MAX, 0, -1}},
              {"floats", Floats{0.1, -1e300}},
              {"strings", Strings{"", "x"}},
              {"dtypes", DTypes{DType::boolean, DType::f32}},
              {"shapes", Shapes{Dims{}, Dims{n}}},
              {"tensor", Tensor::of(DType::i64, {2}, {1, -2})},
              {"empty", Tensor(DType::f32, {0, 3})}};
  for (image::Step& step : image.run)
    if (auto* call = std::get_if<image::Call>(&step.what)) {
      call->attrs = attrs;
      call->bodies = {{"body", "rlx 1\n"}};
      break;
    }
  image.outputs[0].type.shape = {expression, Dim(2)};
  expect_same_after_a_round_trip(image, "attributes");
}

TEST(ImageFile, TensorsOfAMappedFileLieWhereTheyAreUsed) {
  const TestFolder folder;
  const std::string path = folder.path("small.rlxi");
  const Image image = small_image();
  write_image(path, image);
  const Image back = image::read_image(path);
  EXPECT_TRUE(back == image);
  ASSERT_FALSE(back.sources.empty());
  for (const Tensor& tensor : back.sources)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes().data()) % 64, 0u);
  // They cannot be written, and so are no copies.
  Tensor view = back.sources[0];
  EXPECT_NE(error_of([&] { view.mutable_bytes(); }), "");
}

TEST(ImageFile, BytesThatLieOddlyAreCopied) {
  const Image image = small_image();
  const Bytes bytes = to_bytes(image);
  Bytes moved(bytes.size() + 1);
  std::memcpy(moved.data() + 1, bytes.data(), bytes.size());
  const Image back = from_bytes(std::span(moved).subspan(1), nullptr, "bytes");
  EXPECT_TRUE(back == image);
  EXPECT_EQ(back.sources[0].data<float>()[3], 4);
}

TEST(ImageFile, EqualTensorsOfOneStorageAreWrittenOnce) {
  Image image = small_image();
  const size_t before = to_bytes(image).size();
  image.sources.push_back(image.sources[0]);
  EXPECT_LE(to_bytes(image).size(), before + 64);
  image.sources.back() = image.sources[0].copy();
  EXPECT_GE(to_bytes(image).size(), before + 64);
}

TEST(ImageFile, AWeightMayBeLeftOut) {
  const Image image = small_image();
  for (const image::WriteOptions& options :
       {image::WriteOptions{false, {}}, image::WriteOptions{true, {"w"}}}) {
    const Image back = from_bytes(to_bytes(image, options), nullptr, "bytes");
    ASSERT_EQ(back.weights.size(), 1u);
    EXPECT_EQ(back.values[size_t(back.weights[0].value)].source, -1);
    EXPECT_EQ(back.sources.size() + 1, image.sources.size());
  }
  EXPECT_EQ(error_of([&] {
              to_bytes(image, {true, {"v"}});
            }),
            "image: there is no weight 'v' to leave out");
}

TEST(ImageFile, TheChecksumIsTheOneOthersCompute) {
  const auto of = [](const std::string& text) {
    return image::checksum(std::as_bytes(std::span(text)));
  };
  EXPECT_EQ(of(""), 0xef46db3751d8e999u);
  EXPECT_EQ(of("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(of("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

// What reading damaged bytes says; "" where they are an image all the same, which then holds.
std::string read_damaged(std::span<const std::byte> bytes, bool checksums) {
  try {
    const Image image = from_bytes(bytes, nullptr, "damaged", {.checksums = checksums});
    image::verify(image);
    to_text(image);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_model) << error.what();
    return error.what();
  }
}

TEST(ImageFile, TruncatedAnywhereIsAnError) {
  const Bytes bytes = to_bytes(small_image());
  for (size_t length = 0; length < bytes.size(); ++length)
    for (const bool checksums : {true, false}) {
      // A copy, so that a sanitizer sees who reads behind it.
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
      EXPECT_NE(read_damaged(cut, checksums), "") << length;
    }
  Bytes longer = bytes;
  longer.resize(bytes.size() + 64);
  EXPECT_NE(read_damaged(longer, true), "");
  EXPECT_NE(read_damaged(longer, false), "");
}

TEST(ImageFile, EveryFlippedBitIsAnError) {
  Bytes bytes = to_bytes(small_image());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] ^= std::byte(1 << bit);
      EXPECT_NE(read_damaged(bytes, true), "") << at;
      bytes[at] ^= std::byte(1 << bit);
    }
  EXPECT_EQ(read_damaged(bytes, true), "");
}

TEST(ImageFile, DamageThatChecksumsDoNotSeeIsAnErrorOrAnImageThatHolds) {
  Bytes bytes = to_bytes(small_image());
  int accepted = 0, refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const int change : {1, 2, 0x7f, 0x80, 0xff}) {
      bytes[at] ^= std::byte(change);
      ++(read_damaged(bytes, false).empty() ? accepted : refused);
      bytes[at] ^= std::byte(change);
    }
  EXPECT_GT(accepted, 100);  // names and tensors
  EXPECT_GT(refused, 1000);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    Bytes damaged = bytes;
    for (int times = 0; times < 3; ++times)
      damaged[64 + random() % (bytes.size() - 64)] = std::byte(random());
    read_damaged(damaged, false);
  }
}

TEST(ImageFile, AnotherFileIsNoImage) {
  const std::string graph =
      "rlx 1\n%0 = input @\"x\" : f32[3]\noutput \"y\" %0\n# and some more text";
  EXPECT_EQ(read_damaged(std::as_bytes(std::span(graph)), true), "damaged: this is no image");
  for (const int version : {5, 7}) {
    Bytes other = to_bytes(small_image());
    other[8] = std::byte(version);
    EXPECT_EQ(read_damaged(other, true),
              text("damaged: the image has version ", version, ", this program reads 6"));
  }
}

// What would be multiplied out is refused: (a + b)^100 has more terms than there is memory for.
TEST(ImageFile, AnExpressionCannotGrowBeyondTheFile) {
  Image image = small_image();
  image.outputs[0].type.shape = {Dim("aa") + Dim("bb"), Dim(2)};
  Bytes bytes = to_bytes(image);
  // words: symbol aa, symbol bb, sum. Turned into aa bb product it is another expression, into
  // aa bb floor_div as well; three sums for two parts are none.
  const char from[] = {3, 1, 2, 'a', 'a', 1, 2, 'b', 'b', 2};
  const auto found = std::search(bytes.begin(), bytes.end(), std::begin(from), std::end(from),
                                 [](std::byte a, char b) { return a == std::byte(b); });
  ASSERT_NE(found, bytes.end());
  found[9] = std::byte{3};
  EXPECT_EQ(from_bytes(bytes, nullptr, "b", {.checksums = false}).outputs[0].type.shape[0],
            Dim("aa") * Dim("bb"));
  found[9] = std::byte{4};
  EXPECT_EQ(from_bytes(bytes, nullptr, "b", {.checksums = false}).outputs[0].type.shape[0],
            floor_div(Dim("aa"), Dim("bb")));
  found[5] = std::byte{2};
  EXPECT_NE(read_damaged(bytes, false).find("lacks an operand"), std::string::npos);
  // aa / aa is 1, which a file would not say so.
  found[5] = std::byte{1}, found[7] = std::byte{'a'}, found[8] = std::byte{'a'};
  EXPECT_NE(read_damaged(bytes, false).find("not as short as it could be"), std::string::npos);
}

}  // namespace
}  // namespace rlx
