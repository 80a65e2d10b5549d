// What codegen writes for the groups of a small model, word for word: to be read as code.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "rlx/compile/build_image.h"
#include "rlx/conformance/kernels.h"
#include "rlx/conformance/model_graphs.h"
#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& rms_norm_op();

namespace {

image::Image with_groups(const Graph& graph) {
  const PassTarget target{paper_devices()[0]};
  return detail::build_image(fuse.run(graph, {.target = &target}).graph, target.traits, {});
}

// The functions around the kernels' own files.
std::string written_for(const Graph& graph) {
  std::string result;
  for (const image::Kernel& kernel : with_groups(graph).kernels) {
    result += "// " + kernel.name + '\n';
    std::istringstream lines(kernel.wgsl);
    bool begun = false;
    std::string line;
    for (int32_t at = 1; std::getline(lines, line) && at < kernel.sections[1].first_line; ++at) {
      if (begun) result += line + '\n';
      begun |= line.find("fn workgroup_index") == 0;
    }
  }
  return result;
}

// Kernels of whole models and the functions around them, line by line.
TEST(Modules, OfModelsAreWhatTheyWere) {
  std::ifstream file(RLX_SOURCE_DIR "/rlx/conformance/modules.golden");
  std::istringstream now(model_modules());
  std::string was, is;
  for (int at = 1;; ++at) {
    const bool more = static_cast<bool>(std::getline(now, is)),
               had = static_cast<bool>(std::getline(file, was));
    ASSERT_EQ(had ? was : "the end", more ? is : "the end")
        << "line " << at << " of modules.golden (tools/generate, where that is meant)";
    if (!more || !had) return;
  }
}

// The passes leave of a decoder, as it is exported, the ops that it is thought in.
TEST(Modules, ADecoderIsProductsAttentionAndNorms) {
  for (const ModelGraph& model : model_graphs()) {
    if (model.name != "decoder") continue;
    const Graph after = run_passes(model.graph);
    std::map<std::string, int> ops;
    for (const Node& node : after.nodes()) ++ops[node.op->name];
    EXPECT_EQ(ops["attention"], 2);
    EXPECT_EQ(ops["rope"], 4);
    EXPECT_EQ(ops["rms_norm"], 5);
    EXPECT_EQ(ops["silu"], 2);
    EXPECT_EQ(ops["matmul"], 2 * 4 + 1);  // q, k and v; their sum; gate and up; down; the words
    for (const char* gone : {"softmax", "where", "le", "expand", "sigmoid", "mean", "neg"})
      EXPECT_EQ(ops[gone], 0) << gone;
    for (const Node& node : after.nodes())
      if (node.op->name == "attention") {
        EXPECT_TRUE(node.attrs.get<bool>("causal"));
        EXPECT_EQ(node.inputs.size(), 3u);
      }
  }
}

TEST(Modules, ASumIsLoadedByItsNormAndStoredWithIt) {
  Graph graph;
  const Value x = graph.input("x", f32({8, 64})), y = graph.input("y", f32({8, 64}));
  const Value total = x + y;
  const Value normal = total.apply(rms_norm_op(), {total, graph.input("gamma", f32({64}))});
  graph.output("sum", total);
  graph.output("y", relu(normal));
  EXPECT_EQ(written_for(graph), R"(// add + rms_norm + relu
fn load_gamma(i: u32) -> f32 {
  return buffer_gamma[i];
}
fn load_in0(i: u32) -> f32 {
  return buffer_in0[i];
}
fn load_in1(i: u32) -> f32 {
  return buffer_in1[i];
}
fn store_out0(i: u32, v: f32) {
  buffer_out0[i] = v;
}
fn store_out1(i: u32, v: f32) {
  buffer_out1[i] = v;
}
fn scale(row: u32, i: u32) -> f32 { return load_gamma(i); }
fn shift(row: u32, i: u32) -> f32 { return 0.0; }
fn add_op_f32_f32_f32(x: f32, y: f32) -> f32 {
  return x + y;
}
fn load_x(i: u32) -> f32 {
  let in0 = load_in0(i);
  let in1 = load_in1(i);
  let v3 = add_op_f32_f32_f32(in0, in1);
  return v3;
}
fn relu_op_f32_f32(x: f32) -> f32 {
  return max_or_nan(x, 0.0);
}
fn store_y(i: u32, v: f32) {
  let in0 = load_in0(i);
  let in1 = load_in1(i);
  let v3 = add_op_f32_f32_f32(in0, in1);
  let v4 = v;
  let v5 = relu_op_f32_f32(v4);
  store_out0(i, v3);
  store_out1(i, v5);
}
)");
}

TEST(Modules, ViewsAreMapsOfALoad) {
  Graph graph;
  const Value x = graph.input("x", {DType::u8, {3, 4, 5}});
  const Value scale = graph.input("scale", f32({4, 1}));
  const Value dequantised = cast(x, DType::f32) * scale;
  graph.output("y", sum(transpose(dequantised, {1, 0, 2}), {-1}));
  EXPECT_EQ(written_for(graph), R"(// cast + mul + reduce
fn store_y(i: u32, v: f32) {
  buffer_y[i] = v;
}
fn load_in0(i: u32) -> u32 {
  return extractBits(buffer_in0[i / 4u], (i % 4u) * 8u, 8u);
}
fn index_in1(i: u32) -> u32 {
  var at = 0u;
  var rest = i;
  at += (rest % params.in1_view[1][0]) * params.in1_view[1][1];
  rest = rest / params.in1_view[1][0];
  at += (rest % params.in1_view[0][2]) * params.in1_view[0][3];
  rest = rest / params.in1_view[0][2];
  at += rest * params.in1_view[0][1];
  return at;
}
fn load_in1(i: u32) -> f32 {
  let at = index_in1(i);
  return buffer_in1[at];
}
alias T = f32;
fn identity() -> T { return f32(0); }
fn combine(a: T, b: T) -> T { return a + b; }
fn map_element(v: f32) -> T { return v; }
alias Result = f32;
fn finish(v: T) -> Result {
  let n = f32(params.elements);
  return v;
}
fn result_of(state: T, output: u32) -> Result { return finish(state); }
fn merge(at: u32, v: Result) -> Result { return v; }
fn cast_op_u32_f32_u8_f32(x: u32) -> f32 {
  return f32(x);
}
fn mul_op_f32_f32_f32(x: f32, y: f32) -> f32 {
  return x * y;
}
fn index_x(i: u32) -> u32 {
  var at = 0u;
  var rest = i;
  at += (rest % params.x_view[1][0]) * params.x_view[1][1];
  rest = rest / params.x_view[1][0];
  at += (rest % params.x_view[0][2]) * params.x_view[0][3];
  rest = rest / params.x_view[0][2];
  at += rest * params.x_view[0][1];
  return at;
}
fn computed_x(i: u32) -> f32 {
  let in0 = load_in0(i);
  let in1 = load_in1(i);
  let v2 = cast_op_u32_f32_u8_f32(in0);
  let v3 = mul_op_f32_f32_f32(v2, in1);
  return v3;
}
fn load_x(i: u32) -> f32 { return computed_x(index_x(i)); }
)");
}

TEST(Modules, HeadsAreStoredSideBySide) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3, 5, 7})), w = graph.input("w", f32({2, 3, 7, 4}));
  const Value heads = matmul(x, w) * graph.input("gain", f32({4}));
  graph.output("y", reshape(transpose(heads, {0, 2, 1, 3}), Dims{2, 5, 12}));
  EXPECT_EQ(written_for(graph), R"(// matmul + mul
fn load_a(i: u32) -> f32 {
  return buffer_a[i];
}
fn load_b(i: u32) -> f32 {
  return buffer_b[i];
}
fn index_in0(i: u32) -> u32 {
  var at = 0u;
  var rest = i;
  at += (rest % params.in0_view[0][2]) * params.in0_view[0][3];
  rest = rest / params.in0_view[0][2];
  at += rest * params.in0_view[0][1];
  return at;
}
fn load_in0(i: u32) -> f32 {
  let at = index_in0(i);
  return buffer_in0[at];
}
fn index_out0(i: u32) -> u32 {
  var at = 0u;
  var rest = i;
  at += (rest % params.out0_view[1][2]) * params.out0_view[1][3];
  rest = rest / params.out0_view[1][2];
  at += (rest % params.out0_view[1][0]) * params.out0_view[1][1];
  rest = rest / params.out0_view[1][0];
  at += (rest % params.out0_view[0][2]) * params.out0_view[0][3];
  rest = rest / params.out0_view[0][2];
  at += rest * params.out0_view[0][1];
  return at;
}
fn store_out0(i: u32, v: f32) {
  buffer_out0[index_out0(i)] = v;
}
alias T = f32;
fn with_rest(sum: vec4<T>, rest: vec4<T>) -> vec4<T> {
  let exponents = bitcast<vec4<u32>>(sum) & vec4<u32>(0x7f800000u);
  return select(sum + rest, sum, exponents == vec4<u32>(0x7f800000u));
}
fn a_value(i: u32, row: u32) -> T { return load_a(i); }
fn b_value(i: u32, column: u32) -> T { return load_b(i); }
fn start(i: u32) -> T { return T(0); }
fn finish(v: T, row: u32, column: u32) -> T { return v; }
fn mul_op_f32_f32_f32(x: f32, y: f32) -> f32 {
  return x * y;
}
fn store_y(i: u32, v: f32) {
  let in0 = load_in0(i);
  let v3 = v;
  let v4 = mul_op_f32_f32_f32(v3, in0);
  store_out0(i, v4);
}
)");
}

