// An image as a person reads it. Constants stand where they are used; other cells have a line each.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "rlx/image/file.h"
#include "rlx/image/file_format.h"
#include "rlx/image/image.h"
#include "rlx/image/needs.h"
#include "rlx/image/words.h"

namespace rlx::image {
namespace {

constexpr const char* kKinds[] = {"input", "weight", "constant",  "state",
                                  "once",  "result", "temporary", "flag"};
constexpr const char* kStorages[] = {"", "packed", "one word", "word"};
constexpr const char* kClasses[] = {"host", "software", "integrated", "discrete"};

// Names as they are where nothing about them is special.
std::string name_text(const std::string& name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::strchr("_./:-", c) != nullptr;
  });
  if (plain && std::find(name.begin(), name.end(), '\0') == name.end()) return name;
  std::string quoted = "\"";
  for (const char c : name) {
    char code[5];
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
      quoted += code;
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

// As few digits as give the same number again.
std::string float_text(double number) {
  if (number != number) return "nan";
  std::string shortest;
  for (int digits = 1; digits <= std::numeric_limits<double>::max_digits10; ++digits) {
    TextStream stream;
    stream.out().precision(digits);
    stream.out() << number;
    shortest = stream.str();
    if (std::strtod(shortest.c_str(), nullptr) == number) break;
  }
  const bool whole = shortest.find_first_of(".en") == std::string::npos;
  return whole ? shortest + ".0" : shortest;
}

struct AttrText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return text(value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(DType value) const { return text(value); }
  std::string operator()(const std::string& value) const {
    const std::string quoted = name_text(value);
    return quoted[0] == '"' ? quoted : '"' + quoted + '"';
  }
  std::string operator()(const Dims& value) const { return text("dims", value); }
  std::string operator()(const Tensor& value) const { return text("tensor ", value.type()); }
  std::string operator()(const GraphPtr&) const { return "graph"; }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    std::vector<std::string> texts;
    for (const T& each : list) texts.push_back((*this)(each));
    return '[' + joined(texts) + ']';
  }
};

// Columns as wide as their widest entry.
class Lines {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string str() const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()), 0);
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string lines;
    for (const auto& row : rows_) {
      std::string line = " ";
      for (size_t i = 0; i < row.size(); ++i) {
        if (widths[i] == 0) continue;
        line += (i ? "  " : " ") + row[i] + std::string(widths[i] - row[i].size(), ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines += line + '\n';
    }
    return lines;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

class Printer {
 public:
  explicit Printer(const Image& image)
      : image_(image),
        used_(size_t(image.numbers.count), false),
        known_(size_t(image.numbers.count), nullptr) {
    for (const Numbers::Known& known : image.numbers.known)
      known_[size_t(known.number)] = &known.value;
  }

  std::string print() {
    // The cells that these use are printed above them.
    const std::string rest =
        section("values", values()) + section("kernels", kernels()) +
        section("bind", steps(image_.bind)) + section("once", steps(image_.once)) +
        section("run", steps(image_.run)) + section("inputs", inputs()) +
        section("outputs", outputs()) + section("weights", weights()) + section("states", states());
    return device() + section("numbers", numbers()) + rest;
  }

 private:
  static std::string section(const char* title, const std::string& lines) {
    return lines.empty() ? "" : text('\n', title, '\n', lines);
  }

  std::string cell(Number number) {
    if (number == kNone) return "_";
    if (const int64_t* value = known_[size_t(number)]) return text(*value);
    used_[size_t(number)] = true;
    return text('n', number);
  }
  std::string cells(const std::vector<Number>& list, const char* separator = ", ") {
    std::vector<std::string> texts;
    for (const Number number : list) texts.push_back(cell(number));
    return joined(texts, separator);
  }
  static std::string value(ValueId id) { return id < 0 ? "_" : text('v', id); }
  static std::string values(const std::vector<ValueId>& list) {
    std::string texts;
    for (const ValueId id : list) texts += ' ' + value(id);
    return texts;
  }

  std::string device() const {
    const DeviceTraits& traits = image_.traits;
    const Needs needs = needs_of(image_);
    std::string line = text("image ", kVersion, "  ", name_text(traits.name), ", ",
                            kClasses[static_cast<size_t>(traits.device_class)]);
    const auto add = [&](const char* what, int64_t number) {
      if (number > 0) line += text(", ", what, ' ', number);
    };
    if (needs.f16) line += ", f16";
    if (needs.subgroups) line += text(", subgroups ", needs.subgroup_min, "..", needs.subgroup_max);
    add("storage_buffers", needs.storage_buffers);
    add("binding_bytes", needs.binding_bytes);
    add("workgroup_invocations", needs.workgroup_invocations);
    add("workgroup_bytes", needs.workgroup_bytes);
    add("storage_alignment", needs.storage_alignment);
    return line + '\n';
  }

  std::string expression(const Instruction& code) {
    const std::string a = cell(code.a), b = cell(code.b);
    using Op = Instruction::Op;
    switch (code.op) {
      case Op::add:
        return text(a, " + ", b);
      case Op::multiply:
        return text(a, " * ", b);
      case Op::floor_divide:
        return text(a, " / ", b);
      case Op::modulo:
        return text(a, " % ", b);
      case Op::minimum:
        return text("min(", a, ", ", b, ')');
      case Op::maximum:
        return text("max(", a, ", ", b, ')');
      case Op::broadcast:
        break;
    }
    return text("broadcast(", a, ", ", b, ')');
  }

  std::string numbers() {
    std::string checks;
    for (const Check& check : image_.numbers.checks) {
      static constexpr const char* kRelations[] = {" == ", " <= ", " is a multiple of ",
                                                   " broadcasts with ", " broadcasts to "};
      checks += text("  check ", cell(check.a), kRelations[static_cast<size_t>(check.relation)],
                     cell(check.b));
      if (check.guard != kNone) checks += text(" when ", cell(check.guard));
      checks += text("  ", AttrText()(check.what));
      if (!check.node.empty()) checks += text(" at ", name_text(check.node));
      checks += '\n';
    }
    std::string planned;
    if (!image_.planned_by.empty())
      planned = text("  sizes depend on ", cells(image_.planned_by), '\n');
    // What a used cell is computed from is used as well, and is computed before it.
    std::vector<std::string> lines(used_.size());
    for (auto at = image_.numbers.code.rbegin(); at != image_.numbers.code.rend(); ++at)
      if (used_[size_t(at->result)])
        lines[size_t(at->result)] = text("  n", at->result, " = ", expression(*at), '\n');
    for (const Symbol& symbol : image_.numbers.symbols) {
      if (!used_[size_t(symbol.number)]) continue;
      std::string& line = lines[size_t(symbol.number)];
      line = text("  n", symbol.number, " = ", name_text(symbol.name));
      if (symbol.bounded) line += text(" in ", symbol.range.low, "..", symbol.range.high);
      line += '\n';
    }
    return joined(lines, "") + checks + planned;
  }

  std::string values() {
    Lines lines;
    for (size_t v = 0; v < image_.values.size(); ++v) {
      const Value& each = image_.values[v];
      std::string notes = kStorages[static_cast<size_t>(each.storage)];
      const auto note = [&](const std::string& more) {
        notes += (notes.empty() ? "" : ", ") + more;
      };
      if (each.place != static_cast<ValueId>(v)) note(text("in ", value(each.place)));
      if (each.source >= 0)
        note(text("source ", image_.sources[size_t(each.source)].bytes().size(), " bytes"));
      else if (each.kind == Kind::weight)
        note("given later");
      if (each.on_host) note("on host");
      if (each.once_only) note("once only");
      lines.add({value(static_cast<ValueId>(v)), kKinds[static_cast<size_t>(each.kind)],
                 name_text(each.name), text(each.dtype, '[', cells(each.shape), ']'),
                 text(cell(each.bytes), " bytes"), notes});
    }
    return lines.str();
  }

  std::string kernels() {
    static constexpr const char* kAccesses[] = {"read", "write", "update"};
    Lines lines;
    for (size_t k = 0; k < image_.kernels.size(); ++k) {
      const Kernel& kernel = image_.kernels[k];
      std::vector<std::string> bindings;
      for (const Access access : kernel.bindings)
        bindings.emplace_back(kAccesses[static_cast<size_t>(access)]);
      char hash[9];
      std::snprintf(hash, sizeof hash, "%08x",
                    static_cast<unsigned>(checksum(std::as_bytes(std::span(kernel.wgsl))) >> 32));
      std::string features = kernel.f16 ? "f16" : "";
      if (kernel.subgroups) features += kernel.f16 ? " subgroups" : "subgroups";
      const std::string shared =
          kernel.workgroup_bytes > 0 ? text(kernel.workgroup_bytes, " bytes shared") : "";
      lines.add({text('k', k), name_text(kernel.name), joined(bindings, " "),
                 text(kernel.params_bytes, " bytes of params"),
                 text(kernel.workgroup_invocations, " lanes"), shared, features, hash});
    }
    return lines.str();
  }

  std::string steps(const Steps& list) {
    Lines lines;
    for (size_t i = 0; i < list.size(); ++i) {
      more_.clear();
      std::string line = std::visit([&](const auto& what) { return step(what); }, list[i].what);
      if (list[i].node >= 0) {
        const Node& node = image_.nodes[size_t(list[i].node)];
        line += text("  # ", node.op, ' ', name_text(node.name));
      }
      lines.add({text(i), line});
      for (const std::string& more : more_) lines.add({"", more});
    }
    return lines.str();
  }

  std::string choice(const Choice& choice) {
    std::vector<std::string> words;
    for (size_t at = 0; at + 4 <= choice.params.size(); at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, choice.params.data() + at, 4);
      constexpr uint32_t kSmall = 1u << 24;  // above it lie floats and their like
      char hex[11];
      std::snprintf(hex, sizeof hex, "0x%08x", word);
      words.push_back(word < kSmall ? text(word) : hex);
    }
    for (const Choice::Word& word : choice.words)
      words[size_t(word.offset) / 4] = cell(word.number);
    std::string line =
        text('k', choice.kernel, " {", joined(words), "} x ", cell(choice.workgroups));
    if (choice.guard != kNone) line += text(" when ", cell(choice.guard));
    return line;
  }

  std::string step(const Dispatch& dispatch) {
    std::string line = text("dispatch ", choice(dispatch.choices[0]));
    for (size_t i = 1; i < dispatch.choices.size(); ++i)
      more_.push_back(text("      or ", choice(dispatch.choices[i])));
    static constexpr const char* kVerbs[] = {"  reads", "  writes", "  updates"};
    for (const Access access : {Access::read, Access::write, Access::read_write}) {
      std::string operands;
      for (const Bound& bound : dispatch.operands) {
        if (bound.access != access) continue;
        operands += ' ' + value(bound.value);
        if (bound.first != kNone)
          operands += text('[', cell(bound.first), " + ", cell(bound.bytes), ']');
      }
      if (!operands.empty()) line += kVerbs[static_cast<size_t>(access)] + operands;
    }
    if (dispatch.flags_errors) line += "  flags";
    if (dispatch.repeat != kNone)
      line += text("  for ", cell(dispatch.shard), " below ", cell(dispatch.repeat));
    return line;
  }

  std::string operand(const Operand& operand) {
    if (operand.value < 0) return "_";
    std::string line = value(operand.value);
    const bool whole = operand.shape == image_.values[size_t(operand.value)].shape;
    if (!whole || operand.is_view()) line += text('[', cells(operand.shape), ']');
    if (!operand.strides.empty()) line += text(" by [", cells(operand.strides), ']');
    if (operand.offset != kNone) line += text(" from ", cell(operand.offset));
    return line;
  }

  std::string step(const Call& call) {
    std::string line = text("call ", name_text(call.op));
    if (call.version != 1) line += text(" version ", call.version);
    std::vector<std::string> attrs;
    for (const auto& [name, attr] : call.attrs)
      attrs.push_back(text(name_text(name), '=', std::visit(AttrText(), attr.variant())));
    for (const Call::Body& body : call.bodies) {
      attrs.push_back(text(name_text(body.name), "={..}"));
      more_.push_back(text("  ", name_text(body.name), ':'));
      for (size_t begin = 0; begin < body.text.size();) {
        const size_t end = std::min(body.text.find('\n', begin), body.text.size());
        more_.push_back("  | " + body.text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    if (!attrs.empty()) line += text(" {", joined(attrs), '}');
    std::vector<std::string> inputs;
    for (const Operand& input : call.inputs) inputs.push_back(operand(input));
    if (!inputs.empty()) line += text("  reads ", joined(inputs));
    line += "  writes" + values(call.results);
    for (const Operand& stored : call.stored)
      if (stored.is_view()) line += "  stored as " + operand(stored);
    if (!call.tile.empty()) tile(call);
    for (const auto& [input, result] : call.in_place)
      line += text("  ", value(call.results[size_t(result)]), " in place of ",
                   value(call.inputs[size_t(input)].value));
    for (const Call::Name& name : call.names)
      line += text("  ", name.symbol, " = ", cell(name.number));
    for (const Call::Told& told : call.told)
      line += text("  tells ", cell(told.number), " = extent ", told.axis, " of ",
                   value(call.results[size_t(told.result)]));
    return line + reason(call.reason);
  }
  // One line below the call for each instruction.
  void tile(const Call& call) {
    for (size_t i = 0; i < call.tile.code.size(); ++i) {
      const Tile::Instruction& each = call.tile.code[i];
      std::string line = text("  r", i, " = ", name_text(each.op));
      for (const int32_t operand : each.operands)
        line += each.op == Tile::kLoad ? text(" input ", operand) : text(" r", operand);
      for (const double param : each.params) line += text(' ', AttrText()(param));
      if (each.dtype != DType::f32) line += text(" : ", each.dtype);
      more_.push_back(std::move(line));
    }
    std::vector<std::string> stores;
    for (size_t r = 0; r < call.tile.stores.size(); ++r)
      stores.push_back(text(value(call.results[r]), " = r", call.tile.stores[r]));
    more_.push_back("  " + joined(stores));
  }
  static std::string reason(const std::string& why) {
    return why.empty() ? "" : text("  because ", AttrText()(why));
  }

  std::string step(const Copy& copy) {
    return text("copy ", operand(copy.source), " to ", operand(copy.target));
  }
  std::string step(const Clear& clear) { return text("clear ", value(clear.target)); }
  std::string step(const Write& write) {
    return text("write {", cells(write.elements), "} to ", value(write.target));
  }
  std::string step(const Fetch& fetch) {
    return text("fetch {", cells(fetch.elements), "} from ", value(fetch.value)) +
           reason(fetch.reason);
  }
  std::string step(const Bind& bind) {
    std::string line = text("bind ", cell(bind.number), " = ", cell(bind.from));
    if (!bind.forget.empty()) line += text("  forgets ", cells(bind.forget, " "));
    return line;
  }
  std::string step(const Jump& jump) {
    return text("jump ", jump.target) +
           (jump.unless == kNone ? "" : text(" unless ", cell(jump.unless)));
  }

  std::string inputs() {
    Lines lines;
    for (const Input& input : image_.inputs) {
      std::string notes = input.value < 0 ? text('[', cells(input.shape), ']') : "";
      if (!input.elements.empty()) notes += text(" elements ", cells(input.elements));
      if (is_in_words(image_, input)) notes += " in two words";
      lines.add({name_text(input.name), text(input.type), value(input.value), notes});
    }
    return lines.str();
  }
  std::string outputs() {
    Lines lines;
    for (const Output& output : image_.outputs) {
      const bool whole = output.shape == image_.values[size_t(output.value)].shape;
      std::string notes = whole ? "" : text('[', cells(output.shape), ']');
      if (is_in_words(image_, output)) notes += " in two words";
      lines.add({name_text(output.name), text(output.type), value(output.value), notes});
    }
    return lines.str();
  }
  std::string weights() {
    Lines lines;
    for (const Weight& weight : image_.weights)
      lines.add({name_text(weight.name), text(weight.type), value(weight.value)});
    return lines.str();
  }
  std::string states() {
    Lines lines;
    for (const State& state : image_.states)
      lines.add({name_text(state.name), text(state.type), value(state.value),
                 state.next < 0 ? "" : text("next ", value(state.next))});
    return lines.str();
  }

  const Image& image_;
  std::vector<bool> used_;             // by cell: something prints it
  std::vector<const int64_t*> known_;  // by cell: of constants
  std::vector<std::string> more_;      // lines below a step's own
};

}  // namespace

std::string to_text(const Image& image) { return Printer(image).print(); }

}  // namespace rlx::image
