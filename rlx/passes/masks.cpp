#include "rlx/passes/masks.h"

#include <cmath>

namespace rlx {
namespace {

bool is_diagonal(const Ints& slopes) {
  if (slopes.size() < 2) return false;
  for (size_t d = 0; d + 2 < slopes.size(); ++d)
    if (slopes[d] != 0) return false;
  return slopes[slopes.size() - 2] == -1 && slopes.back() == 1;
}

}  // namespace

std::optional<Sight> sight_of(DType mask, const Along& along, bool hides) {
  if (along.ramp) return std::nullopt;
  const bool is_bool = mask == DType::boolean;
  Sight sight;
  bool fits = true;
  const auto is_seen = [&](double value) {
    const bool seen = is_bool ? (value != 0) != hides : value == 0;
    fits &= is_bool || seen || value <= kLowest;
    sight.is_finite |= !is_bool && !seen && std::isfinite(value);
    return seen;
  };
  if (along.is_number()) {
    sight.sees_all = is_seen(along.rest);
    return sight.sees_all ? std::optional(sight) : std::nullopt;
  }
  if (!is_diagonal(along.slopes) || is_seen(along.rest)) return std::nullopt;
  const size_t count = along.steps.size();
  if (count > 2 || !is_seen(along.steps[count - 1].value)) return std::nullopt;
  sight.last = along.steps[count - 1].last;
  if (count == 2) {
    if (is_seen(along.steps[0].value)) return std::nullopt;
    sight.first = along.steps[0].last + 1;
  }
  return fits ? std::optional(sight) : std::nullopt;
}

}  // namespace rlx
