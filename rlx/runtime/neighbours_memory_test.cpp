// Neighbours of many points take the memory of points and results: nothing is planned for a matrix
// of all distances, on any device.
#include <gtest/gtest.h>

#include "rlx/conformance/device_test.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_points.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/internals.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

constexpr int64_t kPoints = 100000, kDims = 64, kNearest = 15;
constexpr int64_t kPointBytes = kPoints * kDims * 4;

class NeighboursMemory : public DeviceTest {
 protected:
  // Distances, and indices as the device has them.
  int64_t result_bytes() const { return kPoints * kNearest * (device().is_cpu() ? 4 + 8 : 4 + 4); }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, NeighboursMemory, every_device(), device_name);

// Beside the points, which its caller has, a plan has room for the results; on a GPU as much again
// for the lists that these are made of, and by angle for points of length 1.
TEST_P(NeighboursMemory, APlanHasRoomForPointsAndResultsOnly) {
  for (const std::string metric : {"euclid", "cosine", "dot"}) {
    SCOPED_TRACE(metric);
    Graph graph;
    const TopK near =
        knn(graph.input("points", f32({kPoints, kDims})), kNearest, {.metric = metric});
    graph.output("distances", near.values);
    graph.output("indices", near.indices);
    const Image compiled = compile_image(graph, {.device = device(), .strict = true});
    const image::Image& image = compiled.data();
    image::Cells cells = detail::cells_of(image, {});
    cells.evaluate();
    for (const image::Value& value : image.values)
      EXPECT_LE(cells.at(value.bytes), kPointBytes) << value.name;
    const int64_t lists = device().is_cpu() ? 0 : result_bytes(),
                  of_length_1 = metric == "cosine" ? kPointBytes : 0;
    EXPECT_LE(detail::plan_memory(image, cells).peak_bytes, result_bytes() + lists + of_length_1);
  }
}

}  // namespace
}  // namespace rlx
