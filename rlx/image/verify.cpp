#include "rlx/image/verify.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "rlx/image/storage.h"

namespace rlx::image {
namespace {

class Verifier {
 public:
  explicit Verifier(const Image& image) : image_(image), numbers_(image.numbers) {}

  void verify() {
    verify_traits();
    verify_numbers();
    verify_values();
    verify_kernels();
    verify_steps("bind step", image_.bind);
    verify_steps("once step", image_.once);
    verify_steps("run step", image_.run);
    verify_names();
  }

 private:
  // Messages say which of what: "image: run step 3: kernel 7, of 5".
  void at(const char* what, size_t index) { what_ = what, index_ = index; }
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail(ErrorKind::invalid_model, "image: ", what_, ' ', index_, ": ", parts...);
  }
  template <class... Parts>
  void expect(bool holds, const Parts&... parts) const {
    if (!holds) wrong(parts...);
  }

  void index(const char* what, int64_t number, size_t count) const {
    expect(number >= 0 && static_cast<uint64_t>(number) < count, what, ' ', number, ", of ", count);
  }
  void cell(Number number) const { index("cell", number, size_t(numbers_.count)); }
  void optional_cell(Number number) const {
    if (number != kNone) cell(number);
  }
  void cells(const std::vector<Number>& list) const {
    for (const Number number : list) cell(number);
  }
  void value(ValueId number) const { index("value", number, image_.values.size()); }
  const Value& value_at(ValueId number) const { return image_.values[size_t(number)]; }
  // A cell that steps and inputs write.
  void told(Number number) const {
    cell(number);
    expect(is_symbol_[size_t(number)], "cell ", number, " is told, and is no symbol");
  }
  void segment(int32_t number, bool needed) const {
    if (number == -1 && !needed) return;
    index("segment", number, numbers_.segments.size());
  }

  // Plans and kernels divide by these, and count up to them.
  void verify_traits() {
    at("device", 0);
    const DeviceTraits& traits = image_.traits;
    const auto at_least = [&](const char* what, int64_t number, int64_t least) {
      expect(number >= least, "its ", what, " is ", number);
    };
    at_least("most bytes of a binding", traits.max_binding_bytes, 1);
    at_least("most bytes of a buffer", traits.max_buffer_bytes, 1);
    at_least("most storage buffers", traits.max_storage_buffers, 1);
    at_least("most invocations", traits.max_workgroup_invocations, 1);
    at_least("most bytes of a workgroup", traits.max_workgroup_bytes, 1);
    at_least("most workgroups", traits.max_workgroups, 1);
    const auto alignment = [&](const char* what, int64_t number) {
      expect(number > 0 && number <= int64_t{1} << 20 && (number & (number - 1)) == 0, "its ", what,
             " is ", number, ", which is no power of 2");
    };
    alignment("storage alignment", traits.storage_alignment);
    alignment("uniform alignment", traits.uniform_alignment);
    at_least("least subgroup", traits.subgroup_min, 0);
    at_least("largest subgroup", traits.subgroup_max, 0);
  }

  void verify_numbers() {
    at("cell", 0);
    const auto count = static_cast<uint64_t>(std::max(numbers_.count, 0));
    expect(numbers_.count >= 0 && count == uint64_t{numbers_.known.size()} +
                                               numbers_.symbols.size() + numbers_.code.size(),
           numbers_.count, " cells are not the constants, symbols and instructions together");
    is_symbol_.assign(size_t(count), false);
    known_.assign(size_t(count), std::nullopt);
    std::vector<bool> defined(size_t(count), false);
    const auto define = [&](Number number) {
      cell(number);
      expect(!defined[size_t(number)], "cell ", number, " is defined twice");
      defined[size_t(number)] = true;
    };
    for (size_t i = 0; i < numbers_.known.size(); ++i) {
      at("constant", i);
      define(numbers_.known[i].number);
      known_[size_t(numbers_.known[i].number)] = numbers_.known[i].value;
    }
    for (size_t i = 0; i < numbers_.symbols.size(); ++i) {
      const Symbol& symbol = numbers_.symbols[i];
      at("symbol", i);
      define(symbol.number);
      is_symbol_[size_t(symbol.number)] = true;
      expect(!symbol.name.empty(), "it has no name");
      expect(symbol.range.low <= symbol.range.high, "'", symbol.name, "' lies in ",
             symbol.range.low, "..", symbol.range.high);
    }
    for (size_t i = 0; i < numbers_.code.size(); ++i) {
      const Instruction& instruction = numbers_.code[i];
      at("instruction", i);
      for (const Number operand : {instruction.a, instruction.b}) {
        cell(operand);
        expect(defined[size_t(operand)], "cell ", operand, " is read before it is computed");
      }
      define(instruction.result);
    }
    for (size_t i = 0; i < numbers_.checks.size(); ++i) {
      at("check", i);
      cell(numbers_.checks[i].a);
      cell(numbers_.checks[i].b);
      optional_cell(numbers_.checks[i].guard);
    }
    for (size_t i = 0; i < numbers_.segments.size(); ++i) {
      at("segment", i);
      for (const int32_t code : numbers_.segments[i].code)
        index("instruction", code, numbers_.code.size());
      for (const int32_t check : numbers_.segments[i].checks)
        index("check", check, numbers_.checks.size());
    }
    at("planned cell", 0);
    cells(image_.planned_by);
  }

