// Images whose numbers are not those of the graph: sizes, strides, offsets and alignments. What
// reads memory where they say is checked, and no more is promised: the program raises an Error or
// computes something. Under the sanitizers.
#include <gtest/gtest.h>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/image/image.h"
#include "rlx/image/verify.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/internals.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

struct Case {
  const char* name;
  Value (*build)(Graph& graph, Value x);  // x: f32[4, 6]
};
const Case kCases[] = {
    {"views",
     [](Graph&, Value x) {
       return concat(
           {transpose(slice(x, {1}, {3}, {0}), {1, 0}), slice(transpose(x, {1, 0}), {1}, {3}, {1})},
           1);
     }},
    {"product",
     [](Graph& graph, Value x) {
       return relu(matmul(slice(x, {1}, {5}, {1}), graph.weight("w", Tensor(DType::f32, {4, 3}))));
     }},
    {"convolution",
     [](Graph& graph, Value x) {
       const Value picture = reshape(x, Dims{1, 2, 3, 4});
       const Value w = graph.weight("w", Tensor(DType::f32, {3, 2, 2, 2}));
       const Value convolved = graph.add(catalog().at("conv"), {picture, w});
       return graph.add(catalog().at("max_pool"), {convolved}, {{"window", Ints{2, 2}}});
     }},
    {"rows", [](Graph&, Value x) { return softmax(x + slice(x, {0}, {1}, {0})); }},
    {"elements", [](Graph&, Value x) { return exp(x * scalar(x, 2)) + sigmoid(x); }},
    {"gather",
     [](Graph& graph, Value x) {
       return gather(x, graph.constant(Tensor::of(DType::i64, {3}, {0, 2, 1})), 1);
     }},
    {"reduced",
     [](Graph&, Value x) {
       return sum(transpose(x, {1, 0}), {1}) + reduce_max(x, {0});
     }},
};

image::Image image_of_case(const Case& each, const Dim& rows) {
  Graph graph;
  const Value x = graph.input("x", f32({rows, 6}));
  graph.output("y", each.build(graph, rows.is_number() ? x : slice(x, {0}, {4}, {0})));
  return compile_image(graph, {}).data();
}

std::string run(image::Image image) {
  return error_of([&] {
    image::verify(image);  // as for an image from a file
    Program program = prepare({}, detail::image_of(std::move(image)), catalog());
    const Tensor x(DType::f32, {4, 6});
    const std::string first = error_of([&] { program.run({{"x", x}}); });
    // The same tensors find the same operands, and what was refused is refused again.
    EXPECT_EQ(error_of([&] { program.run({{"x", x}}); }), first);
    if (!first.empty()) fail(ErrorKind::invalid_model, first);
  });
}

TEST(HostileImage, ItsNumbersMayBeAny) {
  int refused = 0;
  for (const Case& each : kCases) {
    const image::Image whole = image_of_case(each, 4);
    EXPECT_EQ(run(whole), "");
    for (size_t i = 0; i < whole.numbers.known.size(); ++i)
      for (const int64_t number : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{3}, int64_t{5},
                                   int64_t{64}, int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
        SCOPED_TRACE(text(each.name, ": number ", i, " is ", number));
        image::Image image = whole;
        image.numbers.known[i].value = number;
        refused += run(std::move(image)).empty() ? 0 : 1;
      }
  }
  EXPECT_GT(refused, 100);
}

// What the compiler builds holds what is checked: rows of every op, as an image from a file.
TEST(HostileImage, CallsOfEveryOpAreAsTheirOpsInfer) {
  const OpSet ops = catalog();
  std::map<std::string, int> taken;
  for (const OpCase& row : op_cases()) {
    constexpr int kOfEach = 1;
    if (taken[row.op]++ >= kOfEach) continue;
    SCOPED_TRACE(describe(row));
    const CaseGraph built = case_graph(row, ops);
    const Program program = prepare({}, compile_image(built.graph, {}), ops);
    EXPECT_EQ(error_of([&] { program.run(built.inputs); }), "");
  }
}

}  // namespace
}  // namespace rlx