// What is generated of a region: its accessors, and its kernel without what it includes.
std::string region_of(const Graph& graph) {
  const image::Image image = with_groups(graph);
  const image::Kernel& kernel = image.kernels.at(0);
  std::istringstream lines(kernel.wgsl);
  std::string result, line;
  bool begun = false;
  for (int32_t at = 1; std::getline(lines, line); ++at) {
    const bool included =
        at >= kernel.sections[1].first_line && at < kernel.sections.back().first_line;
    if (begun && !included) result += line + '\n';
    begun |= line.find("fn workgroup_index") == 0;
  }
  return result;
}

TEST(Modules, ARegionGoesByFours) {
  Graph graph;
  const Value x = graph.input("x", f32({8, 64})), y = graph.input("y", f32({8, 1}));
  const Value sum = x + y;
  graph.output("sum", sum);
  graph.output("grows", cast(greater(sum, x), DType::u8));
  EXPECT_EQ(region_of(graph), R"(fn load4_in0(i: u32) -> vec4<f32> {
  let q = buffer_in0[i / 4u];
  return q;
}
fn index_in1(i: u32) -> u32 {
  var at = 0u;
  var rest = i;
  at += (rest % params.in1_view[0][2]) * params.in1_view[0][3];
  rest = rest / params.in1_view[0][2];
  at += rest * params.in1_view[0][1];
  return at;
}
fn load_in1(i: u32) -> f32 {
  let at = index_in1(i);
  return buffer_in1[at];
}
fn store4_out0(i: u32, v: vec4<f32>) {
  buffer_out0[i / 4u] = v;
}
fn pack_result(v: u32, k: u32) -> u32 {
  return (v & 0xffu) << (k * 8u);
}
fn store4_result(i: u32, v: vec4<u32>) {
  buffer_result[i / 4u] = pack_result(v.x, 0u) | pack_result(v.y, 1u) | pack_result(v.z, 2u) | pack_result(v.w, 3u);
}
fn add_op_f32_f32_f32(x: f32, y: f32) -> f32 {
  return x + y;
}
fn gt_op_f32_f32_bool(x: f32, y: f32) -> bool {
  return order(x) > order(y) && !is_nan(x) && !is_nan(y);
}
fn cast_op_bool_u32_bool_u8(x: bool) -> u32 {
  return extractBits(u32(x), 0u, 8u);
}
struct Element {
  out0: f32,
  result: u32,
}
fn element(in0: f32, in1: f32) -> Element {
  let v2 = add_op_f32_f32_f32(in0, in1);
  let v3 = gt_op_f32_f32_bool(v2, in0);
  let v4 = extractBits(cast_op_bool_u32_bool_u8(v3), 0u, 8u);
  return Element(v2, v4);
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = params.first + (workgroup_index(ids) * WORKGROUP + lane) * 4u;
  if (i >= params.end) { return; }
  let in0 = load4_in0(i);
  let in1 = load_in1(i);
  let e0 = element(in0.x, in1);
  let e1 = element(in0.y, in1);
  let e2 = element(in0.z, in1);
  let e3 = element(in0.w, in1);
  store4_out0(i, vec4<f32>(e0.out0, e1.out0, e2.out0, e3.out0));
  store4_result(i, vec4<u32>(e0.result, e1.result, e2.result, e3.result));
}
)");
}

}  // namespace
}  // namespace rlx
