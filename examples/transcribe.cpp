// Writes down the English in a WAV file, word by word as Moonshine's decoder finds it. What the
// decoder keeps of the sound and of its own words stays on the device.
//   transcribe MODELS VOCABULARY SOUND.wav
// MODELS: the folder with the .onnx files; VOCABULARY: llama-tokenizer.js, which has it as base64.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "devices.h"
#include "rlx/rlx.h"
#include "wav.h"

using namespace rlx;

constexpr int64_t kBegin = 1, kEnd = 2, kMostTokens = 192;

Strings load_vocabulary(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string script{std::istreambuf_iterator<char>(stream), {}};
  const std::string before = "llama_vocab_base64 = \"";
  const size_t begin = script.find(before);
  if (begin == std::string::npos)
    throw Error(ErrorKind::io, "there is no vocabulary in '" + file + "'");
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  Strings words(1);
  uint32_t bits = 0;
  int count = 0;
  for (size_t i = begin + before.size(); i < script.size() && script[i] != '"'; ++i) {
    const size_t digit = digits.find(script[i]);
    if (digit == std::string::npos) break;  // padding at the end
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    const char letter = static_cast<char>(bits >> count & 0xff);
    if (letter == '\n')
      words.emplace_back();
    else
      words.back() += letter;
  }
  return words;
}

// What a token stands for: a byte, or letters, where U+2581 is a space.
std::string spelled(const Strings& vocabulary, int64_t token) {
  if (token >= static_cast<int64_t>(vocabulary.size())) return "";
  std::string word = vocabulary[static_cast<size_t>(token)];
  if (word.size() == 6 && word.compare(0, 3, "<0x") == 0)
    return {static_cast<char>(std::stoi(word.substr(3, 2), nullptr, 16))};
  const std::string space = "\xe2\x96\x81";
  for (size_t at = 0; (at = word.find(space, at)) != std::string::npos;)
    word.replace(at, space.size(), " ");
  return word;
}

// The decoder is two graphs in one file: for the first token, and with a cache for those after it.
Program load_decoder(const std::string& file, bool cached, const Device& device) {
  Graph graph = onnx::load_onnx(
      file, {.known_inputs = {
                 {"use_cache_branch", Tensor::of(DType::boolean, {1}, {cached ? 1.0 : 0.0})}}});
  // The cache grows by a token with each run: with a bound, memory is planned once for all.
  graph.symbol("past_decoder_sequence_length", kMostTokens);
  return compile(graph, {.device = device});
}

class Decoder {
 public:
  Decoder(const std::string& file, const Device& device)
      : first_(load_decoder(file, false, device)), next_(load_decoder(file, true, device)) {}

  void listen(const DeviceTensor& sound) { cache_ = {{"encoder_hidden_states", sound}}; }

  int64_t token_after(int64_t token) {
    const bool begins = cache_.size() == 1;
    const Program& program = begins ? first_ : next_;
    TensorMap inputs = {
        {"input_ids", Tensor::of(DType::i64, {1, 1}, {static_cast<double>(token)})}};
    RunOptions options{.outputs = {"logits"}, .device_inputs = {}};
    for (const auto& [name, type] : program.inputs()) {
      const auto kept = cache_.find(name);
      if (kept != cache_.end())
        options.device_inputs.insert(*kept);
      else if (name != "input_ids")
        inputs[name] = Tensor(type.dtype, {1, type.shape[1].number(), 0, type.shape[3].number()});
    }
    // What was heard does not change: only the first run gives it.
    for (const auto& [name, type] : program.outputs())
      if (name != "logits" && (begins || name.find(".decoder.") != std::string::npos))
        options.keep_on_device.push_back(name);
    const RunResult result = program.run(inputs, options);
    for (const auto& [name, tensor] : result.device_tensors)
      cache_["past_key_values" + name.substr(std::string("present").size())] = tensor;
    const auto logits = result.tensors.at("logits").data<float>();
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  const Program& stepping() const { return next_; }

 private:
  Program first_, next_;
  std::map<std::string, DeviceTensor> cache_;
};

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: transcribe MODELS VOCABULARY SOUND.wav\n");
    return 2;
  }
  auto watch = [last = std::chrono::steady_clock::now()]() mutable {
    const auto before = last;
    last = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(last - before).count();
  };
  const std::string models = argv[1];
  const Strings vocabulary = load_vocabulary(argv[2]);
  const std::vector<float> samples = load_wav(argv[3]);
  const auto count = static_cast<int64_t>(samples.size());
  Tensor sound(DType::f32, {1, count});
  std::copy(samples.begin(), samples.end(), sound.mutable_data<float>().begin());

  const Device device = best_device();
  const Program encoder =
      compile(onnx::load_onnx(models + "/encoder_model.onnx"), {.device = device});
  Decoder decoder(models + "/decoder_model_merged.onnx", device);
  std::fprintf(stderr, "on %s\nloading   %6.0f ms\n", device.name().c_str(), watch());
  decoder.listen(encoder.run({{"input_values", sound}}, {.keep_on_device = {"last_hidden_state"}})
                     .device_tensors.at("last_hidden_state"));
  std::fprintf(stderr, "listening %6.0f ms\n", watch());

  std::vector<int64_t> tokens = {kBegin};
  Counters settled;
  const int64_t most = std::min(kMostTokens, count * 6 / kRate + 1);  // nobody speaks faster
  while (tokens.back() != kEnd && static_cast<int64_t>(tokens.size()) <= most) {
    tokens.push_back(decoder.token_after(tokens.back()));
    if (tokens.size() == 5) settled = decoder.stepping().counters();
    std::string word = tokens.back() == kEnd ? "\n" : spelled(vocabulary, tokens.back());
    if (tokens.size() == 2 && word[0] == ' ') word.erase(0, 1);
    std::fputs(word.c_str(), stdout);
    std::fflush(stdout);
  }
  std::fprintf(stderr, "writing   %6.0f ms; tokens:", watch());
  for (const int64_t token : tokens) std::fprintf(stderr, " %d", static_cast<int>(token));
  const Counters now = decoder.stepping().counters();
  std::fprintf(stderr, "\nmade after the fourth token: %d pipelines, %d plans, %d buffers\n",
               static_cast<int>(now.pipelines - settled.pipelines),
               static_cast<int>(now.plans - settled.plans),
               static_cast<int>(now.buffers - settled.buffers));
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
