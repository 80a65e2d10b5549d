// Rows for the norms: over trailing axes, over channels, over a window of channels.

#include <limits>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_channel_norm.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;

void add_row_norms(Cases& cases) {
  for (const char* op : {"layer_norm", "rms_norm"}) {
    const bool layer = std::string(op) == "layer_norm";
    // gamma and, for layer_norm, beta
    const auto row = [&](CaseInput x, CaseInput gamma, CaseInput beta, int64_t axis, int64_t terms,
                         const char* why, SymbolValues symbols, bool gradient) {
      std::vector<CaseInput> inputs = {std::move(x), std::move(gamma)};
      if (layer) inputs.push_back(std::move(beta));
      cases.push_back({.op = op,
                       .inputs = std::move(inputs),
                       .attrs = {{"axis", axis}},
                       .why = why,
                       .terms = terms,
                       .symbols = std::move(symbols),
                       .gradient = gradient});
    };
    row(normal(f32({3, 65})), normal(f32({65})), normal(f32({65})), -1, 65,
        "rows longer than a workgroup", {}, true);
    row(normal(f32({2, 1031})), normal(f32({1031})), absent(), 1, 1031, "long rows, no beta", {},
        false);
    row(normal(f32({5, 7})), absent(), absent(), -1, 7, "neither gamma nor beta", {}, true);
    row(normal(f32({5, 7})), absent(), normal(f32({7})), -1, 7, "beta alone", {}, true);
    row(normal(f32({2, 3, 5})), normal(f32({3, 5})), normal(f32({3, 5})), 1, 15,
        "two trailing axes", {}, true);
    row(normal(f32({2, 3, 5})), normal(f32({2, 3, 5})), absent(), 0, 30, "all axes", {}, false);
    row(normal(f16({9, 63})), normal(f16({63})), normal(f16({63})), -1, 63, "halves", {}, false);
    row(normal({DType::bf16, {3, 65}}), absent(), absent(), -1, 65, "bf16", {}, false);
    row(normal(f32({0, 5})), normal(f32({5})), absent(), -1, 5, "nothing to do", {}, false);
    row(normal(f32({70, 1})), absent(), absent(), -1, 1, "rows of one", {}, false);
    row(given(rows_with({1, kNaN, 3, kInf, 1, 2, 4, 5, 6}, 3)), absent(), absent(), -1, 3,
        "NaN stays in its row", {}, false);
    row(normal(f32({300, 35})), normal(f32({35})), normal(f32({35})), -1, 35, "many short rows", {},
        false);
    row(normal(f32({"n", 33})), normal(f32({33})), normal(f32({33})), -1, 33,
        "a symbolic number of rows", {{"n", 4}}, false);
    row(normal(f32({3, "n"})), normal(f32({"n"})), absent(), -1, 67, "a symbolic row length",
        {{"n", 67}}, true);
  }
}

void add_group_norms(Cases& cases) {
  const auto row = [&](CaseInput x, CaseInput gamma, CaseInput beta, int64_t groups, int64_t terms,
                       const char* why, bool gradient = false, SymbolValues symbols = {}) {
    cases.push_back({.op = "group_norm",
                     .inputs = {std::move(x), std::move(gamma), std::move(beta)},
                     .attrs = {{"groups", groups}},
                     .why = why,
                     .terms = terms,
                     .symbols = std::move(symbols),
                     .gradient = gradient});
  };
  row(normal(f32({2, 6, 3, 5})), normal(f32({6})), normal(f32({6})), 2, 45, "pictures", true);
  row(normal(f32({2, 6, 7})), normal(f32({6})), absent(), 3, 14, "sequences, no beta", true);
  row(normal(f32({5, 8})), absent(), normal(f32({8})), 2, 4, "no positions, beta alone", true);
  row(normal(f32({1, 4, 2, 3, 3})), absent(), absent(), 1, 72, "volumes, one group", true);
  row(normal(f32({2, 3, 37, 41})), normal(f32({3})), normal(f32({3})), 3, 1517, "large");
  row(normal(f32({2, 3, 5})), normal(f32({3})), normal(f32({3})), 0, 5, "each channel", true);
  row(normal(f16({2, 4, 65})), normal(f16({4})), normal(f16({4})), 2, 130, "halves");
  row(normal({DType::bf16, {2, 4, 9}}), absent(), absent(), 2, 18, "bf16");
  row(normal(f32({0, 4, 9})), normal(f32({4})), absent(), 2, 18, "no samples");
  row(normal(f32({2, 4, 0})), normal(f32({4})), absent(), 2, 1, "no positions at all");
  row(given(Tensor::of(DType::f32, {1, 4, 2}, {1, kNaN, 3, 4, 5, 6, 7, 9})), absent(), absent(), 2,
      4, "NaN stays in its group");
  row(given(Tensor::of(DType::f32, {1, 2, 3}, {10001, 10002, 10003, 5, 6, 8})), absent(), absent(),
      2, 3, "a mean that dwarfs the deviation");
  row(normal(f32({"b", 4, "n"})), normal(f32({4})), normal(f32({4})), 2, 34, "symbolic extents",
      true, {{"b", 2}, {"n", 17}});
  row(normal(f32({2, "c", 5})), normal(f32({"c"})), absent(), 0, 5, "symbolic channels", true,
      {{"c", 3}});
  for (const Shape& shape : {Shape{2, 3, 5}, Shape{1, 65, 4}, Shape{2, 3, 33, 34}}) {
    const TensorType channels = f32({shape[1]});
    int64_t terms = 1;
    for (size_t d = 2; d < shape.size(); ++d) terms *= shape[d];
    cases.push_back({.op = "instance_norm",
                     .inputs = {normal(f32(Dims(shape))), normal(channels), normal(channels)},
                     .why = "each channel of each sample",
                     .terms = terms,
                     .gradient = terms < 100,
                     .compose = [](const Values& in) -> Values {
                       return {instance_norm(in[0], in[1], in[2])};
                     }});
  }
}

