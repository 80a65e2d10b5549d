// The catalogue as a whole: every op that was promised, with kernels that stay what they were, for
// every dtype they take.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/family_test.h"
#include "rlx/conformance/kernels.h"
#include "rlx/conformance/runner.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

// What users are promised, family by family.
constexpr std::string_view kPromised =
    "input weight constant cast stop_gradient "
    // elementwise
    "neg abs sign exp log log1p expm1 sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh "
    "tanh erf floor ceil round relu leaky_relu elu selu celu sigmoid hard_sigmoid silu hard_swish "
    "mish softplus softsign gelu gelu_tanh clip not is_nan is_inf add sub mul div mod max min pow "
    "atan2 and or xor bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right eq ne "
    "lt le gt ge where "
    // linear algebra
    "matmul dot_general einsum linear qkv_linear grouped_matmul lora_matmul dense_solve det "
    "quantised_matmul quantised_grouped_matmul quantised_gather softmax_gate group_limited_gate "
    "mixture_of_experts matmul_integer qlinear_matmul qlinear_conv dynamic_quantise "
    // signals
    "fourier fft ifft rfft irfft fftn ifftn rfftn irfftn fftfreq rfftfreq dft stft istft frames "
    "psd welch welch_peaks fft_conv cosine_window window mel_filters log_mel "
    // points
    "nearest knn knn_pairwise "
    // normalisation, attention
    "layer_norm rms_norm group_norm instance_norm batch_norm lrn attention rope "
    // reductions, scans, search
    "sum mean reduce_max reduce_min prod logsumexp l1 l2 sum_square argmax argmin softmax "
    "log_softmax cumsum cumprod top_k sort argsort unique non_zero non_max_suppression sample "
    // shape and indexing
    "reshape transpose squeeze unsqueeze flatten expand tile concat split slice pad gather "
    "gather_elements gather_nd scatter scatter_elements scatter_nd one_hot range trilu reverse "
    "roll depth_to_space space_to_depth resize grid_sample eye_like shape_of size_of float_range "
    // convolution and pooling
    "conv conv_transpose conv_integer max_pool average_pool lp_pool global_max_pool "
    "global_average_pool global_lp_pool im2col roi_align "
    // losses and training
    "softmax_cross_entropy binary_cross_entropy_with_logits mse huber dropout quantise dequantise "
    "fake_quantise "
    // sequences and control flow
    "lstm gru rnn if_else while_loop scan loop selective_scan gated_delta_net causal_conv1d "
    // splats
    "gaussian_splat splat_raster "
    // strings
    "normalise_text text_to_numbers numbers_to_text";

TEST(Catalogue, HasEveryOpThatWasPromised) {
  const OpSet ops = catalog();
  std::vector<std::string> compositions, missing;
  for (const OpCase& row : op_cases())
    if (row.compose) compositions.push_back(row.op);
  std::istringstream names{std::string(kPromised)};
  for (std::string name; names >> name;)
    if (!ops.find(name) &&
        std::find(compositions.begin(), compositions.end(), name) == compositions.end())
      missing.push_back(name);
  EXPECT_TRUE(missing.empty()) << joined(missing, " ");
}

// What bodies make of weights is made once by all others: a new op says of itself which it is.
TEST(Catalogue, OpsThatFailForSomeElementsAreFew) {
  std::set<std::string> failing;
  for (const OpRef& op : catalog().all())
    if (op->reference && !op->elementwise && !op->never_fails) failing.insert(op->name);
  EXPECT_EQ(failing,
            (std::set<std::string>{
                // indices, labels, lengths, text that is no number, a matrix without a solution
                "argmax", "argmin", "cross_entropy", "cross_entropy_dx", "dense_solve", "gather",
                "gather_elements", "gather_nd", "grouped_matmul", "gru", "lstm", "quantised_gather",
                "quantised_grouped_matmul", "reverse_sequence", "rnn", "roi_align", "scatter",
                "scatter_elements", "scatter_nd", "text_to_numbers", "write_slice",
                // integers that do not fit, extents that elements tell
                "cast", "float_range", "range", "reshape", "words",
                // what their bodies hold
                "fused", "if_else", "loop", "while_loop"}));
}

// The rows' kernels, as text.
TEST(Catalogue, KernelsAreByteForByteWhatTheyWere) {
  std::ostringstream golden;
  golden << std::ifstream(RLX_SOURCE_DIR "/rlx/conformance/kernels.golden").rdbuf();
  std::vector<std::string> changed;
  std::istringstream now(fingerprints(kernels_of(op_cases(), catalog())));
  size_t lines = 0;
  for (std::string line; std::getline(now, line); ++lines)
    if (golden.str().find(line + "\n") == std::string::npos) changed.push_back(line);
  EXPECT_TRUE(changed.empty()) << "changed, or new (tools/generate, where that is meant):\n"
                               << joined(changed, "\n");
  const std::string text = golden.str();
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), lines)
      << "kernels.golden has other ops than the catalogue: tools/generate";
}

bool can_stand_for_others(const OpCase& row) {
  return !row.compose && row.symbols.empty() &&
         std::any_of(row.inputs.begin(), row.inputs.end(), [](const CaseInput& input) {
           return input.fill == CaseInput::Fill::normal && input.type.dtype == DType::f32;
         });
}

// A row with another dtype in place of f32; none where the op does not take it.
std::optional<OpCase> with_dtype(OpCase row, DType dtype, const OpSet& ops) {
  for (CaseInput& input : row.inputs) {
    if (input.type.dtype != DType::f32) continue;
    if (input.fill == CaseInput::Fill::given) return std::nullopt;
    input.type.dtype = dtype;
  }
  row.why = text("as ", dtype);
  try {
    case_graph(row, ops);
  } catch (const Error&) {
    return std::nullopt;
  }
  return row;
}

// Those that a family's rows are the first to try.
class EveryDtype : public FamilyTest {};
TEST_P(EveryDtype, ThatAnOpTakesHasAKernelThatIsRight) {
  const OpSet ops = catalog();
  std::set<std::string> seen;
  for (const CaseFamily& family : case_families()) {
    if (std::string_view(family.name) == GetParam().family.name) break;
    for (const OpCase& row : family.rows())
      if (can_stand_for_others(row)) seen.insert(row.op);
  }
  for (const OpCase& row : rows()) {
    if (!can_stand_for_others(row) || !seen.insert(row.op).second) continue;
    for (const DType dtype :
         {DType::f16, DType::bf16, DType::i32, DType::u32, DType::i64, DType::u64, DType::i8,
          DType::u8, DType::i16, DType::u16, DType::boolean}) {
      const std::optional<OpCase> other = with_dtype(row, dtype, ops);
      if (!other) continue;
      SCOPED_TRACE(describe(*other));
      const CaseResult result = run_case(*other, ops, device());
      const bool too_wide =
          result.detail.find("a device holds u64 in 32 bits") != std::string::npos;
      EXPECT_TRUE(result.right() || too_wide) << name(result.outcome) << ": " << result.detail;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, EveryDtype,
                         testing::ValuesIn(families_on({"lavapipe", "swiftshader"})), family_name);

}  // namespace
}  // namespace rlx
