#include "rlx/plan/instructions.h"

#include <algorithm>

namespace rlx {
namespace {

using Kind = Instruction::Kind;

void flatten(const Steps& steps, std::vector<Instruction>& list) {
  for (const Step& step : steps.list) {
    if (const auto* branch = std::get_if<If>(&step.what)) {
      const size_t test = list.size();
      list.push_back({Kind::jump_if_zero, &step, branch->condition, 0, ""});
      flatten(branch->then, list);
      const size_t leave = list.size();
      list.push_back({Kind::jump, &step, 0, 0, ""});
      list[test].target = list.size();
      flatten(branch->otherwise, list);
      list[leave].target = list.size();
    } else if (const auto* loop = std::get_if<Loop>(&step.what)) {
      list.push_back({Kind::set_zero, &step, 0, 0, loop->counter});
      const size_t test = list.size();
      Dim left = max(loop->count - Dim(loop->counter), 0);
      if (!loop->condition.empty()) left = left * Dim(loop->condition);
      list.push_back({Kind::jump_if_zero, &step, left, 0, ""});
      flatten(loop->body, list);
      list.push_back({Kind::increment, &step, 0, 0, loop->counter});
      list.push_back({Kind::jump, &step, 0, test, ""});
      list[test].target = list.size();
    } else {
      list.push_back({Kind::step, &step, 0, 0, ""});
    }
  }
}

}  // namespace

std::vector<Instruction> flatten(const Steps& steps) {
  std::vector<Instruction> list;
  flatten(steps, list);
  return list;
}

StepUse use_of(const Step& step, ValueId flag) {
  StepUse use;
  if (const auto* dispatch = std::get_if<Dispatch>(&step.what)) {
    for (const Operand& operand : dispatch->operands) {
      if (operand.access == Access::read)
        use.reads.push_back(operand.value);
      else
        use.writes.push_back(operand.value);
      if (operand.access == Access::read_write) use.updates.push_back(operand.value);
    }
    if (dispatch->flags_errors) use.writes.push_back(flag), use.updates.push_back(flag);
  } else if (const auto* copy = std::get_if<Copy>(&step.what)) {
    use.reads = {copy->source};
    use.writes = {copy->target};
  } else if (const auto* clear = std::get_if<Clear>(&step.what)) {
    use.writes = {clear->target};
  } else if (const auto* host = std::get_if<Host>(&step.what)) {
    for (const Operand& operand : host->inputs)
      if (operand.value >= 0) use.reads.push_back(operand.value);
    use.writes = host->results;
    for (const ValueId value : use.reads)
      if (std::count(use.writes.begin(), use.writes.end(), value) != 0)
        use.updates.push_back(value);
  } else if (const auto* fetch = std::get_if<Fetch>(&step.what)) {
    use.reads = {fetch->value};
  }
  return use;
}

}  // namespace rlx
