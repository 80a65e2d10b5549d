// Products of one row, and of four, with weights in blocks, beside reading as many bytes: both on
// the same threads, taking turns, so that what else the machine does falls on both alike. Weights
// are beyond the last cache and go by in parts; the best time of each part counts, so that a pause
// of the process does not.
//   rlx_blocks_bench [FORMAT,.. [THREADS [KIB]]]   only these, or ''; weights of 64 MiB unless told
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>
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

// Adds up whole lines of the cache, as fast as they come.
uint64_t read(const uint8_t* from, int64_t bytes) {
  using Words = uint64_t __attribute__((vector_size(16), aligned(1), may_alias));
  Words a = {}, b = {}, c = {}, d = {};
  const auto* words = reinterpret_cast<const Words*>(from);
  for (int64_t i = 0; i + 4 <= bytes / 16; i += 4) {
    a += words[i];
    b += words[i + 1];
    c += words[i + 2];
    d += words[i + 3];
  }
  a += b + c + d;
  return a[0] + a[1];
}

void compare(const BlockFormat& format, Team& team, int64_t bytes_of_w) {
  constexpr int64_t kInner = 4096;
  const int64_t parts = (bytes_of_w >> 21) + 1;
  const int64_t row_bytes = format.row_bytes(kInner), columns = bytes_of_w / row_bytes;
  // Some rows again and again, of weights as they are: scales of any bits would be denormal
  // numbers.
  constexpr int64_t kRows = 16;
  Tensor floats_of_w(DType::f32, {kRows, kInner});
  std::minstd_rand random(1);
  std::normal_distribution<float> normal;
  for (float& each : floats_of_w.mutable_data<float>()) each = normal(random);
  const Tensor some = encode_blocks(floats_of_w, format);
  std::vector<uint8_t> w(static_cast<size_t>(columns * row_bytes));
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = some.data<uint8_t>()[i % static_cast<size_t>(kRows * row_bytes)];
  std::vector<float> x(4 * kInner), y(static_cast<size_t>(4 * columns));
  for (float& each : x) each = normal(random);
  const BlockFunctions functions = block_functions(best_isa());
  BlockProduct product{
      .b = {}, .a = x.data(), .rows = 1, .a_row = kInner, .c = y.data(), .c_row = columns};
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
  std::vector<WholeRow> rows;
  for (int64_t r = 0; r < 4 && spread.multiply; ++r) {
    rows.emplace_back(words.data() + r * WholeRow::words(kInner),
                      floats.data() + r * WholeRow::floats(kInner), kInner);
    by_bytes.take_row(x.data() + r * kInner, kInner, spread, rows.back());
  }
  const auto multiply = [&](int64_t row_count, Range part) {
    product.rows = row_count;
    team.run(part.end - part.begin, 64, [&](int64_t begin, int64_t end) {
      const Range range{part.begin + begin, part.begin + end};
      if (spread.multiply)
        return spread.multiply({product.b, rows.data(), row_count, y.data(), columns}, range);
      alignas(64) float scratch[4096];
      functions.multiply(product, range, scratch);
    });
  };
  uint64_t total = 0;
  const auto read_part = [&](Range part) {
    team.run(part.end - part.begin, 64, [&](int64_t begin, int64_t end) {
      __atomic_fetch_add(
          &total, read(w.data() + (part.begin + begin) * row_bytes, (end - begin) * row_bytes),
          __ATOMIC_RELAXED);
    });
  };
  std::vector<double> best(static_cast<size_t>(3 * parts), 1e9);
  for (int round = 0; round < 10; ++round)
    for (int what = 0; what < 3; ++what)
      for (int64_t p = 0; p < parts; ++p) {
        const Range part{columns * p / parts, columns * (p + 1) / parts};
        double& time = best[static_cast<size_t>(what * parts + p)];
        time = std::min(time, seconds_of([&] {
                          if (what == 0) return read_part(part);
                          multiply(what == 1 ? 1 : 4, part);
                        }));
      }
  const auto sum_of = [&](int what) {
    return std::accumulate(best.begin() + what * parts, best.begin() + (what + 1) * parts, 0.0);
  };
  const double best_read = sum_of(0), best_one = sum_of(1), best_four = sum_of(2);
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
  const std::string names = argc > 1 && *argv[1] ? "," + std::string(argv[1]) + "," : "";
  for (const rlx::BlockFormat& format : rlx::block_formats())
    if (names.empty() || names.find("," + std::string(format.name) + ",") != std::string::npos)
      rlx::vector::compare(format, team, int64_t{argc > 3 ? std::stoi(argv[3]) : 65536} << 10);
}
