// Weights of a few bits in blocks, as com.microsoft has them: values, scales and zero points apart.
// They are put side by side, block by block, in as many bytes.

#include <cstring>
#include <optional>

#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

struct BlockWeights {
  Tensor bytes, scales;  // [N, blocks, bytes of a block], [N, blocks]
  std::optional<Tensor> zeros, groups;
  int64_t n, k, bits, block, blocks;

  int64_t block_bytes() const { return block * bits / 8; }
  // The lowest bits of a byte come first; three bits may lie in two bytes.
  static int64_t packed(const uint8_t* from, int64_t i, int64_t bits) {
    const int64_t at = i * bits, shift = at % 8;
    int64_t word = from[at / 8];
    if (shift + bits > 8) word |= int64_t{from[at / 8 + 1]} << 8;
    return word >> shift & ((1 << bits) - 1);
  }
  int64_t weight(int64_t row, int64_t i) const {
    const uint8_t* from = bytes.data<uint8_t>().data() + row * blocks * block_bytes();
    return packed(from, i, bits);
  }
  double zero(int64_t row, int64_t group) const {
    if (!zeros) return static_cast<double>(1 << (bits - 1));
    if (is_float(zeros->dtype())) return zeros->at(row * blocks + group);
    const int64_t row_bytes = (blocks * bits + 7) / 8;
    return static_cast<double>(
        packed(zeros->data<uint8_t>().data() + row * row_bytes, group, bits));
  }
  std::string format() const { return text("int", bits, zeros ? "_block_asym" : "_block"); }
};

// Checks what the operands from `bytes_at` on say of n x k weights.
BlockWeights block_weights(Site site, int64_t n, int64_t k, size_t bytes_at, size_t scales_at,
                           size_t zeros_at) {
  BlockWeights w{};
  w.bytes = site.known_tensor(bytes_at), w.scales = site.known_tensor(scales_at);
  w.n = n, w.k = k, w.bits = site.integer("bits", 4);
  w.block = site.integer("block_size", 128);
  if (w.bits != 2 && w.bits != 3 && w.bits != 4 && w.bits != 8)
    site.fail_node("weights of ", w.bits, " bits");
  constexpr int64_t kMost = 1 << 28;  // of which three and the bits can be multiplied
  const bool sane = w.n >= 0 && w.n < kMost && w.k > 0 && w.k < kMost && w.block > 0 &&
                    w.block < kMost && w.block * w.bits % 8 == 0;
  if (!sane)
    site.fail_node("blocks of ", w.block, " in ", w.n, " x ", w.k, " weights are not there");
  w.blocks = (w.k + w.block - 1) / w.block;
  if (site.has(zeros_at)) w.zeros = site.known_tensor(zeros_at);
  const auto check = [&](const char* what, const Tensor& tensor, int64_t count) {
    if (tensor.count() != count)
      site.fail_node(what, ' ', tensor.type(), " has ", tensor.count(), " elements, ", w.n, " x ",
                     w.k, " weights of ", w.bits, " bits in blocks of ", w.block, " need ", count);
  };
  check("B", w.bytes, w.n * w.blocks * w.block_bytes());
  check("scales", w.scales, w.n * w.blocks);
  if (w.bytes.dtype() != DType::u8) site.fail_node("B is ", w.bytes.type(), ", not of u8");
  if (!is_float(w.scales.dtype())) site.fail_node("scales are ", w.scales.type(), ", not floats");
  if (w.zeros) {
    const bool floats = is_float(w.zeros->dtype());
    check("zero_points", *w.zeros, floats ? w.n * w.blocks : w.n * ((w.blocks * w.bits + 7) / 8));
    if (!floats && w.zeros->dtype() != DType::u8)
      site.fail_node("zero_points are ", w.zeros->type(), ", neither of u8 nor floats");
  }
  return w;
}

