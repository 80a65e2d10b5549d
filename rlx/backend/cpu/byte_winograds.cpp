#include "rlx/backend/cpu/byte_winograds.h"

#include <algorithm>

namespace rlx::detail {
namespace {

void store(const vector::ByteWinogradPart& part, int64_t pixels, int64_t outputs,
           const ByteWinogradSteps::Target& target) {
  const vector::Range channels = part.channels;
  for (int64_t row = part.rows.begin; row < part.rows.end; ++row) {
    const int32_t* sums = part.sums + (row - part.rows.begin) * part.row;
    const int64_t begin = target.first + row * pixels + part.pixels.begin,
                  end = begin + part.pixels.count();
    if (target.tile) {
      target.tile->run({begin, end}, channels, {sums, part.pixel});
      continue;
    }
    for (int64_t place = begin; place < end; ++place, sums += part.pixel)
      std::copy_n(sums, channels.count(), target.y + place * outputs + channels.begin);
  }
}

}  // namespace

void ByteWinogradSteps::run(const CpuEngine& engine, const vector::BytePicture& whole,
                            const Tensor& weights, int64_t outputs, const Target& target) {
  constexpr int64_t kInWord = 2;
  const vector::ByteWinogradCode& code = engine.byte_winograd;
  const vector::BytePicture picture = vector::ByteWinogradCode::picture(whole);
  const int64_t inputs = picture.channels, words = code.packed_words(inputs, outputs),
                panels = code.panels(outputs);
  words_.resize(static_cast<size_t>(picture.words(kInWord)));
  engine.team.run(picture.rows(), CpuEngine::kGrain * 4 / (picture.pixels() * inputs + 1) + 1,
                  [&](int64_t begin, int64_t end) {
                    vector::take_pixels(picture, kInWord, {begin, end}, words_.data());
                  });
  const auto pack = [&](float* to) {
    engine.team.run(panels, 1, [&](int64_t begin, int64_t end) {
      code.pack(weights.data<int8_t>().data(), inputs, outputs, {begin, end},
                reinterpret_cast<uint32_t*>(to));
    });
  };
  const vector::ByteWinograd conv{
      .inputs = inputs,
      .outputs = outputs,
      .rows = whole.windows.y.out,
      .pixels = whole.windows.x.out,
      .picture = words_.data(),
      .zero = picture.is_signed ? static_cast<int8_t>(picture.zero) : picture.zero,
      .weights = reinterpret_cast<const uint32_t*>(packed_.get(
          engine, weights, true, {kPackedByteWinograd, inputs, outputs, panels}, words, pack))};
  const vector::ByteWinogradBlocks blocks = code.blocks(conv, engine.team.threads());
  scratch_.resize(blocks.scratch_size);
  engine.team.run(blocks.count(), 1, [&](int64_t begin, int64_t end) {
    const Scratch::Part scratch(scratch_);
    for (int64_t i = begin; i < end; ++i)
      store(code.run(conv, blocks, i, reinterpret_cast<uint32_t*>(scratch.data())), conv.pixels,
            outputs, target);
  });
}

}  // namespace rlx::detail
