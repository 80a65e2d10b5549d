#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"

namespace rlx {
namespace {

Value rotated(Value x, int64_t half) {
  return concat({-slice(x, {half}, {2 * half}, {-1}), slice(x, {0}, {half}, {-1})}, -1);
}
// Angles of positions, twice over, as exporters compute them.
Value angles(Value positions) { return concat({positions, positions}, -1); }

TEST(FindRope, IsOneOp) {
  EXPECT_EQ(after_pass(find_rope, R"(%0 = input @"x" : f32[2, 3, s, 4]
%1 = input @"angles" : f32[s, 2]
%2 = concat %1, %1 axis=-1 : f32[s, 4]
%3 = cos %2 : f32[s, 4]
%4 = sin %2 : f32[s, 4]
%5 = slice %0 axes=[3] ends=[2] starts=[0] steps=[1] : f32[2, 3, s, 2]
%6 = slice %0 axes=[3] ends=[4] starts=[2] steps=[1] : f32[2, 3, s, 2]
%7 = neg %6 : f32[2, 3, s, 2]
%8 = concat %7, %5 axis=-1 : f32[2, 3, s, 4]
%9 = mul %0, %3 : f32[2, 3, s, 4]
%10 = mul %8, %4 : f32[2, 3, s, 4]
%11 = add %9, %10 : f32[2, 3, s, 4]
output "y" %11
)"),
            R"(%0 = input @"x" : f32[2, 3, s, 4]
%1 = input @"angles" : f32[s, 2]
%2 = concat %1, %1 axis=-1 : f32[s, 4]
%3 = cos %2 : f32[s, 4]
%4 = sin %2 : f32[s, 4]
%5 = slice %3 axes=[-1] ends=[2] starts=[0] steps=ints[] : f32[s, 2]
%6 = slice %4 axes=[-1] ends=[2] starts=[0] steps=ints[] : f32[s, 2]
%7 = rope %0, %5, %6 interleaved=false layout="bhsd" : f32[2, 3, s, 4]
output "y" %7
)");
}

OpNames found(const Dims& shape, const Dims& positions, const Ints& axes, int64_t half) {
  Graph graph;
  const Value x = graph.input("x", f32(shape));
  Value table = angles(graph.input("angles", f32(positions)));
  if (!axes.empty()) table = unsqueeze(table, axes);
  graph.output("y", x * cos(table) + rotated(x, half) * sin(table));
  return ops_after(find_rope, graph);
}

TEST(FindRope, TablesMayBeOfABatchOrBehindHeads) {
  EXPECT_EQ(found({2, 3, 5, 4}, {2, 5, 2}, {1}, 2),
            OpNames("concat unsqueeze cos sin slice squeeze slice squeeze rope"));
  EXPECT_EQ(found({2, 5, 3, 4}, {5, 2}, {1}, 2),
            OpNames("concat unsqueeze cos sin slice squeeze slice squeeze rope"));
  EXPECT_EQ(found({2, 3, 5, 4}, {5, 2}, {0, 1}, 2),
            OpNames("concat unsqueeze cos sin slice squeeze slice squeeze rope"));
}

// Every two neighbours are turned, as GPT-J has them.
Value rotated_neighbours(Value x) {
  const int64_t all = x.shape().back().number();
  const Value even = slice(x, {0}, {all}, {-1}, {2}), odd = slice(x, {1}, {all}, {-1}, {2});
  return reshape(concat({unsqueeze(-odd, {-1}), unsqueeze(even, {-1})}, -1), x.shape());
}
Value repeated_neighbours(Value table, bool joins) {
  Dims pairs = table.shape(), whole = pairs;
  pairs.emplace_back(2);
  whole.back() = whole.back() * Dim(2);
  const Value single = unsqueeze(table, {-1});
  return reshape(joins ? concat({single, single}, -1) : expand(single, pairs), whole);
}

TEST(FindRope, NeighboursMayBeTurned) {
  for (const bool joins : {false, true}) {
    Graph graph;
    const Value x = graph.input("x", f32({2, 3, "s", 6})),
                table = graph.input("angles", f32({"s", 3}));
    graph.output("y", x * repeated_neighbours(cos(table), joins) +
                          rotated_neighbours(x) * repeated_neighbours(sin(table), joins));
    EXPECT_EQ(ops_after(find_rope, graph).count("rope"), 1u);
    EXPECT_EQ(ops_after(find_rope, graph).count("neg"), 0u);
  }
}

// As a model counts positions behind its first windows: a reshape by extents that were computed,
// and a range, whose length is that extent or 0.
TEST(FindRope, PositionsAreCountedToAnExtentThatWindowsLeave) {
  Graph graph;
  const Value signal = graph.input("x", f32({"b", 16, "n"})),
              windows = transpose(graph.add(catalog().at("max_pool"), {signal},
                                            {{"window", Ints{3}}, {"strides", Ints{2}}}),
                                  {0, 2, 1});
  const Value extents = shape_of(windows), length = slice(extents, {1}, {2}, {0});
  const auto number = [&](int64_t value) {
    return graph.constant(Tensor::of(DType::i64, {}, {double(value)}));
  };
  const Value batch = slice(extents, {0}, {1}, {0}),
              sizes = graph.constant(Tensor::of(DType::i64, {2}, {4, 4})),
              open = graph.constant(Tensor::of(DType::i64, {1}, {-1}));
  const Value positions = cast(range(number(0), squeeze(length, {0}), number(1)), DType::f32);
  const Value table =
      unsqueeze(positions, {-1}) * graph.constant(Tensor::of(DType::f32, {1, 2}, {1, 0.1}));
  for (const Value& target : {concat({batch, length, sizes}, 0), concat({batch, open, sizes}, 0)}) {
    const Value x = transpose(reshape(windows, target), {0, 2, 1, 3});
    graph.output(text("y", target.node),
                 x * repeated_neighbours(cos(table), true) +
                     rotated_neighbours(x) * repeated_neighbours(sin(table), true));
  }
  EXPECT_EQ(ops_after(find_rope, graph).count("rope"), 2u);
}

// As a product of complex numbers: of halves, of every second element, or of pairs.
struct Parts {
  Value first, second;
};
Value turned_parts(const Parts& x, Value angles, bool neighbours, const Dims& shape) {
  const Value c = cos(angles), s = sin(angles);
  const Value real = x.first * c - x.second * s, imaginary = x.first * s + x.second * c;
  if (!neighbours) return concat({real, imaginary}, -1);
  return reshape(concat({unsqueeze(real, {-1}), unsqueeze(imaginary, {-1})}, -1), shape);
}

TEST(FindRope, AProductOfComplexNumbersIsATurn) {
  const Dims shape{2, 3, 5, 6};
  for (const int form : {0, 1, 2}) {
    Graph graph;
    const Value x = graph.input("x", f32(shape)), table = graph.input("angles", f32({5, 3}));
    const Value pairs = reshape(x, Dims{2, 3, 5, 3, 2});
    const Parts parts = form == 0 ? Parts{slice(x, {0}, {3}, {-1}), slice(x, {3}, {6}, {-1})}
                        : form == 1
                            ? Parts{slice(x, {0}, {6}, {-1}, {2}), slice(x, {1}, {6}, {-1}, {2})}
                            : Parts{squeeze(slice(pairs, {0}, {1}, {-1}), {-1}),
                                    squeeze(slice(pairs, {1}, {2}, {-1}), {-1})};
    graph.output("y", turned_parts(parts, table, form != 0, shape));
    EXPECT_EQ(ops_after(find_rope, graph), OpNames("cos sin rope")) << form;
  }
}

TEST(FindRope, PartsThatAreJoinedOtherwiseStay) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 5, 6})), table = graph.input("angles", f32({5, 3}));
  const Parts second{slice(x, {0}, {6}, {-1}, {2}), slice(x, {1}, {6}, {-1}, {2})},
      halves{slice(x, {3}, {6}, {-1}), slice(x, {0}, {3}, {-1})};
  graph.output("halves_of_neighbours", turned_parts(second, table, false, x.shape()));
  graph.output("turned_back", turned_parts(halves, table, false, x.shape()));
  EXPECT_EQ(ops_after(find_rope, graph).count("rope"), 0u);
}

