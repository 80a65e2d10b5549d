// Rows for fused groups: regions of ops on single elements, and anchors with what finishes them.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fused.h"
#include "rlx/ops/ops_norm.h"

namespace rlx {

const OpDef& conv_op();

namespace {

using Compute = std::function<Values(const Values&)>;

// The operands go through `compute` inside a body.
OpCase grouped(std::vector<CaseInput> inputs, std::string why, int64_t terms, Compute compute) {
  OpCase row{"fused", std::move(inputs), {}, std::move(why), terms};
  row.compose = [compute = std::move(compute)](const Values& in) {
    Graph body;
    Values inside;
    for (size_t i = 0; i < in.size(); ++i) inside.push_back(body.input(text("x", i), in[i].type()));
    const Values results = compute(inside);
    for (size_t r = 0; r < results.size(); ++r) body.output(text("y", r), results[r]);
    return fused(in, std::move(body));
  };
  return row;
}

Values gelu_of_sum(const Values& in) { return {gelu(in[0] + in[1])}; }
Values several(const Values& in) {
  const Value sum = in[0] + in[1];
  return {sum, tanh(sum) * in[0], sigmoid(in[1])};
}
Values through_shapes(const Values& in) {
  const Value flat = reshape(tanh(in[0]), Dims{-1});
  return {reshape(flat * scalar(flat, 3), Dims{5, 7}) + in[1]};
}
Values compared(const Values& in) { return {where(greater(in[0], in[1]), in[0], -in[1])}; }
Values product(const Values& in) { return {relu(matmul(in[0], in[1]) + in[2])}; }
Values product_with_residual(const Values& in) {
  const Value sum = matmul(in[0], in[1]) + in[2] + in[3];
  return {sum, sum * sigmoid(sum)};
}
Values convolved(const Values& in) {
  return {clip(in[0].apply(conv_op(), {in[0], in[1]}, {{"pads", Ints{1, 1, 1, 1}}}) + in[2], 0, 6)};
}
Values reduced(const Values& in) {
  const Value total = sum(in[0], {-1}, true);
  return {sqrt(abs(total) + scalar(total, 1)) * in[1]};
}
Values softened(const Values& in) { return {softmax(in[0], -1) * in[1] + in[1]}; }
Values normalised(const Values& in) { return {tanh(layer_norm(in[0], in[1], in[2])) + in[0]}; }
// As the heads of an attention are put side by side.
Values merged_heads(const Values& in) {
  const Value heads = matmul(in[0], in[1]) * in[2];
  return {reshape(transpose(heads, {0, 2, 1, 3}), Dims{heads.shape()[0], heads.shape()[2], 12})};
}
// A residual behind a transpose, with a weight for each channel.
Values turned(const Values& in) {
  const Value rows = gelu(matmul(in[0], in[1]));
  return {transpose(rows, {0, 2, 1}) * in[2] + in[3]};
}
// As windows are put back into a picture.
Values windows_back(const Values& in) {
  const Value rows = reshape(matmul(in[0], in[1]), Dims{-1, 2, 3, 4, 5, 6});
  const Value picture = transpose(rows, {0, 1, 3, 2, 4, 5});
  return {reshape(picture, in[2].shape()) + in[2]};
}
Values turned_region(const Values& in) {
  const Value before = tanh(in[0]) * in[1];
  return {before, sigmoid(transpose(before, {1, 0})) + abs(in[2])};
}
// An activation of the op itself comes before the residual.
Values activated_product(const Values& in) {
  return {linear(in[0], in[1], {}, "tanh", true) + in[2]};
}
Values activated_conv(const Values& in) {
  const Attrs attrs{{"pads", Ints{1, 1, 1, 1}}, {"activation", std::string("relu")}};
  return {in[0].apply(conv_op(), {in[0], in[1]}, attrs) + in[2]};
}
Values gathered(const Values& in) { return {gather(in[0], in[1]) * in[2]}; }

}  // namespace

std::vector<OpCase> fused_cases() {
  std::vector<OpCase> cases = {
      grouped({normal(f32({5, 7})), normal(f32({5, 7}))}, "two ops", 4, gelu_of_sum),
      grouped({normal(f32({3, 1, 65})), normal(f32({31, 1}))}, "broadcast of both", 4, gelu_of_sum),
      grouped({normal(f32({0, 7})), normal(f32({7}))}, "nothing to do", 4, gelu_of_sum),
      grouped({normal(f16({5, 7})), normal(f16({7}))}, "f16", 4, gelu_of_sum),
      grouped({normal(bf16({3, 5})), normal(bf16({3, 5}))}, "bf16", 4, gelu_of_sum),
      grouped({normal(f32({"n", 7})), normal(f32({7}))}, "symbolic", 4, gelu_of_sum),
      grouped({normal(f32({31, 65})), normal(f32({31, 65}))}, "several results", 4, several),
      grouped({normal(f16({5, 7})), normal(f16({5, 7}))}, "several results, f16", 4, several),
      grouped({normal(f32({7, 5})), normal(f32({5, 7}))}, "through shapes", 4, through_shapes),
      grouped({normal(f32({3, 5})), normal(f32({5}))}, "a comparison inside", 1, compared),
      grouped({normal(i32({3, 5})), normal(i32({3, 5}))}, "integers", 1, compared),
      grouped({normal(f32({5, 7})), normal(f32({7, 9})), normal(f32({9}))}, "matmul, bias, relu", 7,
              product),
      grouped({normal(f32({2, 65, 33})), normal(f32({33, 70})), normal(f32({70}))},
              "matmul in tiles", 33, product),
      grouped({normal(f16({5, 7})), normal(f16({7, 9})), normal(f16({9}))}, "matmul, f16", 7,
              product),
      grouped({normal(f32({"n", 7})), normal(f32({7, 9})), normal(f32({"n", 1}))},
              "matmul, symbolic, bias of rows", 7, product),
      grouped({normal(f32({5, 7})), normal(f32({7, 9})), normal(f32({9})), normal(f32({5, 9}))},
              "matmul with a residual and two results", 9, product_with_residual),
      grouped({normal(f32({1, 3, 9, 7})), normal(f32({5, 3, 3, 3})), normal(f32({5, 1, 1}))},
              "conv, bias, relu6", 27, convolved),
      grouped({normal(f32({5, 65})), normal(f32({5, 1}))}, "a sum and its root", 65, reduced),
      grouped({normal(f32({5, 65})), normal(f32({65}))}, "softmax, scaled", 65, softened),
      grouped({normal(f32({5, 65})), normal(f32({65})), normal(f32({65}))}, "layer_norm, residual",
              65, normalised),
      grouped({normal(f32({2, 3, 5, 7})), normal(f32({2, 3, 7, 4})), normal(f32({4}))},
              "matmul, stored in another order", 8, merged_heads),
      grouped({normal(f32({"n", 3, 5, 7})), normal(f32({"n", 3, 7, 4})), normal(f32({4}))},
              "matmul, stored in another order, symbolic", 8, merged_heads),
      grouped({normal(f32({2, 5, 7})), normal(f32({7, 9})), normal(f32({9, 1})),
               normal(f32({2, 9, 5}))},
              "matmul, a residual in another order", 8, turned),
      grouped({normal(f32({"n", 5, 7})), normal(f32({7, 9})), normal(f32({9, 1})),
               normal(f32({"n", 9, 5}))},
              "matmul, a residual in another order, symbolic", 8, turned),
      grouped({normal(f16({2, 5, 7})), normal(f16({7, 9})), normal(f16({9, 1})),
               normal(f16({2, 9, 5}))},
              "matmul, a residual in another order, f16", 8, turned),
      grouped({normal(f32({12, 20, 7})), normal(f32({7, 6})), normal(f32({2, 120, 6}))},
              "matmul, windows put back", 8, windows_back),
      grouped({normal(f32({1, 3, 5, 7})), normal(f32({1, 3, 7, 4})), normal(f32({4}))},
              "matmul, stored in another order, one batch", 8, merged_heads),
      grouped({normal(f32({1, 5, 7})), normal(f32({7, 9})), normal(f32({9, 1})),
               normal(f32({1, 9, 5}))},
              "matmul, a residual in another order, one batch", 8, turned),
      grouped({normal(f32({6, 20, 7})), normal(f32({7, 6})), normal(f32({1, 120, 6}))},
              "matmul, windows put back, one batch", 8, windows_back),
      grouped({normal(f32({3, 7})), normal(f32({5, 7})), normal(f32({3, 5}))},
              "linear with an activation, residual", 8, activated_product),
      grouped({normal(f32({1, 3, 5, 7})), normal(f32({4, 3, 3, 3})), normal(f32({4, 1, 1}))},
              "conv with an activation, bias", 8, activated_conv),
      grouped({normal(f32({5, 7})), normal(f32({7})), normal(f32({7, 1}))},
              "two results in two orders", 4, turned_region),
      grouped({normal(bf16({5, 7})), normal(bf16({7})), normal(bf16({7, 1}))},
              "two results in two orders, bf16", 4, turned_region),
      grouped({normal(f32({9, 7})), index(i64({5}), 9), normal(f32({7}))}, "gather, scaled", 1,
              gathered),
  };
  for (OpCase& row : cases)
    if (!is_concrete(row.inputs[0].type.shape)) row.symbols = {{"n", 5}};
  return cases;
}

}  // namespace rlx