void add_batch_norms(Cases& cases) {
  const auto row = [&](CaseInput x, bool scaled, const char* why, SymbolValues symbols = {}) {
    const TensorType channels{x.type.dtype, {x.type.shape[1]}};
    const CaseInput scale = scaled ? normal(channels) : absent();
    cases.push_back({.op = "batch_norm",
                     .inputs = {std::move(x), scale, scale, normal(channels), positive(channels)},
                     .why = why,
                     .symbols = std::move(symbols)});
  };
  row(normal(f32({2, 3, 4, 5})), true, "pictures");
  row(normal(f32({5, 7})), true, "no positions");
  row(normal(f32({2, 3, 5})), false, "neither gamma nor beta");
  row(normal(f32({3, 65, 61})), true, "large");
  row(normal(f16({3, 5, 7})), true, "halves");
  row(normal({DType::bf16, {2, 3, 9}}), true, "bf16");
  row(normal(f32({2, 0, 5})), true, "no channels");
  row(special(f32({2, 3, 9})), true, "NaN and infinities");
  row(normal(f32({"b", 3, "n"})), true, "symbolic extents", {{"b", 2}, {"n", 5}});

  const auto training = [&](const TensorType& x, int64_t terms, const char* why, bool gradient,
                            SymbolValues symbols = {}) {
    const TensorType channels{x.dtype, {x.shape[1]}};
    cases.push_back(
        {.op = "batch_norm_training",
         .inputs = {normal(x), normal(channels), normal(channels), normal(channels),
                    positive(channels)},
         .why = why,
         .terms = terms,
         .symbols = std::move(symbols),
         .gradient = gradient,
         .compose = [](const Values& in) -> Values {
           const BatchNorm norm = batch_norm_training(in[0], in[1], in[2], in[3], in[4]);
           return {norm.y, norm.mean, norm.variance, norm.running_mean, norm.running_variance};
         }});
  };
  training(f32({4, 3, 5}), 20, "sequences", true);
  training(f32({9, 4}), 9, "no positions", true);
  training(f32({2, 3, 31, 33}), 2046, "pictures", false);
  training(f32({"b", 3, 7}), 28, "a symbolic batch", true, {{"b", 4}});
}

void add_windows(Cases& cases) {
  const auto row = [&](CaseInput x, int64_t axis, int64_t before, int64_t after, const char* why,
                       bool gradient = false, SymbolValues symbols = {}) {
    cases.push_back({.op = "window_sum",
                     .inputs = {std::move(x)},
                     .attrs = {{"axis", axis}, {"before", before}, {"after", after}},
                     .why = why,
                     .terms = before + after + 1,
                     .symbols = std::move(symbols),
                     .gradient = gradient});
  };
  row(normal(f32({3, 65})), -1, 1, 2, "rows", true);
  row(normal(f32({2, 7, 5})), 1, 2, 0, "an axis in the middle", true);
  row(normal(f32({2, 3})), 1, 9, 9, "wider than the row", true);
  row(normal(f32({101, 103})), 0, 2, 2, "large");
  row(normal(f16({3, 17})), 0, 1, 1, "halves");
  row(normal(f32({3, 0})), 1, 1, 1, "nothing to do");
  row(normal(f32({2, "n"})), 1, 1, 3, "a symbolic axis", true, {{"n", 11}});

  const auto norm = [&](const TensorType& type, int64_t size, const char* why, bool gradient) {
    cases.push_back({.op = "lrn",
                     .inputs = {normal(type)},
                     .why = why,
                     .terms = size,
                     .gradient = gradient,
                     .compose = [size](const Values& in) -> Values {
                       return {lrn(in[0], size, 0.3, 0.75, 1.5)};
                     }});
  };
  norm(f32({2, 7, 3, 3}), 5, "pictures", true);
  norm(f32({2, 6}), 4, "an even window", true);
  norm(f32({1, 65, 161}), 3, "large", false);
  norm(f16({2, 5, 9}), 3, "halves", false);
}

// Far from 0, where the last place of the mean is much of the deviation.
void add_long_rows(Cases& cases) {
  Tensor x(DType::f32, {1, 1000003});
  for (int64_t i = 0; i < x.count(); ++i)
    x.set(i, 1000 + static_cast<double>(i * 7919 % 4001) / 1000);
  cases.push_back({.op = "layer_norm",
                   .inputs = {given(x), absent(), absent()},
                   .attrs = {{"axis", -1}},
                   .why = "10^6 values near 1,000, as exact as few",
                   .terms = 4,
                   .gradient = false});
  cases.push_back({.op = "rms_norm",
                   .inputs = {given(x), absent()},
                   .attrs = {{"axis", -1}},
                   .why = "10^6 values, as exact as few",
                   .terms = 4,
                   .gradient = false});
}

}  // namespace

std::vector<OpCase> norm_cases() {
  Cases cases;
  add_row_norms(cases);
  add_group_norms(cases);
  add_batch_norms(cases);
  add_windows(cases);
  add_long_rows(cases);
  return cases;
}

}  // namespace rlx
