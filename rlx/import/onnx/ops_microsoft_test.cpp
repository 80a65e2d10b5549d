// What operators of com.microsoft make of shapes, and what they say of wrong ones. Their values are
// compared with onnxruntime's by tests/cli/models.sh.

#include <gtest/gtest.h>

#include <algorithm>

#include "rlx/import/onnx/import_model.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

// A model of one node.
struct OneNode {
  Model model;

  explicit OneNode(const std::string& op, const std::string& domain = "com.microsoft") {
    model.opsets = {{"", 23}, {"com.microsoft", 1}};
    model.graph.nodes.push_back({op, domain, "node", {}, {"y"}, {}});
    model.graph.outputs.push_back({"y", {}});
  }
  Node& node() { return model.graph.nodes[0]; }

  OneNode& input(const TensorType& type) {
    TypeInfo info{TypeInfo::Kind::tensor, elem_type(type.dtype), std::vector<DimInfo>{}};
    for (const Dim& dim : type.shape)
      info.shape->push_back(dim.is_number() ? DimInfo{dim.number()} : DimInfo{{}, *dim.symbol()});
    model.graph.inputs.push_back({name(), info});
    node().inputs.push_back(name());
    return *this;
  }
  OneNode& known(const Tensor& tensor) {
    model.graph.initializers.push_back({name(), tensor, false, tensor.shape()});
    node().inputs.push_back(name());
    return *this;
  }
  OneNode& absent(size_t count = 1) {
    node().inputs.resize(node().inputs.size() + count);
    return *this;
  }
  OneNode& set(const std::string& attribute, int64_t value) {
    Attribute given{attribute, ""};
    given.i = value;
    node().attributes.push_back(given);
    return *this;
  }
  OneNode& set(const std::string& attribute, const std::vector<int64_t>& values) {
    Attribute given{attribute, ""};
    given.ints = values;
    node().attributes.push_back(given);
    return *this;
  }
  OneNode& result(const std::string& name) {
    node().outputs.push_back(name);
    model.graph.outputs.push_back({name, {}});
    return *this;
  }

  Types types() const {
    const rlx::Graph graph = import_model(model);
    Types types;
    for (const GraphOutput& output : graph.outputs()) types.push_back(output.value.type());
    return types;
  }
  // Its first line: what follows tells the node.
  std::string error() const {
    const std::string message = error_of([&] { import_model(model); });
    return message.substr(0, message.find('\n'));
  }

 private:
  std::string name() { return "x" + std::to_string(node().inputs.size()); }
  static int elem_type(DType dtype) {
    int number = 1;
    while (dtype_of(number) != dtype) ++number;
    return number;
  }
};

TensorType i32(const Dims& shape) { return {DType::i32, shape}; }

OneNode attention_of(const Dims& weights) {
  return OneNode("Attention").input(f32({"batch", "seq", 6})).input(f32(weights));
}

TEST(MicrosoftAttention, ExtentsMayBeSymbols) {
  EXPECT_EQ(attention_of({6, 24}).set("num_heads", 2).types()[0], f32({"batch", "seq", 8}));
  const Types types = attention_of({6, 24})
                          .absent()
                          .input(i32({"batch", "all"}))
                          .input(f32({2, "batch", 2, "past", 4}))
                          .set("num_heads", 2)
                          .result("present")
                          .types();
  EXPECT_EQ(types[1], f32({2, "batch", 2, Dim("past") + Dim("seq"), 4}));
}

TEST(MicrosoftAttention, WhatDoesNotFitIsNamed) {
  EXPECT_EQ(attention_of({6, 24}).error(), "Attention: attribute 'num_heads' is missing");
  EXPECT_EQ(attention_of({6, 24}).set("num_heads", 3).error(),
            "Attention: f32[batch, seq, 8] cannot be parted into 3 heads");
  EXPECT_EQ(attention_of({6, 25}).set("num_heads", 2).error(),
            "Attention: qkv_hidden_sizes do not make the columns of weights f32[6, 25]");
  EXPECT_EQ(attention_of({6, 24}).set("num_heads", 2).set("do_rotary", 1).error(),
            "Attention: do_rotary is not there");
  EXPECT_EQ(attention_of({6, 24}).absent().input(i32({"other"})).set("num_heads", 2).error(),
            "Attention: a mask of other numbers for batch batches is not there");
  EXPECT_EQ(attention_of({6, 24}).absent().input(f32({"batch", "seq"})).set("num_heads", 2).error(),
            "Attention: the mask is f32[batch, seq], not of integers");
}

