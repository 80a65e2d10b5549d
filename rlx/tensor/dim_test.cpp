#include "rlx/tensor/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "rlx/base/error.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

TEST(Dim, EqualExpressionsCompareEqual) {
  const Dim seq("seq"), past("past");
  EXPECT_EQ((seq + past) * Dim(2), Dim(2) * past + Dim(2) * seq);
  EXPECT_EQ((seq + 1) * (seq - 1), seq * seq - 1);
  EXPECT_EQ(seq - seq, Dim(0));
  EXPECT_FALSE(seq == past);
}

TEST(Dim, PrintsAsMathematicsDoes) {
  const Dim seq("seq"), past("past");
  EXPECT_EQ(text(Dim(2) * seq + past - 1), "past + 2*seq - 1");
  EXPECT_EQ(text(floor_div(seq + 1, 2)), "floor_div(seq + 1, 2)");
  EXPECT_EQ(text(Dim(0) - seq), "-seq");
}

TEST(Dim, DivisionTakesOutWhatDividesEvenly) {
  const Dim n("n");
  EXPECT_EQ(floor_div(Dim(4) * n + 6, 2), Dim(2) * n + 3);
  EXPECT_EQ(floor_div(n * Dim(4) + 1, 4), n);
  EXPECT_EQ(ceil_div(Dim(10), 4), Dim(3));
  EXPECT_EQ(floor_div(Dim(-7), 2), Dim(-4));
}

// As exporters write pads to a multiple, and a roll.
TEST(Dim, WhatIsPaddedToAMultipleDividesEvenly) {
  const Dim h = floor_div(Dim("h"), 4), pad = mod(Dim(7) - mod(h, 7), 7);
  EXPECT_EQ(pad, mod(Dim(0) - h, 7));
  EXPECT_EQ(floor_div(h + pad, 7), ceil_div(h, 7));
  EXPECT_EQ(floor_div(h + mod(h, 2), 2), ceil_div(h, 2));
  EXPECT_EQ(floor_div(h + mod(h, 2) + 1, 2), ceil_div(h, 2));  // every second from the first on
  EXPECT_EQ(mod(mod(h, 7) + 14 * h + 9, 7), mod(h + 2, 7));
  EXPECT_NE(floor_div(h + mod(h, 3), 3), ceil_div(h, 3));
  for (int64_t n = 0; n < 90; ++n) {
    const SymbolValues symbols{{"h", n}};
    const int64_t at = n / 4, rest = (7 - at % 7) % 7;
    EXPECT_EQ(pad.value(symbols), rest);
    EXPECT_EQ(floor_div(h + pad, 7).value(symbols), (at + rest) / 7);
    EXPECT_EQ(floor_div(h + mod(h, 2) + 1, 2).value(symbols), (at + at % 2 + 1) / 2);
    EXPECT_EQ(floor_div(h + mod(h, 3), 3).value(symbols), (at + at % 3) / 3);
    EXPECT_EQ(mod(Dim(3) * h - mod(h, 7) + 1, 7).value(symbols), (2 * at + 1) % 7);
  }
}

TEST(Dim, WhatIsCutOffAndJoinedAgainIsWhole) {
  const Dim h = floor_div(Dim("h"), 4) + 1;
  EXPECT_EQ(max(h - 3, 0) + min(h, 3), h);
  EXPECT_EQ(min(3, h) * Dim(2) + Dim(5) + max(0, h - 3) * Dim(2), h * Dim(2) + 5);
  EXPECT_NE(max(h - 3, 0) + min(h, 4), h);
  EXPECT_NE(max(h - 3, 0) * Dim(2) + min(h, 3), h * Dim(2));
  for (int64_t n = 0; n < 30; ++n) {
    const SymbolValues symbols{{"h", n}};
    const int64_t at = n / 4 + 1;
    EXPECT_EQ((max(h - 3, 0) + min(h, 4)).value(symbols),
              std::max<int64_t>(at - 3, 0) + std::min<int64_t>(at, 4));
  }
}

TEST(Dim, ValuesFollowTheBinding) {
  const Dim seq("seq"), past("past");
  const SymbolValues symbols{{"seq", 7}, {"past", 3}};
  EXPECT_EQ((Dim(2) * seq + past).value(symbols), 17);
  EXPECT_EQ(floor_div(seq, 2).value(symbols), 3);
  EXPECT_EQ(mod(seq, 4).value(symbols), 3);
  EXPECT_EQ(min(seq, past).value(symbols), 3);
  EXPECT_EQ(max(seq, past).value(symbols), 7);
}

