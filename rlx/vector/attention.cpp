#include "rlx/vector/attention.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/attention.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/gemm_tile.h"
#include "rlx/vector/load_elements.h"
#include "rlx/vector/math.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int64_t kQueries = kTileRows == 8 ? 16 : 12;  // taken together

int64_t rounded_up(int64_t count) { return (count + kPanel - 1) / kPanel * kPanel; }

// k^T as [size, kPanel] panels, then v as [keys, kPanel] panels.
int64_t packed_size(const AttentionHead& h) {
  return h.size * rounded_up(h.keys) + h.keys * rounded_up(h.value_size);
}
int64_t scratch_size(const AttentionHead& h) {
  return kQueries * (h.size + 2 * rounded_up(h.keys)) + kQueries;
}

bool pack(const AttentionHead& h, float* packed) {
  for (int64_t first = 0; first < h.keys; first += kPanel, packed += h.size * kPanel)
    pack_panel(h.k + first * h.k_row, 1, h.k_row, h.size, h.keys - first, packed);
  bool all_finite = true;
  for (int64_t first = 0; first < h.value_size; first += kPanel, packed += h.keys * kPanel) {
    pack_panel(h.v + first, h.v_row, 1, h.keys, h.value_size - first, packed);
    F largest_yet = set(0.0f);
    for (int64_t i = 0; i < h.keys * kPanel; i += kLanes) {
      const F x = abs(load(packed + i));
      largest_yet = select(equal(x, x), max(x, largest_yet), set(kInfinity));
    }
    all_finite &= !any(less(set(3.4028234e38f), largest_yet));
  }
  return all_finite;
}

// What is added to the scores of some queries.
struct Start {
  const float* data = nullptr;
  int64_t row = 0;
};
Start start_of(const AttentionHead& h, Range queries, float* scratch, int64_t row) {
  if (!h.bias && !h.mask) return {};
  if (!h.mask && (h.bias_column == 1 || h.keys == 1))
    return {h.bias + queries.begin * h.bias_row, h.bias_row};
  const bool same = (!h.bias || h.bias_row == 0) && (!h.mask || h.mask_row == 0);
  for (int64_t q = queries.begin; q < (same ? queries.begin + 1 : queries.end); ++q) {
    float* to = scratch + (q - queries.begin) * row;
    const float* bias = h.bias ? h.bias + q * h.bias_row : nullptr;
    const uint8_t* mask = h.mask ? h.mask + q * h.mask_row : nullptr;
    for (int64_t key = 0; key < h.keys; ++key) {
      const float added = bias ? bias[key * h.bias_column] : 0;
      to[key] = mask && mask[key * h.mask_column] == 0 ? -kInfinity : added;
    }
  }
  return {scratch, same ? 0 : row};
}

// scores[0 .. count) become e^(score - highest), and their sum is given, with that of the sink; 0
// where there is neither.
float exponentials(const AttentionHead& h, float* scores, const float* start, int64_t count) {
  F highest = set(-kInfinity);
  const F cap = set(h.softcap), inverse = set(h.softcap > 0 ? 1 / h.softcap : 0);
  const bool changes = h.softcap > 0 || h.mask;
  for (int64_t i = 0; i < count; i += kLanes) {
    F s = load_some(scores + i, count - i, set(-kInfinity));
    if (changes) {
      if (h.softcap > 0) s = tanh(s * inverse) * cap;
      if (start) {
        const F more = load_some(start + i, count - i, set(-kInfinity));
        if (h.softcap > 0) s = s + more;
        // A key that is not seen may hold anything.
        if (h.mask) s = select(equal(more, set(-kInfinity)), more, s);
      } else if (count - i < kLanes) {
        s = select(first(count - i), s, set(-kInfinity));
      }
      store_some(s, scores + i, count - i);
    }
    highest = select(equal(s, s), max(s, highest), s);
  }
  alignas(64) float lanes[kLanes];
  store(highest, lanes);
  float top = h.sink;
  for (const float lane : lanes) top = lane > top || lane != lane ? lane : top;
  if (top == -kInfinity) {
    std::fill(scores, scores + count, 0.0f);
    return 0;
  }
  F total = set(0.0f);
  for (int64_t i = 0; i < count; i += kLanes) {
    const F e = exp_below_zero(load_some(scores + i, count - i, set(-kInfinity)) - set(top));
    store_some(e, scores + i, count - i);
    total = total + e;
  }
  return sum(total) + (h.sink == -kInfinity ? 0 : std::exp(h.sink - top));
}

void scale_row(const float* x, float* y, int64_t count, float factor) {
  for (int64_t i = 0; i < count; i += kLanes)
    store_some(load_some(x + i, count - i) * set(factor), y + i, count - i);
}
void finish_row(const AttentionHead& h, float* y, float total) {
  if (total == 0)
    std::fill(y, y + h.value_size, h.empty);
  else
    scale_row(y, y, h.value_size, 1 / total);
}

