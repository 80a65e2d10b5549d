#include "rlx/compile/build_image.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "rlx/codegen/render.h"
#include "rlx/codegen/workgroup.h"
#include "rlx/compile/drop_unused.h"
#include "rlx/compile/live_steps.h"
#include "rlx/compile/run_once.h"
#include "rlx/compile/share_places.h"
#include "rlx/image/uses.h"

namespace rlx::detail {
namespace {

using image::Image;
using image::Kind;
using image::kNone;
using image::Number;

image::Storage storage_of(DType dtype, const DeviceTraits& traits) {
  if (traits.on_host()) return image::Storage::native;
  if (is_wide_integer(dtype)) return image::Storage::one_word;
  if (dtype == DType::boolean) return image::Storage::boolean_word;
  return is_packed(dtype, traits) ? image::Storage::packed : image::Storage::native;
}

class Assembly {
 public:
  Assembly(const Lowered& lowered, const DeviceTraits& traits)
      : lowered_(lowered), traits_(traits), numbers_(lowered.definitions, lowered.bounds) {}

  Image assemble() {
    image_.traits = traits_;
    image_.traits.calls.clear();  // they are the compiler's
    image_.nodes = lowered_.nodes;
    image_.flag = lowered_.flag;
    add_values();
    add_names();
    FlatSteps bind = flat_steps(lowered_.bind, lowered_, numbers_);
    FlatSteps run = flat_steps(lowered_.steps, lowered_, numbers_);
    remove_steps(run, steps_without_readers(run, image_));
    add_checks();
    FlatSteps once = split_once(run);
    keep_on_host(once, run);
    share_places(run, image_);
    for (const FlatStep& flat : bind) image_.bind.push_back(flat.step);
    for (FlatStep& flat : once) image_.once.push_back(finished(flat));
    for (FlatStep& flat : run) image_.run.push_back(finished(flat));
    image_.numbers = numbers_.finish();
    drop_unused(image_);
    note_planned();
    return std::move(image_);
  }

 private:
  void add_values() {
    for (const LoweredValue& value : lowered_.values) {
      const auto id = static_cast<ValueId>(image_.values.size());
      image::Value made;
      made.kind = value.kind;
      made.name = value.name;
      made.dtype = value.type.dtype;
      made.storage = storage_of(value.type.dtype, traits_);
      made.shape = numbers_.of(value.type.shape);
      const Dim bytes = bytes_of(value.type.dtype, count(value.type.shape), traits_);
      made.bytes = numbers_.of(bytes);
      bytes_.push_back(bytes.is_number() ? bytes.number() : std::numeric_limits<int32_t>::max());
      made.place = id;
      made.on_host = value.on_host;
      if (value.source) {
        made.source = static_cast<int32_t>(image_.sources.size());
        image_.sources.push_back(*value.source);
      }
      image_.values.push_back(std::move(made));
    }
  }

  // What a user may name: inputs, outputs, weights, states.
  void add_names() {
    for (const Lowered::Source& input : lowered_.inputs) {
      image::Input made{input.name, input.type, input.value, numbers_.of(input.type.shape)};
      for (const Dim& element : input.elements) {
        const auto symbol = element.symbol();
        made.elements.push_back(symbol ? numbers_.told(*symbol) : kNone);
      }
      image_.inputs.push_back(std::move(made));
    }
    for (const Lowered::Source& weight : lowered_.weights)
      image_.weights.push_back({weight.name, weight.type, weight.value});
    for (const Lowered::Source& state : lowered_.states) {
      image::State made{state.name, state.type, state.value};
      for (const Lowered::Update& update : lowered_.updates)
        if (update.state == state.value) made.next = update.next;
      image_.states.push_back(std::move(made));
    }
    for (const Lowered::Output& output : lowered_.outputs)
      image_.outputs.push_back(
          {output.name, output.type, output.value, numbers_.of(output.type.shape)});
  }

  void add_checks() {
    for (const Lowered::Check& each : lowered_.checks) {
      const DimCheck& check = each.check;
      const Number guard = each.running.empty() ? kNone : numbers_.told(each.running);
      numbers_.add_check({check.relation, numbers_.of(check.a), numbers_.of(check.b), guard,
                          check.what, each.node});
    }
  }

