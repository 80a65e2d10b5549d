#include "rlx/image/needs.h"

#include <gtest/gtest.h>

#include <set>

#include "rlx/compile/build_image.h"
#include "rlx/conformance/kernels.h"
#include "rlx/image/file.h"
#include "rlx/lower/site.h"
#include "rlx/ops/ops_core.h"
#include "rlx/testing.h"

namespace rlx::image {

using namespace detail;
namespace {

// A device on paper that has all features.
DeviceTraits wide() { return paper_devices()[0]; }

// y = x, by a kernel that may use subgroups.
std::shared_ptr<const OpDef> copied(const std::string& wgsl, bool subgroups) {
  OpDef op;
  op.name = "mine.copied";
  op.inputs = {1, 1, {"x"}};
  op.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  op.reference = [](const ReferenceSite& site) {
    for (int64_t i = 0; i < site.in(0).count(); ++i) site.out().set(i, site.in(0).at(i));
  };
  op.lower = [=](const LowerSite& site) -> rlx::Steps {
    rlx::Dispatch dispatch{.kernel = {"mine.copied", {"copied.wgsl", wgsl}},
                           .operands = {site.read("x", 0), site.write("y")}};
    dispatch.subgroups = subgroups;
    return dispatch;
  };
  return std::make_shared<const OpDef>(std::move(op));
}
Image image_of(DType dtype, const std::string& wgsl, bool subgroups) {
  Graph graph;
  const rlx::Value x = graph.input("x", {dtype, {64}});
  graph.output("y", graph.add(copied(wgsl, subgroups), {x}, {}));
  return build_image(graph, wide());
}
std::string first_line(const Image& image) {
  const std::string text = to_text(image);
  return text.substr(0, text.find('\n'));
}

constexpr const char* kMain =
    "@compute @workgroup_size(WORKGROUP)\nfn main(ids: Ids, @builtin(local_invocation_index) lane: "
    "u32) { store_y(lane, load_x(lane)); }\n";

TEST(ImageNeeds, AreTheFeaturesThatAKernelWasRenderedWith) {
  for (const bool f16 : {false, true})
    for (const bool subgroups : {false, true}) {
      const Image image = image_of(f16 ? DType::f16 : DType::f32, kMain, subgroups);
      const Needs needs = needs_of(image);
      EXPECT_EQ(needs.f16, f16);
      EXPECT_EQ(needs.subgroups, subgroups);
      EXPECT_EQ(needs.subgroup_min, subgroups ? 32 : 0);
      EXPECT_EQ(first_line(image).find(", f16") != std::string::npos, f16) << first_line(image);
      EXPECT_EQ(first_line(image).find(", subgroups 32..32") != std::string::npos, subgroups);
      const Image back = from_bytes(to_bytes(image), nullptr, "bytes");
      EXPECT_TRUE(back == image);
      EXPECT_EQ(needs_of(back).f16, f16);
      EXPECT_EQ(needs_of(back).subgroups, subgroups);
    }
}

TEST(ImageNeeds, AreNotWhatACommentSpeaksOf) {
  const std::string comment =
      "// Without 'enable f16;' and 'enable subgroups;', nor\n"
      "// @workgroup_size(1024) var<workgroup> x: array<f32, 8192>;\n";
  const Image image = image_of(DType::f32, comment + kMain, false);
  const Needs needs = needs_of(image);
  EXPECT_FALSE(needs.f16);
  EXPECT_FALSE(needs.subgroups);
  EXPECT_EQ(needs.workgroup_invocations, 64);
  EXPECT_EQ(needs.workgroup_bytes, 0);
  DeviceTraits plain = wide();
  plain.f16 = plain.subgroups = false;
  EXPECT_EQ(error_of([&] { check_device(image, plain); }), "");
}

TEST(ImageNeeds, AreNotAllThatTheDeviceItWasBuiltForHas) {
  Graph graph;
  graph.output("y", exp(graph.input("x", f32({1000}))));
  DeviceTraits device = wide();
  device.max_workgroup_invocations = 256;
  const Image image = build_image(graph, device);
  device.max_workgroup_invocations = 64;
  device.max_workgroup_bytes = 1;
  device.max_workgroups = 8;
  EXPECT_EQ(error_of([&] { check_device(image, device); }), "");
  device.max_workgroup_invocations = 63;
  EXPECT_EQ(error_of([&] { check_device(image, device); }),
            "the image was built for 'with-f16' and cannot run on 'with-f16': it needs invocations "
            "of 64, the limit is 63");
}

TEST(ImageNeeds, AreTheMemoryThatAWorkgroupShares) {
  const std::string shared = "var<workgroup> rows: array<vec4<f32>, WORKGROUP>;\n";
  const Image image = image_of(DType::f32, shared + kMain, false);
  EXPECT_EQ(needs_of(image).workgroup_bytes, 1024);
  EXPECT_NE(to_text(image).find("64 lanes  1024 bytes shared"), std::string::npos)
      << to_text(image);
  DeviceTraits small = wide();
  small.max_workgroup_bytes = 1023;
  EXPECT_EQ(error_of([&] { check_device(image, small); }),
            "the image was built for 'with-f16' and cannot run on 'with-f16': it needs workgroup "
            "memory of 1024, the limit is 1023");
  // What is said in other words may be all that there is.
  const std::string other = "var<workgroup> rows: array<f32, max(1, 2)>;\n";
  EXPECT_EQ(needs_of(image_of(DType::f32, other + kMain, false)).workgroup_bytes,
            wide().max_workgroup_bytes);
}

TEST(ImageNeeds, OfImagesThatDifferInThemAloneTheHashesDiffer) {
  const Image image = image_of(DType::f32, kMain, false);
  const auto changed = [&](auto change) {
    Image other = image;
    change(other.kernels[0]);
    EXPECT_FALSE(other == image);
    EXPECT_NE(to_text(other), to_text(image));
    return hash_of(other);
  };
  const std::vector<uint64_t> hashes = {hash_of(image), changed([](Kernel& k) { k.f16 = true; }),
                                        changed([](Kernel& k) { k.subgroups = true; }),
                                        changed([](Kernel& k) { k.workgroup_invocations = 32; }),
                                        changed([](Kernel& k) { k.workgroup_bytes = 32; })};
  EXPECT_EQ(std::set<uint64_t>(hashes.begin(), hashes.end()).size(), hashes.size());
}

}  // namespace
}  // namespace rlx::image
