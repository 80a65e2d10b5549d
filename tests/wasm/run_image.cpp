// usage: run_image IMAGE EXPECTED.npy
//
// Runs an image of the model of `rlx demo` on the CPU and compares with what another program
// computed. It is linked without the compiler and its passes: a program that runs an image needs
// the runtime and the ops' own code alone.

#include <cmath>
#include <cstdio>

#include "rlx/base/error.h"
#include "rlx/import/npy.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/image.h"

namespace rlx {
namespace {

constexpr double kTolerance = 1e-5;  // of probabilities

// The sentences of rlx demo.
Tensor tokens() {
  Tensor ids(DType::i64, {2, 12});
  for (int64_t i = 0; i < ids.count(); ++i) ids.set_integer(i, (7 + 31 * i + i * i) % 100);
  return ids;
}

int run(const char* image_file, const char* expected_file) {
  const Program program = prepare(Device(), read_image(image_file), catalog());
  const Tensor y = program.run({{"ids", tokens()}}).at("probabilities");
  const Tensor expected = load_npy(expected_file);
  double largest = y.shape() == expected.shape() ? 0 : INFINITY;
  for (int64_t i = 0; largest < INFINITY && i < y.count(); ++i)
    largest = std::fmax(largest, std::fabs(y.at(i) - expected.at(i)));
  std::printf("%s: %lld probabilities, at most %g off the native CPU's\n", image_file,
              static_cast<long long>(y.count()), largest);
  return largest <= kTolerance ? 0 : 1;
}

}  // namespace
}  // namespace rlx

int main(int argc, char** argv) {
  try {
    if (argc == 3) return rlx::run(argv[1], argv[2]);
    std::fprintf(stderr, "usage: run_image IMAGE EXPECTED.npy\n");
  } catch (const rlx::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
