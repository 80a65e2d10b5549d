#include "rlx/vector/attention.h"

#include <gtest/gtest.h>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

struct Case {
  int64_t queries, keys, size, value_size;
  bool bias = false, mask = false, is_causal = false;
  int64_t window = -1;
  float softcap = 0;
  float sink = -INFINITY;
};
const Case kCases[] = {{1, 1, 1, 1},
                       {3, 17, 5, 7},
                       {17, 17, 32, 32, true},
                       {33, 50, 64, 64, false, true},
                       {20, 31, 16, 50, true, true, true},
                       {13, 13, 3, 3, false, false, true},
                       {40, 25, 8, 8, false, false, true},
                       {30, 30, 8, 100, false, false, false, 3},
                       {5, 255, 33, 17, true, false, false, -1, 2.0f},
                       {14, 70, 24, 24, true, true, true, 9, 1.5f},
                       {2, 400, 8, 65},
                       {3, 17, 5, 7, false, false, true, -1, 0, 2.0f},
                       {40, 25, 8, 8, false, false, true, -1, 0, -1.0f},
                       {14, 70, 24, 24, true, true, true, 9, 1.5f, 5.0f}};

struct Data {
  std::vector<float> q, k, v, bias, y;
  std::vector<uint8_t> mask;
  AttentionHead head;
  Data(const Case& x, bool broadcast) {
    const int64_t pad = 3;
    q = random_floats(x.queries * (x.size + pad), -2, 2, 1);
    k = random_floats(x.keys * (x.size + pad), -1, 1, 2);
    v = random_floats(x.keys * (x.value_size + pad), -1, 1, 3);
    bias = random_floats(x.queries * x.keys, -1, 1, 4);
    y.assign(static_cast<size_t>(x.queries * (x.value_size + pad)), 55);
    for (int64_t i = 0; i < x.queries * x.keys; ++i) mask.push_back(i * 7 % 5 != 0);
    head = {.queries = x.queries,
            .keys = x.keys,
            .size = x.size,
            .value_size = x.value_size,
            .q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .y = y.data(),
            .q_row = x.size + pad,
            .k_row = x.size + pad,
            .v_row = x.value_size + pad,
            .y_row = x.value_size + pad,
            .scale = 0.7f,
            .softcap = x.softcap};
    const int64_t row = broadcast ? 0 : x.keys;
    if (x.bias) head.bias = bias.data(), head.bias_row = row, head.bias_column = 1;
    if (x.mask) head.mask = mask.data(), head.mask_row = row, head.mask_column = 1;
    head.is_causal = x.is_causal;
    head.window = x.window;
    head.sink = x.sink;
    head.empty = 0;
  }
};

std::vector<double> row_of(const AttentionHead& h, int64_t query) {
  std::vector<double> scores, y(static_cast<size_t>(h.value_size));
  const Range seen = h.seen_by(query);
  const auto sink = static_cast<double>(h.sink);
  double highest = sink;
  for (int64_t key = seen.begin; key < seen.end; ++key) {
    double s = 0;
    for (int64_t i = 0; i < h.size; ++i)
      s += static_cast<double>(h.q[query * h.q_row + i]) *
           static_cast<double>(h.k[key * h.k_row + i]);
    s *= static_cast<double>(h.scale);
    if (h.softcap > 0) s = h.softcap * std::tanh(s / h.softcap);
    if (h.bias) s += static_cast<double>(h.bias[query * h.bias_row + key * h.bias_column]);
    if (h.mask && !h.mask[query * h.mask_row + key * h.mask_column]) s = -INFINITY;
    scores.push_back(s);
    highest = std::max(highest, s);
  }
  if (highest == -INFINITY) return std::vector<double>(y.size(), static_cast<double>(h.empty));
  double total = std::exp(sink - highest);
  for (double& s : scores) total += s = std::exp(s - highest);
  for (size_t key = 0; key < scores.size(); ++key)
    for (size_t i = 0; i < y.size() && scores[key] != 0; ++i)
      y[i] +=
          scores[key] / total *
          static_cast<double>(
              h.v[(seen.begin + static_cast<int64_t>(key)) * h.v_row + static_cast<int64_t>(i)]);
  return y;
}

