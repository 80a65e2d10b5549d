// Products of one row, and of few and many, with weights in blocks, beside reading as many bytes:
// both on the same threads, taking turns, so that what else the machine does falls on both alike.
//   rlx_blocks_bench [FORMAT [THREADS]]   only that one
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "rlx/tensor/blocks/format.h"
#include "rlx/vector/block_bytes.h"
#include "rlx/vector/blocks.h"
#include "rlx/vector/byte_gemm.h"
#include "rlx/vector/team.h"

namespace rlx::vector {
namespace {

double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Sums whole cache lines, as fast as they come.
uint64_t read(const uint8_t* from, int64_t bytes) {
  uint64_t sums[8] = {};
  const auto* words = reinterpret_cast<const uint64_t*>(from);
  for (int64_t i = 0; i + 8 <= bytes / 8; i += 8)
    for (int j = 0; j < 8; ++j) sums[j] += words[i + j];
  return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

void compare(const BlockFormat& format, Team& team) {
  constexpr int64_t kInner = 4096, kBytes = 96 << 20;  // beyond the last cache
  const int64_t row_bytes = format.row_bytes(kInner), columns = kBytes / row_bytes;
  std::vector<uint8_t> w(static_cast<size_t>(columns * row_bytes));
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint8_t>(i * 2654435761U >> 13 & 0x3f);
  std::vector<float> x(4 * kInner, 0.5F), y(static_cast<size_t>(4 * columns));
  const BlockFunctions functions = block_functions(best_isa());
  BlockProduct product{.a = x.data(), .rows = 1, .a_row = kInner, .c = y.data(), .c_row = columns};
  product.b = {functions.decoder(format.name),
               {format.elements, format.bytes, format.bits, format.has_zero},
               w.data(),
               row_bytes,
               kInner};
  // As the CPU backend takes it: by integers where there is a way.
  const BlockBytesFunctions by_bytes = block_bytes(best_isa(), multiplies_bytes());
  const BlockBytesFormat spread = by_bytes.format(format.name, product.b.shape);
  std::vector<int32_t> words(static_cast<size_t>(4 * WholeRow::words(kInner)));
  std::vector<float> floats(static_cast<size_t>(4 * WholeRow::floats(kInner)));
  const auto multiply_bytes = [&] {
    std::vector<WholeRow> rows;
    for (int64_t r = 0; r < product.rows; ++r) {
      rows.emplace_back(words.data() + r * WholeRow::words(kInner),
                        floats.data() + r * WholeRow::floats(kInner), kInner);
      by_bytes.take_row(product.a + r * kInner, kInner, spread, rows.back());
    }
    const BlockBytesProduct whole{product.b, rows.data(), product.rows, y.data(), columns};
    team.run(columns, 64, [&](int64_t begin, int64_t end) {
      spread.multiply(whole, {begin, end});
    });
  };
  const auto multiply = [&] {
    if (spread.multiply) return multiply_bytes();
    team.run(columns, 64, [&](int64_t begin, int64_t end) {
      alignas(64) float scratch[4096];
      functions.multiply(product, {begin, end}, scratch);
    });
  };
  uint64_t total = 0;
  const auto read_all = [&] {
    team.run(columns, 64, [&](int64_t begin, int64_t end) {
      __atomic_fetch_add(&total, read(w.data() + begin * row_bytes, (end - begin) * row_bytes),
                         __ATOMIC_RELAXED);
    });
  };
  double best_read = 1e9, best_one = 1e9, best_four = 1e9;
  for (int round = 0; round < 12; ++round) {
    best_read = std::min(best_read, seconds_of(read_all));
    product.rows = 1;
    best_one = std::min(best_one, seconds_of(multiply));
    product.rows = 4;
    best_four = std::min(best_four, seconds_of(multiply));
  }
  const double bytes = static_cast<double>(w.size()) * 1e-9;
  std::printf("%-16s read %5.1f GB/s   one row %5.1f GB/s (%.2f)   four rows %5.1f GB/s (%.2f)%s\n",
              std::string(format.name).c_str(), bytes / best_read, bytes / best_one,
              best_read / best_one, bytes / best_four, best_read / best_four,
              total == 1 ? "." : "");
  std::fflush(stdout);
}

}  // namespace
}  // namespace rlx::vector

int main(int argc, char** argv) {
  rlx::vector::Team team(argc > 2 ? std::stoi(argv[2]) : 0);
  for (const rlx::BlockFormat& format : rlx::block_formats())
    if (argc < 2 || format.name == argv[1]) rlx::vector::compare(format, team);
}
