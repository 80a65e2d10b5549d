// Finds speech in a WAV file with a Silero network, frame by frame, and prints when there is some.
//   vad MODEL.onnx SOUND.wav [LEVELS.txt]     LEVELS: how likely speech is, a frame a line

#include <cstdio>
#include <fstream>

#include "devices.h"
#include "rlx/rlx.h"
#include "wav.h"

using namespace rlx;

constexpr int64_t kFrame = 512;  // 32 ms

// The network, and what it remembers of the frames before, which stays on the device.
class Listener {
 public:
  Listener(const char* model, const Device& device)
      : program_(compile(onnx::load_onnx(model), {.device = device})) {
    for (const auto& [name, type] : program_.inputs()) {
      Shape shape;
      for (const Dim& dim : type.shape) shape.push_back(dim.is_number() ? dim.number() : 1);
      if (name == "sr") {
        inputs_["sr"] = Tensor::of(type.dtype, shape, {kRate});
      } else if (name != "input") {
        inputs_[name] = Tensor(type.dtype, shape);  // remembers nothing
        options_.keep_on_device.push_back(next_of(name));
      }
    }
    // The first networks had two memories, and did not see the end of the frame before.
    context_ = inputs_.count("state") ? 64 : 0;
    options_.outputs = {"output"};
  }

  // The probability that samples[at .. at + kFrame) are speech.
  float hear(const std::vector<float>& samples, int64_t at) {
    Tensor frame(DType::f32, {1, context_ + kFrame});
    const auto target = frame.mutable_data<float>();
    for (int64_t i = 0; i < frame.count(); ++i) {
      const int64_t from = at - context_ + i;
      if (from >= 0 && from < static_cast<int64_t>(samples.size()))
        target[static_cast<size_t>(i)] = samples[static_cast<size_t>(from)];
    }
    inputs_["input"] = frame;
    const RunResult result = program_.run(inputs_, options_);
    for (const char* name : {"state", "h", "c"}) {
      const auto next = result.device_tensors.find(next_of(name));
      if (next == result.device_tensors.end()) continue;
      options_.device_inputs[name] = next->second;
      inputs_.erase(name);
    }
    return result.tensors.at("output").data<float>()[0];
  }
  const Program& program() const { return program_; }

 private:
  static std::string next_of(const std::string& name) {
    return name == "state" ? "stateN" : name + "n";
  }
  Program program_;
  TensorMap inputs_;
  RunOptions options_;
  int64_t context_ = 0;
};

struct Speech {
  int64_t begin, end;  // frames
};

// Speech begins above one half, and ends where it stays below 0.35 for a tenth of a second.
std::vector<Speech> find_speech(const std::vector<float>& levels) {
  constexpr int64_t kPause = 4;
  std::vector<Speech> found;
  int64_t quiet = kPause;  // frames since the last that may be speech
  for (int64_t i = 0; i < static_cast<int64_t>(levels.size()); ++i) {
    const float level = levels[static_cast<size_t>(i)];
    const bool inside = quiet < kPause;
    if (level >= 0.5f && !inside) found.push_back({i, i + 1});
    quiet = level >= (inside ? 0.35f : 0.5f) ? 0 : std::min(quiet + 1, kPause);
    if (quiet == 0) found.back().end = i + 1;
  }
  return found;
}

double seconds(int64_t frame) { return static_cast<double>(frame * kFrame) / kRate; }

int main(int argc, char** argv) try {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: vad MODEL.onnx SOUND.wav [LEVELS.txt]\n");
    return 2;
  }
  const std::vector<float> samples = load_wav(argv[2]);
  Listener listener(argv[1], best_device());
  std::vector<float> levels;
  for (size_t at = 0; at < samples.size(); at += kFrame)
    levels.push_back(listener.hear(samples, static_cast<int64_t>(at)));

  // A row is two seconds, a letter a frame.
  constexpr size_t kRow = size_t{2} * kRate / kFrame;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (i % kRow == 0) std::printf("%s%5.1f s  ", i ? "\n" : "", seconds(static_cast<int64_t>(i)));
    std::putchar(".:-=+*#%@@"[std::min(static_cast<size_t>(levels[i] * 10), size_t{9})]);
  }
  std::printf("\n");
  const auto speech = find_speech(levels);
  for (const auto& [begin, end] : speech)
    std::printf("speech from %.2f s to %.2f s\n", seconds(begin), seconds(end));
  if (speech.empty()) std::printf("no speech\n");
  if (argc > 3) {
    std::ofstream file(argv[3]);
    file.precision(9);
    for (const float level : levels) file << level << '\n';
  }
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
