#include "rlx/backend/once_parts.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "rlx/image/file.h"
#include "rlx/image/uses.h"

namespace rlx::detail {
namespace {

using image::Image;
using image::Kind;
using image::kNone;
using image::Number;
using image::ValueId;

// Tensors up to this size are compared by their elements, larger ones by their identity: every
// compilation makes new tensors of the same small constants.
constexpr size_t kSmallBytes = 4096;

bool is_source(const image::Value& value) {
  return value.kind == Kind::weight || value.kind == Kind::constant;
}

// Where there are jumps, or cells change, steps only make sense together: they are one part.
bool may_stand_apart(const image::Step& step) {
  return !std::holds_alternative<image::Bind>(step.what) &&
         !std::holds_alternative<image::Jump>(step.what);
}
// Cells that a step tells are the program's own, and so is what the step makes.
bool can_be_shared(const image::Step& step) {
  if (const auto* call = std::get_if<image::Call>(&step.what))
    return call->told.empty() && call->names.empty();
  if (const auto* dispatch = std::get_if<image::Dispatch>(&step.what))
    return dispatch->repeat == kNone;
  return std::holds_alternative<image::Copy>(step.what) ||
         std::holds_alternative<image::Clear>(step.what) ||
         std::holds_alternative<image::Write>(step.what);
}

// A number for each step of `once`: steps that touch a common value, other than a weight or a
// constant, have the same.
std::vector<size_t> groups_of(const Image& image) {
  std::vector<size_t> group(image.once.size());
  std::iota(group.begin(), group.end(), size_t{0});
  const auto root = [&](size_t step) {
    while (group[step] != step) step = group[step] = group[group[step]];
    return step;
  };
  std::vector<size_t> first(image.values.size(), image.once.size());  // step at a place
  for (size_t at = 0; at < image.once.size(); ++at) {
    const image::Use use = image::use_of(image.once[at], -1);  // the flag joins nothing
    for (const auto* values : {&use.reads, &use.writes})
      for (const ValueId value : *values) {
        if (is_source(image.values[size_t(value)])) continue;
        size_t& other = first[size_t(image.values[size_t(value)].place)];
        if (other == image.once.size()) other = at;
        group[root(at)] = root(other);
      }
  }
  for (size_t at = 0; at < group.size(); ++at) group[at] = root(at);
  return group;
}

// The steps of a part as an image of their own: values, kernels and cells are counted in the order
// they are met, cells hold what they are known to be, and what is for people is left out.
class Extract {
 public:
  Extract(const Image& image, const image::Cells& cells) : image_(image), cells_(cells) {}

  Image take(const OncePart& part) {
    for (const size_t at : part.steps) {
      image::Step step = image_.once[at];
      step.node = -1;
      std::visit([this](auto& what) { renumber(what); }, step.what);
      made_.once.push_back(std::move(step));
    }
    made_.numbers.count = static_cast<int32_t>(made_.numbers.known.size());
    return std::move(made_);
  }

 private:
  void cell(Number& number) {
    if (number == kNone) return;
    const auto [at, added] = cell_.emplace(number, static_cast<Number>(cell_.size()));
    if (added) made_.numbers.known.push_back({at->second, cells_.at(number)});
    number = at->second;
  }
  void cells(std::vector<Number>& numbers) {
    for (Number& number : numbers) cell(number);
  }
  void value(ValueId& id) {
    if (id < 0) return;
    const auto [at, added] = value_.emplace(id, static_cast<ValueId>(value_.size()));
    if (added) {
      image::Value made = image_.values[size_t(id)];
      if (made.kind == Kind::weight) made.kind = Kind::constant;
      made.name.clear();
      made.place = at->second;
      made.source = -1;
      made.once_only = false;
      made_.values.push_back(made);
      image::Value& added_value = made_.values.back();
      cells(added_value.shape);
      cell(added_value.bytes);
    }
    id = at->second;
  }
  void operand(image::Operand& operand) {
    value(operand.value);
    cells(operand.shape);
    cells(operand.strides);
    cell(operand.offset);
  }

