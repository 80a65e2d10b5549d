// An extent that only a run tells is held to what the op needs of it, on every device: one that
// does not fit is an Error before anything runs, never an access beyond a tensor.
#include <gtest/gtest.h>

#include "rlx/conformance/test_devices.h"
#include "rlx/ir/graph.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_random.h"
#include "rlx/ops/ops_resize.h"
#include "rlx/ops/ops_rope.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/ops/ops_vision.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

// A graph with the input x, f32[n], and tensors of zeros that may have n in their shapes.
struct Site {
  Graph& graph;
  Value x;
  Dim n = "n";

  Value zeros(DType dtype, const Dims& shape) const {
    return expand(graph.constant(Tensor(dtype, {})), shape);
  }
  Value floats(const Dims& shape) const { return zeros(DType::f32, shape); }
  Value integers(const Dims& shape) const { return zeros(DType::i64, shape); }
  Value add(const char* op, const Values& inputs, const Attrs& attrs) const {
    return graph.add(catalog().at(op), inputs, attrs);
  }
};

// An extent that fits, one that does not, and what is said of it.
struct Row {
  Value (*build)(const Site& s);
  int64_t right, wrong;
  const char* message;
};

const Row kRows[] = {
    {[](const Site& s) { return top_k(s.x, 5).values; }, 5, 3,
     "top_k: k 5 is out of range for axis 0 of f32[n] (n): 5 is more than 3"},
    {[](const Site& s) {
       return gather_elements(s.floats({s.n, 4}), s.integers({2, 4}), 1);
     },
     2, 1,
     "gather_elements: dim 0 of indices i64[2, 4] is larger than that of f32[n, 4]: 2 is more than "
     "1"},
    {[](const Site& s) {
       return scatter_elements(s.floats({3, 4}), s.integers({s.n, 4}), s.floats({s.n, 4}), 1);
     },
     3, 400,
     "scatter_elements: dim 0 of indices i64[n, 4] is larger than that of f32[3, 4]: 400 is more "
     "than 3"},
    {[](const Site& s) {
       return write_slice(s.floats({3}), s.x, s.graph.constant(Tensor(DType::i64, {1})));
     },
     3, 4, "write_slice: dim 0 of f32[n] does not fit f32[3]: 4 is more than 3"},
    {[](const Site& s) {
       return rope(s.floats({1, s.n}), s.floats({1, 3}), s.floats({1, 3}));
     },
     6, 5, "rope: turns 6 dims, x f32[1, n] has n: 6 is more than 5"},
    {[](const Site& s) {
       const Value kv = s.floats({1, s.n, 2, 3});
       return attention(s.floats({1, 4, 2, 3}), kv, kv);
     },
     2, 3, "attention: 4 heads of q are no multiple of n heads of k and v: 4 is no multiple of 3"},
    {[](const Site& s) {
       const Value kv = s.floats({1, 4, 2, 3});
       return attention(s.floats({1, s.n, 2, 3}), kv, kv);
     },
     8, 2, "attention: n heads of q are no multiple of 4 heads of k and v: 2 is no multiple of 4"},
    {[](const Site& s) {
       const Value qkv = s.floats({1, 2, s.n});
       return attention(qkv, qkv, qkv, {}, {.heads = 2});
     },
     4, 3, "attention: f32[1, 2, n] cannot be parted into 2 heads: 3 is no multiple of 2"},
    {[](const Site& s) {
       return conv(s.floats({1, 4, 5}), s.floats({s.n, 2, 3}), {}, {.groups = 2});
     },
     4, 3,
     "conv: n channels of w f32[n, 2, 3] cannot be parted into 2 groups: 3 is no multiple of 2"},
    {[](const Site& s) {
       return conv_transpose(s.floats({1, s.n, 5}), s.floats({s.n, 2, 3}), {}, {.groups = 2});
     },
     4, 3,
     "conv_transpose: n channels of w f32[n, 2, 3] cannot be parted into 2 groups: 3 is no "
     "multiple of 2"},
    {[](const Site& s) {
       return s.add("group_norm", {s.floats({1, s.n, 2})}, {{"groups", 2}});
     },
     4, 3,
     "group_norm: n channels of x f32[1, n, 2] cannot be parted into 2 groups: 3 is no multiple "
     "of 2"},
    {[](const Site& s) {
       return sample(s.x, s.graph.constant(Tensor(DType::u32, {2})), s.integers({}));
     },
     1, 0, "sample: needs rows of float logits, got f32[n]: 1 is more than 0"},
    {[](const Site& s) {
       return pad(s.x, {1, 1}, "edge");
     },
     1, 0, "pad: dim 0 of f32[n] is empty, there is nothing to repeat: 1 is more than 0"},
    {[](const Site& s) { return resize(s.x, Dims{4}); }, 1, 0,
     "resize: dim 0 of f32[n] is empty, it cannot become 4: 1 is more than 0"},
    {[](const Site& s) {
       return s.add("resize_gradient", {s.x}, {{"shape", Dims{0}}, {"axes", Ints{0}}});
     },
     0, 4, "resize_gradient: dim 0 of [0] is empty, it cannot have become n: 1 is more than 0"},
    {[](const Site& s) {
       return s.add("resize_gradient", {s.floats({s.n, 2})},
                    {{"shape", Dims{3, 4}}, {"axes", Ints{1}}});
     },
     3, 400,
     "resize_gradient: dim 0 of f32[n, 2], which is not resized, is not that of [3, 4]: n "
     "and 3 must be equal, and are 400 and 3"},
    {[](const Site& s) {
       return s.add("max_pool_gradient", {s.floats({1, s.n, 1}), s.integers({1, s.n, 1})},
                    {{"shape", Dims{1, 1, 2}}, {"window", Ints{2}}});
     },
     1, 400,
     "max_pool_gradient: dim 1 of dy f32[1, n, 1] and of shape [1, 1, 2]: n and 1 must be equal, "
     "and are 400 and 1"},
    {[](const Site& s) {
       return grid_sample(s.floats({1, 1, s.n, 1}), s.floats({1, 2, 2, 2}), {.padding = "border"});
     },
     1, 0, "grid_sample: x f32[1, 1, n, 1] is empty, it has no border: 1 is more than 0"},
    {[](const Site& s) {
       return roi_align(s.floats({1, 1, s.n, 1}), s.floats({2, 4}), s.integers({2}),
                        {.samples = 1});
     },
     1, 0, "roi_align: x f32[1, 1, n, 1] has no elements to sample: 1 is more than 0"},
    {[](const Site& s) { return s.x + s.floats({5}); }, 1, 3,
     "add: cannot broadcast [n] with [5]: n and 5 must be equal or one of them 1, and are 3 and 5"},
    {[](const Site& s) { return s.x * slice(s.x, {1}, {3}, {0}); }, 2, 4,
     "mul: cannot broadcast [n] with [max(min(3, n) - 1, 0)]: n and max(min(3, n) - 1, 0) must be "
     "equal or one of them 1, and are 4 and 2"},
    {[](const Site& s) {
       return matmul(s.floats({s.n, 2, 3}), s.floats({4, 3, 2}));
     },
     1, 2,
     "matmul: cannot broadcast [n] with [4]: n and 4 must be equal or one of them 1, and are 2 and "
     "4"},
    {[](const Site& s) { return expand(s.x, {6}); }, 1, 2,
     "expand: f32[n] cannot become [6]: n and 6 must be equal or one of them 1, and are 2 and 6"},
    {[](const Site& s) {
       return attention(s.floats({1, 1, 4, 3}), s.floats({1, 1, 5, 3}), s.floats({1, 1, 5, 3}),
                        s.floats({s.n, 5}));
     },
     1, 2,
     "attention: bias f32[n, 5] does not broadcast to [1, 1, 4, 5]: n and 4 must be equal or the "
     "first 1, and are 2 and 4"},
};

// By row, so that one that crashes does not hide the others.
class ExtentErrors : public testing::TestWithParam<Row> {};

TEST_P(ExtentErrors, AreRaisedOnEveryDevice) {
  const Row& row = GetParam();
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    Graph graph;
    const Value x = graph.input("x", f32({"n"}));
    graph.output("y", row.build({graph, x}));
    const Program program = compile(graph, {.device = device});
    const auto run = [&](int64_t extent) {
      return error_of([&] { program.run({{"x", Tensor(DType::f32, {extent})}}); });
    };
    EXPECT_EQ(run(row.right), "");
    const std::string message = run(row.wrong);
    EXPECT_EQ(message.substr(0, message.find('\n')), row.message);
    EXPECT_EQ(run(row.right), "");  // a run that failed leaves the program as it was
  }
}

std::string row_name(const testing::TestParamInfo<Row>& info) {
  const std::string message = info.param.message;
  return text(message.substr(0, message.find(':')), '_', info.index);
}
INSTANTIATE_TEST_SUITE_P(Rows, ExtentErrors, testing::ValuesIn(kRows), row_name);

}  // namespace
}  // namespace rlx
