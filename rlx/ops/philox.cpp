#include "rlx/ops/philox.h"

namespace rlx {

PhiloxCounter philox(PhiloxCounter c, PhiloxKey key) {
  for (int i = 0; i < 10; ++i) {
    const uint64_t a = uint64_t{0xd2511f53} * c[0], b = uint64_t{0xcd9e8d57} * c[2];
    c = {uint32_t(b >> 32) ^ c[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ key[1],
         uint32_t(a)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return c;
}

void require_seed(std::string_view op, const TensorType& seed) {
  const Dim elements = count(seed.shape);
  require(is_integer(seed.dtype) && (elements.is(1) || elements.is(2)), op,
          ": seed must be one integer or two, got ", seed);
}

PhiloxKey key_of(const Tensor& seed) {
  return {static_cast<uint32_t>(seed.integer_at(0)),
          seed.count() > 1 ? static_cast<uint32_t>(seed.integer_at(1)) : 0};
}

std::string key_function(const TensorType& seed) {
  return text("fn key() -> vec2<u32> { return vec2<u32>(u32(load_seed(0u)), ",
              count(seed.shape).is(1) ? "0u" : "u32(load_seed(1u))", "); }");
}

}  // namespace rlx