// Keys and values may lie in one tensor with the queries, or with each other.
TEST(MultiHeadAttention, PackedOperandsAreParted) {
  EXPECT_EQ(OneNode("MultiHeadAttention")
                .input(f32({"batch", 5, 2, 3, 4}))
                .set("num_heads", 2)
                .types()[0],
            f32({"batch", 5, 8}));
  EXPECT_EQ(OneNode("MultiHeadAttention")
                .input(f32({1, 5, 8}))
                .input(f32({1, 7, 2, 2, 4}))
                .set("num_heads", 2)
                .result("k")
                .types()[1],
            f32({1, 2, 7, 4}));
}

Tensor counted(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, static_cast<double>(i * 37 % 23) / 8 - 1);
  return tensor;
}

TEST(MultiHeadAttention, PackedIsTheSameAsApart) {
  constexpr int64_t kLength = 3, kHeads = 2, kSize = 4, kWidth = kHeads * kSize;
  const Tensor packed = counted({1, kLength, kHeads, 3, kSize}), bias = counted({3 * kWidth});
  TensorMap apart;
  for (int64_t part = 0; part < 3; ++part) {
    Tensor& x = apart.emplace("x" + std::to_string(part), Tensor(DType::f32, {1, kLength, kWidth}))
                    .first->second;
    for (int64_t i = 0; i < x.count(); ++i)
      x.set(i, packed.at((i / kSize * 3 + part) * kSize + i % kSize));
  }
  const OneNode one = OneNode("MultiHeadAttention")
                          .input(packed.type())
                          .absent(2)
                          .known(bias)
                          .set("num_heads", kHeads);
  OneNode three("MultiHeadAttention");
  for (const auto& [name, tensor] : apart) three.input(tensor.type());
  three.known(bias).set("num_heads", kHeads);
  EXPECT_TRUE(same_bytes(evaluate(import_model(one.model), {{"x0", packed}}).outputs.at("y"),
                         evaluate(import_model(three.model), apart).outputs.at("y")));
}

TEST(MultiHeadAttention, WhatIsNotThereIsNamed) {
  EXPECT_EQ(OneNode("MultiHeadAttention").input(f32({1, 5, 8})).set("num_heads", 2).error(),
            "MultiHeadAttention: a query f32[1, 5, 8] needs a key");
  EXPECT_EQ(OneNode("MultiHeadAttention")
                .input(f32({1, 5, 8}))
                .input(f32({1, 5, 8}))
                .set("num_heads", 2)
                .error(),
            "MultiHeadAttention: a key without a value needs to be [B, S, H, 2, D], it is "
            "f32[1, 5, 8]");
}

OneNode group_query(const Dims& query, const Dims& past) {
  return OneNode("GroupQueryAttention")
      .input(f32(query))
      .input(f32({query[0], query[1], 8}))
      .input(f32({query[0], query[1], 8}))
      .input(f32(past))
      .input(f32(past))
      .input(i32({query[0]}))
      .input(i32({}))
      .set("num_heads", 4)
      .set("kv_num_heads", 2)
      .result("k")
      .result("v");
}

// The total is an input here, whose value a run tells.
TEST(GroupQueryAttention, TheCacheGrowsToTheTotal) {
  const rlx::Graph graph =
      import_model(group_query({"batch", 1, 16}, {"batch", 2, "past", 4}).model);
  const auto kept = [&](int64_t past, int64_t total) {
    TensorMap inputs{{"x0", counted({1, 1, 16})},      {"x1", counted({1, 1, 8})},
                     {"x2", counted({1, 1, 8})},       {"x3", counted({1, 2, past, 4})},
                     {"x4", counted({1, 2, past, 4})}, {"x5", Tensor(DType::i32, {1})},
                     {"x6", Tensor(DType::i32, {})}};
    inputs.at("x5").set_integer(0, total - 1);
    inputs.at("x6").set_integer(0, total);
    return evaluate(graph, inputs).outputs.at("k");
  };
  const Tensor grown = kept(4, 5), roomy = kept(6, 3);
  EXPECT_EQ(grown.shape(), (Shape{1, 2, 5, 4}));
  EXPECT_EQ(roomy.shape(), (Shape{1, 2, 6, 4}));
  for (int64_t d = 0; d < 4; ++d) {  // the new key, of the first head
    EXPECT_EQ(grown.at(16 + d), counted({8}).at(d));
    EXPECT_EQ(roomy.at(8 + d), counted({8}).at(d));
    EXPECT_EQ(roomy.at(12 + d), counted({48}).at(12 + d));
  }
}