  // The elements of a shape, where all its cells are constants.
  std::optional<int64_t> count_of(const std::vector<Number>& shape) const {
    int64_t count = 1;
    bool empty = false, fits = true;
    for (const Number number : shape) {
      const std::optional<int64_t> extent = known_[size_t(number)];
      if (!extent) return std::nullopt;
      expect(*extent >= 0, "an extent is ", *extent);
      empty |= *extent == 0;
      fits = fits && !__builtin_mul_overflow(count, *extent, &count);
    }
    if (empty) return 0;
    // So that bytes can be counted as well.
    expect(fits && count <= std::numeric_limits<int64_t>::max() / 16, "it has too many elements");
    return count;
  }

  void verify_values() {
    for (size_t i = 0; i < image_.values.size(); ++i) {
      const Value& each = image_.values[i];
      at("value", i);
      cells(each.shape);
      cell(each.bytes);
      value(each.place);
      expect(value_at(each.place).place == each.place, "its place is value ", each.place,
             ", which lies elsewhere itself");
      const std::optional<int64_t> count = count_of(each.shape), bytes = known_[size_t(each.bytes)];
      if (count && bytes) {
        const int64_t needed = bytes_of(each.dtype, Dim(*count), image_.traits).number();
        expect(*bytes == needed, "'", each.name, "' has ", *bytes, " bytes and needs ", needed);
      }
      if (each.source == -1) {
        expect(each.kind != Kind::constant, "constant '", each.name, "' has no source");
        continue;
      }
      index("source", each.source, image_.sources.size());
      expect(each.kind == Kind::weight || each.kind == Kind::constant, "'", each.name,
             "' has a source, and is neither a weight nor a constant");
      const Tensor& source = image_.sources[size_t(each.source)];
      bool same = each.dtype == source.dtype() && each.shape.size() == source.shape().size();
      for (size_t d = 0; same && d < each.shape.size(); ++d)
        same = known_[size_t(each.shape[d])] == source.shape()[d];
      expect(same, "the source of '", each.name, "' is ", source.type(), ", which it is not");
    }
    at("flag", 0);
    if (image_.flag != -1) {
      value(image_.flag);
      expect(value_at(image_.flag).kind == Kind::flag, "value ", image_.flag, " is no flag");
    }
  }

  void verify_kernels() {
    for (size_t i = 0; i < image_.kernels.size(); ++i) {
      const Kernel& kernel = image_.kernels[i];
      at("kernel", i);
      expect(kernel.params_bytes >= 0 && kernel.params_bytes % 4 == 0, "'", kernel.name, "' has ",
             kernel.params_bytes, " bytes of params");
      verify_needs(kernel);
      int32_t last = 0;
      for (const Kernel::Section& section : kernel.sections) {
        expect(section.first_line > last, "'", kernel.name, "' has a section at line ",
               section.first_line, " behind one at line ", last);
        last = section.first_line;
      }
    }
  }

