#include "rlx/ir/text_literals.h"

#include <algorithm>
#include <cstring>

#include "rlx/ir/graph.h"
#include "rlx/ir/text_numbers.h"

namespace rlx {
namespace {

constexpr int kDeepest = 64;

// A dimension, and bounds on its canonical form: multiplying sums out can make a short text very
// long, and functions nest what was multiplied out.
struct Expression {
  Dim dim;
  size_t terms = 1, characters = 1;
};
constexpr size_t kMostCharacters = 16384;
constexpr int kMostFactors = 64;

class DimParser {
 public:
  explicit DimParser(Scanner& in) : in_(in) {}

  Expression sum(int depth) {
    if (depth > kDeepest) in_.fail_here("the expression is nested more than ", kDeepest, " deep");
    std::vector<Expression> products = {product(in_.accept("-"), depth)};
    size_t characters = products[0].characters;
    while (in_.next_is('+') || in_.next_is('-')) {
      const bool negative = in_.accept("-");
      if (!negative) in_.expect("+");
      products.push_back(product(negative, depth));
      characters = checked(in_.position(), characters + products.back().characters + 3);
    }
    // In pairs, so that the time grows with the length and not with its square.
    for (size_t count = products.size(); count > 1; count = (count + 1) / 2)
      for (size_t i = 0; i < count; i += 2)
        products[i / 2] = i + 1 < count ? add(products[i], products[i + 1]) : products[i];
    return products[0];
  }

 private:
  Expression product(bool negative, int depth) {
    Expression result = factor(negative, depth);
    for (int factors = 2; in_.accept("*"); ++factors) {
      if (factors > kMostFactors)
        in_.fail_here("a product has more than ", kMostFactors, " factors");
      result = multiply(result, factor(in_.accept("-"), depth));
    }
    return result;
  }

  Expression factor(bool negative, int depth) {
    const size_t start = in_.position();
    if (in_.accept("(")) {
      Expression inner = sum(depth + 1);
      in_.expect(")");
      return signed_by(negative, inner);
    }
    const std::string_view word = in_.peek_word();
    if (word.empty()) {
      const uint64_t magnitude = in_.digits("a number or a symbol");
      if (magnitude > static_cast<uint64_t>(INT64_MAX) + negative)
        in_.fail_at(start, magnitude, " does not fit a dimension's 64 bits");
      return {static_cast<int64_t>(negative ? 0 - magnitude : magnitude), 1,
              in_.position() - start};
    }
    in_.skip(word);
    if (in_.accept("(")) return signed_by(negative, call(word, start, depth));
    return signed_by(negative, {Dim(std::string(word)), 1, word.size()});
  }

  Expression call(std::string_view function, size_t start, int depth) {
    const Expression a = sum(depth + 1);
    in_.expect(",");
    const Expression b = sum(depth + 1);
    in_.expect(")");
    const auto result = [&](auto apply) {
      const size_t characters = checked(start, a.characters + b.characters + 16);
      return Expression{in_.located(start, apply), a.terms + b.terms + 1, characters};
    };
    if (a.dim.is(INT64_MIN) && b.dim.is(-1))  // the least number has no negative
      in_.fail_at(start, function, " of ", a.dim, " and -1 does not fit 64 bits");
    if (function == "floor_div") return result([&] { return floor_div(a.dim, b.dim); });
    if (function == "mod") return result([&] { return mod(a.dim, b.dim); });
    if (function == "min") return result([&] { return min(a.dim, b.dim); });
    if (function == "max") return result([&] { return max(a.dim, b.dim); });
    if (function == "broadcast") return result([&] { return broadcast(a.dim, b.dim); });
    in_.fail_at(start, "there is no function '", function,
                "' of dimensions; there are floor_div, mod, min, max, broadcast");
  }