  void renumber(image::Dispatch& dispatch) {
    for (image::Bound& bound : dispatch.operands) {
      value(bound.value);
      cell(bound.first);
      cell(bound.bytes);
    }
    for (image::Choice& choice : dispatch.choices) {
      image::Kernel kernel = image_.kernels[size_t(choice.kernel)];
      kernel.name.clear();
      kernel.sections.clear();
      choice.kernel = static_cast<int32_t>(made_.kernels.size());
      made_.kernels.push_back(std::move(kernel));
      cell(choice.guard);
      cell(choice.workgroups);
      for (image::Choice::Word& word : choice.words) cell(word.number);
    }
  }
  void renumber(image::Call& call) {
    for (image::Operand& each : call.inputs) operand(each);
    for (ValueId& result : call.results) value(result);
    for (image::Operand& each : call.stored) operand(each);
    call.reason.clear();
  }
  void renumber(image::Copy& copy) {
    operand(copy.source);
    operand(copy.target);
  }
  void renumber(image::Clear& clear) { value(clear.target); }
  void renumber(image::Write& write) {
    value(write.target);
    cells(write.elements);
  }
  template <class Other>
  void renumber(Other&) {}  // is_plain() knows none

  const Image& image_;
  const image::Cells& cells_;
  Image made_;
  std::map<Number, Number> cell_;
  std::map<ValueId, ValueId> value_;
};

void append(std::string& bytes, uint64_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

uint64_t hash_of(const std::string& bytes) {
  return image::checksum(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

// The same name and version may be another op of another user.
void add_code(const image::Call& call, const image::Implementations& implementations,
              std::vector<const void*>& code) {
  const auto add = [&](const std::vector<image::Implementation>& list) {
    for (const image::Implementation& each : list)
      if (each.identity) code.push_back(each.identity);
  };
  const auto add_of = [&](const std::string& op) {
    if (const auto found = implementations.find(op); found != implementations.end())
      add(found->second);
  };
  add_of(call.op);
  for (const image::Tile::Instruction& each : call.tile.code) add_of(each.op);
  if (!call.bodies.empty())  // which ops they use is in their text
    for (const auto& [op, list] : implementations) add(list);
}

}  // namespace

std::vector<OncePart> parts_of_once(const Image& image,
                                    const image::Implementations& implementations) {
  const bool apart = std::all_of(image.once.begin(), image.once.end(), may_stand_apart);
  const std::vector<size_t> group =
      apart ? groups_of(image) : std::vector<size_t>(image.once.size(), 0);
  std::vector<OncePart> parts;
  std::map<size_t, size_t> part_of;  // by group
  std::vector<bool> seen(image.values.size(), false);
  for (size_t at = 0; at < image.once.size(); ++at) {
    const auto [found, added] = part_of.emplace(group[at], parts.size());
    if (added) parts.emplace_back();
    OncePart& part = parts[found->second];
    part.can_be_shared &= apart && can_be_shared(image.once[at]);
    part.steps.push_back(at);
    if (const auto* call = std::get_if<image::Call>(&image.once[at].what))
      add_code(*call, implementations, part.code);
    const image::Use use = image::use_of(image.once[at], image.flag);
    for (const ValueId value : use.reads)
      if (is_source(image.values[size_t(value)]) &&
          std::find(part.sources.begin(), part.sources.end(), value) == part.sources.end())
        part.sources.push_back(value);
    for (const ValueId value : use.writes)
      if (image.values[size_t(value)].kind == Kind::once && !seen[size_t(value)]) {
        part.kept.push_back(value);
        seen[size_t(value)] = true;
      }
  }
  return parts;
}

std::optional<PartKey> key_of(const OncePart& part, const Image& image, const image::Cells& cells,
                              const SourceOf& source) {
  if (!part.can_be_shared) return std::nullopt;
  std::string bytes = image::structure_of(Extract(image, cells).take(part));
  for (const ValueId value : part.sources) {
    const Tensor& tensor = source(value);
    const Tensor::Mark mark = tensor.mark();
    const bool small = tensor.bytes().size() <= kSmallBytes;
    append(bytes, small ? 0 : mark.version);
    append(bytes, small ? image::checksum(tensor.bytes()) : mark.offset);
    append(bytes, static_cast<uint64_t>(mark.count));
  }
  for (const void* code : part.code) append(bytes, reinterpret_cast<uintptr_t>(code));
  const uint64_t first = hash_of(bytes);
  bytes.insert(bytes.begin(), '\1');  // all else lies elsewhere then: a hash of its own
  return PartKey{first, hash_of(bytes)};
}

}  // namespace rlx::detail