TEST(FindRope, HalvesOfATableAreNotNeighbours) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 5, 4})), table = graph.input("angles", f32({5, 2}));
  graph.output("y", x * cos(angles(table)) + rotated_neighbours(x) * sin(angles(table)));
  EXPECT_EQ(ops_after(find_rope, graph).count("rope"), 0u);
}

TEST(FindRope, WhatIsBehindTheTurnedPartIsLeftAlone) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 5, 6}));
  const Value table = angles(graph.input("angles", f32({5, 2}))), part = slice(x, {0}, {4}, {-1});
  graph.output(
      "y",
      concat({part * cos(table) + rotated(part, 2) * sin(table), slice(x, {4}, {6}, {-1})}, -1));
  EXPECT_EQ(ops_after(find_rope, graph), OpNames("concat cos sin slice slice rope"));
}

TEST(FindRope, TablesWhoseHalvesMayDifferStay) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 5, 4})), table = graph.input("table", f32({5, 4}));
  graph.output("y", x * cos(table) + rotated(x, 2) * sin(table));
  EXPECT_EQ(ops_after(find_rope, graph), OpNames("cos slice neg slice concat mul sin mul add"));
}

TEST(FindRope, AnotherTurnStays) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 5, 4}));
  const Value table = angles(graph.input("angles", f32({5, 2})));
  const Value other = concat({slice(x, {2}, {4}, {-1}), -slice(x, {0}, {2}, {-1})}, -1);
  const Value swapped = concat({-slice(x, {0}, {2}, {-1}), slice(x, {2}, {4}, {-1})}, -1);
  graph.output("y", x * cos(table) + other * sin(table));
  graph.output("z", x * cos(table) + swapped * sin(table));
  EXPECT_EQ(ops_after(find_rope, graph).count("rope"), 0u);
}

}  // namespace
}  // namespace rlx
