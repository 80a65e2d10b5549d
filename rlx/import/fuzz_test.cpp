// Damaged files: whatever the bytes, a reader gives a result or an Error and nothing else. The
// seeds are fixed, so that a failure can be had again; --gtest_shuffle gives others.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "rlx/import/npy.h"
#include "rlx/import/safetensors.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"

namespace rlx {
namespace {

// About two seconds each under the sanitizers.
constexpr int kTextIterations = 15000, kSafetensorsIterations = 40000, kNpyIterations = 160000;

using Words = std::vector<std::string>;

// Changes a few places of a text that was right.
class Mutator {
 public:
  Mutator(uint64_t seed, const Words& words)
      : engine_(seed + static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed())),
        words_(words) {}

  std::string mutate(std::string text) {
    for (size_t times = 1 + below(4); times > 0; --times) change(text);
    return text;
  }

 private:
  size_t below(size_t limit) { return static_cast<size_t>(engine_() % limit); }

  void change(std::string& text) {
    const size_t at = below(text.size() + 1), length = std::min(below(12), text.size() - at);
    switch (below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 4:
        text.replace(at, length, words_[below(words_.size())]);
        break;
      case 5:
        text.insert(at, words_[below(words_.size())]);
        break;
      default:
        if (below(8) == 0) text.resize(at);
        break;
    }
  }

  std::mt19937_64 engine_;
  const Words& words_;
};

// What any format's numbers may be replaced by.
Words with_numbers(Words words) {
  for (const char* number :
       {"0", "-1", "1", "255", "65536", "2147483648", "4294967296", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "18446744073709551616", "1e308", "1e99999",
        "0x", "NaN", "\xff\xff\xff\xff"})
    words.emplace_back(number);
  words.emplace_back(4, '\0');
  words.emplace_back(8, '\0');
  words.emplace_back(8, '\x7f');
  return words;
}

template <class Read>
void never_crashes(int iterations, const Words& seeds, const Words& words, Read read) {
  int accepted = 0;
  for (int i = 0; i < iterations; ++i) {
    const std::string damaged = Mutator(static_cast<uint64_t>(i), words)
                                    .mutate(seeds[static_cast<size_t>(i) % seeds.size()]);
    try {
      read(damaged);
      ++accepted;
    } catch (const Error& error) {
      ASSERT_NE(error.kind(), ErrorKind::out_of_memory)
          << "iteration " << i << ": " << error.what();
    } catch (const std::exception& error) {
      FAIL() << "iteration " << i << ": " << error.what();
    }
  }
  // Both happen: the damage is neither always fatal nor always harmless.
  EXPECT_GT(accepted, iterations / 100);
  EXPECT_LT(accepted, iterations / 2);
}

OpDef pair_op() {
  OpDef op;
  op.name = "pair";
  op.inputs = {0, 3, {"x"}};
  op.results = {2, 2, {}};
  for (const char* name : {"axis", "list", "body", "tensor", "fresh"})
    op.attrs.push_back({name, {}, true});
  op.infer = [](const InferSite& site) {
    const TensorType type = site.has(0) ? site.in(0) : f32({2});
    return Types{type, i64({site.attrs.has("fresh") ? site.fresh() : Dim(3)})};
  };
  return op;
}

TEST(Fuzz, ParsersNeverCrashOnGraphText) {
  OpSet ops;
  ops.add(std::make_shared<OpDef>(pair_op()));
  const Words seeds = {R"(rlx 1
symbol seq in 1..512
%0 = input @"x" : f32[batch, 2*seq + floor_div(past, 2) - 1]
%1 = weight value=f32[2, 2]{1, -0, nan:0x7fc00001, 4.5e-9} @"w" : f32[2, 2]
%2, %3 = pair %0, _, %1 axis=-1 fresh=true @"a\x41\n" from "m.onnx:3" : f32[batch, floor_div(past, 2) + 2*seq - 1], i64[s0]
%4 = state @"s" : f32[2, 2]
update %4 <- %1
output "y" %2
)",
                       R"(rlx 1
%0 = constant value=i64[3]{1, 2, 3} : i64[3]
%1, %2 = pair %0 body={
  symbol n <= 4
  %0 = input @"a" : f32[mod(n, 3), max(n, 2)]
  output "y" %0
} list=[dims[1, n], dims[]] : i64[3], i64[3]
%3, %4 = pair _, %2 list=[1.5, inf] tensor=c64[1]{(1, 2)} : f32[2], i64[3]
%5, %6 = pair list=strings[] tensor=bool[2]{true, false} axis=f32 : f32[2], i64[3]
output "z" %6
)"};
  const Words words = with_numbers(
      {"%0",       "%1",         "{",         "}",          "[",     "]",       "(",
       "*(a + b)", "floor_div(", "min(a, b)", ", ",         ":",     "@\"k\"",  "\"",
       "\\x",      "\n",         "#",         "f32[",       "dims[", "ints[]",  "s0",
       "s1",       "body={\n",   "input",     "from \"a\"", "- ",    "fresh=1", "1000000000000, "});
  never_crashes(kTextIterations, seeds, words, [&](const std::string& damaged) {
    const Graph graph = parse(damaged, ops);
    const std::string printed = print(graph);
    ASSERT_NO_THROW(ASSERT_EQ(print(parse(printed, ops)), printed)) << damaged;
  });
}

TEST(Fuzz, ParsersNeverCrashOnSafetensors) {
  const auto file = [](const std::string& header, size_t data) {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size() & 0xff);
    length[1] = static_cast<char>(header.size() >> 8);
    return length + header + std::string(data, '\1');
  };
  const Words seeds = {
      file(R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
           R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[24,27]}})",
           27),
      file(R"({"h":{"dtype":"F16","shape":[],"data_offsets":[0,2]}})", 2)};
  const Words words = with_numbers(
      {"[", "]", "{", "}", "\"F64\"", "\"C64\"", "\"I8\"", "[[[[", ",", ":", "0,", " ", "\"w\":"});
  never_crashes(kSafetensorsIterations, seeds, words, [](const std::string& damaged) {
    const auto tensors =
        parse_safetensors(std::as_bytes(std::span(damaged.data(), damaged.size())), nullptr, "f");
    unsigned sum = 0;
    for (const auto& [name, tensor] : tensors)
      for (const std::byte b : tensor.bytes())
        sum += std::to_integer<unsigned>(b);  // all are there to read
    ASSERT_LT(sum, 1u << 30);
  });
}

TEST(Fuzz, ParsersNeverCrashOnNpy) {
  const auto file = [](char version, const std::string& dict, size_t data) {
    std::string start = text("\x93NUMPY", version, '\0', static_cast<char>(dict.size()), '\0');
    if (version > 1) start += std::string(2, '\0');
    return start + dict + std::string(data, '\1');
  };
  const Words seeds = {
      file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", 24),
      file(2, "{'descr': '>c8', 'fortran_order': True, 'shape': (2, 1, 2), }\n", 32),
      file(3, "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }\n", 5)};
  const Words words = with_numbers(
      {"'", "(", ")", "{", "}", ",", "True", "False", "'shape'", "'<f8'", "'|i1'", "0, "});
  never_crashes(kNpyIterations, seeds, words, [](const std::string& damaged) {
    const Tensor tensor = parse_npy(std::as_bytes(std::span(damaged.data(), damaged.size())), "f");
    ASSERT_LE(tensor.bytes().size(), damaged.size());
  });
}

}  // namespace
}  // namespace rlx
