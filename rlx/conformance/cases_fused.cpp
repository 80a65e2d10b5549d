// Rows for fused groups: regions of ops on single elements, and anchors with what comes before them
// and what finishes them.

#include <algorithm>

#include "rlx/conformance/fused_cases.h"
#include "rlx/ops/activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_fused.h"
#include "rlx/ops/ops_norm.h"
#include "rlx/ops/ops_resize.h"
#include "rlx/ops/ops_search.h"

namespace rlx {

const OpDef& conv_op();
const OpDef& average_pool_op();
const OpDef& max_pool_op();
const OpDef& quantise_op();
const OpDef& sort_op();
const OpDef& dequantise_op();

Compute in_body(Compute compute) {
  return [compute = std::move(compute)](const Values& in) {
    Graph body;
    Values inside;
    for (size_t i = 0; i < in.size(); ++i) inside.push_back(body.input(text("x", i), in[i].type()));
    const Values results = compute(inside);
    for (size_t r = 0; r < results.size(); ++r) body.output(text("y", r), results[r]);
    return fused(in, std::move(body));
  };
}

OpCase grouped(std::vector<CaseInput> inputs, std::string why, int64_t terms, Compute compute) {
  OpCase row{"fused", std::move(inputs), {}, std::move(why), terms};
  row.compose = in_body(std::move(compute));
  return row;
}

namespace {

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
// Of i32 in steps of in[1], to bytes in steps of in[2] about in[3].
Values requantised(const Values& in) {
  const Value y = relu(in[0].apply(dequantise_op(), {in[0], in[1]}));
  return {y.apply(quantise_op(), {y, in[2], in[3]}, {{"to", in[3].dtype()}})};
}
Values softened_bytes(const Values& in) {
  return {softmax(in[0].apply(dequantise_op(), {in[0], in[1], in[2]}), -1) * in[1]};
}
// Of the indices nobody knows.
Values pooled_highest(const Values& in) {
  const Value x = in[0] * in[1];
  return {tanh(x.apply(max_pool_op(), {x}, {{"window", Ints{2, 3}}, {"pads", Ints{1, 1, 0, 1}}})) +
          in[2]};
}
Values sorted(const Values& in) { return {in[0].apply(sort_op(), {in[0]}) * in[1] + in[2]}; }
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
// An activation that a function adds comes before the residual.
Values activated_product(const Values& in) {
  return {linear(in[0], in[1], {}, "tanh", true) + in[2]};
}
Values activated_conv(const Values& in) {
  return {relu(in[0].apply(conv_op(), {in[0], in[1]}, {{"pads", Ints{1, 1, 1, 1}}})) + in[2]};
}
Values gathered(const Values& in) { return {gather(in[0], in[1]) * in[2]}; }

// What comes before an anchor is computed where its kernel loads it.
Values sum_of_products(const Values& in) { return {sum(in[0] * in[1], {-1})}; }
Values sum_of_columns(const Values& in) { return {mean(tanh(in[0]) + in[1], {0}, true)}; }
Values both_sides(const Values& in) { return {softmax(in[0] * in[1] + in[2]) * in[1]}; }
Values softened_columns(const Values& in) { return {softmax(in[0] + in[1], 0)}; }
Values norm_of_sum(const Values& in) {
  const Value total = in[0] + in[1];
  return {total, layer_norm(total, in[2], in[3])};
}
Values scaled_norm_of_sum(const Values& in) {
  const Value total = in[0] + in[1];
  return {relu(rms_norm(total, in[2])) + total, total};
}
Values norm_of_bytes(const Values& in) {
  const Value x = (cast(in[0], in[1].dtype()) - in[1]) * scalar(in[1], 0.125);
  return {layer_norm(x, in[2], in[3])};
}
Values through_a_view(const Values& in) {
  return {sum(transpose(in[0] * in[1], {1, 0, 2}), {-1}) + in[2]};
}
Values of_a_part(const Values& in) {
  return {reduce_max(slice(abs(in[0]) - in[1], {1, 0}, {4, 5}, {0, 1}, {2, 1}), {1})};
}
Values repeated(const Values& in) {
  return {sum(expand(tanh(in[0]), in[1].shape()), {0}) * scalar(in[0], 2)};
}
Values gathered_of(const Values& in) { return {gather(relu(in[0]) * in[2], in[1])}; }
Values put_together(const Values& in) { return {concat({tanh(in[0]), in[1], in[1] * in[1]}, 1)}; }
Values enlarged(const Values& in) {
  Dims sizes = in[0].shape();
  sizes[2] = sizes[2] * Dim(2), sizes[3] = sizes[3] * Dim(3);
  return {resize(in[0] * in[1], sizes)};
}
Values pooled(const Values& in) {
  const Attrs attrs{{"window", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  return {in[0].apply(average_pool_op(), {in[0] - in[1]}, attrs)};
}
Values padded(const Values& in) { return {pad(in[0] + in[1], Dims{1, 0, 0, 2})}; }
Values running_total(const Values& in) { return {cumsum(in[0] * in[1], 1)}; }
Values largest_at(const Values& in) { return {argmax(in[0] - in[1], 1)}; }
// Before a product, whose kernels load an element for each of their tiles.
Values product_of_bytes(const Values& in) {
  return {matmul((cast(in[0], in[1].dtype()) - scalar(in[1], 3)) * scalar(in[1], 0.5), in[1])};
}
Values product_of_computed(const Values& in) {
  return {tanh(matmul(in[0] * in[1], transpose(abs(in[2]) + in[3], {1, 0}))) + in[4]};
}
Values product_with_its_operand(const Values& in) { return {matmul(relu(in[0]), in[1]) + in[0]}; }
Values wrapped(const Values& in) { return {cast(in[0] + in[1], DType::f32)}; }
Values sum_of_wrapped(const Values& in) { return {sum(cast(in[0] + in[1], DType::f32), {-1})}; }
Values two_widths(const Values& in) {
  return {cast(cast(in[0], DType::i8), DType::i32) + cast(cast(in[0], DType::i16), DType::i32)};
}

// Rows moved down by one: where the result took the place of x, some would be read too late.
OpCase moved_rows() {
  OpCase row{
      "fused", {normal(f32({70, 9}))}, {}, "a load of what the result could take the place of"};
  row.compose = [](const Values& in) {
    const Value x = exp(in[0]), upper = slice(x, {0}, {69}, {0});
    Graph body;
    const Value whole = body.input("x", x.type()), part = body.input("upper", upper.type());
    const Value starts = body.constant(Tensor::of(DType::i64, {2}, {1, 0}));
    body.output("y", write_slice(whole, part * part, starts));
    return fused({x, upper}, std::move(body));
  };
  return row;
}

// Rows of bytes that leave their range when added.
CaseInput large_bytes(const Dims& shape) {
  Tensor tensor(DType::i8, bound(shape, {}));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, static_cast<double>(127 - i * 37 % 200));
  return given(tensor);
}

std::vector<OpCase> cases_with_loads() {
  return {
      grouped({normal(f32({5, 65})), normal(f32({5, 65}))}, "sum of products", 65, sum_of_products),
      grouped({normal(f32({3, 1031})), normal(f32({1031}))}, "sum of products, long rows", 1031,
              sum_of_products),
      grouped({normal(f32({2, 9000})), normal(f32({2, 1}))}, "sum of products in chunks", 9000,
              sum_of_products),
      grouped({normal(f32({"n", 7})), normal(f32({"n", 1}))}, "sum of products, symbolic", 7,
              sum_of_products),
      grouped({normal(f32({0, 7})), normal(f32({7}))}, "sum of products, no rows", 7,
              sum_of_products),
      grouped({normal(f32({5, 0})), normal(f32({5, 0}))}, "sum of products, empty rows", 1,
              sum_of_products),
      grouped({normal(f32({5, 1})), normal(f32({1}))}, "sum of products, rows of one", 1,
              sum_of_products),
      grouped({normal(f16({5, 33})), normal(f16({33}))}, "sum of products, f16", 33,
              sum_of_products),
      grouped({normal(bf16({5, 33})), normal(bf16({5, 33}))}, "sum of products, bf16", 33,
              sum_of_products),
      grouped({normal(i32({5, 33})), normal(i32({33}))}, "sum of products, integers", 33,
              sum_of_products),
      grouped({special(f32({4, 9})), normal(f32({9}))}, "sum of products, special values", 9,
              sum_of_products),
      grouped({normal(f32({31, 7})), normal(f32({7}))}, "mean along the first axis", 31,
              sum_of_columns),
      grouped({normal(f32({"n", 7})), normal(f32({1, 7}))}, "mean along the first axis, symbolic",
              7, sum_of_columns),
      grouped({normal(f32({5, 65})), normal(f32({65})), normal(f32({5, 65}))},
              "softmax with both sides", 65, both_sides),
      grouped({normal(f32({"n", 7})), normal(f32({7})), normal(f32({"n", 1}))},
              "softmax with both sides, symbolic", 7, both_sides),
      grouped({normal(f16({5, 33})), normal(f16({33})), normal(f16({5, 33}))},
              "softmax with both sides, f16", 33, both_sides),
      grouped({special(f32({5, 9})), normal(f32({9})), normal(f32({5, 9}))},
              "softmax with both sides, special values", 9, both_sides),
      grouped({normal(f32({9, 3, 5})), normal(f32({9, 1, 5}))}, "softmax along the first axis", 9,
              softened_columns),
      grouped({normal(f32({5, 65})), normal(f32({5, 65})), normal(f32({65})), normal(f32({65}))},
              "layer_norm of a sum that is a result", 65, norm_of_sum),
      grouped({normal(f32({"n", 7})), normal(f32({7})), normal(f32({7})), normal(f32({7}))},
              "layer_norm of a sum that is a result, symbolic", 7, norm_of_sum),
      grouped(
          {normal(bf16({5, 33})), normal(bf16({5, 33})), normal(bf16({33})), normal(bf16({33}))},
          "layer_norm of a sum that is a result, bf16", 33, norm_of_sum),
      grouped({normal(f32({5, 65})), normal(f32({5, 1})), normal(f32({65}))},
              "rms_norm of a sum that is read behind it, too", 65, scaled_norm_of_sum),
      grouped({normal(u8({5, 33})), normal(f32({33})), normal(f32({33})), normal(f32({33}))},
              "layer_norm of bytes", 33, norm_of_bytes),
      grouped({normal(f32({3, 4, 5})), normal(f32({4, 1})), normal(f32({3}))},
              "a sum through a transpose", 5, through_a_view),
      grouped({normal(f32({5, 7})), normal(f32({7}))}, "the largest of a part", 1, of_a_part),
      grouped({normal(f32({1, 7})), normal(f32({5, 7}))}, "a sum of what is repeated", 5, repeated),
      grouped({normal(f32({9, 7})), index(i64({5}), 9), normal(f32({7}))}, "gather of a product", 1,
              gathered_of),
      grouped({normal(f32({3, 2, 5})), normal(f32({3, 4, 5}))}, "concat of what is computed", 4,
              put_together),
      grouped({normal(f32({1, 2, 3, 5})), normal(f32({2, 1, 1}))}, "resize of a product", 1,
              enlarged),
      grouped({normal(u8({1, 2, 3, 5})), normal(u8({2, 1, 1}))}, "resize of bytes", 1, enlarged),
      grouped({normal(f32({1, 3, 7, 9})), normal(f32({3, 1, 1}))}, "average_pool of a difference",
              4, pooled),
      grouped({normal(f32({3, 5})), normal(f32({5}))}, "pad of a sum", 1, padded),
      grouped({normal(f32({3, 65})), normal(f32({65}))}, "cumsum of a product", 65, running_total),
      grouped({normal(f32({3, 65})), normal(f32({3, 1}))}, "argmax of a difference", 1, largest_at),
      grouped({normal(u8({5, 7})), normal(f32({7, 9}))}, "matmul of bytes", 7, product_of_bytes),
      grouped({normal(u8({"n", 7})), normal(f32({7, 9}))}, "matmul of bytes, symbolic", 7,
              product_of_bytes),
      grouped({normal(i8({2, 65, 33})), normal(f32({33, 70}))}, "matmul of bytes, in tiles", 33,
              product_of_bytes),
      grouped({normal(u8({2, 3, 5, 7})), normal(f32({3, 7, 4}))}, "matmul of bytes, batches", 7,
              product_of_bytes),
      grouped({normal(u8({1, 64})), normal(f32({64, 70}))}, "one row of bytes", 64,
              product_of_bytes),
      grouped({normal(u8({0, 7})), normal(f32({7, 9}))}, "matmul of no bytes", 7, product_of_bytes),
      grouped({normal(bf16({5, 7})), normal(bf16({7})), normal(bf16({9, 7})), normal(bf16({7})),
               normal(bf16({9}))},
              "matmul of what is computed, bf16", 7, product_of_computed),
      grouped({normal(f32({5, 7})), normal(f32({5, 1})), normal(f32({9, 7})), normal(f32({7})),
               normal(f32({5, 9}))},
              "matmul of what is computed", 7, product_of_computed),
      grouped({special(f32({5, 7})), normal(f32({7})), normal(f32({9, 7})), normal(f32({7})),
               normal(f32({9}))},
              "matmul of what is computed, special values", 7, product_of_computed),
      grouped({normal(f32({7, 7})), normal(f32({7, 7}))}, "matmul, its operand as residual", 7,
              product_with_its_operand),
      grouped({large_bytes({5, 7}), large_bytes({5, 7})}, "narrow integers wrap in registers", 1,
              wrapped),
      grouped({large_bytes({5, 7}), large_bytes({7})}, "narrow integers wrap in a load", 7,
              sum_of_wrapped),
      grouped({normal(i32({5, 7}))}, "conversions to two widths", 1, two_widths),
      moved_rows(),
  };
}

// What functions of linear and conv take by name.
void add_activated(std::vector<OpCase>& cases) {
  for (const std::string& name : activation_names()) {
    cases.push_back(grouped(
        {normal(f32({5, 7})), normal(f32({7, 9})), normal(f32({9}))}, text("linear with ", name), 7,
        [name](const Values& in) { return Values{linear(in[0], in[1], in[2], name)}; }));
    cases.push_back(
        grouped({normal(f32({1, 2, 5, 4})), normal(f32({3, 2, 2, 2})), normal(f32({3}))},
                text("conv with ", name), 8, [name](const Values& in) {
                  return Values{with_activation("conv", in[0].apply(conv_op(), in), name)};
                }));
  }
}

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
      grouped({normal(bf16({"n", 7})), normal(bf16({7, 9})), normal(bf16({"n", 1}))},
              "matmul, symbolic, bias of rows, bf16", 7, product),
      grouped({normal(bf16({0, 7})), normal(bf16({7, 9})), normal(bf16({9}))},
              "matmul of no rows, bf16", 7, product),
      grouped({normal(bf16({5, 7})), normal(bf16({7, 9})), normal(bf16({9})), normal(bf16({5, 9}))},
              "matmul with a residual and two results, bf16", 9, product_with_residual),
      grouped({special(f16({5, 7})), normal(f16({7, 8})), normal(f16({8})), normal(f16({5, 8}))},
              "matmul with a residual and two results, f16, special values", 9,
              product_with_residual),
      grouped({normal(bf16({1, 3, 9, 7})), normal(bf16({5, 3, 3, 3})), normal(bf16({5, 1, 1}))},
              "conv, bias, relu6, bf16", 27, convolved),
      grouped({normal(bf16({5, 65})), normal(bf16({65})), normal(bf16({65}))},
              "layer_norm, residual, bf16", 65, normalised),
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
      grouped({normal(i32({5, 7})), positive(f32({7})), positive(f32({5, 1})), normal(u8({}))},
              "i32 to bytes again", 1, requantised),
      grouped({normal(i32({"n", 7})), positive(f32({})), positive(f32({})), normal(i8({7}))},
              "i32 to signed bytes again, symbolic", 1, requantised),
      grouped({normal(u8({5, 65})), positive(f32({65})), normal(u8({5, 1}))},
              "softmax of bytes, scaled", 65, softened_bytes),
      grouped({normal(f32({1, 2, 7, 9})), normal(f32({7, 1})), normal(f32({2, 1, 1}))},
              "max_pool, scaled before, a bias behind", 4, pooled_highest),
      grouped({normal(f32({3, 65})), normal(f32({65})), normal(f32({3, 65}))},
              "sorted, scaled, with a residual", 4, sorted),
      grouped({normal(f32({3, 1031})), normal(f32({1031})), normal(f32({3, 1}))},
              "a long row sorted, scaled", 4, sorted),
      grouped({special(f32({1, 2, 7, 9})), normal(f32({})), normal(f32({2, 1, 1}))},
              "max_pool, special values", 4, pooled_highest),
  };
  add_activated(cases);
  for (OpCase& row : cases_with_loads()) cases.push_back(std::move(row));
  for (OpCase& row : fused_map_cases()) cases.push_back(std::move(row));
  for (OpCase& row : cases)
    if (std::any_of(row.inputs.begin(), row.inputs.end(),
                    [](const CaseInput& each) { return !is_concrete(each.type.shape); }))
      row.symbols = {{"n", 5}};
  return cases;
}

}  // namespace rlx