// The bytes of integers less 2^(bits - 1) as two's complement: their highest bits turned round.
void make_signed(uint8_t* bytes, int64_t count, int64_t bits) {
  constexpr uint8_t kOfTwo[] = {0xaa, 0xaa, 0xaa}, kOfThree[] = {0x24, 0x49, 0x92},
                    kOfFour[] = {0x88, 0x88, 0x88}, kOfEight[] = {0x80, 0x80, 0x80};
  const uint8_t* turned = bits == 2   ? kOfTwo
                          : bits == 3 ? kOfThree
                          : bits == 4 ? kOfFour
                                      : kOfEight;
  for (int64_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(bytes[i] ^ turned[i % 3]);
}

// In the format of rlx/tensor/blocks; none where its blocks are too small for one.
std::optional<Tensor> interleaved(Site site, const BlockWeights& w) {
  if (w.groups || w.block % 8 != 0) return std::nullopt;
  const BlockFormat format = block_format(w.format(), w.block);
  site.spend_elements(w.n * w.blocks * format.bytes);
  Tensor result(DType::u8, {w.n, w.blocks * format.bytes});
  const uint8_t* from = w.bytes.data<uint8_t>().data();
  uint8_t* to = result.mutable_data<uint8_t>().data();
  const int64_t bytes = w.block_bytes(), header = format.bytes - bytes;
  for (int64_t i = 0; i < w.n * w.blocks; ++i, to += format.bytes, from += bytes) {
    const auto scale = static_cast<float>(w.scales.at(i));
    std::memcpy(to, &scale, 4);
    std::memcpy(to + header, from, static_cast<size_t>(bytes));
    if (!w.zeros) {
      make_signed(to + header, bytes, w.bits);
    } else {
      const auto zero = static_cast<float>(w.zero(i / w.blocks, i % w.blocks));
      std::memcpy(to + 4, &zero, 4);
    }
  }
  return result;
}

Tensor as_floats(Site site, const BlockWeights& w, DType dtype) {
  site.spend_elements(w.n * w.k);
  Tensor floats(dtype, {w.n, w.k});
  for (int64_t row = 0; row < w.n; ++row)
    for (int64_t i = 0; i < w.k; ++i) {
      const int64_t group = w.groups ? w.groups->integer_at(i) : i / w.block;
      if (group < 0 || group >= w.blocks)
        site.fail_node("g_idx has ", group, ", there are ", w.blocks, " blocks");
      const double q = static_cast<double>(w.weight(row, i)) - w.zero(row, group);
      floats.set(row * w.k + i, q * w.scales.at(row * w.blocks + group));
    }
  return floats;
}

Items matmul_n_bits(Site site) {
  Value x = site.in(0);
  BlockWeights w = block_weights(site, site.integer("N"), site.integer("K"), 1, 2, 3);
  if (site.has(4)) {
    w.groups = site.known_tensor(4);
    if (w.groups->count() != w.k)
      site.fail_node("g_idx ", w.groups->type(), " has ", w.groups->count(), " elements, ", w.k,
                     " columns need ", w.k);
  }
  const auto with_bias = [&](Value y) { return site.has(5) ? y + site.in(5) : y; };
  const std::optional<Tensor> blocks = interleaved(site, w);
  if (!blocks)
    return {with_bias(matmul(x, site.constant(as_floats(site, w, x.dtype())), false, true))};
  if (const int64_t missing = w.blocks * w.block - w.k)
    x = pad(x, {Dim(0), Dim(missing)}, "constant", 0, {-1});
  return {with_bias(quantised_matmul(x, site.constant(*blocks), w.format(), w.block))};
}

// Tables of bytes whose rows are quantised along their last axis, which is how embeddings are
// stored.
Items gather_block_quantised(Site site) {
  const Tensor data = site.known_tensor(0);
  const Shape& shape = data.shape();
  const int64_t bits = site.integer("bits", 4), block = site.integer("block_size", 128);
  const int64_t axis = site.integer("gather_axis", 0), along = site.integer("quantize_axis", 1);
  if (data.dtype() != DType::u8 || shape.size() != 2)
    site.fail_node("data is ", data.type(), "; bytes of rank 2 are there");
  if ((axis != 0 && axis != -2) || (along != 1 && along != -1))
    site.fail_node("gather_axis ", axis, " and quantize_axis ", along, "; 0 and 1 are there");
  if (bits != 4 && bits != 8) site.fail_node("weights of ", bits, " bits");
  const int64_t k = shape[1] * 8 / bits;
  if (block <= 0 || k % block != 0)
    site.fail_node("rows of ", k, " elements are no whole blocks of ", block);
  const BlockWeights w = block_weights(site, shape[0], k, 0, 2, 3);
  const DType dtype = w.scales.dtype();
  const std::optional<Tensor> blocks = interleaved(site, w);
  if (!blocks) return {gather(site.constant(as_floats(site, w, dtype)), site.in(1), 0)};
  const Value rows = quantised_gather(site.constant(*blocks), site.in(1), w.format(), w.block);
  return {dtype == DType::f32 ? rows : cast(rows, dtype)};
}

}  // namespace

std::span<const Operator> microsoft_block_operators() {
  static constexpr Operator kOperators[] = {
      {"GatherBlockQuantized", gather_block_quantised},
      {"MatMulNBits", matmul_n_bits},
  };
  return kOperators;
}

}  // namespace rlx::onnx
