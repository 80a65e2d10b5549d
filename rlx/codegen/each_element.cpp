#include "rlx/codegen/each_element.h"

#include "rlx/codegen/shards.h"

namespace rlx {

const char* main_of_each(bool words) {
  static constexpr const char* kStoreElements = R"(
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = params.first + workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.end) { return; }
  store_result(i, compute(i));
}
)";
  static constexpr const char* kStoreWords = R"(
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let word = params.first / PER_WORD + workgroup_index(ids) * WORKGROUP + lane;
  if (word * PER_WORD >= params.end) { return; }
  var bits = 0u;
  for (var k = 0u; k < PER_WORD; k++) {
    let i = word * PER_WORD + k;
    if (i < params.end) { bits |= pack_result(compute(i), k); }
  }
  store_word_result(word, bits);
}
)";
  return words ? kStoreWords : kStoreElements;
}

Dispatch each_element(Dispatch dispatch, const Operand& result, const DeviceTraits& traits) {
  const DeviceStorage storage = device_storage(result.dtype, traits);
  const int64_t per_word = storage.elements_per_word;
  dispatch.writes_words = per_word > 1;
  if (dispatch.writes_words) dispatch.constants.push_back({"PER_WORD", per_word});
  dispatch.prelude.push_back(text("alias T = ", storage.compute, ";"));
  dispatch.kernel.source.text += main_of_each(dispatch.writes_words);
  dispatch.operands.push_back(LowerSite::named(result, "result", Access::write));
  const Dim elements = count(result.shape);
  Dim first = 0, end = elements;
  if (!fits_binding(result.dtype, result.shape, traits)) {
    const Dim part = shard_elements(storage.bytes, traits);
    dispatch.repeat = ceil_div(elements, part);
    first = dispatch.repeat.is(1) ? Dim(0) : Dim(kShard) * part;
    end = min(elements, first + part);
    dispatch.operands.back().window = {first, end - first};
  }
  dispatch.params.emplace_back("first", first);
  dispatch.params.emplace_back("end", end);
  dispatch.workgroups = ceil_div(end - first, 64 * per_word);
  return dispatch;
}

}  // namespace rlx
