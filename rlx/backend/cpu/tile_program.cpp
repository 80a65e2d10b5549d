#include "rlx/backend/cpu/tile_program.h"

#include <algorithm>
#include <cstring>

namespace rlx::detail {
namespace {

constexpr int64_t kScratch = 4096, kLongest = 1024;  // floats: of all slots, and of one

int64_t length_of(size_t slots) {
  return std::clamp<int64_t>(kScratch / static_cast<int64_t>(slots), 16, kLongest);
}

}  // namespace

TileProgram::TileProgram(const image::Tile& tile, const TileOps& ops, CpuEnginePtr engine)
    : engine_(std::move(engine)), stores_(tile.stores) {
  for (const image::Tile::Instruction& given : tile.code) {
    Instruction& made = code_.emplace_back();
    if (given.op == image::Tile::kNumber) {
      made.kind = Instruction::Kind::number;
      made.number = static_cast<float>(given.params[0]);
    } else if (given.op == image::Tile::kLoad || given.op == image::Tile::kResult) {
      made.kind = Instruction::Kind::memory;
      made.place = inputs_.size();
      inputs_.push_back(given.op == image::Tile::kLoad ? given.operands[0] : -1);
    } else {
      const auto found = ops.find(given.op);
      if (found == ops.end())
        fail(ErrorKind::unsupported, "there is no implementation of '", given.op,
             "' on single elements");
      made.op = found->second;
      if (tile.has_anchor() && made.op.run_on_sums) made.op.run = made.op.run_on_sums;
      made.operands = given.operands;
      made.params = given.params;
    }
  }
  // The op's result lies where the first result of the call will: it is kept aside where it is a
  // result itself.
  const bool kept = std::count(stores_.begin(), stores_.end(), 0) != 0;
  code_[0].copied = tile.has_anchor() && kept && stores_.size() > 1;
  const auto last = static_cast<int32_t>(code_.size()) - 1;
  stores_last_ =
      stores_.size() == 1 && stores_[0] == last && code_.back().kind == Instruction::Kind::compute;
  moves_.resize(inputs_.size());
  results_.resize(stores_.size());
  has_op_ = tile.has_anchor();
  if (has_op_) find_sum();
  make_slots();
}

// The instruction that alone reads a register which is no result; -1: there is none such.
int32_t TileProgram::only_reader(int32_t value) const {
  if (std::count(stores_.begin(), stores_.end(), value) != 0) return -1;
  int32_t reader = -1;
  for (size_t i = 0; i < code_.size(); ++i) {
    const std::vector<int32_t>& operands = code_[i].operands;
    const auto reads = std::count(operands.begin(), operands.end(), value);
    if (reads == 0) continue;
    if (reads > 1 || reader >= 0) return -1;
    reader = static_cast<int32_t>(i);
  }
  // Passed on, its result lies where the first result will: it cannot be another one.
  const bool stored = std::count(stores_.begin(), stores_.end(), reader) != 0;
  return stored && stores_.size() > 1 ? -1 : reader;
}

// The op's result is read by an addition of what is in memory.
void TileProgram::find_sum() {
  const int32_t reader = only_reader(0);
  if (reader < 0 || code_[static_cast<size_t>(reader)].op.known != TileOp::Known::sum) return;
  const std::vector<int32_t>& operands = code_[static_cast<size_t>(reader)].operands;
  const auto other = static_cast<size_t>(operands[0] == 0 ? operands[1] : operands[0]);
  if (code_[other].kind == Instruction::Kind::memory) sum_ = reader;
}

TileProgram::Start TileProgram::take_start() {
  if (sum_ < 0) return {};
  Instruction& sum = code_[static_cast<size_t>(sum_)];
  const auto other = static_cast<size_t>(sum.operands[0] == 0 ? sum.operands[1] : sum.operands[0]);
  const Moves& moves = moves_[code_[other].place];
  const bool is_taken = moves.column == 1 && loops_ <= 1;
  sum.passes_on = is_taken;
  idle_ = is_taken && stores_.size() == 1 && stores_[0] == sum_;
  if (!is_taken) return {};
  return {moves.data, loops_ == 0 ? 0 : moves.loops[0]};
}

TileProgram::Limits TileProgram::take_limits() {
  const bool behind_sum = sum_ >= 0 && code_[static_cast<size_t>(sum_)].passes_on;
  const int32_t reader = has_op_ ? only_reader(behind_sum ? sum_ : 0) : -1;
  if (reader < 0) return {};
  Instruction& cut = code_[static_cast<size_t>(reader)];
  if (cut.op.known != TileOp::Known::relu && cut.op.known != TileOp::Known::clip) return {};
  cut.passes_on = true;
  idle_ = stores_.size() == 1 && stores_[0] == reader;
  if (cut.op.known == TileOp::Known::relu) return {.low = 0};
  return {static_cast<float>(cut.params[0]), static_cast<float>(cut.params[1])};
}

// A tile has its slot until it was read last.
void TileProgram::make_slots() {
  std::vector<size_t> last(code_.size());
  for (size_t i = 0; i < code_.size(); ++i) {
    last[i] = i;
    for (const int32_t operand : code_[i].operands) last[static_cast<size_t>(operand)] = i;
  }
  for (const int32_t stored : stores_) last[static_cast<size_t>(stored)] = code_.size();
  if (has_op_) last[0] = code_.size();  // others may pass its tile on
  std::vector<size_t> free_after;       // by slot: the instruction that reads it last
  for (size_t i = 0; i < code_.size(); ++i) {
    if (code_[i].kind == Instruction::Kind::number) continue;
    // The result may be written over an operand.
    const auto found =
        std::find_if(free_after.begin(), free_after.end(), [&](size_t end) { return end <= i; });
    code_[i].slot = static_cast<size_t>(found - free_after.begin());
    if (found == free_after.end()) free_after.push_back(0);
    free_after[code_[i].slot] = std::max(last[i], i + 1);
  }
  slots_ = std::max<size_t>(free_after.size(), 1);
}

bool TileProgram::place(const image::CallSite& site, size_t axis) {
  const bool strided = !site.stored.empty();
  const Shape& shape = strided ? site.stored[0].shape : site.results[0].shape();
  const size_t axes = shape.size();
  if (axes > kMostLoops) return false;
  using Strides = std::array<int64_t, kMostLoops>;
  const auto row_major = [&] {
    Strides strides = {};
    int64_t step = 1;
    for (size_t d = axes; d-- > 0; step *= shape[d]) strides[d] = step;
    return strides;
  };
  const auto given = [&](const Shape& from) {
    Strides strides = {};
    std::copy(from.begin(), from.end(), strides.begin());
    return strides;
  };
  std::array<Strides, image::Tile::kMostResults> stored = {};
  for (size_t r = 0; r < results_.size(); ++r) {
    Tensor& result = const_cast<Tensor&>(site.results[r]);
    if (result.dtype() != DType::f32) return false;
    results_[r].data = result.count() == 0 ? nullptr : result.mutable_data<float>().data();
    stored[r] = strided ? given(site.stored[r].strides) : row_major();
  }
  std::array<size_t, kMostLoops> order = {};
  size_t count = 0;
  for (size_t d = 0; d < axes; ++d)
    if (d != axis) order[count++] = d;
  std::sort(order.begin(), order.begin() + static_cast<int64_t>(count), [&](size_t a, size_t b) {
    return stored[0][a] > stored[0][b] || (stored[0][a] == stored[0][b] && a < b);
  });
  if (axis != kNoAxis) order[count++] = axis;

  for (size_t p = 0; p < moves_.size(); ++p) {
    if (inputs_[p] < 0) {
      moves_[p].data = results_[0].data;
      continue;
    }
    const image::Argument& x = site.inputs[static_cast<size_t>(inputs_[p])];
    if (!x.present || x.tensor.dtype() != DType::f32 || x.shape != shape) return false;
    moves_[p].data = const_cast<float*>(x.tensor.count() == 0 ? nullptr : floats_of(x));
  }
  // Steps of everything that moves along an axis of the results.
  const auto step_of = [&](size_t mover, size_t d) {
    if (mover >= moves_.size()) return stored[mover - moves_.size()][d];
    if (inputs_[mover] < 0) return stored[0][d];
    const image::Argument& x = site.inputs[static_cast<size_t>(inputs_[mover])];
    return x.is_view ? x.strides[d] : row_major()[d];
  };
  const size_t movers = moves_.size() + results_.size();
  const auto moves_of = [&](size_t mover) -> Moves& {
    return mover < moves_.size() ? moves_[mover] : results_[mover - moves_.size()];
  };
  // Neighbours through which all run on become one loop, but for the columns of an op.
  loops_ = 0;
  const size_t fixed = axis == kNoAxis ? 0 : 1;
  for (size_t i = 0; i + fixed < count; ++i) {
    const size_t d = order[i];
    if (shape[d] == 1) continue;
    bool runs_on = loops_ > 0;
    for (size_t m = 0; m < movers && runs_on; ++m)
      runs_on = moves_of(m).loops[loops_ - 1] == step_of(m, d) * shape[d];
    if (!runs_on) extents_[loops_++] = 1;
    extents_[loops_ - 1] *= shape[d];
    for (size_t m = 0; m < movers; ++m) moves_of(m).loops[loops_ - 1] = step_of(m, d);
  }
  columns_ = 1;
  for (size_t m = 0; m < movers; ++m) moves_of(m).column = 0;
  if (axis != kNoAxis) {
    columns_ = shape[axis];
    for (size_t m = 0; m < movers; ++m) moves_of(m).column = step_of(m, axis);
  } else if (loops_ > 0) {
    columns_ = extents_[--loops_];
    for (size_t m = 0; m < movers; ++m) moves_of(m).column = moves_of(m).loops[loops_];
  }
  rows_ = 1;
  for (size_t i = 0; i < loops_; ++i) rows_ *= extents_[i];
  return true;
}

int64_t TileProgram::offset(const Moves& moves, int64_t row) const {
  int64_t at = 0;
  for (size_t i = loops_; i-- > 1; row /= extents_[i]) at += row % extents_[i] * moves.loops[i];
  return loops_ == 0 ? 0 : at + row * moves.loops[0];
}

// Do the elements of the rows lie end to end?
bool TileProgram::is_contiguous(const Moves& moves, vector::Range rows,
                                vector::Range columns) const {
  if (moves.column != 1) return false;
  return rows.count() == 1 || (loops_ == 1 && moves.loops[0] == columns.count());
}

TileProgram::Register TileProgram::read(const Moves& from, const Instruction& each,
                                        vector::Range rows, vector::Range columns,
                                        float* buffer) const {
  const float* first = from.data + offset(from, rows.begin) + columns.begin * from.column;
  if (!each.copied) {
    if (is_contiguous(from, rows, columns)) return {first, 1};
    const bool one_row = rows.count() == 1 || loops_ == 0 || (loops_ == 1 && from.loops[0] == 0);
    if (from.column == 0 && one_row) return {first, 0};
  }
  const auto width = static_cast<size_t>(columns.count());
  float* to = buffer;
  for (int64_t row = rows.begin; row < rows.end; ++row, to += width) {
    const float* x = from.data + offset(from, row) + columns.begin * from.column;
    if (from.column == 1)
      std::memcpy(to, x, width * sizeof(float));
    else if (from.column == 0)
      std::fill_n(to, width, *x);
    else
      for (size_t i = 0; i < width; ++i) to[i] = x[static_cast<int64_t>(i) * from.column];
  }
  return {buffer, 1};
}

void TileProgram::write(const Moves& to, const Register& from, vector::Range rows,
                        vector::Range columns) const {
  const float* x = from.data;
  const auto width = static_cast<size_t>(columns.count());
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    float* y = to.data + offset(to, row) + columns.begin * to.column;
    if (from.step == 0)
      for (size_t i = 0; i < width; ++i) y[static_cast<int64_t>(i) * to.column] = *x;
    else if (to.column == 1)
      std::memmove(y, x, width * sizeof(float));
    else
      for (size_t i = 0; i < width; ++i) y[static_cast<int64_t>(i) * to.column] = x[i];
    x += from.step * columns.count();
  }
}

