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

// Who loads: a dispatch, with the constants of the kernel that runs.
struct Loading {
  const Dispatch& dispatch;
  std::vector<Constant> constants;
};

std::optional<Dim> number_of(const std::string& word, const Loading& loading) {
  if (const size_t slash = word.rfind('/'); slash != std::string::npos) {
    const auto a = number_of(word.substr(0, slash), loading);
    const auto b = number_of(word.substr(slash + 1), loading);
    return a && b ? std::optional(ceil_div(*a, *b)) : std::nullopt;
  }
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos)
    return Dim(int64_t{std::stoll(word)});
  for (const Constant& constant : loading.constants)
    if (constant.name == word && std::holds_alternative<int64_t>(constant.value))
      return Dim(std::get<int64_t>(constant.value));
  for (const Param& param : loading.dispatch.params) {
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

// What a part of the sentence says behind the operand's name.
std::optional<Dim> counted(std::istringstream& words, const Loading& loading,
                           const Operand& operand) {
  std::string word;
  std::optional<Dim> times = Dim(1);
  while (words >> word && word != "for" && word != "in") {
    if (word == "*") continue;
    const std::optional<Dim> number = number_of(word, loading);
    if (!number) return std::nullopt;
    times = *times * *number;
  }
  if (word == "in")  // all; of what a shard loads the others tell nothing
    return loading.dispatch.repeat.is(1) ? times : std::nullopt;
  if (word != "for") return *times * count(operand.shape);
  std::string each, name;
  words >> each >> name;
  for (const Operand& other : loading.dispatch.operands)
    if (other.name == name) return *times * count(other.shape);
  return std::nullopt;
}

std::optional<Dim> loads_in(const std::string& source, const Loading& loading,
                            const Operand& operand) {
  static const std::string kBegin = "// Loads: ";
  const size_t begin = source.find(kBegin);
  if (begin == std::string::npos) return std::nullopt;
  std::string sentence = source.substr(begin + kBegin.size());
  sentence.resize(std::min(sentence.size(), sentence.find('.')));
  static const std::string kNextLine = "\n//";
  for (size_t at = sentence.find(kNextLine); at != std::string::npos; at = sentence.find(kNextLine))
    sentence.erase(at, kNextLine.size());
  std::istringstream parts(sentence);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream words(part);
    std::string name;
    words >> name;
    if (is_named(name, operand.name)) return counted(words, loading, operand);
  }
  return std::nullopt;
}

// Of the kernel and those that may run in its place.
std::optional<Dim> loads_of(const Dispatch& dispatch, const Operand& operand) {
  const Loading loading{dispatch, dispatch.constants};
  std::optional<Dim> most = loads_in(dispatch.kernel.source.text, loading, operand);
  for (const std::string& part : dispatch.prelude)
    if (!most) most = loads_in(part, loading, operand);
  for (const Alternative& each : dispatch.alternatives) {
    Loading other{dispatch, each.constants};
    other.constants.insert(other.constants.end(), dispatch.constants.begin(),
                           dispatch.constants.end());
    const std::optional<Dim> own = loads_in(each.source.text, other, operand);
    if (!own || !most) return std::nullopt;
    if (!(*own == *most)) most = max(*own * each.guard, *most);  // it loads where it runs
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
