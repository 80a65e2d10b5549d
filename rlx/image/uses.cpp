#include "rlx/image/uses.h"

#include <algorithm>

namespace rlx::image {

Use use_of(const Step& step, ValueId flag) {
  Use use;
  if (const auto* dispatch = std::get_if<Dispatch>(&step.what)) {
    for (const Bound& operand : dispatch->operands) {
      (operand.access == Access::read ? use.reads : use.writes).push_back(operand.value);
      if (operand.access == Access::read_write) use.updates.push_back(operand.value);
    }
    if (dispatch->flags_errors && flag >= 0)
      use.writes.push_back(flag), use.updates.push_back(flag);
  } else if (const auto* call = std::get_if<Call>(&step.what)) {
    for (const Operand& operand : call->inputs)
      if (operand.value >= 0) use.reads.push_back(operand.value);
    use.writes = call->results;
    for (const auto& [input, result] : call->in_place)
      use.updates.push_back(call->inputs[size_t(input)].value);
  } else if (const auto* copy = std::get_if<Copy>(&step.what)) {
    use.reads = {copy->source.value};
    use.writes = {copy->target.value};
    if (copy->target.is_view()) use.updates = {copy->target.value};  // the rest of it stays
  } else if (const auto* clear = std::get_if<Clear>(&step.what)) {
    use.writes = {clear->target};
  } else if (const auto* write = std::get_if<Write>(&step.what)) {
    use.writes = {write->target};
  } else if (const auto* fetch = std::get_if<Fetch>(&step.what)) {
    use.reads = {fetch->value};
  }
  return use;
}

std::vector<Life> lives_of(const Image& image, const Steps& steps) {
  std::vector<Life> lives(image.values.size());
  const auto touch = [&](ValueId value, int32_t at) {
    Life& life = lives[size_t(value)];
    if (life.first < 0) life.first = at;
    life.last = std::max(life.last, at);
  };
  const auto end = static_cast<int32_t>(steps.size());
  for (int32_t at = 0; at < end; ++at) {
    const Use use = use_of(steps[size_t(at)], image.flag);
    for (const ValueId value : use.reads) touch(value, at);
    for (const ValueId value : use.writes) touch(value, at);
  }
  for (int32_t at = 0; at < end; ++at) {
    const auto* back = std::get_if<Jump>(&steps[size_t(at)].what);
    if (!back || back->target > at) continue;
    for (Life& life : lives)
      if (life.first >= 0 && life.first < back->target && life.last >= back->target)
        life.last = std::max(life.last, at);
  }
  for (const Output& output : image.outputs) touch(output.value, end);
  return lives;
}

std::vector<Number> sources_of(const Numbers& numbers, const std::vector<Number>& cells) {
  std::vector<bool> wanted(size_t(numbers.count), false);
  for (const Number cell : cells)
    if (cell != kNone) wanted[size_t(cell)] = true;
  for (auto at = numbers.code.rbegin(); at != numbers.code.rend(); ++at)
    if (wanted[size_t(at->result)]) wanted[size_t(at->a)] = wanted[size_t(at->b)] = true;
  std::vector<Number> sources;
  for (const Symbol& symbol : numbers.symbols)
    if (wanted[size_t(symbol.number)]) sources.push_back(symbol.number);
  return sources;
}

}  // namespace rlx::image