  FlatSteps split_once(FlatSteps& run) {
    const std::vector<bool> is_once = steps_that_run_once(run, image_, bytes_);
    FlatSteps once;
    for (size_t i = 0; i < run.size(); ++i)
      if (is_once[i]) once.push_back(run[i]);
    remove_steps(run, is_once);
    std::vector<bool> made(image_.values.size(), false), read(image_.values.size(), false);
    std::vector<bool> read_once(image_.values.size(), false);
    for (const FlatStep& flat : once) {
      const image::Use use = image::use_of(flat.step, -1);  // the flag stays one
      for (const ValueId value : use.writes) made[size_t(value)] = true;
      for (const ValueId value : use.reads) read_once[size_t(value)] = true;
    }
    for (const FlatStep& flat : run)
      for (const ValueId value : image::use_of(flat.step, image_.flag).reads)
        read[size_t(value)] = true;
    for (const image::Output& output : image_.outputs) read[size_t(output.value)] = true;
    for (size_t v = 0; v < image_.values.size(); ++v) {
      image::Value& value = image_.values[v];
      if (made[v]) value.kind = read[v] ? Kind::once : Kind::temporary;
      const bool held = value.kind == Kind::weight || value.kind == Kind::constant;
      value.once_only = held && read_once[v] && !read[v];
    }
    return once;
  }

  // A step with its kernel rendered and its params laid out.
  image::Step finished(FlatStep& flat) {
    if (!flat.dispatch) return std::move(flat.step);
    Dispatch dispatch = *flat.dispatch;
    auto& made = std::get<image::Dispatch>(flat.step.what);
    if (flat.shares) {
      const InPlace& pair = flat.in_place[0];
      std::string result;
      for (const Operand& operand : dispatch.operands)
        if (operand.value == pair.to) result = operand.name;
      for (Operand& operand : dispatch.operands) {
        if (operand.value == pair.from) operand.shares = result;
        if (operand.value == pair.to) operand.access = Access::read_write;
      }
    }
    if (dispatch.repeat.is(1)) {
      numbers_.set(kShard, numbers_.of(Dim(0)));
    } else {
      // One cell counts the shards of all dispatches: those that are cut alike share instructions.
      if (shard_ == kNone) shard_ = numbers_.new_symbol(kShard);
      numbers_.set(kShard, shard_);
      made.shard = shard_;
      made.repeat = numbers_.of(dispatch.repeat);
    }
    const RenderedKernel rendered = render(dispatch, traits_);
    size_t next = 0;
    for (const Operand& operand : dispatch.operands) {
      if (!operand.shares.empty()) continue;
      image::Bound& bound = made.operands[next++];
      if (!operand.window) continue;
      const Operand::Window window = aligned_window(operand, traits_);
      const Dim element = device_storage(operand.dtype, traits_).bytes;
      bound.first = numbers_.of(window.first * element);
      bound.bytes = numbers_.of(window.count * element);
    }
    for (const Alternative& each : dispatch.alternatives) {
      made.choices.push_back(choice_of(render(with(each, dispatch), traits_), each.workgroups));
      made.choices.back().guard = numbers_.of(each.guard);
    }
    made.choices.push_back(choice_of(rendered, dispatch.workgroups));
    if (made.shard != kNone) made.segment = numbers_.segment({made.shard}, numbers_of(made));
    return std::move(flat.step);
  }

  static std::vector<Number> numbers_of(const image::Dispatch& dispatch) {
    std::vector<Number> numbers;
    for (const image::Bound& bound : dispatch.operands)
      numbers.insert(numbers.end(), {bound.first, bound.bytes});
    for (const image::Choice& choice : dispatch.choices) {
      numbers.insert(numbers.end(), {choice.guard, choice.workgroups});
      for (const image::Choice::Word& word : choice.words) numbers.push_back(word.number);
    }
    return numbers;
  }

  static Dispatch with(const Alternative& alternative, Dispatch dispatch) {
    dispatch.kernel.source = alternative.source;
    dispatch.in_quads = alternative.in_quads;
    for (const Constant& constant : alternative.constants) {
      const auto same = [&](const Constant& each) { return each.name == constant.name; };
      const auto found = std::find_if(dispatch.constants.begin(), dispatch.constants.end(), same);
      if (found != dispatch.constants.end())
        *found = constant;
      else
        dispatch.constants.push_back(constant);
    }
    return dispatch;
  }

  image::Choice choice_of(const RenderedKernel& rendered, const Dim& workgroups) {
    image::Choice choice;
    choice.kernel = kernel_of(rendered);
    choice.workgroups = numbers_.of(workgroups);
    add_params(rendered.params, choice);
    return choice;
  }

