#include "rlx/codegen/element_function.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <sstream>

#include "rlx/codegen/each_element.h"

namespace rlx {
namespace {

bool begins_with(const std::string& text, const std::string& part) {
  return text.compare(0, part.size(), part) == 0;
}
bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// A declaration of a kernel's text.
struct Item {
  std::string name, text;
};

// The name of what is declared in a line that begins a declaration; empty: it does not.
std::string declared_in(const std::string& line) {
  for (const std::string keyword : {"fn ", "const ", "alias ", "struct ", "var<private> "}) {
    if (!begins_with(line, keyword)) continue;
    size_t end = keyword.size();
    while (end < line.size() && is_letter(line[end])) ++end;
    return line.substr(keyword.size(), end - keyword.size());
  }
  return "";
}

// Declarations begin lines, and what is within them does not; comments stay behind.
void add_items(const std::string& text, std::vector<Item>& items) {
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || begins_with(line, "//")) {
      inside = inside && !line.empty();
      continue;
    }
    if (const std::string name = declared_in(line); !name.empty()) {
      items.push_back({name, ""});
      inside = true;
    }
    if (inside) items.back().text += line + '\n';
  }
}

// The text with its words replaced: `renamed` sees each, and what is before its point.
std::string with_words(
    const std::string& text,
    const std::function<std::string(const std::string& word, const std::string& before)>& renamed) {
  std::string made, before;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end == at) {
      if (text[at] != '.') before.clear();
      made += text[at++];
      continue;
    }
    const std::string word = text.substr(at, end - at);
    made += renamed(word, at > 0 && text[at - 1] == '.' ? before + '.' : "");
    before = word;
    at = end;
  }
  return made;
}

// The names that a kernel has of its own, and what they are in another.
class Names {
 public:
  Names(const Dispatch& dispatch, std::string prefix) : prefix_(std::move(prefix)) {
    for (const Param& param : dispatch.params) own_.insert("params." + param.name);
    for (const Constant& constant : dispatch.constants) own_.insert(constant.name);
    for (const Operand& operand : dispatch.operands) loads_.insert("load_" + operand.name);
  }
  std::string of(const std::string& name) const { return prefix_ + '_' + name; }
  static std::string of_all(const std::string& name) { return "each_" + name; }

  // What is declared by items is common to all kernels where it speaks of nothing of this one.
  void note(const std::vector<Item>& items) {
    for (const Item& item : items) common_.insert(item.name);
    for (bool more = true; more;) {
      more = false;
      for (const Item& item : items)
        if (common_.count(item.name) > 0 && speaks_of_own(item)) {
          common_.erase(item.name);
          own_.insert(item.name);
          more = true;
        }
    }
  }
  bool is_common(const Item& item) const { return common_.count(item.name) > 0; }

  std::string in(const std::string& text) const {
    return with_words(text, [&](const std::string& word, const std::string& before) {
      if (own_.count(before + word) > 0) return word == "compute" ? prefix_ : of(word);
      if (!before.empty()) return word;
      if (loads_.count(word) > 0) return "load_" + of(word.substr(5));
      return common_.count(word) > 0 ? of_all(word) : word;
    });
  }

 private:
  bool speaks_of_own(const Item& item) const {
    bool found = begins_with(item.text, "var") || begins_with(item.text, "alias");
    with_words(item.text, [&](const std::string& word, const std::string& before) {
      found |= own_.count(before + word) > 0 || (before.empty() && loads_.count(word) > 0);
      return word;
    });
    return found;
  }

  const std::string prefix_;
  std::set<std::string> own_, loads_, common_;
};

bool speaks_of_shards(const Param& param) {
  const auto speaks = [](const Dim& dim) {
    const auto symbols = dim.symbols();
    return std::find(symbols.begin(), symbols.end(), kShard) != symbols.end();
  };
  return speaks(param.number) || std::any_of(param.list.begin(), param.list.end(), speaks);
}

// Of a kernel with compute(i): its text without the main around it.
std::optional<std::string> without_main(const Dispatch& dispatch) {
  const std::string &source = dispatch.kernel.source.text,
                    main = main_of_each(dispatch.writes_words);
  if (source.size() < main.size() ||
      source.compare(source.size() - main.size(), main.size(), main) != 0)
    return std::nullopt;
  return source.substr(0, source.size() - main.size());
}

}  // namespace

std::optional<ElementFunction> element_function(const Steps& steps, const std::string& name) {
  if (steps.list.size() != 1) return std::nullopt;
  const auto* dispatch = std::get_if<Dispatch>(&steps.list[0].what);
  if (!dispatch || !dispatch->alternatives.empty()) return std::nullopt;
  const std::optional<std::string> source = without_main(*dispatch);
  if (!source) return std::nullopt;
  std::vector<Item> items;
  for (const std::string& part : dispatch->prelude) add_items(part, items);
  std::set<std::string> included;
  for (const KernelText& include : dispatch->kernel.includes)
    if (included.insert(include.file).second) add_items(include.text, items);
  add_items(*source, items);
  Names names(*dispatch, name);
  names.note(items);
  ElementFunction made{name, {}, {}, {}};
  for (const Item& item : items) {
    if (item.text.find("buffer_") != std::string::npos) return std::nullopt;
    if (names.is_common(item))
      made.common.emplace_back(Names::of_all(item.name), names.in(item.text));
    else
      made.module.functions += names.in(item.text);
  }
  for (const Operand& operand : dispatch->operands) {
    if (operand.access == Access::write) continue;
    if (operand.window || operand.atomic || operand.access != Access::read) return std::nullopt;
    made.operands.push_back(LowerSite::named(operand, names.of(operand.name), Access::read));
  }
  for (const Param& param : dispatch->params) {
    if (param.name == "first" || param.name == "end") continue;  // of the main, as are shards
    if (speaks_of_shards(param)) return std::nullopt;
    made.module.params.push_back(param);
    made.module.params.back().name = names.of(param.name);
  }
  for (const Constant& constant : dispatch->constants)
    if (constant.name != "PER_WORD")
      made.module.constants.push_back({names.of(constant.name), constant.value});
  made.module.flags_errors = dispatch->flags_errors;
  return made;
}

}  // namespace rlx