// The scores of a few queries, all at once, then their sums of v.
void block(const AttentionHead& h, const float* packed, Range queries, float* scratch) {
  const int64_t row = rounded_up(h.keys), rows = queries.count();
  float *q = scratch, *scores = q + kQueries * h.size, *added = scores + kQueries * row,
        *totals = added + kQueries * row;
  Range seen = h.seen_by(queries.begin);
  for (int64_t i = queries.begin; i < queries.end; ++i) {
    const Range own = h.seen_by(i);
    seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
    scale_row(h.q + i * h.q_row, q + (i - queries.begin) * h.size, h.size, h.scale);
  }
  const Start start = start_of(h, queries, added, row);
  const bool starts = start.data && h.softcap <= 0;
  for (int64_t key = seen.begin / kPanel * kPanel; key < seen.end; key += kPanel)
    run_panel({.inner = h.size,
               .a = q,
               .a_row = h.size,
               .a_column = 1,
               .b = packed + key * h.size,
               .c = scores + key,
               .c_row = row,
               .start = starts ? start.data + key : nullptr,
               .start_row = start.row,
               .columns = std::min(kPanel, h.keys - key)},
              rows);
  for (int64_t i = 0; i < rows; ++i) {
    const Range own = h.seen_by(queries.begin + i);
    float* s = scores + i * row;
    std::fill(s + seen.begin, s + own.begin, 0.0f);
    std::fill(s + own.end, s + seen.end, 0.0f);
    const float* more = start.data ? start.data + i * start.row + own.begin : nullptr;
    totals[i] = exponentials(h, s + own.begin, more, own.count());
  }
  const float* v = packed + h.size * row;
  for (int64_t column = 0; column < h.value_size; column += kPanel) {
    const int64_t columns = std::min(kPanel, h.value_size - column);
    float* y = h.y + queries.begin * h.y_row + column;
    int64_t key = seen.begin;
    do {  // once at least, where no key is seen
      const int64_t inner = std::min(kInnerBlock, seen.end - key);
      run_panel({.inner = inner,
                 .a = scores + key,
                 .a_row = row,
                 .a_column = 1,
                 .b = v + column * h.keys + key * kPanel,
                 .c = y,
                 .c_row = h.y_row,
                 .start = key > seen.begin ? y : nullptr,
                 .start_row = h.y_row,
                 .columns = columns},
                rows);
      key += inner;
    } while (key < seen.end);
  }
  for (int64_t i = 0; i < rows; ++i) finish_row(h, h.y + (queries.begin + i) * h.y_row, totals[i]);
}

void many(const AttentionHead& h, const float* packed, Range queries, float* scratch) {
  for (int64_t q = queries.begin; q < queries.end; q += kQueries)
    block(h, packed, {q, std::min(q + kQueries, queries.end)}, scratch);
}

// Products of q with as many keys as run side by side.
template <int count>
void dots(const AttentionHead& h, const float* q, int64_t key, float* scores) {
  F sums[count];
  for (F& each : sums) each = set(0.0f);
  const float* k = h.k + key * h.k_row;
  int64_t i = 0;
  for (; i + kLanes <= h.size; i += kLanes) {
    const F factor = load(q + i);
#pragma GCC unroll 8
    for (int j = 0; j < count; ++j) sums[j] = mul_add(factor, load(k + j * h.k_row + i), sums[j]);
  }
  if (i < h.size) {
    const F factor = load_part(q + i, h.size - i);
    for (int j = 0; j < count; ++j)
      sums[j] = mul_add(factor, load_part(k + j * h.k_row + i, h.size - i), sums[j]);
  }
  for (int j = 0; j < count; ++j) scores[key + j] = sum(sums[j]) * h.scale;
}

void weighted_rows(const AttentionHead& h, Range keys, const float* weights, float* y) {
  constexpr int64_t kWidth = 4 * kLanes;
  for (int64_t column = 0; column < h.value_size; column += kWidth) {
    const int64_t width = std::min(kWidth, h.value_size - column);
    F sums[4];
    for (F& each : sums) each = set(0.0f);
    for (int64_t key = keys.begin; key < keys.end; ++key) {
      if (weights[key] == 0) continue;  // whatever v holds there
      const F factor = set(weights[key]);
      const float* v = h.v + key * h.v_row + column;
      if (width == kWidth) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) sums[i] = mul_add(factor, load(v + i * kLanes), sums[i]);
      } else {
        for (int i = 0; i * kLanes < width; ++i)
          sums[i] = mul_add(factor, load_some(v + i * kLanes, width - i * kLanes), sums[i]);
      }
    }
    for (int i = 0; i * kLanes < width; ++i)
      store_some(sums[i], y + column + i * kLanes, width - i * kLanes);
  }
}

void few(const AttentionHead& h, Range queries, float* scratch) {
  for (int64_t query = queries.begin; query < queries.end; ++query) {
    const Range seen = h.seen_by(query);
    const float* q = h.q + query * h.q_row;
    float* y = h.y + query * h.y_row;
    int64_t key = seen.begin;
    for (; key + 8 <= seen.end; key += 8) dots<8>(h, q, key, scratch);
    for (; key < seen.end; ++key) dots<1>(h, q, key, scratch);
    if (h.bias || h.mask || h.softcap > 0) {
      for (key = seen.begin; key < seen.end; ++key) {
        float& s = scratch[key];
        if (h.softcap > 0) s = h.softcap * std::tanh(s / h.softcap);
        if (h.bias) s += h.bias[query * h.bias_row + key * h.bias_column];
        if (h.mask && h.mask[query * h.mask_row + key * h.mask_column] == 0) s = -kInfinity;
      }
    }
    AttentionHead plain = h;  // what changes the scores has been done
    plain.softcap = 0;
    plain.mask = nullptr;
    const float total = exponentials(plain, scratch + seen.begin, nullptr, seen.count());
    weighted_rows(h, seen, scratch, y);
    finish_row(h, y, total);
  }
}

Attention make() {
  return {.together = kQueries,
          .packed_size = packed_size,
          .pack = pack,
          .scratch_size = scratch_size,
          .many = many,
          .few = few};
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Attention attention(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
