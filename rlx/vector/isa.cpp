#include "rlx/vector/isa.h"

namespace rlx::vector {

Isa best_isa() {
#if defined(RLX_HIGHWAY) && (defined(__x86_64__) || defined(__i386__))
  const auto has_all = [](auto... have) { return (have && ...); };
  if (has_all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
              __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"),
              __builtin_cpu_supports("f16c"), __builtin_cpu_supports("aes"),
              __builtin_cpu_supports("pclmul")))
    return has_all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512vl"),
                   __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512bw"))
               ? Isa::avx512
               : Isa::avx2;
  if (has_all(__builtin_cpu_supports("sse4.1"), __builtin_cpu_supports("sse4.2"),
              __builtin_cpu_supports("ssse3"), __builtin_cpu_supports("aes"),
              __builtin_cpu_supports("pclmul")))
    return Isa::sse4;
#endif
  return Isa::baseline;
}

const char* name_of(Isa isa) {
  constexpr const char* kNames[] = {"baseline", "sse4", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

}  // namespace rlx::vector