TEST(Dim, AnUnboundSymbolIsNamed) {
  try {
    (Dim("seq") + 1).value({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "symbol 'seq' has no value: no input binds it");
  }
}

TEST(Dim, RangesAreUpperBounds) {
  const SymbolRanges ranges{{"seq", {1, 512}}, {"past", {0, 100}}};
  EXPECT_EQ((Dim("seq") * Dim(4) + "past").range(ranges).high, 2148);
  EXPECT_EQ((Dim("seq") - "past").range(ranges).low, -99);
  EXPECT_EQ(Dim("free").range(ranges).high, kUnbounded);
  EXPECT_EQ(floor_div(Dim("seq"), 2).range(ranges).high, 256);
}

TEST(Dim, OverflowIsAnErrorNotAWrap) {
  const Dim big(int64_t{1} << 62);
  EXPECT_THROW(big * Dim(4), Error);
  EXPECT_THROW((Dim("n") * big).value({{"n", 8}}), Error);
}

// Each step doubles what is written down: thirty of them would take gigabytes.
TEST(Dim, AnExpressionHasALimit) {
  const auto grown = [](const std::function<Dim(const Dim&)>& step) {
    Dim dim("n");
    for (int i = 0; i < 30; ++i) dim = step(dim);
  };
  EXPECT_EQ(error_of([&] { grown([](const Dim& dim) { return dim * dim; }); }),
            "a dim is an expression of 4097 parts, the limit is 4096");
  const Dim m("m");
  const auto says = [&](const std::function<Dim(const Dim&)>& step, const char* limit) {
    return error_of([&] { grown(step); }).find(limit) != std::string::npos;
  };
  EXPECT_TRUE(says([&](const Dim& d) { return d * (d + m + 1); }, "parts, the limit is 4096"));
  EXPECT_TRUE(says([](const Dim& d) { return floor_div(d + 1, d); }, "parts, the limit is 4096"));
  EXPECT_TRUE(says([](const Dim& d) { return max(d, mod(d, 7)); }, "parts, the limit is 4096"));
  Dim wide;
  for (int i = 0; i < 1000; ++i) wide = wide + Dim(text("n", i));
  EXPECT_EQ(wide.parts(), 2000u);
  EXPECT_TRUE(error_of([&] { wide* wide; }).find("a dim is a product of 1000 by 1000 terms") == 0);
}

TEST(Dim, SubstitutionReplacesSymbolsEverywhere) {
  const Dim dim = floor_div(Dim("n") + 1, 2) * Dim("m");
  EXPECT_EQ(dim.substitute({{"n", Dim(5)}, {"m", Dim("k")}}), Dim(3) * Dim("k"));
}

TEST(Dim, BroadcastIsOneDimInWhateverOrderOthersMet) {
  const Dim n("n"), m("m"), k("k");
  EXPECT_EQ(broadcast(n, n), n);
  EXPECT_EQ(broadcast(n, 1), n);
  EXPECT_EQ(broadcast(1, n), n);
  EXPECT_EQ(broadcast(n, 7), Dim(7));
  EXPECT_EQ(broadcast(Dim(0), n), Dim(0));
  EXPECT_EQ(broadcast(n, m), broadcast(m, n));
  EXPECT_EQ(broadcast(broadcast(n, k), m), broadcast(broadcast(m, n), broadcast(k, n)));
  EXPECT_EQ(broadcast(min(1, n), n), n);
  EXPECT_EQ(broadcast(n, min(n, 1)), n);
  EXPECT_EQ(text(broadcast(n, m) * Dim(2)), "2*broadcast(m, n)");
  EXPECT_EQ(text(broadcast(k, broadcast(n, m))), "broadcast(k, broadcast(m, n))");
}

TEST(Dim, BroadcastHasTheValueOfBoth) {
  const Dim both = broadcast(Dim("n"), Dim("m"));
  const auto value = [&](int64_t n, int64_t m) { return both.value({{"n", n}, {"m", m}}); };
  EXPECT_EQ(value(5, 5), 5);
  EXPECT_EQ(value(5, 1), 5);
  EXPECT_EQ(value(1, 5), 5);
  EXPECT_EQ(value(1, 1), 1);
  EXPECT_EQ(value(0, 1), 0);
  EXPECT_EQ(both.substitute({{"n", Dim(1)}}), Dim("m"));
  EXPECT_EQ(both.substitute({{"n", Dim(4)}, {"m", Dim(1)}}), Dim(4));
  EXPECT_EQ(error_of([&] { value(2, 3); }), "cannot broadcast m with n, they are 3 and 2");
  EXPECT_EQ(error_of([&] { value(0, 3); }), "cannot broadcast m with n, they are 3 and 0");
  EXPECT_EQ(error_of([] { broadcast(Dim(2), Dim(3)); }), "cannot broadcast 2 with 3");
}

TEST(Dim, BroadcastStaysWithinItsRange) {
  const Dim both = broadcast(Dim("n"), Dim("m"));
  const auto range = [&](Interval n, Interval m) {
    const Interval found = both.range({{"n", n}, {"m", m}});
    return std::pair(found.low, found.high);
  };
  EXPECT_EQ(range({0, 512}, {0, 100}), std::pair(int64_t{0}, int64_t{512}));
  EXPECT_EQ(range({1, 512}, {4, 100}), std::pair(int64_t{4}, int64_t{100}));
  EXPECT_EQ(range({0, kUnbounded}, {1, 3}), std::pair(int64_t{0}, kUnbounded));
  EXPECT_EQ(range({0, kUnbounded}, {2, 3}), std::pair(int64_t{2}, int64_t{3}));
  EXPECT_EQ(range({1, 8}, {1, 3}), std::pair(int64_t{1}, int64_t{8}));
}

TEST(Dim, RefusesNamesThatAreNone) { EXPECT_THROW(Dim("2x"), Error); }

}  // namespace
}  // namespace rlx
