// Fourier transforms through a program of the CPU beside FFTW, where it is installed
// (libfftw3-dev): one thread each. FFTW measures its plans; that is not timed.
//   rlx_fft_bench [WORD]   only the lines that have it
#include <cmath>

#include "bench/contest.h"
#include "rlx/rlx.h"
#ifdef RLX_FFTW
#include <fftw3.h>
#endif

namespace rlx {
namespace {

void compare(const Contest& contest, int64_t n, int64_t lines, bool real) {
  const std::string title =
      (real ? "rfft " : "fft ") + std::to_string(n) + " x " + std::to_string(lines);
  if (!contest.wants(title)) return;
  const double work = (real ? 2.5 : 5) * static_cast<double>(n * lines) * std::log2(n);
  Graph graph;
  const Value x = graph.input("x", real ? f32({lines, n}) : f32({lines, n, 2}));
  graph.output("y", real ? rfft(x) : fft(x));
  const Program program = compile(graph, {.device = find_all_devices().at("cpu"), .threads = 1});
  const int64_t count = n * lines * (real ? 1 : 2);
  Tensor data(DType::f32, real ? Shape{lines, n} : Shape{lines, n, 2});
  const std::vector<float> values = numbers(count);
  std::copy(values.begin(), values.end(), data.mutable_data<float>().data());
  const TensorMap inputs{{"x", data}};
  std::vector<Contender> contenders{{"rlx", [&] { program.run(inputs); }}};
#ifdef RLX_FFTW
  const int length = static_cast<int>(n), bins = real ? length / 2 + 1 : length;
  auto* in = static_cast<float*>(fftwf_malloc(sizeof(float) * static_cast<size_t>(count)));
  auto* out = fftwf_alloc_complex(static_cast<size_t>(bins * lines));
  const fftwf_plan plan =
      real ? fftwf_plan_many_dft_r2c(1, &length, static_cast<int>(lines), in, nullptr, 1, length,
                                     out, nullptr, 1, bins, FFTW_MEASURE)
           : fftwf_plan_many_dft(1, &length, static_cast<int>(lines),
                                 reinterpret_cast<fftwf_complex*>(in), nullptr, 1, length, out,
                                 nullptr, 1, length, FFTW_FORWARD, FFTW_MEASURE);
  std::copy(values.begin(), values.end(), in);
  contenders.push_back({"FFTW", [&] { fftwf_execute(plan); }});
#endif
  contest.compare(title, work, "Gflop/s", contenders);
#ifdef RLX_FFTW
  fftwf_destroy_plan(plan);
  fftwf_free(in);
  fftwf_free(out);
#endif
}

}  // namespace
}  // namespace rlx

int main(int argc, char** argv) {
  const rlx::Contest contest(argc > 1 ? argv[1] : "");
  rlx::compare(contest, 1 << 20, 1, false);
  rlx::compare(contest, 1000, 1000, false);
  rlx::compare(contest, 1024, 256, false);
  rlx::compare(contest, 65536, 1, false);
  rlx::compare(contest, 1031, 100, false);  // a prime
  rlx::compare(contest, 400, 3000, true);   // what a recogniser of speech has of half a minute
}
