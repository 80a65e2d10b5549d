// An index out of range is an error on every device, whichever op and kernel reads it.
#include <gtest/gtest.h>

#include "rlx/conformance/test_devices.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_index.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

struct Reader {
  const char* name;
  Shape indices;
  Value (*build)(Value x, Value indices, Value updates);
};

// All over x, f32[3, 2], where 4 and -4 are out of range, and updates of the shape that the indices
// ask for.
const Reader kReaders[] = {
    {"gather", {2}, [](Value x, Value i, Value) { return gather(x, i); }},
    {"scatter", {2}, [](Value x, Value i, Value u) { return scatter(x, i, u, 0, "add"); }},
    {"gather_elements", {2, 2}, [](Value x, Value i, Value) { return gather_elements(x, i); }},
    {"scatter_elements",
     {2, 2},
     [](Value x, Value i, Value u) { return scatter_elements(x, i, u); }},
    {"gather_nd", {2, 1}, [](Value x, Value i, Value) { return gather_nd(x, i); }},
    {"scatter_nd", {2, 1}, [](Value x, Value i, Value u) { return scatter_nd(x, i, u, "max"); }},
    {"reverse_sequence", {2}, [](Value x, Value i, Value) { return reverse_sequence(x, i); }},
};

std::string run_error(const Reader& reader, const Device& device, int64_t kernel, double index) {
  Graph graph;
  const Value x = graph.input("x", f32({3, 2})), updates = graph.input("updates", f32({2, 2}));
  Tensor indices(DType::i64, reader.indices);
  for (int64_t i = 0; i < indices.count(); ++i) indices.set(i, 1);
  indices.set(indices.count() - 1, index);
  graph.output("y", reader.build(x, graph.input("at", indices.type()), updates));
  const Program program =
      compile(graph, {.device = device, .choices = {{"scatter.kernel", kernel}}});
  return error_of([&] {
    program.run({{"x", Tensor(DType::f32, {3, 2})},
                 {"updates", Tensor(DType::f32, {2, 2})},
                 {"at", indices}});
  });
}

// Rows that other kernels find while they load, or behind what they compute.
const Reader kMaps[] = {
    {"a sum", {2}, [](Value x, Value i, Value u) { return gather(x, i) + gather(x, i) * u; }},
    {"a row", {2}, [](Value x, Value i, Value u) { return softmax(gather(x, i) * u) + u; }},
    {"a product",
     {2},
     [](Value x, Value i, Value u) { return matmul(gather(x, i), u) + gather(x, i); }},
};

TEST(IndexErrors, AreRaisedByMapsOnEveryDevice) {
  for (const Device& device : test_devices())
    for (const Reader& reader : kMaps) {
      SCOPED_TRACE(text(device.name(), ", ", reader.name));
      EXPECT_EQ(run_error(reader, device, 0, 2), "");
      for (const double index : {4.0, -4.0}) {
        const std::string message = run_error(reader, device, 0, index);
        EXPECT_NE(message.find("out of range"), std::string::npos) << message;
      }
    }
}

TEST(IndexErrors, AreRaisedOnEveryDevice) {
  for (const Device& device : test_devices())
    for (const Reader& reader : kReaders)
      for (const int64_t kernel : {0, 1}) {
        SCOPED_TRACE(text(device.name(), ", ", reader.name, ", ", kernel));
        EXPECT_EQ(run_error(reader, device, kernel, 2), "");
        for (const double index : {4.0, -4.0}) {
          const std::string message = run_error(reader, device, kernel, index);
          EXPECT_NE(message.find("out of range"), std::string::npos) << message;
          EXPECT_NE(message.find(reader.name), std::string::npos) << message;
        }
      }
}

}  // namespace
}  // namespace rlx
