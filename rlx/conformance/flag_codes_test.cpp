// What a device's error flag says: the op, the node, and what went wrong with which number.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "rlx/conformance/test_devices.h"
#include "rlx/image/flag.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

using Add = std::function<Value(const char* op, const Values& inputs, const Attrs& attrs)>;

// A graph of x and `numbers`, what they are, and what a device then says.
struct Row {
  const char* code;
  TensorType type;
  Tensor x, numbers;
  const char* said;
  Value (*build)(const Add& add, Value x, Value numbers);
};

Tensor list(DType dtype, std::initializer_list<double> elements) {
  return Tensor::of(dtype, {static_cast<int64_t>(elements.size())}, elements);
}
Value zeros(Value x, const Dims& shape) { return expand(scalar(x, 0), shape); }

std::vector<Row> rows() {
  const Tensor matrix(DType::f32, {3, 2}), sequences(DType::f32, {3, 2, 4});
  return {
      {"FLAG_INDEX", f32({3, 2}), matrix, list(DType::i64, {1, -7}),
       "gather: index -7 is out of range",
       [](const Add& add, Value x, Value n) {
         return add("gather", {x, n}, {});
       }},
      {"FLAG_LABEL", f32({3, 2}), matrix, list(DType::i64, {0, 2, 1}),
       "cross_entropy: label 2 is out of range",
       [](const Add& add, Value x, Value n) {
         return add("cross_entropy", {x, n}, {});
       }},
      {"FLAG_LENGTH", f32({3, 2}), matrix, list(DType::i64, {1, 4}),
       "reverse_sequence: length 4 is out of range",
       [](const Add& add, Value x, Value n) {
         return add("reverse_sequence", {x, n}, {});
       }},
      {"FLAG_LENGTH", f32({3, 2, 4}), sequences, list(DType::i32, {1, -2}),
       "rnn: length -2 is out of range",
       [](const Add& add, Value x, Value n) {
         return add("rnn", {x, zeros(x, {1, 2, 4}), zeros(x, {1, 2, 2}), Value(), n}, {});
       }},
      {"FLAG_EXPERT", f32({3, 2}), matrix, list(DType::i32, {0, 5, 1}),
       "grouped_matmul: expert 5 is out of range",
       [](const Add& add, Value x, Value n) {
         return add("grouped_matmul", {x, zeros(x, {2, 2, 4}), n}, {});
       }},
      {"FLAG_PICTURE", f32({2, 1, 4, 4}), Tensor(DType::f32, {2, 1, 4, 4}), list(DType::i64, {3}),
       "roi_align: picture 3 is out of range",
       [](const Add& add, Value x, Value n) {
         return add("roi_align", {x, zeros(x, {1, 4}), n}, {});
       }},
      {"FLAG_VALUE", f32({3, 2}), matrix, list(DType::f32, {1, 1e30}),
       "cast: a value is out of range for the integers that it is cast to",
       [](const Add& add, Value x, Value n) {
         return add("gather", {x, cast(n, DType::i64)}, {});
       }},
      {"FLAG_BLOCK", f32({3, 2}), matrix, list(DType::i64, {2, 1}),
       "write_slice: the block lies outside of what it is written to, by 2",
       [](const Add& add, Value x, Value n) {
         return add("write_slice", {x, zeros(x, {2, 2}), n}, {});
       }},
      {"FLAG_EMPTY", f32({3, "n"}), Tensor(DType::f32, {3, 0}), list(DType::i64, {0}),
       "argmax: a row without elements has no extreme",
       [](const Add& add, Value x, Value) {
         return add("argmax", {x}, {{"axis", 1}});
       }},
  };
}

TEST(FlagCodes, EachIsRaisedAndNamesWhatWentWrong) {
  const OpSet ops = catalog();
  std::set<std::string> raised{"FLAG_NONE"};
  for (const Row& row : rows()) {
    raised.insert(row.code);
    Graph graph;
    const Value x = graph.input("x", row.type);
    const Value numbers = graph.input("numbers", row.numbers.type());
    const Add add = [&](const char* op, const Values& inputs, const Attrs& attrs) {
      return graph.add(ops.at(op), inputs, attrs);
    };
    graph.output("y", row.build(add, x, numbers));
    for (const Device& device : test_devices()) {
      if (device.is_cpu()) continue;  // a reference says it in its own words
      SCOPED_TRACE(text(device.name(), ": ", row.code));
      const Program program = compile(graph, {.device = device});
      const std::string said = error_of([&] {
        program.run({{"x", row.x}, {"numbers", row.numbers}});
      });
      EXPECT_EQ(said.rfind(row.said, 0), 0U) << said;
      EXPECT_NE(said.find("at node '"), std::string::npos) << said;
    }
  }
  for (const image::FlagCode& code : image::kFlagCodes)
    EXPECT_EQ(raised.count(code.name), 1U) << code.name << " has no row";
}

}  // namespace
}  // namespace rlx
