#include "rlx/codegen/loads.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace rlx {
namespace {

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool mentions(const std::string& source, const std::string& name) {
  for (size_t at = source.find(name); at != std::string::npos; at = source.find(name, at + 1))
    if (at + name.size() == source.size() || !is_part_of_name(source[at + name.size()]))
      return true;
  return false;
}

// Does the kernel see the buffer itself?
bool reads_raw(const Dispatch& dispatch, const Operand& operand) {
  const std::string buffer = "buffer_" + operand.name;
  const auto in = [&](const KernelText& part) { return mentions(part.text, buffer); };
  const auto& includes = dispatch.kernel.includes;
  return in(dispatch.kernel.source) || std::any_of(includes.begin(), includes.end(), in) ||
         std::any_of(dispatch.prelude.begin(), dispatch.prelude.end(),
                     [&](const std::string& part) { return mentions(part, buffer); }) ||
         std::any_of(dispatch.alternatives.begin(), dispatch.alternatives.end(),
                     [&](const Alternative& each) { return in(each.source); });
}

std::optional<Dim> number_of(const std::string& word, const Dispatch& dispatch) {
  if (word.find_first_not_of("0123456789") == std::string::npos)
    return Dim(int64_t{std::stoll(word)});
  for (const Constant& constant : dispatch.constants)
    if (constant.name == word && std::holds_alternative<int64_t>(constant.value))
      return Dim(std::get<int64_t>(constant.value));
  for (const Param& param : dispatch.params) {
    if (param.name != word) continue;
    if (param.kind == Param::Kind::u32) return param.number;
    if (param.kind == Param::Kind::list) return count(param.list);
  }
  return std::nullopt;
}

bool is_named(const std::string& pattern, const std::string& name) {
  if (pattern.empty() || pattern.back() != '*') return pattern == name;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

std::optional<Dim> loads_in(const std::string& source, const Dispatch& dispatch,
                            const Operand& operand) {
  static const std::string kBegin = "// Loads: ";
  const size_t begin = source.find(kBegin);
  if (begin == std::string::npos) return std::nullopt;
  std::string sentence = source.substr(begin + kBegin.size());
  sentence.resize(std::min(sentence.size(), sentence.find('.')));
  std::istringstream parts(sentence);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream words(part);
    std::string name, times, word, each;
    words >> name >> times >> word >> each >> each;
    if (!is_named(name, operand.name)) continue;
    const std::optional<Dim> number = number_of(times, dispatch);
    if (!number) return std::nullopt;
    if (each.empty()) return *number * count(operand.shape);
    for (const Operand& other : dispatch.operands)
      if (other.name == each) return *number * count(other.shape);
    return std::nullopt;
  }
  return std::nullopt;
}

// Of the kernel and those that may run in its place.
std::optional<Dim> loads_of(const Dispatch& dispatch, const Operand& operand) {
  std::optional<Dim> most = loads_in(dispatch.kernel.source.text, dispatch, operand);
  for (const std::string& part : dispatch.prelude)
    if (!most) most = loads_in(part, dispatch, operand);
  for (const Alternative& each : dispatch.alternatives) {
    const std::optional<Dim> own = loads_in(each.source.text, dispatch, operand);
    if (!own || !most) return std::nullopt;
    if (!(*own == *most)) most = max(*own, *most);
  }
  return most;
}

}  // namespace

std::optional<Load> only_load(Steps& steps, ValueId value) {
  std::optional<Load> found;
  for (Step& step : steps.list) {
    if (const auto* copy = std::get_if<Copy>(&step.what)) {
      if (copy->source == value || copy->target == value) return std::nullopt;
      continue;
    }
    if (const auto* clear = std::get_if<Clear>(&step.what)) {
      if (clear->target == value) return std::nullopt;
      continue;
    }
    auto* dispatch = std::get_if<Dispatch>(&step.what);
    if (!dispatch) return std::nullopt;
    for (const Operand& operand : dispatch->operands) {
      if (operand.value != value) continue;
      const bool loads = operand.access == Access::read && !operand.atomic &&
                         operand.shares.empty() && !reads_raw(*dispatch, operand) &&
                         (!operand.window || operand.contiguous());
      if (found || !loads) return std::nullopt;
      found = Load{dispatch, loads_of(*dispatch, operand)};
    }
  }
  return found;
}

}  // namespace rlx
