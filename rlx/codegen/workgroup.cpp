#include "rlx/codegen/workgroup.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

namespace rlx {
namespace {

using Token = std::string_view;  // a word, a number or one other character; the end is empty

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the comment that begins at `at` ends; `at` where none does.
size_t behind_comment(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) != "/*") return at;
  int depth = 0;  // they nest
  while (at < text.size()) {
    const std::string_view two = text.substr(at, 2);
    depth += two == "/*" ? 1 : two == "*/" ? -1 : 0;
    at += two == "/*" || two == "*/" ? 2 : 1;
    if (depth == 0) break;
  }
  return at;
}

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    if (const size_t behind = behind_comment(text, at); behind != at) {
      at = behind;
      continue;
    }
    size_t end = at + 1;
    if (in_word(text[at]))
      while (end < text.size() && (in_word(text[end]) || text[end] == '.')) ++end;
    if (std::isspace(static_cast<unsigned char>(text[at])) == 0)
      tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

using MaybeNumber = std::optional<int64_t>;

int64_t rounded_up(int64_t number, int64_t to) { return (number + to - 1) / to * to; }

MaybeNumber in_range(int64_t number) {
  if (number > std::numeric_limits<uint32_t>::max() || number < std::numeric_limits<int32_t>::min())
    return std::nullopt;
  return number;
}

// Reads the declarations of a module, one after the other; bodies of functions are passed over.
class Declarations {
 public:
  explicit Declarations(const std::string& wgsl) : tokens_(tokens_of(wgsl)) {}

  Workgroup read() {
    for (size_t known = 0;; known = names()) {  // a name may be used before it is declared
      at_ = 0;
      bytes_ = 0;
      read_all();
      if (names() == known) return {invocations_, bytes_};
    }
  }

 private:
  size_t names() const { return constants_.size() + types_.size(); }

  void read_all() {
    while (at_ < tokens_.size()) {
      const Token token = next();
      if (token == "const")
        read_constant();
      else if (token == "alias")
        read_alias();
      else if (token == "struct")
        read_struct();
      else if (token == "var")
        read_variable();
      else if (token == "@" && peek() == "workgroup_size")
        read_size();
      else if (token == "{")
        skip_body();
    }
  }

  struct Type {
    int64_t size = 0, alignment = 1;
  };
  using MaybeType = std::optional<Type>;

