// Rows where four neighbouring elements are loaded and stored at once, and rows that are one
// element, stride or offset away from it: kernels of both kinds, and both in one image.

#include "rlx/conformance/fused_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fused.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;

// Extents that divide by 4, that do not, and none.
void add_symbolic(Cases& cases, OpCase row) {
  const std::string why = row.why;
  for (const int64_t n : {8, 7, 1, 0, 84}) {
    row.symbols = {{"n", n}};
    row.why = text(why, ", n = ", n);
    cases.push_back(row);
  }
}

OpCase composed(const char* op, std::vector<CaseInput> inputs, std::string why, Compute compute) {
  return {op, std::move(inputs), {}, std::move(why), 4, 1, {}, true, std::move(compute)};
}

OpCase in_one_kernel(std::vector<CaseInput> inputs, std::string why, Compute compute) {
  return composed("fused", std::move(inputs), std::move(why), in_body(std::move(compute)));
}

constexpr DType kPacked[] = {DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16, DType::u16};

// All dtypes that go by words, and the ones that do not.
void add_dtypes(Cases& cases) {
  for (const DType dtype : kPacked) {
    const std::string why = text("quads of ", dtype);
    cases.push_back({"add", {normal({dtype, {3, 8}}), normal({dtype, {8}})}, {}, why});
    cases.push_back(
        {"mul", {normal({dtype, {4, 3}}), normal({dtype, {4, 1}})}, {}, why + ", odd rows"});
    add_symbolic(cases, {"sub", {normal({dtype, {"n", 2}}), normal({dtype, {"n", 2}})}, {}, why});
    cases.push_back({"cast", {normal({dtype, {3, 4}})}, {{"to", DType::f32}}, why});
    cases.push_back({"cast", {normal(f32({3, 4}))}, {{"to", dtype}}, why});
    cases.push_back({"cast", {normal(f32({3, 7}))}, {{"to", dtype}}, why + ", odd"});
  }
  cases.push_back({"gt", {normal(f32({5, 12})), normal(f32({12}))}, {}, "quads of bool"});
  cases.push_back({"and", {normal(boolean({16})), normal(boolean({16}))}, {}, "quads of bool"});
  cases.push_back({"where",
                   {normal(boolean({4, 1})), normal(i32({4, 8})), normal(i32({8}))},
                   {},
                   "quads and one value of four"});
  cases.push_back(
      {"cast", {special(f32({4, 16}))}, {{"to", DType::bf16}}, "quads, special values"});
  cases.push_back({"cast", {special(f32({4, 16}))}, {{"to", DType::f16}}, "quads, special values"});
  cases.push_back({"cast", {special(f32({4, 16}))}, {{"to", DType::i8}}, "quads, special values"});
  cases.push_back({"cast", {normal(i32({4, 16}))}, {{"to", DType::i64}}, "quads of 64 bits"});
}

void add_broadcasts(Cases& cases) {
  const auto pair = [&](Dims x, Dims y, const char* why) {
    cases.push_back({"add", {special(f32(std::move(x))), normal(f32(std::move(y)))}, {}, why});
  };
  pair({2, 3, 8}, {8}, "quads, rows repeated");
  pair({2, 3, 8}, {3, 1}, "quads, one value in a row");
  pair({2, 3, 8}, {2, 1, 8}, "quads, an axis repeated between");
  pair({2, 3, 8}, {}, "quads and a number");
  pair({2, 3, 4}, {1, 3, 1}, "quads, one value in the middle");
  pair({8, 3}, {3}, "elements by fours, rows of three");
  pair({8, 3}, {8, 1}, "elements by fours, one value in a row of three");
  pair({4, 2, 2}, {4, 1, 2}, "rows of two");
  pair({65, 1024}, {1024}, "more quads than a workgroup");
  add_symbolic(cases,
               {"add", {normal(f32({3, "n"})), normal(f32({"n"}))}, {}, "quads, rows repeated"});
  add_symbolic(
      cases,
      {"mul", {normal(f32({"n", 5})), normal(f32({"n", 1}))}, {}, "one value in a row of five"});
  add_symbolic(
      cases,
      {"mul", {normal(f32({"n", 12})), normal(f32({"n", 1}))}, {}, "one value in a row of twelve"});
}

