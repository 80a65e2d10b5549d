// Rows where only a run tells which operand is repeated: dims that meet and are not known to be
// equal, any of which may be 1.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_einsum.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;
using Compose = std::function<Values(const Values&)>;

void add(Cases& cases, OpCase row, const std::vector<SymbolValues>& bindings) {
  const std::string why = row.why;
  for (const SymbolValues& symbols : bindings) {
    std::vector<std::string> bound;
    for (const auto& [name, value] : symbols) bound.push_back(text(name, " = ", value));
    row.symbols = symbols;
    row.why = text(why, ": ", joined(bound, ", "));
    cases.push_back(row);
  }
}

OpCase composed(const char* op, std::vector<CaseInput> inputs, const char* why, int64_t terms,
                Compose compose) {
  return {op, std::move(inputs), {}, why, terms, 1, {}, true, std::move(compose)};
}

const std::vector<SymbolValues> kMeetings = {
    {{"n", 5}, {"m", 5}}, {{"n", 5}, {"m", 1}}, {{"n", 1}, {"m", 5}}, {{"n", 1}, {"m", 1}},
    {{"n", 0}, {"m", 1}}, {{"n", 1}, {"m", 0}}, {{"n", 0}, {"m", 0}}};

void add_elementwise(Cases& cases) {
  const char* two = "two names";
  add(cases, {"sub", {normal(f32({"n", 3})), normal(f32({"m", 3}))}, {}, two, 5}, kMeetings);
  add(cases, {"mul", {normal(f32({2, "n"})), normal(f32({"m"}))}, {}, two, 10}, kMeetings);
  add(cases, {"add", {normal(f16({3, "n"})), normal(f16({"m"}))}, {}, "packed, two names"},
      kMeetings);
  add(cases,
      {"div",
       {normal(f32({"a", "b", 3})), positive(f32({"c", "d", 3}))},
       {},
       "two axes of two names",
       12},
      {{{"a", 4}, {"b", 1}, {"c", 1}, {"d", 3}}, {{"a", 1}, {"b", 1}, {"c", 4}, {"d", 3}}});
  add(cases, {"add", {normal(f32({"n"})), normal(f32({7}))}, {}, "a name and a number", 7},
      {{{"n", 7}}, {{"n", 1}}});
  add(cases,
      {"where",
       {normal(boolean({"n"})), normal(f32({"m"})), normal(f32({"k"}))},
       {},
       "three names",
       5},
      {{{"n", 5}, {"m", 1}, {"k", 1}},
       {{"n", 1}, {"m", 1}, {"k", 5}},
       {{"n", 1}, {"m", 5}, {"k", 5}},
       {{"n", 1}, {"m", 1}, {"k", 1}}});
}

void add_slices(Cases& cases) {
  const CaseInput x = normal(f32({"n", "m"})), y = positive(f32({"n", "m"}));
  const std::vector<SymbolValues> extents = {
      {{"n", 4}, {"m", 3}}, {{"n", 1}, {"m", 3}}, {{"n", 4}, {"m", 1}}, {{"n", 0}, {"m", 3}}};
  add(cases,
      composed("sub", {x}, "x - x[:1]", 4,
               [](const Values& v) { return Values{v[0] - slice(v[0], {0}, {1}, {0})}; }),
      extents);
  add(cases,
      composed("div", {y}, "x / x[:, -1:]", 3,
               [](const Values& v) { return Values{v[0] / slice(v[0], {-1}, {INT64_MAX}, {1})}; }),
      extents);
  add(cases,
      composed("add", {x}, "x + x[1:2]", 4,
               [](const Values& v) { return Values{v[0] + slice(v[0], {1}, {2}, {0})}; }),
      {{{"n", 4}, {"m", 3}}, {{"n", 2}, {"m", 1}}, {{"n", 1}, {"m", 3}}, {{"n", 0}, {"m", 3}}});
  add(cases,
      composed("sub", {normal(f32({3, "n"}))}, "x - x[:, ::-1][:, :1]", 5,
               [](const Values& v) {
                 const Value turned = slice(v[0], {-1}, {INT64_MIN}, {1}, {-1});
                 return Values{v[0] - slice(turned, {0}, {1}, {1})};
               }),
      {{{"n", 5}}, {{"n", 1}}});
}

void add_products(Cases& cases) {
  add(cases,
      {"matmul",
       {normal(f32({"n", 3, 4})), normal(f32({"m", 4, 2}))},
       {},
       "batches of two names",
       20},
      kMeetings);
  add(cases,
      {"matmul",
       {normal(f32({"n", 3, 4})), normal(f32({2, "m", 4, 5}))},
       {},
       "batches of two names and a number",
       40},
      {{{"n", 3}, {"m", 1}}, {{"n", 1}, {"m", 3}}});
  add(cases,
      composed("einsum", {normal(f32({"n", 3, "k"})), normal(f32({"m", "l", 2}))},
               "bij,bjk->bik, each letter of two names", 20,
               [](const Values& v) { return Values{einsum("bij,bjk->bik", v)}; }),
      {{{"n", 2}, {"m", 1}, {"k", 4}, {"l", 4}},
       {{"n", 1}, {"m", 2}, {"k", 1}, {"l", 4}},
       {{"n", 2}, {"m", 2}, {"k", 4}, {"l", 1}}});
  add(cases,
      {"matmul_integer",
       {normal(i8({"n", 4})), normal(i8({4, 3})), normal(i8({"z"}))},
       {},
       "a zero point for a row, or one for all"},
      {{{"n", 5}, {"z", 5}}, {{"n", 5}, {"z", 1}}});
}

void add_others(Cases& cases) {
  add(cases,
      composed("expand", {normal(f32({"n", 3})), index(i32({"m"}), 2)}, "two names", 5,
               [](const Values& v) {
                 return Values{expand(v[0], Dims{v[1].shape()[0], 3})};
               }),
      {{{"n", 5}, {"m", 5}}, {{"n", 1}, {"m", 5}}, {{"n", 5}, {"m", 1}}, {{"n", 1}, {"m", 0}}});
  for (const double wanted : {5.0, 1.0, -1.0})
    add(cases, {"expand", {normal(f32({"n", 3})), list({wanted, 3})}, {}, text("to ", wanted), 5},
        {{{"n", 5}}, {{"n", 1}}});
  add(cases,
      {"attention",
       {normal(f32({2, 2, "q", 4})), normal(f32({2, 2, "s", 4})), normal(f32({2, 2, "s", 4})),
        normal(f32({"b", 1, "p", "r"}))},
       {},
       "a bias of other names",
       20},
      {{{"q", 3}, {"s", 5}, {"b", 2}, {"p", 3}, {"r", 5}},
       {{"q", 3}, {"s", 5}, {"b", 1}, {"p", 1}, {"r", 5}},
       {{"q", 3}, {"s", 5}, {"b", 2}, {"p", 3}, {"r", 1}}});
  add(cases,
      {"fake_quantise",
       {normal(f32({4, "n"})), positive(f32({"m"}))},
       {{"bits", 8}},
       "a scale for a column, or one for all",
       1,
       1,
       {},
       false},
      {{{"n", 5}, {"m", 5}}, {{"n", 5}, {"m", 1}}});
}

}  // namespace

std::vector<OpCase> broadcast_cases() {
  Cases cases;
  add_elementwise(cases);
  add_slices(cases);
  add_products(cases);
  add_others(cases);
  return cases;
}

}  // namespace rlx