  int32_t kernel_of(const RenderedKernel& rendered) {
    const auto [at, added] =
        kernels_.emplace(rendered.wgsl, static_cast<int32_t>(image_.kernels.size()));
    if (added) {
      // Where the text does not say it, the kernel may take all that the device has.
      const Workgroup takes = workgroup_of(rendered.wgsl);
      const int64_t most_lanes = traits_.max_workgroup_invocations,
                    most_bytes = traits_.max_workgroup_bytes;
      image_.kernels.push_back(
          {.name = rendered.label,
           .wgsl = rendered.wgsl,
           .bindings = rendered.bindings,
           .params_bytes = rendered.params.bytes,
           .sections = rendered.sections,
           .f16 = rendered.f16,
           .subgroups = rendered.subgroups,
           .workgroup_invocations = takes.invocations.value_or(most_lanes),
           .workgroup_bytes = std::min(takes.bytes.value_or(most_bytes), most_bytes)});
    }
    return at->second;
  }

  void add_params(const ParamLayout& layout, image::Choice& choice) {
    choice.params.resize(static_cast<size_t>(layout.bytes));
    const auto put = [&](int64_t offset, const auto& word) {
      std::memcpy(choice.params.data() + offset, &word, 4);
    };
    const auto add = [&](int64_t offset, const Dim& dim) {
      const bool fits = dim.is_number() && dim.number() <= std::numeric_limits<uint32_t>::max() &&
                        dim.number() >= std::numeric_limits<int32_t>::min();
      if (fits)
        put(offset, static_cast<uint32_t>(dim.number()));
      else
        choice.words.push_back({static_cast<int32_t>(offset), numbers_.of(dim)});
    };
    for (const ParamSlot& slot : layout.slots) {
      const Param& param = slot.param;
      if (param.kind == Param::Kind::f32)
        put(slot.offset, static_cast<float>(param.real));
      else if (param.kind != Param::Kind::list)
        add(slot.offset, param.number);
      else
        for (size_t i = 0; i < param.list.size(); ++i)
          add(slot.offset + static_cast<int64_t>(4 * i), param.list[i]);
    }
  }

  // What only calls read and write stays with the host: f64, wide integers, operands of ops that
  // have no kernel. Decided before places are shared, so that nothing of a device joins it.
  void keep_on_host(const FlatSteps& once, const FlatSteps& run) {
    if (traits_.on_host()) return;
    std::vector<bool> on_device(image_.values.size(), false), called(image_.values.size(), false);
    for (const FlatSteps* steps : {&once, &run})
      for (const FlatStep& flat : *steps) {
        const bool call = std::holds_alternative<image::Call>(flat.step.what) ||
                          std::holds_alternative<image::Write>(flat.step.what) ||
                          std::holds_alternative<image::Fetch>(flat.step.what);
        const image::Use use = image::use_of(flat.step, image_.flag);
        for (const auto* list : {&use.reads, &use.writes})
          for (const ValueId value : *list) (call ? called : on_device)[size_t(value)] = true;
      }
    for (const image::Output& output : image_.outputs) on_device[size_t(output.value)] = true;
    for (size_t v = 0; v < image_.values.size(); ++v) {
      image::Value& value = image_.values[v];
      const bool kind = value.kind == Kind::constant || value.kind == Kind::result ||
                        value.kind == Kind::temporary;
      if (kind && called[v] && !on_device[v]) value.on_host = true;
    }
  }

  void note_planned() {
    std::vector<Number> sizes;
    for (const image::Value& value : image_.values) sizes.push_back(value.bytes);
    std::set<Number> bounded;
    for (const image::Symbol& symbol : image_.numbers.symbols)
      if (symbol.bounded) bounded.insert(symbol.number);
    for (const Number number : image::sources_of(image_.numbers, sizes))
      if (!bounded.count(number)) image_.planned_by.push_back(number);
  }

  const Lowered& lowered_;
  const DeviceTraits& traits_;
  NumbersBuilder numbers_;
  Number shard_ = kNone;
  std::vector<int64_t> bytes_;  // by value; a large number where only a run knows
  std::map<std::string, int32_t> kernels_;
  Image image_;
};

}  // namespace

Image build_image(const Lowered& lowered, const DeviceTraits& traits) {
  return Assembly(lowered, traits).assemble();
}

Image build_image(const Graph& graph, const DeviceTraits& traits, const LowerOptions& options) {
  return build_image(lower_graph(graph, traits, options), traits);
}

}  // namespace rlx::detail
