#include "rlx/vector/isa.h"

#if defined(RLX_HIGHWAY) && (defined(__x86_64__) || defined(__i386__))
#include <cpuid.h>
#define RLX_CHOOSES_ISA
#endif

namespace rlx::vector {

#ifdef RLX_CHOOSES_ISA
namespace {

// Not all compilers know the name that __builtin_cpu_supports would take.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

}  // namespace

Isa best_isa() {
  const auto has_all = [](auto... have) { return (have && ...); };
  if (!has_all(__builtin_cpu_supports("ssse3"), __builtin_cpu_supports("sse4.1"),
               __builtin_cpu_supports("sse4.2"), __builtin_cpu_supports("aes"),
               __builtin_cpu_supports("pclmul")))
    return Isa::baseline;
  if (!has_all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
               __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"), has_f16c()))
    return Isa::sse4;
  if (!has_all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512vl"),
               __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512bw")))
    return Isa::avx2;
  return Isa::avx512;
}
bool computes_in_halves(Isa isa) { return isa == Isa::avx512 && __builtin_cpu_is("amdfam19h"); }
#else
Isa best_isa() { return Isa::baseline; }
bool computes_in_halves(Isa /*isa*/) { return false; }
#endif

const char* name_of(Isa isa) {
  constexpr const char* kNames[] = {"baseline", "sse4", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

}  // namespace rlx::vector