  // It was built for a device that has what it needs.
  void verify_needs(const Kernel& kernel) const {
    const DeviceTraits& traits = image_.traits;
    expect(!kernel.f16 || traits.f16, "'", kernel.name, "' needs f16, its device has none");
    expect(!kernel.subgroups || traits.subgroups, "'", kernel.name,
           "' needs subgroups, its device has none");
    const auto within = [&](const char* what, int64_t number, int64_t least, int64_t most) {
      expect(number >= least && number <= most, "'", kernel.name, "' has ", number, ' ', what,
             ", its device ", most);
    };
    within("invocations", kernel.workgroup_invocations, 1, traits.max_workgroup_invocations);
    within("bytes of a workgroup", kernel.workgroup_bytes, 0, traits.max_workgroup_bytes);
  }

  void verify_steps(const char* list, const Steps& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      at(list, i);
      if (steps[i].node != -1) index("node", steps[i].node, image_.nodes.size());
      if (const auto* jump = std::get_if<Jump>(&steps[i].what)) {
        index("step", jump->target, steps.size() + 1);  // behind the last one it ends
        optional_cell(jump->unless);
      }
      std::visit([&](const auto& what) { step(what); }, steps[i].what);
    }
  }

  void operand(const Operand& operand) const {
    value(operand.value);
    cells(operand.shape);
    cells(operand.strides);
    optional_cell(operand.offset);
    expect(operand.strides.empty() || operand.strides.size() == operand.shape.size(), "value ",
           operand.value, " is read with ", operand.strides.size(), " strides of ",
           operand.shape.size(), " axes");
    expect(operand.offset == kNone || !operand.strides.empty() || operand.shape.empty(), "value ",
           operand.value, " is read from an offset, without strides");
  }

  void step(const Dispatch& dispatch) const {
    expect(!image_.traits.on_host(), "it is a dispatch, and the image is for the CPU");
    for (const Bound& bound : dispatch.operands) {
      value(bound.value);
      optional_cell(bound.first);
      optional_cell(bound.bytes);
      expect((bound.first == kNone) == (bound.bytes == kNone), "value ", bound.value,
             " has half a window");
    }
    if (dispatch.flags_errors) value(image_.flag);
    expect(!dispatch.choices.empty(), "a dispatch without a kernel");
    for (const Choice& choice : dispatch.choices) verify_choice(choice, dispatch);
    expect((dispatch.repeat == kNone) == (dispatch.shard == kNone), "it has half a repetition");
    segment(dispatch.segment, dispatch.repeat != kNone);
    if (dispatch.repeat == kNone) return;
    cell(dispatch.repeat);
    told(dispatch.shard);
  }

  void verify_choice(const Choice& choice, const Dispatch& dispatch) const {
    index("kernel", choice.kernel, image_.kernels.size());
    const Kernel& kernel = image_.kernels[size_t(choice.kernel)];
    optional_cell(choice.guard);
    cell(choice.workgroups);
    const size_t bound = dispatch.operands.size() + (dispatch.flags_errors ? 1 : 0);
    expect(kernel.bindings.size() == bound, "kernel '", kernel.name, "' has ",
           kernel.bindings.size(), " bindings, the dispatch gives ", bound);
    for (size_t i = 0; i < dispatch.operands.size(); ++i)
      expect(kernel.bindings[i] == dispatch.operands[i].access, "kernel '", kernel.name,
             "' has another access to binding ", i, " than the dispatch");
    expect(static_cast<int64_t>(choice.params.size()) == kernel.params_bytes, "kernel '",
           kernel.name, "' has ", kernel.params_bytes, " bytes of params, the dispatch gives ",
           choice.params.size());
    for (const Choice::Word& word : choice.words) {
      cell(word.number);
      expect(word.offset >= 0 && word.offset % 4 == 0 && word.offset < kernel.params_bytes,
             "a word of the params is at byte ", word.offset, " of ", kernel.params_bytes);
    }
  }

