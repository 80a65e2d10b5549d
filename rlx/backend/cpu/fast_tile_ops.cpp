#include <cmath>

#include "rlx/backend/cpu/fast_tables.h"

namespace rlx::detail {
namespace {

using vector::Binary, vector::Elementwise;

// What tiles are computed with.
template <vector::Elementwise::Function vector::Elementwise::*function>
void tile_unary(const vector::Elementwise& functions, const TileArguments& at) {
  (functions.*function)(at.x[0], at.y, at.count);
}
template <vector::Binary how>
void tile_binary(const vector::Elementwise& functions, const TileArguments& at) {
  functions.combine(how, at.x[0], at.steps[0], at.x[1], at.steps[1], at.y, at.count);
}
template <vector::Elementwise::Shaped vector::Elementwise::*function, int params>
void tile_shaped(const vector::Elementwise& functions, const TileArguments& at) {
  const double second = params > 1 ? at.params[1] : 0;
  (functions.*function)(at.x[0], static_cast<float>(at.params[0]), static_cast<float>(second), at.y,
                        at.count);
}
// Squares are what models write as powers.
void tile_pow(const vector::Elementwise& functions, const TileArguments& at) {
  if (at.steps[1] == 0 && *at.x[1] == 2.0f && at.steps[0] == (at.count > 1))
    return functions.square(at.x[0], at.y, at.count);
  for (int64_t i = 0; i < at.count; ++i)
    at.y[i] = std::pow(at.x[0][i * at.steps[0]], at.x[1][i * at.steps[1]]);
}
struct TileEntry {
  const char* op;
  TileOp::Run run;
  TileOp::Run run_on_sums = nullptr;
  TileOp::Known known = TileOp::Known::nothing;
};

constexpr TileEntry kTileOps[] = {
    {"abs", tile_unary<&Elementwise::abs>},
    {"add", tile_binary<Binary::add>, nullptr, TileOp::Known::sum},
    {"clip", tile_shaped<&Elementwise::clamp, 2>, nullptr, TileOp::Known::clip},
    {"cos", tile_unary<&Elementwise::cos>},
    {"div", tile_binary<Binary::div>},
    {"erf", tile_unary<&Elementwise::erf>},
    {"exp", tile_unary<&Elementwise::exp>},
    {"gelu", tile_unary<&Elementwise::gelu>, tile_unary<&Elementwise::gelu_quick>},
    {"gelu_tanh", tile_unary<&Elementwise::gelu_tanh>},
    {"hard_sigmoid", tile_shaped<&Elementwise::hard_sigmoid, 2>},
    {"hard_swish", tile_unary<&Elementwise::hard_swish>},
    {"leaky_relu", tile_shaped<&Elementwise::leaky_relu, 1>},
    {"log", tile_unary<&Elementwise::log>},
    {"max", tile_binary<Binary::max>},
    {"min", tile_binary<Binary::min>},
    {"mul", tile_binary<Binary::mul>},
    {"neg", tile_unary<&Elementwise::neg>},
    {"pow", tile_pow},
    {"reciprocal", tile_unary<&Elementwise::reciprocal>},
    {"relu", tile_unary<&Elementwise::relu>, nullptr, TileOp::Known::relu},
    {"sigmoid", tile_unary<&Elementwise::sigmoid>},
    {"silu", tile_unary<&Elementwise::silu>},
    {"sin", tile_unary<&Elementwise::sin>},
    {"sqrt", tile_unary<&Elementwise::sqrt>},
    {"sub", tile_binary<Binary::sub>},
    {"tanh", tile_unary<&Elementwise::tanh>},
};

}  // namespace

TileOps tile_ops(const image::Implementations& others) {
  TileOps ops;
  for (const auto& [name, list] : others)
    for (const image::Implementation& each : list)
      if (each.scalar) ops[name].scalar = each.scalar;
  for (const TileEntry& entry : kTileOps) {
    TileOp& op = ops[entry.op];
    op.run = entry.run;
    op.run_on_sums = entry.run_on_sums;
    op.known = entry.known;
  }
  return ops;
}

}  // namespace rlx::detail
