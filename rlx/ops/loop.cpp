// loop(count, ..) runs a body a number of times, while_loop(most, condition, ..) as long as it says
// so. Values are carried from one iteration to the next, rows of others are read one by one, and
// what else the body puts out is stacked.

#include "rlx/codegen/shards.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"

namespace rlx {
namespace {

constexpr int64_t kMostIterations = INT32_MAX;  // where no number is given

// How operands, results and the body's inputs and outputs correspond.
struct Form {
  const Graph& body;
  bool conditional;  // a while_loop: the body takes and gives a condition
  bool reverse;
  size_t first, carried, scanned, captured, stacked;

  Form(const OpDef& op, size_t operands, const Attrs& attrs)
      : body(*attrs.get<GraphPtr>("body")),
        conditional(op.name == "while_loop"),
        reverse(attrs.get_or("reverse", false)),
        first(conditional ? 2 : 1) {
    const int64_t rows = attrs.get_or<int64_t>("scanned", 0),
                  shared = attrs.get<int64_t>("captured"),
                  values = static_cast<int64_t>(operands) - static_cast<int64_t>(first);
    require(0 <= rows && rows <= values && 0 <= shared && shared <= values - rows, op.name,
            ": there are ", operands, " operands, ", rows, " scanned and ", shared,
            " captured ones among them");
    scanned = static_cast<size_t>(rows);
    captured = static_cast<size_t>(shared);
    carried = operands - first - scanned - captured;
    const size_t outputs = body.outputs().size(), least = carried + (conditional ? 1 : 0);
    require(outputs >= least, op.name, ": the body has ", outputs, " outputs, it needs ",
            conditional ? "the condition and " : "", carried, " carried values");
    stacked = outputs - least;
  }
  size_t first_input() const { return conditional ? 2 : 1; }
  size_t first_output() const { return conditional ? 1 : 0; }
};

TensorType row_of(const TensorType& type) {
  return {type.dtype, Dims(type.shape.begin() + 1, type.shape.end())};
}
TensorType stack_of(const Dim& rows, const TensorType& row) {
  TensorType type = row;
  type.shape.insert(type.shape.begin(), rows);
  return type;
}

// The types the body's inputs have: its iteration, its condition, and those of the operands.
Types body_operands(const Form& form, const std::vector<const TensorType*>& inputs) {
  Types types{i64({})};
  if (form.conditional) types.push_back(boolean({}));
  for (size_t i = form.first; i < inputs.size(); ++i) {
    const size_t k = i - form.first;
    const bool scanned = k >= form.carried && k < form.carried + form.scanned;
    types.push_back(scanned ? row_of(*inputs[i]) : *inputs[i]);
  }
  return types;
}

// Does the body hand on the condition it was given?
bool keeps_condition(const Form& form) {
  return form.conditional && form.body.outputs()[0].value == body_inputs(form.body)[1];
}

void check_body(const InferSite& site, const Form& form, const Types& operands) {
  const std::string& op = site.op.name;
  const Values inputs = body_inputs(form.body);
  require(inputs.size() == operands.size(), op, ": the body has ", inputs.size(),
          " inputs, it needs the iteration", form.conditional ? ", the condition" : "", " and ",
          operands.size() - form.first_input(), " values");
  require(inputs[0].type() == operands[0], op, ": the body's first input must be i64[], got ",
          inputs[0].type());
  for (size_t i = 1; i < inputs.size(); ++i)
    check_body_input(op, "body", inputs[i].producer(), operands[i]);
  if (!form.conditional) return;
  const TensorType& condition = form.body.outputs()[0].value.type();
  require(condition.dtype == DType::boolean && count(condition.shape).is(1), op,
          ": the body's first output must be one bool, got ", condition);
}

// The number of rows of the stacked results: known when the run starts, or a symbol the run binds.
Dim rows_of(const InferSite& site, const Form& form) {
  const Dim most = site.has(0) ? max(site.host(0).elements[0], 0) : Dim(kMostIterations);
  const bool decided =
      site.has(0) && (!form.conditional || (keeps_condition(form) && !site.has(1)));
  return decided || form.stacked == 0 ? most : site.fresh();
}

Types infer(const InferSite& site) {
  const std::string& op = site.op.name;
  const Form form(site.op, site.inputs.size(), site.attrs);
  if (site.has(0))
    require(is_integer(site.in(0).dtype) && count(site.in(0).shape).is(1), op,
            ": the count must be one integer, got ", site.in(0));
  if (form.conditional && site.has(1))
    require(site.in(1).dtype == DType::boolean && count(site.in(1).shape).is(1), op,
            ": the condition must be one bool, got ", site.in(1));
  for (size_t k = 0; k < form.scanned; ++k) {
    const TensorType& type = site.in(form.first + form.carried + k);
    require(rank(type) > 0, op, ": scanned value ", k, " is ", type, ", it needs rows");
    site.equal(type.shape[0], max(site.host(0).elements[0], 0),
               text("scanned ", type, " and the number of iterations differ"));
  }
  for (size_t i = form.first; i < site.inputs.size(); ++i) site.in(i);  // none may be absent
  const Types operands = body_operands(form, site.inputs);
  check_body(site, form, operands);
  const Types outputs = output_types(form.body, operands);
  Types types;
  for (size_t i = 0; i < form.carried; ++i) {
    const TensorType& enters = operands[form.first_input() + i];
    const TensorType& leaves = outputs[form.first_output() + i];
    require(leaves.dtype == enters.dtype && rank(leaves) == rank(enters), op, ": carried value ", i,
            " enters as ", enters, " and leaves as ", leaves);
    for (size_t d = 0; d < leaves.shape.size(); ++d)
      site.equal(enters.shape[d], leaves.shape[d],
                 text("carried value ", i, " enters as ", enters, " and leaves as ", leaves));
    types.push_back(enters);
  }
  const Dim rows = rows_of(site, form);
  const GivenSymbols given(form.body);
  for (size_t k = 0; k < form.stacked; ++k) {
    const TensorType& row = outputs[form.first_output() + form.carried + k];
    for (const Dim& dim : form.body.outputs()[form.first_output() + form.carried + k].value.shape())
      require(given.tell(dim), op, ": output ", form.carried + k, " of the body is ", row,
              "; it must have the same shape in every iteration to be stacked");
    types.push_back(stack_of(rows, row));
  }
  require(!types.empty(), op, ": the body has no results");
  return types;
}

Tensor row_at(const Tensor& x, int64_t row) {
  Shape shape = x.shape();
  shape.erase(shape.begin());
  Tensor result(x.dtype(), shape);
  const auto from = x.bytes().subspan(size_t(row) * result.bytes().size(), result.bytes().size());
  if (!from.empty()) std::copy(from.begin(), from.end(), result.mutable_bytes().begin());
  return result;
}

void put_row(const Tensor& row, int64_t at, Tensor& stack) {
  if (row.count() == 0) return;
  const auto bytes = row.bytes();
  std::copy(bytes.begin(), bytes.end(),
            stack.mutable_bytes().begin() + at * static_cast<int64_t>(bytes.size()));
}

void reference(const ReferenceSite& site) {
  const Form form(site.op, site.inputs.size(), site.attrs);
  const int64_t most = site.has(0) ? site.in(0).integer_at(0) : kMostIterations;
  bool goes_on = !form.conditional || !site.has(1) || site.in(1).at(0) != 0;
  std::vector<Tensor> carried;
  for (size_t i = 0; i < form.carried; ++i) carried.push_back(site.in(form.first + i));
  std::vector<std::vector<Tensor>> rows(form.stacked);
  int64_t done = 0;
  for (; done < most && goes_on; ++done) {
    const int64_t iteration = form.reverse ? most - 1 - done : done;
    std::vector<Tensor> inputs{Tensor::scalar(DType::i64, static_cast<double>(iteration))};
    if (form.conditional) inputs.push_back(Tensor::scalar(DType::boolean, 1));
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    for (size_t k = 0; k < form.scanned + form.captured; ++k) {
      const Tensor& operand = site.in(form.first + form.carried + k);
      inputs.push_back(k < form.scanned ? row_at(operand, iteration) : operand);
    }
    const std::vector<Tensor> outputs = evaluate_body(form.body, inputs);
    if (form.conditional) goes_on = outputs[0].at(0) != 0;
    const auto first = outputs.begin() + static_cast<int64_t>(form.first_output());
    carried.assign(first, first + static_cast<int64_t>(form.carried));
    for (size_t k = 0; k < form.stacked; ++k)
      rows[k].push_back(outputs[form.first_output() + form.carried + k]);
  }
  for (size_t i = 0; i < form.carried; ++i) site.results[i] = carried[i].copy();
  std::vector<const TensorType*> refs(site.inputs.size());
  Types operands;
  for (const Tensor* input : site.inputs) operands.push_back(input ? input->type() : TensorType{});
  for (size_t i = 0; i < refs.size(); ++i) refs[i] = &operands[i];
  const Types outputs = output_types(form.body, body_operands(form, refs));
  for (size_t k = 0; k < form.stacked; ++k) {
    const TensorType& row = outputs[form.first_output() + form.carried + k];
    Tensor stack(row.dtype, bound(stack_of(done, row).shape, site.symbols));
    for (int64_t i = 0; i < done; ++i)
      put_row(rows[k][size_t(i)], form.reverse ? done - 1 - i : i, stack);
    site.results[form.carried + k] = stack;
  }
}

// The body without its condition: it runs only while that is true.
GraphPtr plain_body(const Form& form, const Attrs& attrs) {
  if (!form.conditional) return attrs.get<GraphPtr>("body");
  Graph plain;
  const Values inputs = body_inputs(form.body);
  Values given;
  for (size_t i = 0; i < inputs.size(); ++i)
    given.push_back(i == 1 ? plain.constant(Tensor::scalar(DType::boolean, 1))
                           : plain.input(text("in", i), inputs[i].type()));
  const Values outputs = inline_body(form.body, given, plain);
  for (size_t i = 0; i < outputs.size(); ++i) plain.output(text("out", i), outputs[i]);
  return shared_graph(std::move(plain));
}

// Writes `row` as row `iteration` of `stack`.
Steps put_step(const Operand& row, const Operand& stack, const Dim& iteration,
               const DeviceTraits& traits) {
  const Dim size = count(row.shape);
  if (traits.on_host()) {
    Operand place = stack;
    place.shape = row.shape;
    place.layout = {iteration * size, strides_of(row.shape)};
    return Copy{row.value, stack.value, row, place};
  }
  Operand to = LowerSite::named(stack, "y", Access::write);
  if (!fits_binding(stack.dtype, stack.shape, traits)) to.window = {iteration * size, size};
  return Dispatch{
      .kernel = kernel("stack_row"),
      .operands = {LowerSite::named(row, "x", Access::read), to},
      .params = {{"first", iteration * size}, {"count", size}},
      .workgroups = ceil_div(size, 64),
  };
}

Operand row_view(Operand operand, const Dim& iteration) {
  operand.layout.offset = operand.layout.offset + iteration * operand.layout.strides[0];
  operand.layout.strides.erase(operand.layout.strides.begin());
  operand.shape.erase(operand.shape.begin());
  return operand;
}

// The results hold the carried values between iterations. A body's output that is one of them goes
// through a temporary, since another copy may come first.
void carry(const LowerSite& site, const Form& form, LoweredBody& body) {
  Steps last;
  for (size_t i = 0; i < form.carried; ++i) {
    const ValueId from = body.outputs[form.first_output() + i].value, to = site.results[i].value;
    if (from == to) continue;
    bool is_carried = false;
    for (size_t j = 0; j < form.carried; ++j) is_carried |= site.results[j].value == from;
    if (!is_carried) {
      last.add(Copy{from, to});
      continue;
    }
    const Operand next = site.temporary("next", site.out(i));
    body.steps.add(Copy{from, next.value});
    last.add(Copy{next.value, to});
  }
  body.steps.append(std::move(last));
}

// Where the rows of stacked output k are put together; its result where that can be, else a value
// of whole elements and as many rows as there may be.
Operand stack_place(const LowerSite& site, size_t result, const Dim& most) {
  const TensorType& type = site.out(result);
  if (type.shape[0] == most && (site.traits.on_host() || !is_packed(type.dtype, site.traits)))
    return site.results[result];
  TensorType wide = type;
  wide.shape[0] = most;
  if (!site.traits.on_host() && is_packed(type.dtype, site.traits))
    wide.dtype = unpacked(type.dtype);
  return site.temporary("stack", wide);
}

// May the stacks be planned for all rows there can be? Exporters write "as long as the condition
// holds" as the largest integer there is.
bool can_be_stacked(const LowerSite& site, const Form& form, const Dim& most) {
  constexpr int64_t kMostRows = 1 << 20;
  if (form.stacked == 0 || site.out(form.carried).shape[0] == most) return true;
  return !most.is_number() || most.number() <= kMostRows;
}

Steps lower(const LowerSite& site) {
  const Form form(*site.node.op, site.inputs.size(), site.attrs());
  const std::string counter = text("iteration.", site.results[0].value);
  const Dim most = site.node.inputs[0].present() ? max(host_number(site, 0), 0) : kMostIterations;
  const Dim iteration = form.reverse ? most - 1 - Dim(counter) : Dim(counter);
  if (form.conditional && !can_be_stacked(site, form, most))
    return site.on_host("how many rows while_loop stacks depends on the data");
  Steps steps;
  std::vector<Operand> inputs{{-1, i64({}), Access::read}};
  for (size_t i = form.first; i < site.inputs.size(); ++i) {
    const size_t k = i - form.first;
    if (k < form.carried) {
      steps.append(site.copy(site.inputs[i], site.results[k]));
      inputs.push_back(LowerSite::named(site.results[k], "", Access::read));
    } else {
      inputs.push_back(k < form.carried + form.scanned ? row_view(site.inputs[i], iteration)
                                                       : site.inputs[i]);
    }
  }
  const GraphPtr plain = plain_body(form, site.attrs());
  LoweredBody body = site.lower_body(plain, inputs, iteration);
  std::vector<Operand> stacks;
  for (size_t k = 0; k < form.stacked; ++k) {
    stacks.push_back(stack_place(site, form.carried + k, most));
    steps.add(Clear{stacks[k].value});  // it then lives through the whole loop
    body.steps.append(put_step(body.outputs[form.first_output() + form.carried + k], stacks[k],
                               iteration, site.traits));
  }
  Loop loop{most, counter, {}};
  if (form.conditional && (site.node.inputs[1].present() || !keeps_condition(form))) {
    loop.condition = text("condition.", site.results[0].value);
    steps.add(Bind{loop.condition, site.node.inputs[1].present() ? host_number(site, 1) : Dim(1)});
    if (!keeps_condition(form))
      body.steps.add(Fetch{body.outputs[0].value,
                           DType::boolean,
                           {Dim(loop.condition)},
                           "while_loop needs its condition"});
  }
  carry(site, form, body);
  loop.body = std::move(body.steps);
  steps.add(std::move(loop));
  for (size_t k = 0; k < form.stacked; ++k) {
    const Operand& result = site.results[form.carried + k];
    if (k == 0 && !(result.shape[0] == most))
      if (const auto symbol = result.shape[0].symbol()) steps.add(Bind{*symbol, Dim(counter)});
    if (stacks[k].value == result.value) continue;
    Operand part = LowerSite::named(stacks[k], "", Access::read);
    part.shape = result.shape;
    part.layout = Layout::row_major(part.shape);
    steps.append(site.copy(part, result));
  }
  return steps;
}

// The values the carried ones had in each iteration, stacked: the loop once more.
Values histories(const GradientSite& site, const Form& form) {
  if (form.carried == 0) return {};
  Graph again;
  Values given;
  for (const Value& input : body_inputs(form.body))
    given.push_back(again.input(input.producer().name, input.type()));
  const Values outputs = inline_body(form.body, given, again);
  for (size_t i = 0; i < form.carried; ++i) again.output(text("next", i), outputs[i]);
  for (size_t i = 0; i < form.carried; ++i) again.output(text("was", i), given[1 + i]);
  Attrs attrs = site.attrs();
  attrs.set("body", shared_graph(std::move(again)));
  const Values results = results_of(site.in(0).apply(*site.node.op, site.inputs, attrs));
  return {results.begin() + static_cast<int64_t>(form.carried), results.end()};
}

// Runs the iterations backwards. Each computes its part of the forward loop again, from the carried
// values it had, which takes memory for all iterations.
Gradients gradient(const GradientSite& site) {
  const Form form(*site.node.op, site.inputs.size(), site.attrs());
  const auto dy = [&](size_t i) {
    return site.result_gradients[i] ? *site.result_gradients[i]
                                    : expand(scalar(site.y(i), 0), site.y(i).shape());
  };
  const auto is_smooth = [](Value x) { return is_float(x.dtype()); };
  const auto operand = [&](size_t k) { return site.in(form.first + k); };
  const size_t first_captured = form.carried + form.scanned;
  Values d_carried, d_captured, rows, captured;
  std::vector<size_t> carried_at, captured_at, scanned_at, stacked_at;
  for (size_t i = 0; i < form.carried; ++i)
    if (is_smooth(operand(i))) d_carried.push_back(dy(i)), carried_at.push_back(i);
  for (size_t k = 0; k < form.captured; ++k) {
    captured.push_back(operand(first_captured + k));
    if (!is_smooth(captured.back())) continue;
    d_captured.push_back(expand(scalar(captured.back(), 0), captured.back().shape()));
    captured_at.push_back(k);
  }
  rows = histories(site, form);
  for (size_t k = 0; k < form.scanned; ++k) {
    rows.push_back(operand(form.carried + k));
    if (is_smooth(rows.back())) scanned_at.push_back(k);
  }
  for (size_t k = 0; k < form.stacked; ++k)
    if (is_smooth(site.y(form.carried + k)))
      rows.push_back(dy(form.carried + k)), stacked_at.push_back(k);

  Graph back;
  const Value iteration = back.input("iteration", i64({}));
  const auto inputs_like = [&](const char* name, const Values& values, bool are_rows) {
    Values inputs;
    for (size_t i = 0; i < values.size(); ++i)
      inputs.push_back(
          back.input(text(name, i), are_rows ? row_of(values[i].type()) : values[i].type()));
    return inputs;
  };
  const Values seeds = inputs_like("seed", d_carried, false),
               totals = inputs_like("total", d_captured, false),
               row = inputs_like("row", rows, true),
               shared = inputs_like("captured", captured, false);
  Values given{iteration};
  given.insert(given.end(), row.begin(), row.begin() + static_cast<int64_t>(first_captured));
  given.insert(given.end(), shared.begin(), shared.end());
  const Values outputs = inline_body(form.body, given, back);
  Values ys, dys = seeds, xs;
  for (const size_t i : carried_at) ys.push_back(outputs[i]), xs.push_back(given[1 + i]);
  for (size_t k = 0; k < stacked_at.size(); ++k) {
    ys.push_back(outputs[form.carried + stacked_at[k]]);
    dys.push_back(row[first_captured + k]);
  }
  for (const size_t k : captured_at) xs.push_back(shared[k]);
  for (const size_t k : scanned_at) xs.push_back(given[1 + form.carried + k]);
  const Values dxs = site.sweep(ys, dys, xs);
  for (size_t i = 0; i < dxs.size(); ++i) {
    const bool adds = i >= seeds.size() && i < seeds.size() + totals.size();
    back.output(text("d", i), adds ? totals[i - seeds.size()] + dxs[i] : dxs[i]);
  }
  if (dxs.empty()) return Gradients(site.inputs.size());

  Values operands{site.in(0)};
  for (const Values* list : {&d_carried, &d_captured, &rows, &captured})
    operands.insert(operands.end(), list->begin(), list->end());
  const Values results =
      results_of(site.in(0).apply(*site.node.op, operands,
                                  {{"body", shared_graph(std::move(back))},
                                   {"scanned", static_cast<int64_t>(rows.size())},
                                   {"captured", static_cast<int64_t>(captured.size())},
                                   {"reverse", !form.reverse}}));
  Gradients gradients(site.inputs.size());
  size_t next = 0;
  for (const size_t i : carried_at) gradients[form.first + i] = results[next++];
  for (const size_t k : captured_at) gradients[form.first + first_captured + k] = results[next++];
  for (const size_t k : scanned_at) gradients[form.first + form.carried + k] = results[next++];
  return gradients;
}

// How often the body of a while_loop ran: as many rows as it stacks. One that stacks nothing runs
// once more, stacking its condition.
Value iterations_of(const GradientSite& site, const Form& form) {
  Value stack = form.stacked > 0 ? site.y(form.carried) : Value{};
  if (!stack) {
    Graph counting;
    Values given;
    for (const Value& input : body_inputs(form.body))
      given.push_back(counting.input(input.producer().name, input.type()));
    const Values outputs = inline_body(form.body, given, counting);
    for (size_t i = 0; i < outputs.size(); ++i) counting.output(text("next", i), outputs[i]);
    counting.output("ran", outputs[0]);
    Attrs attrs = site.attrs();
    attrs.set("body", shared_graph(std::move(counting)));
    stack = results_of(site.y().apply(*site.node.op, site.inputs, attrs)).back();
  }
  return squeeze(slice(shape_of(stack), Ints{0}, Ints{1}), {0});
}

// By then it is known how often the body ran: the gradient of a loop that runs so often.
Gradients while_gradient(const GradientSite& site) {
  const Form form(*site.node.op, site.inputs.size(), site.attrs());
  Graph body;
  Values given;
  for (const Value& input : body_inputs(form.body))
    given.push_back(given.size() == 1 ? body.constant(Tensor::scalar(DType::boolean, 1))
                                      : body.input(input.producer().name, input.type()));
  const Values outputs = inline_body(form.body, given, body);
  for (size_t i = 1; i < outputs.size(); ++i) body.output(text("next", i), outputs[i]);
  const auto first = site.inputs.begin() + static_cast<int64_t>(form.first),
             captured = first + static_cast<int64_t>(form.carried);
  const Values again = loop(iterations_of(site, form), {first, captured}, std::move(body),
                            {.captured = {captured, site.inputs.end()}});
  Values ys, seeds, xs;
  for (size_t i = 0; i < again.size(); ++i) {
    if (!site.result_gradients[i] || !is_float(again[i].dtype())) continue;
    ys.push_back(again[i]);
    seeds.push_back(*site.result_gradients[i]);
  }
  std::vector<size_t> at;
  for (size_t i = form.first; i < site.inputs.size(); ++i)
    if (is_float(site.in(i).dtype())) xs.push_back(site.in(i)), at.push_back(i);
  Gradients gradients(site.inputs.size());
  const Values dxs = site.sweep(ys, seeds, xs);
  for (size_t i = 0; i < dxs.size(); ++i) gradients[at[i]] = dxs[i];
  return gradients;
}

}  // namespace

const OpDef& loop_op() {
  static const OpDef op{
      .name = "loop",
      .family = "control flow",
      .inputs = {1, kMany, {"count", "values"}},
      .results = {1, kMany, {}},
      .attrs = {{"body"}, {"scanned", 0}, {"captured", 0}, {"reverse", false}},
      .host_inputs = {0},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
  };
  return op;
}

const OpDef& while_loop_op() {
  static const OpDef op{
      .name = "while_loop",
      .family = "control flow",
      .inputs = {0, kMany, {"count", "condition", "values"}},
      .results = {1, kMany, {}},
      .attrs = {{"body"}, {"captured", 0}},
      .host_inputs = {0, 1},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = while_gradient,
      .onnx = "Loop",
  };
  return op;
}

Values loop(Value trip_count, const Values& carried, Graph body, const LoopOptions& options) {
  Values operands{trip_count};
  for (const Values* list : {&carried, &options.scanned, &options.captured})
    operands.insert(operands.end(), list->begin(), list->end());
  return results_of(trip_count.apply(loop_op(), operands,
                                     {{"body", shared_graph(std::move(body))},
                                      {"scanned", static_cast<int64_t>(options.scanned.size())},
                                      {"captured", static_cast<int64_t>(options.captured.size())},
                                      {"reverse", options.reverse}}));
}

Values while_loop(Value most, Value condition, const Values& carried, Graph body,
                  const Values& captured) {
  Values operands{most, condition};
  for (const Values* list : {&carried, &captured})
    operands.insert(operands.end(), list->begin(), list->end());
  Value any;
  for (const Value& operand : operands)
    if (operand.present()) any = operand;
  require(any.present(), "while_loop: has no operands");
  return results_of(any.apply(while_loop_op(), operands,
                              {{"body", shared_graph(std::move(body))},
                               {"captured", static_cast<int64_t>(captured.size())}}));
}

}  // namespace rlx
