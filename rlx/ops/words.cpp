// words(x, ..): an op on 64-bit integers, named by an attribute, computed in two 32-bit words.
//
// Passes put it where a device would leave its 32 bits; operands are words, u32[.., 2], or i64 that
// fit 32 bits. The reference is that of the op it stands for.

#include "rlx/ops/words.h"

#include <algorithm>
#include <array>
#include <map>

#include "rlx/codegen/each_element.h"
#include "rlx/codegen/elementwise.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/kernel.h"

namespace rlx {
namespace {

constexpr const char* kCast = "cast";
constexpr const char* kLeave = "leave";
constexpr const char* kEnter = "enter";

// Formulas over x, y and z of type Words; the condition of where is a bool.
const std::map<std::string, std::string>& formulas() {
  static const std::map<std::string, std::string> table{
      {"add", "words_add(x, y)"},
      {"sub", "words_sub(x, y)"},
      {"mul", "words_mul(x, y)"},
      {"div", "words_div(x, y)"},
      {"mod", "words_mod(x, y)"},
      {"fmod", "words_fmod(x, y)"},
      {"max", "words_max(x, y)"},
      {"min", "words_min(x, y)"},
      {"pow", "words_pow(x, y)"},
      {"neg", "words_neg(x)"},
      {"abs", "words_abs(x)"},
      {"sign", "words_sign(x)"},
      {"eq", "words_equal(x, y)"},
      {"ne", "!words_equal(x, y)"},
      {"lt", "words_less(x, y)"},
      {"le", "!words_less(y, x)"},
      {"gt", "words_less(y, x)"},
      {"ge", "!words_less(x, y)"},
      {"bitwise_not", "~x"},
      {"bitwise_and", "x & y"},
      {"bitwise_or", "x | y"},
      {"bitwise_xor", "x ^ y"},
      {"shift_left", "words_shift_left(x, y)"},
      {"shift_right", "words_shift_right(x, y)"},
      {"where", "select(z, y, x)"},
  };
  return table;
}

std::string name_of(const Attrs& attrs) { return attrs.get<std::string>("op"); }
DType target(const Attrs& attrs) { return attrs.get<DType>("to"); }
bool is_row(const std::string& name) { return formulas().count(name) > 0; }
bool are_words(const TensorType& type) { return type.dtype == DType::u32; }

Dims elements_of(const TensorType& type) {
  Dims shape = type.shape;
  if (are_words(type)) shape.pop_back();
  return shape;
}

Types infer(const InferSite& site) {
  const std::string name = name_of(site.attrs);
  const DType to = target(site.attrs);
  const bool row = is_row(name);
  require(row || name == kCast || name == kLeave || name == kEnter, "words: there is no op '", name,
          "' on words");
  const size_t arity = row ? elementwise_op(name).inputs.max : 1;
  require(site.inputs.size() == arity, "words: ", name, " takes ", arity, " operands, got ",
          site.inputs.size());
  Dims shape;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const TensorType& x = site.in(i);
    const bool condition = name == "where" && i == 0;
    const bool number = condition
                            ? x.dtype == DType::boolean
                            : x.dtype == DType::i64 || (name == kCast && x.dtype == DType::f32);
    require(number || (!condition && are_words(x) && !x.shape.empty() && x.shape.back().is(2)),
            "words: operand ", i, " of ", name, " must be ",
            condition ? "bool" : "words, u32[.., 2], or i64", ", got ", x);
    shape = i == 0 ? elements_of(x) : broadcast_shapes(site, shape, elements_of(x));
  }
  const bool comparison = row && elementwise_op(name).elementwise->comparison;
  const bool given =
      comparison       ? to == DType::boolean
      : name == kLeave ? to == DType::i64
      : name == kEnter ? to == DType::u32
      : row            ? to == DType::u32 || to == DType::i64
            : to == DType::u32 || to == DType::i64 || to == DType::i32 || to == DType::f32;
  require(given, "words: ", name, " cannot give ", to);
  if (to == DType::u32) shape.emplace_back(2);
  return {{to, shape}};
}

int64_t number_at(const Tensor& x, int64_t i) {
  if (x.dtype() != DType::u32) {
    if (x.dtype() != DType::f32) return x.integer_at(i);
    Tensor whole(DType::i64, {});
    whole.set(0, x.at(i));  // saturates
    return whole.integer_at(0);
  }
  return number_in_words(x, i);
}

void set_number(Tensor& y, int64_t i, int64_t number) {
  if (y.dtype() == DType::f32) return y.set(i, static_cast<float>(number));
  if (y.dtype() != DType::u32) return y.set_integer(i, number);
  set_number_in_words(y, i, number);
}

Shape element_shape(const Tensor& x) {
  Shape shape = x.shape();
  if (x.dtype() == DType::u32) shape.pop_back();
  return shape;
}

void reference(const ReferenceSite& site) {
  const std::string name = name_of(site.attrs);
  Tensor& y = site.out();
  const Shape shape = element_shape(y);
  for (int64_t i = 0; i < count(shape); ++i) {
    std::array<int64_t, 3> x{};
    for (size_t k = 0; k < site.inputs.size(); ++k) {
      const Shape from = element_shape(site.in(k)), strides = strides_of(from);
      int64_t at = 0, rest = i;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
        const size_t extra = shape.size() - from.size();
        if (d >= extra && from[d - extra] != 1) at += rest % shape[d] * strides[d - extra];
      }
      x[k] = number_at(site.in(k), at);
    }
    set_number(
        y, i,
        is_row(name) ? elementwise_op(name).elementwise->signed_integer(x.data(), nullptr) : x[0]);
  }
}

