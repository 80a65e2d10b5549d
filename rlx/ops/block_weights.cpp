#include "rlx/ops/block_weights.h"

#include <algorithm>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"

namespace rlx {
namespace {

constexpr int64_t kWord = 4;

// The file that decodes a format, behind what it includes.
std::vector<std::string> decoder_of(const BlockFormat& format) {
  std::vector<std::string> files;
  if (!format.kernel_library.empty()) files.emplace_back(format.kernel_library);
  files.push_back(text("blocks_", format.bits > 0 ? "int" : format.name));
  return files;
}

// The bytes of operand i as words, whatever its view.
Operand words_of(const LowerSite& site, size_t i, Steps& before) {
  Operand w = site.inputs[i];
  if (!w.contiguous()) {
    const Operand whole = site.temporary("w", site.in(i));
    before.append(site.copy(w, whole));
    w = whole;
  }
  w.dtype = DType::u32;
  w.shape = {ceil_div(count(site.in(i).shape), kWord)};
  w.layout = Layout::row_major(w.shape);
  return LowerSite::named(w, "w", Access::read);
}

bool is_multiple_of_4(const Dim& k) { return k.is_number() && k.number() % 4 == 0; }

// Elements that can always be bound, wherever their window begins.
Dim rows_that_fit(const LowerSite& site, int64_t element_bytes, const Dim& row) {
  const int64_t bytes = std::max<int64_t>(
      site.traits.max_binding_bytes - site.traits.storage_alignment - 2 * kWord, 4);
  return max(floor_div(bytes / element_bytes, max(row, 1)), 1);
}

}  // namespace

BlockFormat format_of(const Attrs& attrs) {
  return block_format(attrs.get<std::string>("format"), attrs.get<int64_t>("block"));
}

Dim row_elements(const Attrs& attrs, const TensorType& w) {
  const BlockFormat format = format_of(attrs);
  const Dim bytes = w.shape.back();
  if (bytes.is_number()) return format.row_elements(bytes.number());
  return floor_div(bytes, format.bytes) * Dim(format.elements);
}

Dim row_elements(const InferSite& site, const TensorType& w) {
  const BlockFormat format = format_of(site.attrs);
  if (!w.shape.back().is_number())
    site.multiple_of(w.shape.back(), format.bytes,
                     text("rows of w ", w, " are no whole blocks of ", format.name));
  return row_elements(site.attrs, w);
}

WeightRows weight_rows(const LowerSite& site, size_t i, Steps& before) {
  const TensorType& w = site.in(i);
  const BlockFormat format = format_of(site.attrs());
  WeightRows rows{.words = words_of(site, i, before)};
  rows.row_bytes = w.shape.back();
  rows.count = count(Dims(w.shape.begin(), w.shape.end() - 1));
  rows.k = row_elements(site.attrs(), w);
  rows.includes = decoder_of(format);
  rows.includes.insert(rows.includes.begin(), "blocks");
  rows.includes.emplace_back("blocks_rows");
  // Elements without a block go by fours.
  const bool alone = format.elements == 1;
  const bool ragged = alone && !is_multiple_of_4(rows.k);
  const bool aligned = alone ? !ragged : format.bytes % kWord == 0 && format.bits != 3;
  rows.constants = {{"ALIGNED", aligned},
                    {"RAGGED", ragged},
                    {"ELEMENTS", alone ? kWord : format.elements},
                    {"BYTES", alone ? kWord : format.bytes}};
  if (format.bits > 0) {
    rows.constants.push_back({"BITS", format.bits});
    rows.constants.push_back({"HAS_ZERO", format.has_zero});
  }
  return rows;
}

WeightRows apart_rows(const LowerSite& site, size_t i, Steps& before) {
  const TensorType& w = site.in(i);
  WeightRows rows{.words = words_of(site, i, before)};
  const auto take = [&](const char* name, const char* step, size_t operand) {
    rows.beside.push_back(site.read(name, operand));
    const Dims& shape = site.in(operand).shape;
    rows.params.emplace_back(step, shape[0].is(1) ? Dim(0) : shape[1]);
  };
  rows.row_bytes = rows.k = w.shape.back();
  rows.count = w.shape[0];
  const bool whole = is_multiple_of_4(rows.k), has_zeros = site.has(i + 2);
  rows.includes = {"blocks", has_zeros ? "blocks_zeros" : "blocks_no_zeros", "blocks_apart"};
  rows.constants = {{"ALIGNED", whole}, {"RAGGED", !whole}, {"SIGNED", w.dtype == DType::i8}};
  rows.params = {{"block", Dim(site.attrs().get<int64_t>("block"))}};
  take("scales", "scales_row", i + 1);
  if (has_zeros) take("zeros", "zeros_row", i + 2);
  return rows;
}

RowsPart cut_rows(const LowerSite& site, const Dim& m, const std::vector<RowsOperand>& m_operands,
                  WeightRows& w) {
  RowsPart part{0, m, 0, w.count};
  const auto bytes_of_operand = [&](const Operand& operand) {
    return operand.access == Access::read ? device_storage(operand.dtype, site.traits).bytes : 4;
  };
  Dim m_size = m, w_size = w.count;
  bool cuts_m = false;
  for (const auto& [operand, row] : m_operands) {
    const DType dtype = operand->access == Access::read ? operand->dtype : unpacked(operand->dtype);
    if (fits_binding(dtype, operand->shape, site.traits) || !operand->contiguous()) continue;
    cuts_m = true;
  }
  if (cuts_m)
    for (const auto& [operand, row] : m_operands)
      m_size = min(m_size, rows_that_fit(site, bytes_of_operand(*operand), row));
  const bool known = w.count.is_number() && w.row_bytes.is_number();
  part.cuts_w = known && !fits_binding(DType::u32, w.words.shape, site.traits);
  if (part.cuts_w) w_size = rows_that_fit(site, 1, w.row_bytes);
  const Dim w_shards = part.cuts_w ? ceil_div(w.count, w_size) : Dim(1);
  part.repeat = (cuts_m ? ceil_div(m, m_size) : Dim(1)) * w_shards;
  if (cuts_m) {
    part.m_first = floor_div(kShard, w_shards) * m_size;
    part.m_end = min(m, part.m_first + m_size);
    for (const auto& [operand, row] : m_operands)
      if (operand->contiguous())
        operand->window = {part.m_first * row, (part.m_end - part.m_first) * row};
  }
  if (part.cuts_w) {
    part.w_first = mod(kShard, w_shards) * w_size;
    part.w_end = min(w.count, part.w_first + w_size);
    const Dim first = floor_div(part.w_first * w.row_bytes, kWord);
    w.words.window = {first, ceil_div(part.w_end * w.row_bytes, kWord) - first};
    for (Operand& beside : w.beside)
      if (beside.contiguous() && !beside.shape[0].is(1)) {
        const Dim blocks = beside.shape[1];
        beside.window = {part.w_first * blocks, (part.w_end - part.w_first) * blocks};
      }
  }
  return part;
}

void add_weights(Dispatch& dispatch, const WeightRows& w, const RowsPart& part) {
  dispatch.operands.push_back(w.words);
  for (const Operand& beside : w.beside) dispatch.operands.push_back(beside);
  for (const std::string& include : w.includes)
    dispatch.kernel.includes.push_back(library(include));
  dispatch.constants.insert(dispatch.constants.end(), w.constants.begin(), w.constants.end());
  const Dim first = part.w_first * w.row_bytes;
  for (const Param& param :
       {Param("k", w.k), Param("row_bytes", w.row_bytes), Param("m_first", part.m_first),
        Param("m_end", part.m_end), Param("w_first", part.w_first), Param("w_end", part.w_end),
        Param("w_word", floor_div(first, kWord)), Param("w_byte", mod(first, kWord))})
    dispatch.params.push_back(param);
  dispatch.params.insert(dispatch.params.end(), w.params.begin(), w.params.end());
  dispatch.repeat = part.repeat;
}

}  // namespace rlx