enum class Form { many, few };
void run(const AttentionHead& head, Isa isa, Form form) {
  const Attention code = attention(isa);
  std::vector<float> packed(static_cast<size_t>(code.packed_size(head))),
      scratch(static_cast<size_t>(std::max(code.scratch_size(head), head.keys)));
  const int64_t half = head.queries / 2;
  if (form == Form::few) return code.few(head, {0, head.queries}, scratch.data());
  ASSERT_TRUE(code.pack(head, packed.data()));
  code.many(head, packed.data(), {0, half}, scratch.data());
  code.many(head, packed.data(), {half, head.queries}, scratch.data());
}

void expect_right(const AttentionHead& h) {
  for (int64_t query = 0; query < h.queries; ++query) {
    const std::vector<double> want = row_of(h, query);
    for (int64_t i = 0; i < h.value_size; ++i)
      ASSERT_NEAR(h.y[query * h.y_row + i], want[static_cast<size_t>(i)], 3e-6)
          << "query " << query;
    ASSERT_EQ(h.y[query * h.y_row + h.value_size], 55) << "beyond the row";
  }
}

TEST(VectorAttention, BothFormsAgreeWithDoubles) {
  for (const Isa isa : isas())
    for (const Case& x : kCases)
      for (const bool broadcast : {false, true})
        for (const Form form : {Form::many, Form::few}) {
          SCOPED_TRACE(std::string(name_of(isa)) + " " + std::to_string(x.queries) + "x" +
                       std::to_string(x.keys) + (form == Form::many ? " many" : " few"));
          const Data data(x, broadcast);
          run(data.head, isa, form);
          expect_right(data.head);
        }
}

TEST(VectorAttention, AQueryThatSeesNoKeyGetsWhatIsEmpty) {
  for (const Isa isa : isas())
    for (const Form form : {Form::many, Form::few}) {
      Data data({9, 20, 8, 8, false, true}, false);
      std::fill(data.mask.begin() + 20, data.mask.begin() + 40, uint8_t{0});
      data.head.empty = -3;
      run(data.head, isa, form);
      expect_right(data.head);
      EXPECT_EQ(data.y[static_cast<size_t>(data.head.y_row)], -3);
    }
}

TEST(VectorAttention, AQueryThatSeesNothingButTheSinkGetsZero) {
  for (const Isa isa : isas())
    for (const Form form : {Form::many, Form::few}) {
      Data data({9, 20, 8, 8, false, true}, false);
      std::fill(data.mask.begin() + 20, data.mask.begin() + 40, uint8_t{0});
      data.head.empty = -3;
      data.head.sink = 0.5f;
      run(data.head, isa, form);
      expect_right(data.head);
      EXPECT_EQ(data.y[static_cast<size_t>(data.head.y_row)], 0);
    }
}

TEST(VectorAttention, AKeyThatIsNotSeenMayHoldAnything) {
  for (const Isa isa : isas())
    for (const Form form : {Form::many, Form::few}) {
      Data data({9, 20, 8, 8, false, true}, true);
      data.mask[6] = 0;
      for (int64_t i = 0; i < 8; ++i) data.k[static_cast<size_t>(6 * data.head.k_row + i)] = NAN;
      run(data.head, isa, form);
      for (int64_t q = 0; q < 9; ++q)
        EXPECT_FALSE(std::isnan(data.y[static_cast<size_t>(q * data.head.y_row)])) << name_of(isa);
    }
}

TEST(VectorAttention, PackingTellsOfValuesThatAreNotFinite) {
  for (const Isa isa : isas())
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      Data data({9, 20, 8, 70}, false);
      std::vector<float> packed(static_cast<size_t>(attention(isa).packed_size(data.head)));
      EXPECT_TRUE(attention(isa).pack(data.head, packed.data()));
      data.v[static_cast<size_t>(7 * data.head.v_row + 66)] = bad;
      EXPECT_FALSE(attention(isa).pack(data.head, packed.data())) << name_of(isa) << bad;
    }
}

}  // namespace
}  // namespace rlx::vector