  Expression signed_by(bool negative, const Expression& x) {
    return negative ? multiply(x, {-1, 1, 1}) : x;
  }
  Expression add(const Expression& a, const Expression& b) {
    const size_t at = in_.position();
    const size_t characters = checked(at, a.characters + b.characters + 3);
    return {in_.located(at, [&] { return a.dim + b.dim; }), a.terms + b.terms, characters};
  }
  Expression multiply(const Expression& a, const Expression& b) {
    const size_t at = in_.position();
    const size_t characters = checked(at, a.terms * b.characters + b.terms * a.characters);
    return {in_.located(at, [&] { return a.dim * b.dim; }), a.terms * b.terms, characters};
  }

  size_t checked(size_t position, size_t characters) {
    if (characters > kMostCharacters)
      in_.fail_at(position, "multiplied out, the expression has more than ", kMostCharacters,
                  " characters");
    return characters;
  }

  Scanner& in_;
};

// The items between brackets, separated by commas.
template <class Item>
void parse_items(Scanner& in, std::string_view open, std::string_view close, Item item) {
  in.expect(open);
  if (in.accept(close)) return;
  do item();
  while (in.accept(","));
  if (!in.accept(close)) in.fail_here("expected ',' or '", close, "', found ", in.found());
}

Dims parse_extents(Scanner& in) {
  Dims dims;
  parse_items(in, "[", "]", [&] {
    const size_t start = in.position();
    dims.push_back(parse_dim(in));
    if (dims.back().is_number() && dims.back().number() < 0)
      in.fail_at(start, "an extent cannot be ", dims.back());
  });
  return dims;
}

void read_number(Scanner& in, DType dtype, std::vector<std::byte>& bytes) {
  std::byte element[8];
  const std::string_view number = in.peek_number();
  if (!read_element(dtype, number, element))
    in.fail_here("expected a number that ", dtype, " has, found ",
                 number.empty() ? in.found() : text('\'', number.substr(0, 40), '\''));
  in.skip(number);
  bytes.insert(bytes.end(), element, element + (dtype == DType::c64 ? 4 : bytes_of(dtype)));
}

// Memory is asked for as elements arrive: a shape alone is no reason to believe there are any.
Tensor parse_elements(Scanner& in, DType dtype, const Shape& shape, int64_t count) {
  std::vector<std::byte> bytes;
  int64_t elements = 0;
  const size_t start = in.position();
  parse_items(in, "{", "}", [&] {
    if (++elements > count)
      in.fail_here("a tensor ", TensorType{dtype, shape}, " has ", count,
                   " elements, here are more");
    if (dtype != DType::c64) return read_number(in, dtype, bytes);
    in.expect("(");
    read_number(in, dtype, bytes);
    in.expect(",");
    read_number(in, dtype, bytes);
    in.expect(")");
  });
  if (elements != count)
    in.fail_at(start, "a tensor ", TensorType{dtype, shape}, " has ", count, " elements, here are ",
               elements);
  Tensor tensor(dtype, shape);
  if (!bytes.empty()) std::memcpy(tensor.mutable_bytes().data(), bytes.data(), bytes.size());
  return tensor;
}

Tensor parse_tensor(Scanner& in, DType dtype, const ParseOptions& options) {
  const size_t start = in.position();
  const Dims dims = parse_extents(in);
  if (!is_concrete(dims)) in.fail_at(start, "a tensor's shape is numbers, found ", dims);
  const Shape shape = concrete(dims);
  const int64_t count = in.located(start, [&] { return rlx::count(shape); });
  if (in.next_is('{')) return parse_elements(in, dtype, shape, count);
  if (!in.accept("@"))
    in.fail_here("expected '{' or '@' after a tensor's shape, found ", in.found());
  const size_t key_start = in.position();
  const std::string key = in.string("a tensor's key");
  if (!options.large)
    in.fail_at(key_start, "tensor ", quoted(key),
               " is not in this text, and there is nothing to find it in");
  Tensor tensor = in.located(key_start, [&] { return options.large(key); });
  if (tensor.dtype() != dtype || tensor.shape() != shape)
    in.fail_at(start, "tensor ", quoted(key), " is ", tensor.type(), ", expected ",
               TensorType{dtype, shape});
  return tensor;
}

Attr parse_number(Scanner& in) {
  const std::string_view number = in.peek_number();
  const bool whole = number.find_first_not_of("-0123456789") == std::string_view::npos;
  if (const auto integer = read_integer(number)) return in.skip(number), Attr(*integer);
  if (number.empty()) in.fail_here("expected a value, found ", in.found());
  if (whole) in.fail_here("expected a number of 64 bits, found ", in.found());
  if (const auto real = read_double(number)) return in.skip(number), Attr(*real);
  in.fail_here("expected a value, found ", in.found());
}

Attr parse_one(Scanner& in, const ParseOptions& options) {
  if (in.next_is('"')) return in.string("a string");
  const std::string_view word = in.peek_word();
  if (word.empty() || word == "inf" || word == "nan") return parse_number(in);
  const std::optional<DType> dtype = dtype_named(word);
  const bool truth = word == "true";
  if (!dtype && !truth && word != "false" && word != "dims")
    in.fail_here("expected a value, found ", in.found());
  in.skip(word);
  if (truth || word == "false") return truth;
  if (!dtype) return parse_dims(in);
  if (in.next_is('[')) return parse_tensor(in, *dtype, options);
  return *dtype;
}

template <class List>
Attr list_of(const std::vector<Attr>& items) {
  List list;
  for (const Attr& item : items)
    list.push_back(std::get<typename List::value_type>(item.variant()));
  return list;
}

Attr parse_list(Scanner& in, const ParseOptions& options) {
  std::vector<Attr> items;
  const size_t start = in.position();
  parse_items(in, "[", "]", [&] {
    const size_t item_start = in.position();
    items.push_back(parse_one(in, options));
    if (items.back().variant().index() != items[0].variant().index())
      in.fail_at(item_start, "expected ", items[0].kind(), " as before in this list, found ",
                 items.back().kind());
  });
  if (items.empty())
    in.fail_at(
        start,
        "an empty list says of what: bools[], ints[], floats[], strings[], dtypes[] or shapes[]");
  const Attr::Variant& first = items[0].variant();
  if (std::holds_alternative<bool>(first)) return list_of<Bools>(items);
  if (std::holds_alternative<int64_t>(first)) return list_of<Ints>(items);
  if (std::holds_alternative<double>(first)) return list_of<Floats>(items);
  if (std::holds_alternative<std::string>(first)) return list_of<Strings>(items);
  if (std::holds_alternative<DType>(first)) return list_of<DTypes>(items);
  if (std::holds_alternative<Dims>(first)) return list_of<Shapes>(items);
  in.fail_at(start, "a list cannot hold ", items[0].kind());
}

std::optional<Attr> empty_list(std::string_view word) {
  if (word == "bools") return Bools{};
  if (word == "ints") return Ints{};
  if (word == "floats") return Floats{};
  if (word == "strings") return Strings{};
  if (word == "dtypes") return DTypes{};
  if (word == "shapes") return Shapes{};
  return std::nullopt;
}

}  // namespace

Dim parse_dim(Scanner& in) { return DimParser(in).sum(0).dim; }

Dims parse_dims(Scanner& in) {
  Dims dims;
  parse_items(in, "[", "]", [&] { dims.push_back(parse_dim(in)); });
  return dims;
}

TensorType parse_type(Scanner& in) {
  const std::string_view word = in.peek_word();
  const std::optional<DType> dtype = dtype_named(word);
  if (!dtype) in.fail_here("expected a type such as f32[2, 3], found ", in.found());
  in.skip(word);
  return {*dtype, parse_extents(in)};
}

Attr parse_literal(Scanner& in, const ParseOptions& options) {
  if (in.next_is('[')) return parse_list(in, options);
  const std::string_view word = in.peek_word();
  if (const std::optional<Attr> empty = empty_list(word)) {
    in.skip(word);
    in.expect("[");
    in.expect("]");
    return *empty;
  }
  return parse_one(in, options);
}

}  // namespace rlx