  void step(const Call& call) const {
    expect(!call.op.empty(), "a call without a name");
    for (const auto& [name, attr] : call.attrs)
      expect(!std::holds_alternative<GraphPtr>(attr.variant()), "attribute '", name,
             "' is a graph");
    for (const Operand& input : call.inputs)
      if (input.value != -1) operand(input);
    for (const ValueId result : call.results) value(result);
    stored(call);
    if (!call.tile.empty()) tile(call);
    for (const auto& [input, result] : call.in_place) {
      index("input", input, call.inputs.size());
      index("result", result, call.results.size());
      value(call.inputs[size_t(input)].value);
    }
    for (const Call::Name& name : call.names) cell(name.number);
    for (const Call::Told& each : call.told) {
      index("result", each.result, call.results.size());
      index("axis", each.axis, value_at(call.results[size_t(each.result)]).shape.size());
      told(each.number);
    }
    segment(call.segment, !call.told.empty());
  }

  void stored(const Call& call) const {
    if (call.stored.empty()) return;
    expect(call.stored.size() == call.results.size(), "it says of ", call.stored.size(),
           " results where they lie, and has ", call.results.size());
    for (size_t r = 0; r < call.stored.size(); ++r) {
      operand(call.stored[r]);
      expect(call.stored[r].value == call.results[r], "a result lies in another value");
      expect(call.stored[r].strides.size() == call.stored[r].shape.size(),
             "a result has strides for ", call.stored[r].strides.size(), " axes of ",
             call.stored[r].shape.size());
    }
  }

  void tile(const Call& call) const {
    const Tile& tile = call.tile;
    expect(tile.stores.size() == call.results.size(), "its tile stores ", tile.stores.size(),
           " results of ", call.results.size());
    expect(tile.own_inputs >= 0 && size_t(tile.own_inputs) <= call.inputs.size(), "its op reads ",
           tile.own_inputs, " of ", call.inputs.size(), " inputs");
    expect(tile.code.size() <= Tile::kMostRegisters && tile.stores.size() <= Tile::kMostResults,
           "its tile has ", tile.code.size(), " instructions and ", tile.stores.size(),
           " results, and may have ", Tile::kMostRegisters, " and ", Tile::kMostResults);
    for (const int32_t stored : tile.stores) index("register", stored, tile.code.size());
    for (size_t i = 0; i < tile.code.size(); ++i) {
      const Tile::Instruction& each = tile.code[i];
      expect(!each.op.empty(), "an instruction without a name");
      expect((each.op == Tile::kResult) == (i == 0 && call.op != kElements),
             "the result of the op is not the first register");
      if (each.op == Tile::kNumber) expect(each.params.size() == 1, "a number that is none");
      if (each.op == Tile::kLoad) {
        expect(each.operands.size() == 1, "a load of ", each.operands.size(), " inputs");
        index("input", each.operands[0], call.inputs.size());
        expect(call.inputs[size_t(each.operands[0])].value >= 0, "a load of what is absent");
        continue;
      }
      for (const int32_t operand : each.operands) index("register", operand, i);
      expect(Tile::is_source(each) || (!each.operands.empty() && each.operands.size() <= 3), "'",
             each.op, "' has ", each.operands.size(), " operands");
    }
  }

  void step(const Copy& copy) const {
    operand(copy.source);
    operand(copy.target);
    expect(value_at(copy.source.value).dtype == value_at(copy.target.value).dtype,
           "it copies between dtypes");
    const bool views = copy.source.is_view() || copy.target.is_view();
    expect(!views || copy.source.shape.size() == copy.target.shape.size(),
           "it copies between views of ", copy.source.shape.size(), " and of ",
           copy.target.shape.size(), " axes");
  }
  void step(const Clear& clear) const { value(clear.target); }
  void step(const Write& write) const {
    value(write.target);
    cells(write.elements);
    elements(write.target, write.elements.size());
  }
  void step(const Fetch& fetch) const {
    value(fetch.value);
    for (const Number element : fetch.elements)
      if (element != kNone) told(element);
    elements(fetch.value, fetch.elements.size());
    segment(fetch.segment, true);
  }
  void elements(ValueId id, size_t count) const {
    const std::optional<int64_t> there = count_of(value_at(id).shape);
    expect(!there || uint64_t{count} <= static_cast<uint64_t>(*there), "'", value_at(id).name,
           "' has ", there.value_or(0), " elements, the step has ", count);
  }
  void step(const Bind& bind) const {
    if (bind.number != kNone) told(bind.number);
    cell(bind.from);
    for (const Number number : bind.forget) told(number);
    segment(bind.segment, true);
  }
  void step(const Jump&) const {}  // above, where the number of steps is known

