// lstm, gru and rnn on a device: one product gives every step's part from x, then each step of
// time is one dispatch (two of a gru that scales the state), for all directions. A net of a single
// step, as those have that are fed as their input arrives, needs no loop and no state of its own.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/product.h"
#include "rlx/ops/recurrent.h"
#include "rlx/ops/strided.h"

namespace rlx {
namespace {

// x . w^T of every step and direction: [directions, steps, batches, gates * hidden].
Steps input_product(const LowerSite& site, const RecurrentForm& form, const Operand& gates) {
  const Operand &x = site.inputs[kRecurrentX], &w = site.inputs[kRecurrentW];
  const Dim by_step = x.layout.strides[form.batch_first ? 1 : 0],
            by_batch = x.layout.strides[form.batch_first ? 0 : 1];
  Product product;
  product.n = Dim(form.gates) * form.hidden;
  product.k = form.inputs;
  product.a = {flat(x), x.layout.offset, {0}, by_batch, x.layout.strides[2]};
  product.b = {
      flat(w), w.layout.offset, {w.layout.strides[0]}, w.layout.strides[2], w.layout.strides[1]};
  if (by_step == by_batch * form.batches) {  // steps and batches are rows of one matrix
    product.batch = {form.directions};
    product.m = form.steps * form.batches;
  } else {
    product.batch = {form.directions, form.steps};
    product.m = form.batches;
    product.a.batch_strides.push_back(by_step);
    product.b.batch_strides.emplace_back(0);
  }
  product.y = gates;
  return lower_product(site, product);
}

// What every step reads besides the state.
struct StepInputs {
  Operand gates;
  std::optional<Operand> lengths;  // within the sequence
};

// Lengths moved inside and flagged where they are not, before the loop: it would flag them in every
// step, with a binding more for each kernel.
Dispatch check_lengths(const LowerSite& site, const RecurrentForm& form, const Operand& lengths) {
  return {
      .kernel = kernel("recurrent_lengths"),
      .operands = {site.read("lengths", kRecurrentLengths),
                   LowerSite::named(lengths, "y", Access::write)},
      .params = {{"batches", form.batches}, {"steps", form.steps}},
      .workgroups = ceil_div(form.batches, 64),
      .flags_errors = true,
  };
}

// The step of time, and where the state before it and behind it begin in h.
struct Halves {
  Dim step, from, to;
};

// What all kernels of a step are made with.
Dispatch step_dispatch(const LowerSite& site, const RecurrentForm& form, const StepInputs& inputs,
                       const Halves& halves, const Kernel& kernel) {
  const Dim states = form.states();
  const Dims y = strides_of(form.y());
  Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.operands = {LowerSite::named(inputs.gates, "gates", Access::read),
                       site.read("r", kRecurrentR)};
  dispatch.prelude =
      activation_functions(form.activations, static_cast<size_t>(form.directions), form.clip);
  const auto optional = [&](const std::optional<Operand>& operand, const std::string& head,
                            const std::string& given, const std::string& absent) {
    if (operand) dispatch.operands.push_back(*operand);
    dispatch.prelude.push_back(text("fn ", head, " { return ", operand ? given : absent, "; }"));
  };
  const auto read = [&](const char* name, size_t i) {
    return site.has(i) ? std::optional(site.read(name, i)) : std::nullopt;
  };
  optional(read("bias", kRecurrentBias), "bias_at(i: u32) -> f32", "load_bias(i)", "0.0");
  optional(inputs.lengths, "length_of(b: u32) -> u32", "u32(load_lengths(b))", "params.steps");
  if (form.lstm)
    optional(read("p", kRecurrentPeepholes), "peephole_at(i: u32) -> f32", "load_p(i)", "0.0");
  dispatch.constants = {{"GATES", form.gates}, {"REVERSE", form.reverse}};
  dispatch.params = {{"steps", form.steps},
                     {"batches", form.batches},
                     {"hidden", form.hidden},
                     {"states", states},
                     {"step", halves.step},
                     {"from_half", halves.from},
                     {"to_half", halves.to},
                     {"y_time", y[form.batch_first ? 1 : 0]},
                     {"y_direction", y[form.batch_first ? 2 : 1]},
                     {"y_batch", y[form.batch_first ? 0 : 2]}};
  dispatch.workgroups = ceil_div(states, 64);
  return dispatch;
}

// A state as [directions, batches, hidden], wherever the operand or the result has these.
Operand by_direction(Operand operand, const RecurrentForm& form) {
  if (!form.batch_first) return operand;
  std::swap(operand.shape[0], operand.shape[1]);
  std::swap(operand.layout.strides[0], operand.layout.strides[1]);
  return operand;
}

// Copies an initial state, or zeros, to the front of `state`.
Steps start_state(const LowerSite& site, const RecurrentForm& form, size_t operand, Operand state) {
  if (!site.has(operand)) return Clear{state.value};
  state.shape = {form.directions, form.batches, form.hidden};
  state.layout = Layout::row_major(state.shape);
  return copy_view(by_direction(site.inputs[operand], form), state, site.traits);
}

// A final state, which begins at `first`, in the order the result has.
Steps final_state(const LowerSite& site, const RecurrentForm& form, Operand state, const Dim& first,
                  size_t result) {
  state.shape = {form.directions, form.batches, form.hidden};
  state.layout = Layout::row_major(state.shape);
  state.layout.offset = first;
  return copy_view(by_direction(LowerSite::named(state, "x", Access::read), form),
                   site.results[result], site.traits);
}

// A state as kernels name it: what loads and stores it.
struct State {
  std::vector<Operand> reads, updates;               // updates: for a kernel that loads and stores
  std::vector<std::string> loads = {}, stores = {};  // functions, where the names are others