TEST(GroupQueryAttention, WithoutAPastTheKeysAreTheCache) {
  EXPECT_EQ(group_query({"batch", "seq", 16}, {"batch", 2, 0, 4}).types()[1],
            f32({"batch", 2, "seq", 4}));
}

// No mask is made for them, nor keys copied.
TEST(GroupQueryAttention, SinksAreAttentionsOwn) {
  const OneNode prompt = group_query({"batch", "seq", 16}, {"batch", 2, 0, 4});
  OneNode told = prompt, smooth = prompt;
  told.absent(4).known(Tensor::of(DType::f32, {4}, {1, 2, 3, 4}));
  smooth.set("smooth_softmax", 1);
  for (const OneNode& model : {told, smooth}) {
    const rlx::Graph graph = import_model(model.model);
    const auto found = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                    [](const auto& node) { return node.op->name == "attention"; });
    ASSERT_NE(found, graph.nodes().end());
    EXPECT_TRUE(found->attrs.get<bool>("causal"));
    ASSERT_EQ(found->inputs.size(), 6u);
    EXPECT_EQ(found->inputs[5].type(), f32({4}));
    EXPECT_FALSE(found->inputs[3].present() || found->inputs[4].present());
  }
}

TEST(GroupQueryAttention, WhatIsNotThereIsNamed) {
  EXPECT_EQ(group_query({1, 1, 16}, {1, 2, 3, 4}).set("qk_output", 1).error(),
            "GroupQueryAttention: qk_output is not there");
  EXPECT_EQ(group_query({1, 1, 16}, {1, 2}).error(),
            "GroupQueryAttention: input 3 is f32[1, 2], it needs 4 dims");
}

TEST(RotaryEmbedding, HeadsAreTheirOwnOrTold) {
  const auto rotary = [](int64_t columns) {
    return OneNode("RotaryEmbedding")
        .input(f32({"batch", "seq", 12}))
        .input({DType::i64, {"batch", "seq"}})
        .input(f32({9, columns}))
        .input(f32({9, columns}));
  };
  EXPECT_EQ(rotary(2).types()[0], f32({"batch", "seq", 12}));
  EXPECT_EQ(rotary(1).set("rotary_embedding_dim", 2).set("num_heads", 3).types()[0],
            f32({"batch", "seq", 12}));
  EXPECT_EQ(rotary(1).set("rotary_embedding_dim", 2).error(),
            "RotaryEmbedding: num_heads must be given");
  EXPECT_EQ(
      rotary(2).set("rotary_embedding_dim", 2).set("num_heads", 3).error(),
      "RotaryEmbedding: rotary_embedding_dim 2 needs tables of 1 columns, they are f32[9, 2]");
  EXPECT_EQ(rotary(4).error(),
            "RotaryEmbedding: f32[batch, seq, 12] cannot be parted into heads of 8");
}

OneNode n_bits(int64_t bytes, int64_t scales, int64_t bits = 4) {
  return OneNode("MatMulNBits")
      .input(f32({"rows", 32}))
      .known(Tensor(DType::u8, {bytes}))
      .known(Tensor(DType::f32, {scales}))
      .set("K", 32)
      .set("N", 3)
      .set("bits", bits)
      .set("block_size", 16);
}

TEST(MatMulNBits, WeightsOfTheWrongSizeAreNamed) {
  EXPECT_EQ(n_bits(48, 6).types()[0], f32({"rows", 3}));
  EXPECT_EQ(n_bits(47, 6).error(),
            "MatMulNBits: B u8[47] has 47 elements, 3 x 32 weights of 4 bits in blocks of 16 need "
            "48");
  EXPECT_EQ(n_bits(48, 5).error(),
            "MatMulNBits: scales f32[5] has 5 elements, 3 x 32 weights of 4 bits in blocks of 16 "
            "need 6");
  EXPECT_EQ(n_bits(48, 6, 5).error(), "MatMulNBits: weights of 5 bits");
  EXPECT_EQ(n_bits(48, 6).known(Tensor(DType::u8, {4})).error(),
            "MatMulNBits: zero_points u8[4] has 4 elements, 3 x 32 weights of 4 bits in blocks of "
            "16 need 3");
}

