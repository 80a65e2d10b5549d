// Rows for maps in fused groups: what is gathered, padded or enlarged is found by the kernel that
// reads it.

#include "rlx/conformance/fused_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fused.h"
#include "rlx/ops/ops_norm.h"
#include "rlx/ops/ops_resize.h"

namespace rlx {
namespace {

Value doubled(Value x) {
  Dims sizes = x.shape();
  sizes[2] = sizes[2] * Dim(2), sizes[3] = sizes[3] * Dim(2);
  return resize(x, sizes);
}

Values sum_of_rows(const Values& in) {
  return {gather(in[0], in[1]) + gather(in[2], in[3]) + in[4]};
}
Values rows_and_columns(const Values& in) {
  return {gather(in[0], in[1]) * gather(in[2], in[3], 1) - in[4]};
}
Values rows_of_computed(const Values& in) {
  return {gather(tanh(in[0]), in[1]) * gather(transpose(abs(in[2]), {1, 0}), in[3])};
}
Values rows_of_rows(const Values& in) {
  return {relu(gather(gather(in[0], in[1]), in[2]) + gather(in[0], in[2]))};
}
// Computed twice: of the element at hand, and of another.
Values itself_and_another(const Values& in) {
  const Value t = tanh(in[0]) * in[2];
  return {gather(t, in[1]) + gather(in[0], in[1]) + t};
}
Values by_computed_indices(const Values& in) {
  return {gather(in[0], abs(in[1])) + gather(in[2], in[1])};
}
Values enlarged_and_padded(const Values& in) {
  const Value large = doubled(relu(in[0]));
  return {pad(large, Dims{0, 0, 1, 0, 0, 0, 0, 2}) * in[1] + in[1]};
}
Values two_results(const Values& in) {
  const Value large = doubled(in[0]) + in[1];
  return {large, pad(in[2], Dims{0, 0, 1, 1, 0, 0, 1, 1}, "reflect") * large};
}
Values sum_of_enlarged(const Values& in) {
  return {concat({doubled(in[0]), doubled(in[1]) * in[2]}, 1)};
}
Values norm_of_rows(const Values& in) {
  return {layer_norm(gather(in[0], in[1]) + gather(in[2], in[3]), in[4], in[5]) + in[6]};
}
Values softened_padding(const Values& in) {
  return {softmax(pad(in[0] * in[1], Dims{1, 2, 0, 1}, "constant", -3), -1)};
}
Values product_of_rows(const Values& in) { return {matmul(gather(in[0], in[1]), in[2]) + in[3]}; }
Values product_beside_rows(const Values& in) {
  return {matmul(in[0], in[1]) + gather(in[2], in[3])};
}
Values sum_of_turned_rows(const Values& in) {
  return {sum(transpose(gather(in[0], in[1]), {1, 0}), {-1}) * in[2]};
}

// Where the result took the place of x, rows would be read that have been overwritten.
OpCase mirrored_rows() {
  OpCase row{
      "fused", {normal(f32({70, 9}))}, {}, "maps of what the result could take the place of"};
  row.compose = [](const Values& in) {
    const Value x = exp(in[0]);
    Graph body;
    const Value inside = body.input("x", x.type());
    Tensor back(DType::i32, {70}), round(DType::i32, {70});
    for (int64_t i = 0; i < 70; ++i)
      back.set_integer(i, 69 - i), round.set_integer(i, (i + 35) % 70);
    const Value mirrored = body.input("back", back.type()),
                moved = body.input("round", round.type());
    body.output("y", gather(inside, mirrored) + gather(inside, moved));
    return fused({x, constant_beside(x, back), constant_beside(x, round)}, std::move(body));
  };
  return row;
}

}  // namespace

std::vector<OpCase> fused_map_cases() {
  const auto rows = [](DType dtype, const Dim& n, std::string why) {
    const auto table = [&](const Dims& shape) { return normal({dtype, shape}); };
    return grouped({table({9, 7}), index({DType::i64, {n}}, 9), table({5, 7}),
                    index({DType::i32, {n}}, 5), table({7})},
                   "rows of two tables, " + why, 4, sum_of_rows);
  };
  return {
      rows(DType::f32, 6, "f32"),
      rows(DType::f32, "n", "symbolic"),
      rows(DType::f32, 0, "none of them"),
      rows(DType::f16, 5, "f16"),
      rows(DType::bf16, 5, "bf16"),
      rows(DType::bf16, "n", "bf16, symbolic"),
      rows(DType::u8, 5, "bytes"),
      rows(DType::i32, 5, "integers"),
      grouped({special(f32({9, 7})), index(i64({4}), 9), special(f32({4, 5})), index(i64({7}), 5),
               normal(f32({4, 7}))},
              "rows and columns, special values", 4, rows_and_columns),
      grouped({normal(f32({9, 7})), index(i64({4}), 9), normal(f32({4, 5})), index(i64({7}), 5),
               normal(f32({1, 7}))},
              "rows and columns", 4, rows_and_columns),
      grouped({normal(f32({9, 7})), index(i64({4}), 9), normal(f32({7, 5})), index(i64({4}), 5)},
              "rows of what is computed", 4, rows_of_computed),
      grouped({normal(f32({9, 7})), index(i64({8}), 9), index(i64({5}), 8)}, "rows of rows", 4,
              rows_of_rows),
      grouped({normal(f32({9, 7})), index(i64({9}), 9), normal(f32({7}))},
              "rows of a value that is read itself", 4, itself_and_another),
      grouped({normal(f32({9, 7})), index(i32({3, 2}), 9), normal(f32({9, 7}))},
              "rows by computed indices", 4, by_computed_indices),
      grouped({normal(f32({1, 2, 3, 5})), normal(f32({2, 1, 1}))}, "padded, of what is enlarged", 4,
              enlarged_and_padded),
      grouped({normal(bf16({1, 2, 3, 5})), normal(bf16({2, 1, 1}))},
              "padded, of what is enlarged, bf16", 4, enlarged_and_padded),
      grouped({normal(f32({2, 0, 3, 5})), normal(f32({1, 1}))}, "padded, of nothing", 4,
              enlarged_and_padded),
      grouped({normal(f32({1, 2, 3, 5})), normal(f32({2, 1, 1})), normal(f32({1, 2, 4, 8}))},
              "enlarged and mirrored, two results", 4, two_results),
      grouped({normal(f32({"n", 2, 3, 5})), normal(f32({2, 1, 1})), normal(f32({"n", 2, 4, 8}))},
              "enlarged and mirrored, two results, symbolic", 4, two_results),
      grouped({normal(f32({1, 2, 3, 5})), normal(f32({1, 3, 3, 5})), normal(f32({3, 1, 1}))},
              "concat of what is enlarged", 4, sum_of_enlarged),
      grouped({normal(f32({9, 65})), index(i64({4}), 9), normal(f32({3, 65})), index(i64({4}), 3),
               normal(f32({65})), normal(f32({65})), normal(f32({4, 65}))},
              "layer_norm of rows", 65, norm_of_rows),
      grouped({normal(f32({9, 7})), index(i64({"n"}), 9), normal(f32({3, 7})), index(i64({"n"}), 3),
               normal(f32({7})), normal(f32({7})), normal(f32({"n", 7}))},
              "layer_norm of rows, symbolic", 7, norm_of_rows),
      grouped({normal(f32({3, 5})), normal(f32({5}))}, "softmax of padding", 8, softened_padding),
      grouped({normal(f32({9, 7})), index(i64({5}), 9), normal(f32({7, 4})), normal(f32({4}))},
              "product of rows", 8, product_of_rows),
      grouped(
          {normal(f32({2, 65, 33})), index(i64({2}), 2), normal(f32({33, 70})), normal(f32({70}))},
          "product of rows, in tiles", 33, product_of_rows),
      grouped({normal(f32({5, 7})), normal(f32({7, 4})), normal(f32({9, 4})), index(i64({5}), 9)},
              "rows behind a product", 8, product_beside_rows),
      grouped({normal(f32({9, 7})), index(i64({5}), 9), normal(f32({7}))}, "a sum of turned rows",
              8, sum_of_turned_rows),
      mirrored_rows(),
  };
}

}  // namespace rlx