// Loads of one element: of words both, of an i64 its one word with the sign.
std::string load(const std::string& name, const TensorType& type) {
  if (are_words(type)) return text("Words(load_", name, "(2u * e), load_", name, "(2u * e + 1u))");
  if (type.dtype == DType::boolean) return text("load_", name, "(e)");
  return text(type.dtype == DType::f32 ? "words_of_f32" : "words_of_i32", "(load_", name, "(e))");
}

Steps lower(const LowerSite& site) {
  const std::string name = name_of(site.attrs());
  const DType to = site.out().dtype;
  if (name == kLeave) return site.on_host("a 64-bit integer leaves the device");
  if (name == kEnter) return site.on_host("a 64-bit integer comes to the device");
  Dispatch dispatch;
  const char* names[] = {"x", "y", "z"};
  const bool words = to == DType::u32;
  std::string body = text("fn compute(i: u32) -> T {\n  let e = ", words ? "i / 2u" : "i", ";\n");
  for (size_t k = 0; k < site.inputs.size(); ++k) {
    Dims shape = elements_of(site.out());
    if (are_words(site.in(k))) shape.emplace_back(2);
    dispatch.operands.push_back(broadcast(site.read(names[k], k), shape));
    body += text("  let ", names[k], " = ", load(names[k], site.in(k)), ";\n");
  }
  body += text("  let result = ", is_row(name) ? formulas().at(name) : "x", ";\n");
  if (name == kCast && to == DType::i64) {
    body += "  if (!words_fit(result)) { raise_flag(FLAG_VALUE, 0); }\n";
    dispatch.flags_errors = true;
  }
  body += words                  ? "  return select(result.x, result.y, (i & 1u) == 1u);\n}\n"
          : to == DType::boolean ? "  return result;\n}\n"
          : to == DType::f32     ? "  return f32_of_words(result);\n}\n"
                                 : "  return bitcast<i32>(result.x);\n}\n";
  dispatch.kernel = {"words_" + name,
                     {"words_" + name + " (generated)", body},
                     {library("numbers"), library("words")}};
  return each_element(std::move(dispatch), site.results[0], site.traits);
}

}  // namespace

const OpDef& words_op() {
  static const OpDef op{
      .name = "words",
      .family = "elementwise",
      .inputs = {1, 3, {"x", "y", "z"}},
      .attrs = {{"op"}, {"to"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient_reason = "it is of integers",
  };
  return op;
}

bool has_words(const OpDef& op) { return op.elementwise && is_row(op.name); }
bool takes_words(const OpDef& op) {
  return std::any_of(op.attrs.begin(), op.attrs.end(),
                     [](const AttrSpec& attr) { return attr.name == "words"; });
}

Value in_words(const std::string& op, const Values& inputs, DType to) {
  return inputs[0].apply(words_op(), inputs, {{"op", op}, {"to", to}});
}
int64_t number_in_words(const Tensor& words, int64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(words.integer_at(2 * i)) |
                              static_cast<uint64_t>(words.integer_at(2 * i + 1)) << 32);
}
void set_number_in_words(Tensor& words, int64_t i, int64_t number) {
  words.set_integer(2 * i, static_cast<int64_t>(static_cast<uint64_t>(number) & UINT32_MAX));
  words.set_integer(2 * i + 1, static_cast<int64_t>(static_cast<uint64_t>(number) >> 32));
}

Value cast_words(Value x, DType to) { return in_words(kCast, {x}, to); }
Value words_leave(Value words) { return in_words(kLeave, {words}, DType::i64); }
Value words_enter(Value x) { return in_words(kEnter, {x}, DType::u32); }
bool is_words_leaving(const Node& node) {
  return node.op.get() == &words_op() && name_of(node.attrs) == kLeave;
}
bool is_words_entering(const Node& node) {
  return node.op.get() == &words_op() && name_of(node.attrs) == kEnter;
}

TensorType words_type(const TensorType& type) {
  TensorType words{DType::u32, type.shape};
  words.shape.emplace_back(2);
  return words;
}

}  // namespace rlx