  // A name's value is of its kind and dtype.
  void held(ValueId id, const TensorType& type, Kind kind, const std::string& name) const {
    value(id);
    expect(value_at(id).kind == kind, "value ", id, " is of another kind than '", name, "'");
    const size_t rank = type.shape.size() + (in_words(id, type) ? 1 : 0);
    expect(value_at(id).shape.size() == rank, "value ", id, " is not of the type ", type, " that '",
           name, "' has");
    same_elements(id, type, name);
  }
  // Two words on a device for what is one i64.
  bool in_words(ValueId id, const TensorType& type) const {
    return !image_.traits.on_host() && type.dtype == DType::i64 &&
           value_at(id).dtype == DType::u32 && !value_at(id).on_host;
  }
  // What is read through a reshape has another shape than its value.
  void same_elements(ValueId id, const TensorType& type, const std::string& name) const {
    expect(value_at(id).dtype == type.dtype || in_words(id, type), "value ", id, " is ",
           value_at(id).dtype, ", '", name, "' is ", type);
    const std::optional<int64_t> there = count_of(value_at(id).shape);
    if (!there || !is_concrete(type.shape)) return;
    int64_t wanted = in_words(id, type) ? 2 : 1;
    bool fits = true;
    for (const Dim& dim : type.shape)
      fits = fits && dim.number() >= 0 && !__builtin_mul_overflow(wanted, dim.number(), &wanted);
    expect(fits && wanted == *there, "value ", id, " has ", *there, " elements, '", name, "' is ",
           type);
  }
  void extents(const std::vector<Number>& shape, const TensorType& type,
               const std::string& name) const {
    cells(shape);
    expect(shape.size() == type.shape.size(), "'", name, "' is ", type, " and has ", shape.size(),
           " extents");
  }
  void only_once(std::set<std::string>& names, const std::string& name) const {
    expect(names.insert(name).second, "'", name, "' is there twice");
  }

  void verify_names() {
    std::set<std::string> inputs, outputs, weights, states;
    for (size_t i = 0; i < image_.inputs.size(); ++i) {
      const Input& input = image_.inputs[i];
      at("input", i);
      only_once(inputs, input.name);
      extents(input.shape, input.type, input.name);
      for (size_t d = 0; d < input.shape.size(); ++d)
        if (input.type.shape[d].symbol()) told(input.shape[d]);
      if (input.value != -1) held(input.value, input.type, Kind::input, input.name);
      for (const Number element : input.elements)
        if (element != kNone) told(element);
      const std::optional<int64_t> count = count_of(input.shape);
      expect(input.elements.empty() ||
                 (count && static_cast<int64_t>(input.elements.size()) <= *count),
             "'", input.name, "' has fewer elements than it tells");
    }
    for (size_t i = 0; i < image_.outputs.size(); ++i) {
      const Output& output = image_.outputs[i];
      at("output", i);
      only_once(outputs, output.name);
      extents(output.shape, output.type, output.name);
      value(output.value);
      same_elements(output.value, output.type, output.name);
    }
    for (size_t i = 0; i < image_.weights.size(); ++i) {
      const Weight& weight = image_.weights[i];
      at("weight", i);
      only_once(weights, weight.name);
      expect(is_concrete(weight.type.shape), "'", weight.name, "' is ", weight.type);
      if (weight.value != -1) held(weight.value, weight.type, Kind::weight, weight.name);
    }
    for (size_t i = 0; i < image_.states.size(); ++i) {
      const State& state = image_.states[i];
      at("state", i);
      only_once(states, state.name);
      expect(is_concrete(state.type.shape), "'", state.name, "' is ", state.type);
      if (state.value != -1) held(state.value, state.type, Kind::state, state.name);
      if (state.next == -1) continue;
      value(state.next);
      same_elements(state.next, state.type, state.name);
    }
  }

  const Image& image_;
  const Numbers& numbers_;
  const char* what_ = "";
  size_t index_ = 0;
  std::vector<bool> is_symbol_;                // by cell
  std::vector<std::optional<int64_t>> known_;  // by cell: its value, of constants
};

}  // namespace

void verify(const Image& image) { Verifier(image).verify(); }

}  // namespace rlx::image