// Views: what begins or steps by a multiple of 4 goes by fours, anything else does not.
void add_views(Cases& cases) {
  const auto sliced = [&](int64_t from, int64_t to, const char* why) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::u8})
      cases.push_back(composed(
          "relu", {normal({dtype, {5, 24}})}, why,
          [from, to](const Values& in) { return Values{relu(slice(in[0], {from}, {to}, {1}))}; }));
  };
  sliced(8, 20, "a part of rows from a multiple of 4 on");
  sliced(6, 18, "a part of rows from 6 on");
  sliced(4, 11, "a part of seven elements");
  cases.push_back(
      composed("relu", {normal(f32({5, 22}))}, "rows that lie 22 apart",
               [](const Values& in) { return Values{relu(slice(in[0], {4}, {12}, {1}))}; }));
  cases.push_back(composed("add", {normal(f32({2, 8, 12})), normal(f32({8, 2, 12}))},
                           "rows in another order", [](const Values& in) {
                             return Values{transpose(in[0], {1, 0, 2}) + in[1]};
                           }));
  cases.push_back(composed("add", {normal(f32({12, 8})), normal(f32({8, 12}))},
                           "a transposed operand", [](const Values& in) {
                             return Values{transpose(in[0], {1, 0}) + in[1]};
                           }));
  cases.push_back(
      composed("add", {normal(f32({"n", 16})), normal(f32({8}))}, "a part of rows, symbolic",
               [](const Values& in) { return Values{slice(in[0], {4}, {12}, {1}) + in[1]}; }));
  cases.back().symbols = {{"n", 3}};
}

// Of several results each goes by words of its own.
Values of_three_widths(const Values& in) {
  const Value sum = in[0] + in[1];
  return {cast(sum, DType::i8), sum, cast(relu(sum), DType::u16)};
}
Values turned_words(const Values& in) {
  const Value sum = in[0] + in[1];
  return {transpose(sum, {1, 0, 2})};
}

// The result of a region takes the place of an operand that nothing else reads.
OpCase in_place(const TensorType& type) {
  return composed("fused", {normal(type), normal(type)}, "in the place of an operand",
                  [](const Values& in) {
                    const Values operands{softmax(in[0]), in[1]};
                    Graph body;
                    const Value x = body.input("x", operands[0].type());
                    body.output("y", tanh(x) * body.input("y", operands[1].type()) + x);
                    return fused(operands, std::move(body));
                  });
}

void add_groups(Cases& cases) {
  cases.push_back(in_place(f32({5, 8})));
  cases.push_back(in_place(f32({5, 7})));
  add_symbolic(cases, in_place(f32({3, "n"})));
  for (const Dims& shape : {Dims{3, 8}, Dims{3, 7}, Dims{1, 1}, Dims{2, 3}, Dims{0, 4}})
    cases.push_back(in_one_kernel({normal(f32(shape)), normal(f32(shape))},
                                  "results of three widths", of_three_widths));
  add_symbolic(cases, in_one_kernel({normal(f32({"n", 3})), normal(f32({3}))},
                                    "results of three widths", of_three_widths));
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8})
    for (const int64_t length : {8, 6})
      cases.push_back(in_one_kernel({normal({dtype, {2, 3, length}}), normal({dtype, {length}})},
                                    text("words in another order, rows of ", length),
                                    turned_words));
}

}  // namespace

std::vector<OpCase> quads_cases() {
  Cases cases;
  add_dtypes(cases);
  add_broadcasts(cases);
  add_views(cases);
  add_groups(cases);
  return cases;
}

}  // namespace rlx