TileProgram::Register TileProgram::compute(const Instruction& each, const Register* registers,
                                           float* y, int64_t count) const {
  TileArguments arguments{.params = each.params.data(), .y = y};
  int64_t step = 0;
  for (size_t k = 0; k < each.operands.size(); ++k) {
    const Register& operand = registers[each.operands[k]];
    arguments.x[k] = operand.data;
    arguments.steps[k] = operand.step;
    step |= operand.step;
  }
  arguments.count = step == 0 ? 1 : count;  // the same number again and again
  if (each.op.run) {
    each.op.run(engine_->elementwise, arguments);
    return {y, step};
  }
  // The result may be written over an operand: what is read again and again is read before.
  std::array<double, 3> x = {};
  for (size_t k = 0; k < each.operands.size(); ++k) x[k] = static_cast<double>(*arguments.x[k]);
  for (int64_t i = 0; i < arguments.count; ++i) {
    for (size_t k = 0; k < each.operands.size(); ++k)
      if (arguments.steps[k] != 0) x[k] = static_cast<double>(arguments.x[k][i]);
    y[i] = static_cast<float>(each.op.scalar(x.data(), arguments.params));
  }
  return {y, step};
}

void TileProgram::run_piece(vector::Range rows, vector::Range columns, float* scratch) const {
  std::array<Register, image::Tile::kMostRegisters> registers;
  const int64_t count = rows.count() * columns.count(), length = length_of(slots_);
  for (size_t i = 0; i < code_.size(); ++i) {
    const Instruction& each = code_[i];
    float* buffer = scratch + static_cast<int64_t>(each.slot) * length;
    switch (each.kind) {
      case Instruction::Kind::number:
        registers[i] = {&each.number, 0};
        break;
      case Instruction::Kind::memory:
        registers[i] = read(moves_[each.place], each, rows, columns, buffer);
        break;
      case Instruction::Kind::compute: {
        if (each.passes_on) {
          registers[i] = registers[0];  // as all before it
          break;
        }
        const bool is_last = stores_last_ && i + 1 == code_.size();
        const bool direct = is_last && is_contiguous(results_[0], rows, columns);
        float* y =
            direct ? results_[0].data + offset(results_[0], rows.begin) + columns.begin : buffer;
        registers[i] = compute(each, registers.data(), y, count);
        if (direct && registers[i].step == 1) return;
      }
    }
  }
  for (size_t r = 0; r < stores_.size(); ++r)
    write(results_[r], registers[static_cast<size_t>(stores_[r])], rows, columns);
}

