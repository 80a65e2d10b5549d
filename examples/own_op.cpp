// An op of one's own, from outside the library: what it computes in C++, and its kernel in WGSL.

#include <cmath>
#include <iostream>

#include "devices.h"
#include "rlx/op.h"
#include "rlx/rlx.h"

using namespace rlx;

// y = gain * x / (1 + |x * slope|), of any shape: it never passes gain / slope.
OpDef squash() {
  OpDef op;
  op.name = "mine.squash";
  op.inputs = {1, 1, {"x"}};
  op.attrs = {{"gain", 1.0}, {"slope"}};  // one with a default, one that must be given
  op.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  op.reference = [](const ReferenceSite& site) {
    const double gain = site.attrs.get<double>("gain"), slope = site.attrs.get<double>("slope");
    for (int64_t i = 0; i < site.in(0).count(); ++i) {
      const double x = site.in(0).at(i);
      site.out().set(i, gain * x / (1 + std::fabs(x * slope)));
    }
  };
  op.lower = [](const LowerSite& site) -> Steps {
    const Dim size = count(site.in(0).shape);
    return Dispatch{
        .kernel = {"mine.squash", {"squash.wgsl", R"(
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.size) { return; }
  let x = load_x(i);
  store_y(i, params.gain * x / (1 + abs(x * params.slope)));
}
)"}},
        .operands = {site.read("x", 0), site.write("y")},
        .params = {{"size", size},
                   {"gain", site.attrs().get<double>("gain")},
                   {"slope", site.attrs().get<double>("slope")}},
        .workgroups = ceil_div(size, 64),
    };
  };
  return op;
}

int main() {
  try {
    const auto op = std::make_shared<const OpDef>(squash());
    Graph graph;
    const Value x = graph.input("x", f32({"rows", 3}));
    // Among others it is an op like any other: its operand may be a view.
    graph.output("y", relu(graph.add(op, {transpose(x, {1, 0})}, {{"slope", 0.5}})));

    const Program program = compile(graph, {.device = best_device()});
    const Tensor input = Tensor::of(DType::f32, {2, 3}, {-1, 0, 1, 2, 3, 4});
    const Tensor y = program.run({{"x", input}})["y"];
    std::cout << y.type() << " on " << program.device().name() << ':';
    for (const float element : y.data<float>()) std::cout << ' ' << element;
    std::cout << '\n';
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