  void read_in(Dispatch& dispatch) const { add(dispatch, reads, {&loads}); }
  void update_in(Dispatch& dispatch) const { add(dispatch, updates, {&loads, &stores}); }

 private:
  static void add(Dispatch& dispatch, const std::vector<Operand>& operands,
                  const std::vector<const std::vector<std::string>*>& functions) {
    dispatch.operands.insert(dispatch.operands.end(), operands.begin(), operands.end());
    for (const auto* each : functions)
      dispatch.prelude.insert(dispatch.prelude.end(), each->begin(), each->end());
  }
};

State kept_state(const Operand& state, const std::string& name) {
  return {{LowerSite::named(state, name, Access::read)},
          {LowerSite::named(state, name, Access::read_write)}};
}

// The state of a single step: an operand of the op before it, a result behind it.
State passed_state(const LowerSite& site, const RecurrentForm& form, const std::string& name,
                   size_t operand, size_t result) {
  State state;
  if (site.has(operand))
    state.reads = {by_direction(site.read(name, operand), form)};
  else
    state.loads = {text("fn load_", name, "(i: u32) -> f32 { return 0.0; }")};
  state.updates = state.reads;
  state.updates.push_back(by_direction(site.write("next_" + name, result), form));
  state.stores = {text("fn store_", name, "(i: u32, v: f32) { store_next_", name, "(i, v); }")};
  return state;
}

// The dispatches of one step.
Steps step_of(const LowerSite& site, const RecurrentForm& form, const StepInputs& inputs,
              const Halves& halves, const State& h, const State& c, const Operand& y) {
  const OpDef& op = *site.node.op;
  const auto dispatch = [&](const char* name) {  // of what ends a step
    return step_dispatch(site, form, inputs, halves,
                         kernel(name, {"numbers", "functions", "recurrent", "recurrent_state"}));
  };
  Steps steps;
  if (form.lstm || op.name == "rnn" || site.attrs().get<bool>("linear_before_reset")) {
    Dispatch cell = dispatch(op.name.c_str());
    h.update_in(cell);
    if (form.lstm) {
      cell.constants.push_back({"COUPLED", site.attrs().get<bool>("input_forget")});
      c.update_in(cell);
    }
    cell.operands.push_back(y);
    steps.add(std::move(cell));
    return steps;
  }
  const Operand z = site.temporary("z", f32({form.states()})),
                reset = site.temporary("reset", f32({form.states()}));
  Dispatch first = step_dispatch(site, form, inputs, halves,
                                 kernel("gru_gates", {"numbers", "functions", "recurrent"}));
  Dispatch second = dispatch("gru_state");
  h.read_in(first);
  for (const Operand& operand : {z, reset}) first.operands.push_back(operand);
  for (const Operand& operand :
       {LowerSite::named(z, "z", Access::read), LowerSite::named(reset, "reset", Access::read)})
    second.operands.push_back(operand);
  h.update_in(second);
  second.operands.push_back(y);
  steps.add(std::move(first));
  steps.add(std::move(second));
  return steps;
}

// The only step, if a device can bind all that it reads and writes.
std::optional<Steps> single_step(const LowerSite& site, const RecurrentForm& form,
                                 const Operand& gates) {
  const bool single = form.steps.is(1) && !site.has(kRecurrentLengths);
  if (!single || is_packed(site.out().dtype, site.traits)) return std::nullopt;
  const State h = passed_state(site, form, "h", kRecurrentInitialH, 1);
  const State c = form.lstm ? passed_state(site, form, "c", kRecurrentInitialC, 2) : State{};
  Steps steps = step_of(site, form, {gates, std::nullopt}, {0, 0, 0}, h, c, site.write("y"));
  for (const Step& step : steps.list)
    if (static_cast<int64_t>(std::get<Dispatch>(step.what).operands.size()) >
        site.traits.max_storage_buffers)
      return std::nullopt;
  return steps;
}

}  // namespace

Steps lower_recurrent(const LowerSite& site) {
  const RecurrentForm form(*site.node.op, site.in(kRecurrentX).shape, site.in(kRecurrentR).shape,
                           site.attrs());
  const Operand gates = site.temporary(
      "gates", f32({form.directions, form.steps, form.batches, Dim(form.gates) * form.hidden}));
  Steps steps = input_product(site, form, gates);
  if (auto only = single_step(site, form, gates)) return steps.append(std::move(*only));

  const std::string counter = text("step.", site.results[0].value);
  const Dim states = form.states(), step(counter);
  const Operand h = site.temporary("h", f32({2, form.directions, form.batches, form.hidden}));
  const bool packed = is_packed(site.out().dtype, site.traits);
  const Operand y = packed ? site.temporary("y", f32(form.y())) : site.write("y");
  steps.append(start_state(site, form, kRecurrentInitialH, h));
  std::optional<Operand> c;
  if (form.lstm) {
    c = site.temporary("c", f32({form.directions, form.batches, form.hidden}));
    steps.append(start_state(site, form, kRecurrentInitialC, *c));
  }
  StepInputs inputs{gates, std::nullopt};
  if (site.has(kRecurrentLengths)) {
    const Operand lengths = site.temporary("lengths", i32({form.batches}));
    steps.add(check_lengths(site, form, lengths));
    inputs.lengths = LowerSite::named(lengths, "lengths", Access::read);
  }
  steps.add(Clear{y.value});  // it then lives through the whole loop
  const Halves halves{step, mod(step, 2) * states, mod(step + 1, 2) * states};
  steps.add(Loop{form.steps, counter,
                 step_of(site, form, inputs, halves, kept_state(h, "h"),
                         c ? kept_state(*c, "c") : State{}, y)});
  if (packed)
    steps.append(copy_view(LowerSite::named(y, "x", Access::read), site.results[0], site.traits));
  steps.append(final_state(site, form, h, mod(form.steps, 2) * states, 1));
  if (c) steps.append(final_state(site, form, *c, 0, 2));
  return steps;
}

}  // namespace rlx
