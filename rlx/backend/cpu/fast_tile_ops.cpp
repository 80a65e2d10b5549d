#include <algorithm>
#include <cmath>

#include "rlx/backend/cpu/fast_casts.h"
#include "rlx/backend/cpu/fast_quantised.h"
#include "rlx/backend/cpu/fast_tables.h"

namespace rlx::detail {
namespace {

using vector::Binary, vector::Elementwise;

// What tiles are computed with.
template <vector::Elementwise::Function vector::Elementwise::*function>
void tile_unary(const CpuEngine& engine, const TileArguments& at) {
  (engine.elementwise.*function)(at.floats(0), at.results(), at.count);
}
template <vector::Binary how>
void tile_binary(const CpuEngine& engine, const TileArguments& at) {
  engine.elementwise.combine(how, at.floats(0), at.steps[0], at.floats(1), at.steps[1],
                             at.results(), at.count);
}
void tile_choose(const CpuEngine& engine, const TileArguments& at) {
  engine.elementwise.choose(at.floats(0), at.steps[0], at.floats(1), at.steps[1], at.floats(2),
                            at.steps[2], at.results(), at.count);
}
template <vector::Elementwise::Shaped vector::Elementwise::*function, int params>
void tile_shaped(const CpuEngine& engine, const TileArguments& at) {
  const double second = params > 1 ? at.params[1] : 0;
  (engine.elementwise.*function)(at.floats(0), static_cast<float>(at.params[0]),
                                 static_cast<float>(second), at.results(), at.count);
}
// Squares are what models write as powers.
void tile_pow(const CpuEngine& engine, const TileArguments& at) {
  const float *x = at.floats(0), *power = at.floats(1);
  if (at.steps[1] == 0 && *power == 2.0f && at.steps[0] == (at.count > 1))
    return engine.elementwise.square(x, at.results(), at.count);
  for (int64_t i = 0; i < at.count; ++i)
    at.results()[i] = std::pow(x[i * at.steps[0]], power[i * at.steps[1]]);
}
// Numbers kept as integers; operands are x, scale, and perhaps a zero point.
vector::Scales scales_of(const TileArguments& at, size_t scale = 1) {
  const bool has_zero = at.operands > scale + 1;
  return {at.floats(scale), at.steps[scale], has_zero ? at.x[scale + 1] : nullptr,
          has_zero ? at.steps[scale + 1] : 0};
}
// Those of element i alone.
vector::Scales scales_at(const vector::Scales& all, int64_t i, DType integers) {
  const auto* zeros = static_cast<const std::byte*>(all.zero);
  return {all.scale + i * all.scale_step, 0,
          zeros ? zeros + i * all.zero_step * bytes_of(integers) : nullptr, 0};
}
bool takes_scales(const TileArguments& of, DType integers) {
  return of.operands >= 2 && of.dtypes[1] == DType::f32 &&
         (of.operands < 3 || of.dtypes[2] == integers);
}
bool accepts_quantise(const TileArguments& of) {
  return takes_scales(of, of.dtype) && of.dtypes[0] == DType::f32 &&
         (of.dtype == DType::i8 || of.dtype == DType::u8);
}
bool accepts_dequantise(const TileArguments& of) {
  return takes_scales(of, of.dtypes[0]) && of.dtype == DType::f32 && integer_of(of.dtypes[0]);
}
// run(scales, first, count): x is one element where it is repeated.
template <class Run>
void each_scaled(const TileArguments& at, DType integers, const Run& run) {
  const vector::Scales scales = scales_of(at);
  if (at.steps[0] == 1 || at.count == 1) return run(scales, 0, at.count);
  for (int64_t i = 0; i < at.count; ++i) run(scales_at(scales, i, integers), i, 1);
}
void tile_quantise(const CpuEngine& engine, const TileArguments& at) {
  each_scaled(at, at.dtype, [&](const vector::Scales& scales, int64_t first, int64_t count) {
    engine.bytes.quantise(at.floats(0), scales, *integer_of(at.dtype),
                          static_cast<std::byte*>(at.y) + first, count);
  });
}
void tile_dequantise(const CpuEngine& engine, const TileArguments& at) {
  each_scaled(at, at.dtypes[0], [&](const vector::Scales& scales, int64_t first, int64_t count) {
    engine.bytes.dequantise(*integer_of(at.dtypes[0]), at.x[0], scales, at.results() + first,
                            count);
  });
}
// Of the operands of dequantise, and the scale and zero point of quantise.
void tile_requantise(const CpuEngine& engine, const TileArguments& at) {
  constexpr size_t kScale = 3;
  const vector::Scales to = scales_of(at, kScale);
  each_scaled(at, at.dtypes[0], [&](const vector::Scales& of, int64_t first, int64_t count) {
    engine.bytes.requantise(*integer_of(at.dtypes[0]), at.x[0], of, *integer_of(at.dtype),
                            count == at.count ? to : scales_at(to, first, at.dtype),
                            static_cast<std::byte*>(at.y) + first, count);
  });
}
bool accepts_cast(const TileArguments& /*dtypes*/) { return true; }
void tile_cast(const CpuEngine& engine, const TileArguments& at) {
  cast_elements(engine, at.dtypes[0], at.x[0], at.steps[0], at.dtype, at.y, at.count);
}
struct TileEntry {
  const char* op;
  TileOp::Run run;
  TileOp::Run run_on_sums = nullptr;
  TileOp::Known known = TileOp::Known::nothing;
  bool (*accepts)(const TileArguments&) = nullptr;
  TileOp::Run run_joined = nullptr;
};
// Their results are numbers that an operand has, or its dtype has as well.
constexpr std::string_view kExactOps[] = {"abs", "max", "min", "neg", "relu"};

constexpr TileEntry kTileOps[] = {
    {"abs", tile_unary<&Elementwise::abs>},
    {"add", tile_binary<Binary::add>, nullptr, TileOp::Known::sum},
    {"cast", tile_cast, nullptr, TileOp::Known::nothing, accepts_cast},
    {"ceil", tile_unary<&Elementwise::ceil>},
    {"celu", tile_shaped<&Elementwise::celu, 1>},
    {"clip", tile_shaped<&Elementwise::clamp, 2>, nullptr, TileOp::Known::clip},
    {"cos", tile_unary<&Elementwise::cos>},
    {"dequantise", tile_dequantise, nullptr, TileOp::Known::dequantise, accepts_dequantise},
    {"div", tile_binary<Binary::div>},
    {"elu", tile_shaped<&Elementwise::elu, 1>},
    {"eq", tile_binary<Binary::eq>},
    {"erf", tile_unary<&Elementwise::erf>},
    {"exp", tile_unary<&Elementwise::exp>},
    {"expm1", tile_unary<&Elementwise::expm1>},
    {"floor", tile_unary<&Elementwise::floor>},
    {"ge", tile_binary<Binary::ge>},
    {"gelu", tile_unary<&Elementwise::gelu>, tile_unary<&Elementwise::gelu_quick>},
    {"gelu_tanh", tile_unary<&Elementwise::gelu_tanh>},
    {"gt", tile_binary<Binary::gt>},
    {"hard_sigmoid", tile_shaped<&Elementwise::hard_sigmoid, 2>},
    {"hard_swish", tile_unary<&Elementwise::hard_swish>},
    {"le", tile_binary<Binary::le>},
    {"leaky_relu", tile_shaped<&Elementwise::leaky_relu, 1>},
    {"log", tile_unary<&Elementwise::log>},
    {"log1p", tile_unary<&Elementwise::log1p>},
    {"lt", tile_binary<Binary::lt>},
    {"max", tile_binary<Binary::max>},
    {"min", tile_binary<Binary::min>},
    {"mish", tile_unary<&Elementwise::mish>},
    {"mul", tile_binary<Binary::mul>},
    {"ne", tile_binary<Binary::ne>},
    {"neg", tile_unary<&Elementwise::neg>},
    {"pow", tile_pow},
    {"quantise", tile_quantise, nullptr, TileOp::Known::quantise, accepts_quantise,
     tile_requantise},
    {"reciprocal", tile_unary<&Elementwise::reciprocal>},
    {"relu", tile_unary<&Elementwise::relu>, nullptr, TileOp::Known::relu},
    {"round", tile_unary<&Elementwise::round>},
    {"rsqrt", tile_unary<&Elementwise::rsqrt>},
    {"selu", tile_shaped<&Elementwise::selu, 2>},
    {"sigmoid", tile_unary<&Elementwise::sigmoid>},
    {"sign", tile_unary<&Elementwise::sign>},
    {"silu", tile_unary<&Elementwise::silu>},
    {"sin", tile_unary<&Elementwise::sin>},
    {"softplus", tile_unary<&Elementwise::softplus>},
    {"softsign", tile_unary<&Elementwise::softsign>},
    {"sqrt", tile_unary<&Elementwise::sqrt>},
    {"sub", tile_binary<Binary::sub>},
    {"tanh", tile_unary<&Elementwise::tanh>},
    {"where", tile_choose},
};

}  // namespace

bool is_tile_op_of_numbers(std::string_view op) {
  return std::any_of(std::begin(kTileOps), std::end(kTileOps),
                     [&](const TileEntry& entry) { return entry.accepts && op == entry.op; });
}

TileOps tile_ops(const image::Implementations& others) {
  TileOps ops;
  for (const auto& [name, list] : others)
    for (const image::Implementation& each : list)
      if (each.scalar) ops[name].scalar = each.scalar;
  for (const TileEntry& entry : kTileOps) {
    TileOp& op = ops[entry.op];
    op.run = entry.run;
    op.run_on_sums = entry.run_on_sums;
    op.run_joined = entry.run_joined;
    op.known = entry.known;
    op.accepts = entry.accepts;
    op.is_exact =
        std::find(std::begin(kExactOps), std::end(kExactOps), entry.op) != std::end(kExactOps);
  }
  return ops;
}

}  // namespace rlx::detail