// Weights of every width, with and without zero points, are what their bits say.
TEST(MatMulNBits, WeightsStayInTheirBits) {
  for (const int64_t bits : {2, 3, 4, 8})
    for (const bool zeros : {false, true}) {
      Tensor bytes(DType::u8, {3, 2, 2 * bits}), x(DType::f32, {1, 32});
      for (int64_t i = 0; i < bytes.count(); ++i) bytes.set_integer(i, i * 37 % 256);
      for (int64_t i = 0; i < 32; ++i) x.set(i, static_cast<double>(i) - 9);
      const Tensor scales = Tensor::of(DType::f32, {3, 2}, {1, 0.5, 2, 0.25, 3, 4});
      OneNode node = OneNode("MatMulNBits").input(x.type()).known(bytes).known(scales);
      const int64_t zero_bytes = bits == 8 ? 2 : 1;  // 1 in the first block, 0 in the second
      Tensor points(DType::u8, {3, zero_bytes});
      for (int64_t row = 0; row < 3; ++row) points.set_integer(row * zero_bytes, 1);
      if (zeros) node.known(points);
      node.set("K", 32).set("N", 3).set("bits", bits).set("block_size", 16);
      const auto graph = import_model(node.model);
      EXPECT_TRUE(std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& each) {
        return each.op->name == "quantised_matmul";
      })) << "decoded too early";
      const Tensor y = evaluate(graph, {{"x0", x}}).outputs.at("y");
      for (int64_t row = 0; row < 3; ++row) {
        double want = 0;
        for (int64_t i = 0; i < 32; ++i) {
          int64_t q = 0;
          for (int64_t b = 0; b < bits; ++b) {
            const int64_t at = (row * 32 + i) * bits + b;
            q |= (bytes.integer_at(at / 8) >> (at % 8) & 1) << b;
          }
          const int64_t block = i / 16;
          const int64_t zero = zeros ? 1 - block : int64_t{1} << (bits - 1);
          want += static_cast<double>(q - zero) * scales.at(row * 2 + block) * x.at(i);
        }
        EXPECT_NEAR(y.at(row), want, 1e-3) << bits << " bits, row " << row;
      }
    }
}

TEST(GatherBlockQuantized, RowsAreDecoded) {
  Tensor bytes(DType::u8, {3, 16});  // 32 elements each
  for (int64_t i = 0; i < bytes.count(); ++i) bytes.set_integer(i, i * 37 % 256);
  const Tensor scales = Tensor::of(DType::f32, {3, 2}, {1, 0.5, 2, 0.25, 3, 4});
  const Tensor rows = Tensor::of(DType::i64, {2}, {2, 0});
  OneNode node = OneNode("GatherBlockQuantized").known(bytes).input(rows.type()).known(scales);
  node.set("bits", 4).set("block_size", 16);
  const Tensor y = evaluate(import_model(node.model), {{"x1", rows}}).outputs.at("y");
  ASSERT_EQ(y.shape(), (Shape{2, 32}));
  EXPECT_EQ(y.at(0), ((2 * 16 * 37 % 256 & 15) - 8) * 3);
  EXPECT_EQ(y.at(31), ((47 * 37 % 256 >> 4) - 8) * 4);
  EXPECT_EQ(y.at(33), -8);
}

// A block for each element, given out of order, is what no kernel of blocks can read.
TEST(MatMulNBits, GroupsMayBeInAnyOrder) {
  Tensor bytes(DType::u8, {48}), scales = Tensor::of(DType::f32, {6}, {1, 10, 2, 20, 3, 30});
  for (int64_t i = 0; i < 48; ++i) bytes.set_integer(i, 0x99);  // all one above the zero point
  Tensor groups(DType::i32, {32}), ones(DType::f32, {1, 32});
  for (int64_t i = 0; i < 32; ++i) groups.set_integer(i, i < 4 ? 1 : 0), ones.set(i, 1);
  OneNode node = OneNode("MatMulNBits")
                     .input(ones.type())
                     .known(bytes)
                     .known(scales)
                     .absent()
                     .known(groups)
                     .set("K", 32)
                     .set("N", 3)
                     .set("block_size", 16);
  const Tensor y = evaluate(import_model(node.model), {{"x0", ones}}).outputs.at("y");
  EXPECT_EQ(y.at(0), 4 * 10 + 28 * 1);
  EXPECT_EQ(y.at(2), 4 * 30 + 28 * 3);
}

TEST(DynamicQuantizeLstm, ScalesOfTheWrongSizeAreNamed) {
  const auto lstm = [](int64_t scales) {
    return OneNode("DynamicQuantizeLSTM")
        .input(f32({"steps", 1, 5}))
        .known(Tensor(DType::i8, {1, 5, 8}))
        .known(Tensor(DType::i8, {1, 2, 8}))
        .absent(5)
        .known(Tensor(DType::f32, {scales}))
        .known(Tensor(DType::i8, {1}))
        .known(Tensor(DType::f32, {1, 8}))
        .known(Tensor(DType::i8, {1, 8}));
  };
  EXPECT_EQ(lstm(1).types()[0], f32({"steps", 1, 1, 2}));
  EXPECT_EQ(lstm(3).error(),
            "DynamicQuantizeLSTM: a scale or zero point f32[3] does not fit weights i8[1, 5, 8]");
}