void TileProgram::run(vector::Range rows, vector::Range columns) const {
  alignas(64) float scratch[kScratch];
  const int64_t length = length_of(slots_), width = columns.count();
  if (width <= 0) return;
  // Rows that do not lie end to end would be copied together: long ones are taken one by one.
  constexpr int64_t kLong = 256;
  const bool apart = !results_.empty() && !is_contiguous(results_[0], rows, columns);
  const int64_t height = apart && width >= kLong ? 1 : std::max<int64_t>(1, length / width);
  for (int64_t row = rows.begin; row < rows.end; row += height)
    for (int64_t column = columns.begin; column < columns.end; column += length)
      run_piece({row, std::min(row + height, rows.end)},
                {column, std::min(column + length, columns.end)}, scratch);
}

void TileProgram::run_all() const {
  if (rows_ == 0 || columns_ == 0) return;
  const auto grain = CpuEngine::kGrain;
  if (rows_ == 1) {
    engine_->team.run(columns_, grain, [&](int64_t begin, int64_t end) {
      run({0, 1}, {begin, end});
    });
    return;
  }
  engine_->team.run(rows_, grain / columns_ + 1, [&](int64_t begin, int64_t end) {
    run({begin, end}, {0, columns_});
  });
}

std::unique_ptr<image::CallKernel> elements_kernel(const image::Call& call, const TileOps& ops,
                                                   CpuEnginePtr engine) {
  return make_kernel([program = std::make_shared<TileProgram>(call.tile, ops, std::move(engine))](
                         image::CallSite& site) {
    if (!program->place(site)) return false;
    program->run_all();
    return true;
  });
}

}  // namespace rlx::detail