  Token peek(size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : Token();
  }
  Token next() {
    const Token token = peek();
    ++at_;
    return token;
  }
  bool take(Token wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void skip_body() {
    for (int depth = 1; depth > 0 && at_ < tokens_.size();) {
      const Token token = next();
      depth += token == "{" ? 1 : token == "}" ? -1 : 0;
    }
  }

  void read_constant() {
    const Token name = next();
    if (take(":")) read_type();
    if (!take("=")) return;
    if (const MaybeNumber number = sum(false); number && peek() == ";") constants_[name] = *number;
  }
  void read_alias() {
    const Token name = next();
    if (!take("=")) return;
    if (const MaybeType type = read_type()) types_[name] = *type;
  }
  void read_struct() {
    const Token name = next();
    if (!take("{")) return;
    MaybeType whole = Type{};
    while (whole && !take("}")) {
      next();
      const MaybeType member = take(":") ? read_type() : std::nullopt;
      if (!member) {
        skip_body();
        return;
      }
      whole->size = rounded_up(whole->size, member->alignment) + member->size;
      whole->alignment = std::max(whole->alignment, member->alignment);
      take(",");
    }
    whole->size = rounded_up(whole->size, whole->alignment);
    types_[name] = *whole;
  }
  void read_variable() {
    if (!take("<") || !take("workgroup") || !take(">")) return;
    next();
    const MaybeType type = take(":") ? read_type() : std::nullopt;
    constexpr int64_t kStep = 16;
    if (!type || peek() != ";")
      bytes_.reset();
    else if (bytes_)
      *bytes_ += rounded_up(type->size, kStep);
  }
  void read_size() {
    next();
    MaybeNumber all = take("(") ? MaybeNumber(1) : std::nullopt;
    while (all && !take(")")) {
      const MaybeNumber extent = sum(false);
      all = extent && *extent > 0 ? in_range(*all * *extent) : std::nullopt;
      if (!take(",") && peek() != ")") all.reset();
    }
    invocations_ = all;
  }

  MaybeType read_type() {
    const Token name = next();
    if (name == "f32" || name == "i32" || name == "u32" || name == "bool") return Type{4, 4};
    if (name == "f16") return Type{2, 2};
    if (name == "array") return read_array();
    if (name == "atomic") return take("<") ? closed(read_type()) : std::nullopt;
    if (name.substr(0, 3) == "vec" && name.size() >= 4 && name[3] >= '2' && name[3] <= '4')
      return read_vector(name);
    const auto found = types_.find(name);
    return found == types_.end() ? std::nullopt : MaybeType(found->second);
  }
  MaybeType closed(MaybeType type) { return take(">") ? type : std::nullopt; }
  MaybeType read_vector(Token name) {  // vec3<f32>, vec3f
    MaybeType element;
    if (name.size() == 4)
      element = take("<") ? closed(read_type()) : std::nullopt;
    else if (name.size() == 5)
      element = name[4] == 'h' ? Type{2, 2} : Type{4, 4};
    if (!element) return std::nullopt;
    const int64_t count = name[3] - '0';
    return Type{count * element->size, (count == 2 ? 2 : 4) * element->size};
  }
  MaybeType read_array() {
    if (!take("<")) return std::nullopt;
    const MaybeType element = read_type();
    if (!element || !take(",")) return std::nullopt;
    const MaybeNumber count = sum(true);
    take(",");
    if (!count || *count < 0 || !take(">")) return std::nullopt;
    const MaybeNumber size = product(rounded_up(element->size, element->alignment), *count);
    return size ? MaybeType(Type{*size, element->alignment}) : std::nullopt;
  }

  static MaybeNumber product(int64_t a, int64_t b) {
    int64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : in_range(result);
  }

  // Of constants, by their precedence; in a list of types a `>` ends it.
  MaybeNumber sum(bool in_list) {
    MaybeNumber left = term();
    while (left) {
      const bool shift = peek() == "<" && peek(1) == "<" && !in_list;
      if (peek() != "+" && peek() != "-" && !shift) break;
      const char op = next()[0];
      if (shift) next();
      const MaybeNumber right = term();
      if (!right || (shift && (*right < 0 || *right > 31))) return std::nullopt;
      left = op == '+'   ? in_range(*left + *right)
             : op == '-' ? in_range(*left - *right)
                         : product(*left, int64_t{1} << *right);
    }
    return left;
  }
  MaybeNumber term() {
    MaybeNumber left = factor();
    while (left && (peek() == "*" || peek() == "/" || peek() == "%")) {
      const char op = next()[0];
      const MaybeNumber right = factor();
      if (!right || (op != '*' && *right == 0)) return std::nullopt;
      left = op == '*'   ? product(*left, *right)
             : op == '/' ? MaybeNumber(*left / *right)
                         : MaybeNumber(*left % *right);
    }
    return left;
  }
  MaybeNumber factor() {
    const Token token = next();
    if (token == "(") {
      const MaybeNumber inner = sum(false);
      return take(")") ? inner : std::nullopt;
    }
    if (token == "-") {
      const MaybeNumber negated = factor();
      return negated ? in_range(-*negated) : std::nullopt;
    }
    if (token.empty()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(token[0])) != 0) return literal(token);
    const auto found = constants_.find(token);
    return found == constants_.end() ? std::nullopt : MaybeNumber(found->second);
  }
  static MaybeNumber literal(Token token) {  // whole ones: 8, 8u, 8i
    if (token.back() == 'u' || token.back() == 'i') token.remove_suffix(1);
    int64_t number = 0;
    for (const char c : token) {
      if (c < '0' || c > '9' || !in_range(number * 10 + (c - '0'))) return std::nullopt;
      number = number * 10 + (c - '0');
    }
    return number;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::map<Token, int64_t> constants_;
  std::map<Token, Type> types_;
  MaybeNumber invocations_, bytes_;
};

}  // namespace

Workgroup workgroup_of(const std::string& wgsl) { return Declarations(wgsl).read(); }

}  // namespace rlx