TEST(MicrosoftOperators, SkipNormsHaveAnEpsilonOfTheirOwn) {
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    OneNode node(op);
    for (const Dims& shape : {Dims{1, 1, 2}, Dims{1, 1, 2}, Dims{2}}) node.input(f32(shape));
    const Tensor y = evaluate(import_model(node.model),
                              {{"x0", Tensor::of(DType::f32, {1, 1, 2}, {-1e-4, 1e-4})},
                               {"x1", Tensor::of(DType::f32, {1, 1, 2}, {0, 0})},
                               {"x2", Tensor::of(DType::f32, {2}, {1, 1})}})
                         .outputs.at("y");
    EXPECT_NEAR(y.at(1), 1, 1e-3) << op;  // of 1e-5 it would be 0.03
  }
}

// Operands of any rank, dtype and number, and absurd attributes: an Error or a graph, nothing else.
TEST(MicrosoftOperators, WrongOperandsAreErrors) {
  constexpr const char* kOps[] = {"Attention",
                                  "BiasGelu",
                                  "DynamicQuantizeLSTM",
                                  "DynamicQuantizeMatMul",
                                  "FusedMatMul",
                                  "GatherBlockQuantized",
                                  "MatMulNBits",
                                  "EmbedLayerNormalization",
                                  "GroupQueryAttention",
                                  "RotaryEmbedding",
                                  "FusedConv",
                                  "FusedGemm",
                                  "QGemm",
                                  "QLinearAdd",
                                  "QLinearConcat",
                                  "QLinearGlobalAveragePool",
                                  "MultiHeadAttention",
                                  "MatMulIntegerToFloat",
                                  "SkipLayerNormalization"};
  constexpr const char* kAttributes[] = {"num_heads",
                                         "kv_num_heads",
                                         "K",
                                         "N",
                                         "bits",
                                         "block_size",
                                         "rotary_embedding_dim",
                                         "unidirectional",
                                         "do_rotary",
                                         "smooth_softmax",
                                         "transBatchA"};
  constexpr int64_t kNumbers[] = {-1, 0, 1, 2, 4, 8, INT64_MAX, INT64_MIN};
  constexpr DType kDtypes[] = {DType::f32, DType::i32, DType::u8, DType::i64};
  uint64_t state = 1;
  const auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  int graphs = 0;
  for (int round = 0; round < 3000; ++round) {
    OneNode node(kOps[random(std::size(kOps))]);
    for (uint64_t left = random(13); left > 0; --left) {
      TensorType type{kDtypes[random(3) == 0 ? random(4) : 0], {}};
      for (uint64_t d = random(2) == 0 ? 3 : random(6); d > 0; --d)
        type.shape.emplace_back(int64_t{1} << random(4));
      switch (random(4)) {
        case 0:
          node.absent();
          break;
        case 1:
          node.known(Tensor(type.dtype, concrete(type.shape)));
          break;
        default:
          node.input(type);
      }
    }
    for (const char* attribute : kAttributes)
      if (random(3) != 0) node.set(attribute, kNumbers[random(4) == 0 ? random(8) : 3]);
    if (random(2) == 0) node.set("qkv_hidden_sizes", {8, kNumbers[random(8)], 8});
    if (error_of([&] { import_model(node.model); }).empty()) ++graphs;
  }
  EXPECT_GT(graphs, 0);  // not all are refused at once
}

TEST(OnnxAttention, TheResultIsLaidOutLikeTheQuery) {
  EXPECT_EQ(OneNode("Attention", "")
                .input(f32({"b", "s", 8}))
                .input(f32({"b", "t", 4}))
                .input(f32({"b", "t", 6}))
                .set("q_num_heads", 4)
                .set("kv_num_heads", 2)
                .types()[0],
            f32({"b", "s", 12}));
  EXPECT_EQ(OneNode("Attention", "")
                .input(f32({"b", 4, "s", 2}))
                .input(f32({"b", 2, "t", 2}))
                .input(f32({"b", 2, "t", 3}))
                .types()[0],
            f32({"b", 4, "s", 3}));
}

}  // namespace
}  // namespace rlx::onnx
