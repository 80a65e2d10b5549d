// Runs a tile program: finds where operands and results lie, and computes pieces that stay in the
// first cache.
#include <algorithm>
#include <cstring>

#include "rlx/backend/cpu/tile_program.h"

namespace rlx::detail {
namespace {

constexpr int64_t kScratch = 4096, kLongest = 1024;  // floats: of all slots, and of one

int64_t length_of(size_t slots) {
  return std::clamp<int64_t>(kScratch / static_cast<int64_t>(slots), 16, kLongest);
}

bool may_lie_as(DType memory, DType dtype) {
  return memory == dtype || (memory == DType::f32 && half_of(dtype));
}

// Elements `from_step` and `to_step` apart; a step of 0 reads one again and again.
template <class T>
void copy_each(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t count) {
  if (from_step == 0 && to_step == 1)
    std::fill_n(to, count, *from);
  else
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

void copy_strided(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                  int64_t count, int64_t width) {
  if (from_step == 1 && to_step == 1)
    std::memmove(to, from, static_cast<size_t>(count * width));
  else if (width == 1)
    copy_each(from, from_step, to, to_step, count);
  else if (width == 2)
    copy_each(reinterpret_cast<const uint16_t*>(from), from_step, reinterpret_cast<uint16_t*>(to),
              to_step, count);
  else
    copy_each(reinterpret_cast<const float*>(from), from_step, reinterpret_cast<float*>(to),
              to_step, count);
}

}  // namespace

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
    if (!may_lie_as(result.dtype(), code_[static_cast<size_t>(stores_[r])].dtype)) return false;
    results_[r].width = bytes_of(result.dtype());
    results_[r].half = half_of(result.dtype());
    results_[r].data = result.count() == 0 ? nullptr : result.mutable_bytes().data();
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

  for (const Instruction& each : code_) {
    if (each.kind != Instruction::Kind::memory) continue;
    Moves& moves = moves_[each.place];
    if (inputs_[each.place] < 0) {
      moves.width = bytes_of(is_f32_in_tiles(each.dtype) ? DType::f32 : each.dtype);
      moves.data = results_[0].data;
      continue;
    }
    const image::Argument& x = site.inputs[static_cast<size_t>(inputs_[each.place])];
    if (!x.present || !may_lie_as(x.tensor.dtype(), each.dtype) || x.shape != shape) return false;
    moves.width = bytes_of(x.tensor.dtype());
    moves.half = half_of(x.tensor.dtype());
    moves.is_truth = x.tensor.dtype() == DType::boolean;
    moves.data = const_cast<std::byte*>(x.tensor.count() == 0 ? nullptr : bytes_of(x));
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
  repeated_ = {};
  repeated_height_ = 0;
  if (columns_ == 0 || rows_ == 0) return true;
  const Piece whole{{0, rows_}, {0, columns_}};
  if (const int64_t height = height_of(whole); height > 1 && rows_ > height) {
    rows_again_.resize(kMostRepeated * kLongest);
    repeat_rows(whole, height, rows_again_.data(), repeated_);
    repeated_height_ = height;
  }
  return true;
}

int64_t TileProgram::offset(const Moves& moves, int64_t row) const {
  int64_t at = 0;
  for (size_t i = loops_; i-- > 1; row /= extents_[i]) at += row % extents_[i] * moves.loops[i];
  return loops_ == 0 ? 0 : at + row * moves.loops[0];
}

// Do the elements of the rows lie end to end?
bool TileProgram::is_contiguous(const Moves& moves, const Piece& piece) const {
  if (moves.column != 1) return false;
  return piece.rows.count() == 1 || (loops_ == 1 && moves.loops[0] == piece.columns.count());
}

TileProgram::Register TileProgram::read(const Moves& from, const Instruction& each,
                                        const Piece& piece, std::byte* buffer) const {
  if (from.half) return read_half(from, piece, buffer);
  if (from.is_truth) return read_truth(from, piece, buffer);
  const auto& [rows, columns] = piece;
  if (!each.copied) {
    const std::byte* all = first(from, rows.begin, columns.begin);
    if (is_contiguous(from, piece)) return {all, 1};
    const bool one_row = rows.count() == 1 || loops_ == 0 || (loops_ == 1 && from.loops[0] == 0);
    if (from.column == 0 && one_row) return {all, 0};
  }
  std::byte* to = buffer;
  for (int64_t row = rows.begin; row < rows.end; ++row, to += columns.count() * from.width)
    copy_strided(first(from, row, columns.begin), from.column, to, 1, columns.count(), from.width);
  return {buffer, 1};
}

TileProgram::Register TileProgram::read_half(const Moves& from, const Piece& piece,
                                             std::byte* buffer) const {
  const auto& [rows, columns] = piece;
  const auto widen = [&](const void* x, float* to, int64_t count) {
    engine_->elementwise.widen(*from.half, x, to, count);
  };
  auto* to = reinterpret_cast<float*>(buffer);
  const std::byte* all = first(from, rows.begin, columns.begin);
  const bool one_row = rows.count() == 1 || loops_ == 0 || (loops_ == 1 && from.loops[0] == 0);
  if (from.column == 0 && one_row) {
    widen(all, to, 1);
    return {buffer, 0};
  }
  if (is_contiguous(from, piece)) {
    widen(all, to, rows.count() * columns.count());
    return {buffer, 1};
  }
  std::array<uint16_t, kLongest> gathered;
  for (int64_t row = rows.begin; row < rows.end; ++row, to += columns.count()) {
    const std::byte* x = first(from, row, columns.begin);
    if (from.column != 1) {
      copy_each(reinterpret_cast<const uint16_t*>(x), from.column, gathered.data(), 1,
                columns.count());
      x = reinterpret_cast<const std::byte*>(gathered.data());
    }
    widen(x, to, columns.count());
  }
  return {buffer, 1};
}

TileProgram::Register TileProgram::read_truth(const Moves& from, const Piece& piece,
                                              std::byte* buffer) const {
  const auto& [rows, columns] = piece;
  auto* to = reinterpret_cast<float*>(buffer);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const std::byte* x = first(from, row, columns.begin);
    for (int64_t i = 0; i < columns.count(); ++i)
      *to++ = x[i * from.column] != std::byte{0} ? 1.0f : 0.0f;
  }
  return {buffer, 1};
}

TileProgram::Register TileProgram::rounded(const Instruction& each, const Register& x,
                                           std::byte* buffer, int64_t count) const {
  const vector::Element half = *half_of(each.dtype);
  std::array<uint16_t, kLongest> narrow;
  const int64_t elements = x.step == 0 ? 1 : count;
  engine_->elementwise.narrow(reinterpret_cast<const float*>(x.data), half, narrow.data(),
                              elements);
  engine_->elementwise.widen(half, narrow.data(), reinterpret_cast<float*>(buffer), elements);
  return {buffer, x.step};
}

void TileProgram::write_half(const Moves& to, const Register& from, const Piece& piece) const {
  const auto& [rows, columns] = piece;
  const auto* x = reinterpret_cast<const float*>(from.data);
  const auto narrow = [&](void* y, int64_t count) {
    engine_->elementwise.narrow(x, *to.half, y, count);
  };
  if (from.step == 1 && is_contiguous(to, piece))
    return narrow(first(to, rows.begin, columns.begin), rows.count() * columns.count());
  std::array<uint16_t, kLongest> narrowed;
  for (int64_t row = rows.begin; row < rows.end; ++row, x += from.step * columns.count()) {
    auto* y = reinterpret_cast<uint16_t*>(first(to, row, columns.begin));
    if (from.step == 1 && to.column == 1) {
      narrow(y, columns.count());
      continue;
    }
    narrow(narrowed.data(), from.step == 0 ? 1 : columns.count());
    copy_each(narrowed.data(), from.step, y, to.column, columns.count());
  }
}

TileProgram::Register TileProgram::read_block(const TileBlock& block, int64_t width,
                                              const Piece& piece, const Piece& whole,
                                              std::byte* buffer) {
  const vector::Range rows = piece.rows, columns = piece.columns;
  const auto at = [&](int64_t row) {
    return static_cast<const std::byte*>(block.data) +
           ((row - whole.rows.begin) * block.row + columns.begin - whole.columns.begin) * width;
  };
  if (rows.count() == 1 || block.row == columns.count()) return {at(rows.begin), 1};
  std::byte* to = buffer;
  for (int64_t row = rows.begin; row < rows.end; ++row, to += columns.count() * width)
    copy_strided(at(row), 1, to, 1, columns.count(), width);
  return {buffer, 1};
}

void TileProgram::write(const Moves& to, const Register& from, const Piece& piece) const {
  if (to.half) return write_half(to, from, piece);
  const auto& [rows, columns] = piece;
  const std::byte* x = from.data;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    copy_strided(x, from.step, first(to, row, columns.begin), to.column, columns.count(), to.width);
    x += from.step * columns.count() * to.width;
  }
}

TileProgram::Register TileProgram::compute(const Instruction& each, const Register* registers,
                                           std::byte* y, int64_t count) const {
  TileArguments arguments = each.arguments;
  arguments.y = y;
  int64_t step = 0;
  for (size_t k = 0; k < each.operands.size(); ++k) {
    const Register& operand = registers[each.operands[k]];
    arguments.x[k] = operand.data;
    arguments.steps[k] = operand.step;
    step |= operand.step;
  }
  arguments.count = step == 0 ? 1 : count;  // the same number again and again
  if (each.op.run) {
    each.op.run(*engine_, arguments);
    return {y, step};
  }
  // The result may be written over an operand: what is read again and again is read before.
  std::array<double, TileArguments::kMost> x = {};
  for (size_t k = 0; k < each.operands.size(); ++k)
    x[k] = static_cast<double>(*arguments.floats(k));
  for (int64_t i = 0; i < arguments.count; ++i) {
    for (size_t k = 0; k < each.operands.size(); ++k)
      if (arguments.steps[k] != 0) x[k] = static_cast<double>(arguments.floats(k)[i]);
    arguments.results()[i] = static_cast<float>(each.op.scalar(x.data(), arguments.params));
  }
  return {y, step};
}

void TileProgram::run_piece(const Piece& piece, const Piece& whole, const TileBlock& block,
                            const Repeated& repeated, float* scratch) const {
  std::array<Register, image::Tile::kMostRegisters> registers;
  const auto& [rows, columns] = piece;
  const int64_t count = rows.count() * columns.count(), length = length_of(slots_);
  for (size_t i = 0; i < code_.size(); ++i) {
    const Instruction& each = code_[i];
    auto* buffer = reinterpret_cast<std::byte*>(scratch + static_cast<int64_t>(each.slot) * length);
    switch (each.kind) {
      case Instruction::Kind::nothing:
        break;
      case Instruction::Kind::number:
        registers[i] = {each.number.data(), 0};
        break;
      case Instruction::Kind::memory:
        registers[i] = repeated[i] ? Register{repeated[i], 1}
                       : block.data && inputs_[each.place] < 0
                           ? read_block(block, moves_[each.place].width, piece, whole, buffer)
                           : read(moves_[each.place], each, piece, buffer);
        if (each.rounds) registers[i] = rounded(each, registers[i], buffer, count);
        break;
      case Instruction::Kind::compute: {
        if (each.passes_on) {
          registers[i] = registers[0];  // as all before it
          break;
        }
        const bool is_last = stores_last_ && i + 1 == code_.size();
        const bool direct = is_last && !results_[0].half && is_contiguous(results_[0], piece);
        std::byte* y = direct ? first(results_[0], rows.begin, columns.begin) : buffer;
        registers[i] = compute(each, registers.data(), y, count);
        if (each.rounds) registers[i] = rounded(each, registers[i], y, count);
        if (direct && registers[i].step == 1) return;
      }
    }
  }
  for (size_t r = 0; r < stores_.size(); ++r)
    write(results_[r], registers[static_cast<size_t>(stores_[r])], piece);
}

// How many rows are a piece.
int64_t TileProgram::height_of(const Piece& whole) const {
  // Rows that do not lie end to end would be copied together: long ones are taken one by one.
  constexpr int64_t kLong = 256;
  const int64_t width = whole.columns.count();
  const bool apart = !results_.empty() && !is_contiguous(results_[0], whole);
  return apart && width >= kLong ? 1 : std::max<int64_t>(1, length_of(slots_) / width);
}

void TileProgram::run(vector::Range rows, vector::Range columns, const TileBlock& block) const {
  alignas(64) float scratch[kScratch];
  if (columns.count() <= 0) return;
  const Piece whole{rows, columns};
  const int64_t length = length_of(slots_), height = height_of(whole);
  alignas(64) float rows_again[kMostRepeated * kLongest];
  Repeated own;
  const bool known = height == repeated_height_ && columns.count() == columns_;
  if (!known) own.fill(nullptr);
  if (!known && height > 1 && rows.count() > height) repeat_rows(whole, height, rows_again, own);
  const Repeated& repeated = known ? repeated_ : own;
  for (int64_t row = rows.begin; row < rows.end; row += height)
    for (int64_t column = columns.begin; column < columns.end; column += length)
      run_piece({{row, std::min(row + height, rows.end)},
                 {column, std::min(column + length, columns.end)}},
                whole, block, repeated, scratch);
}

// Operands that are the same for all rows are laid out once for as many rows as a piece has.
void TileProgram::repeat_rows(const Piece& whole, int64_t height, float* to,
                              Repeated& repeated) const {
  size_t made = 0;
  for (size_t i = 0; i < code_.size() && made < kMostRepeated; ++i) {
    if (code_[i].kind != Instruction::Kind::memory || inputs_[code_[i].place] < 0) continue;
    const Moves& moves = moves_[code_[i].place];
    const bool same = std::all_of(moves.loops.begin(), moves.loops.begin() + loops_,
                                  [](int64_t step) { return step == 0; });
    if (!same || moves.column != 1) continue;
    const Piece piece{{whole.rows.begin, whole.rows.begin + height}, whole.columns};
    auto* buffer = reinterpret_cast<std::byte*>(to + static_cast<int64_t>(made++) * kLongest);
    repeated[i] = read(moves, code_[i], piece, buffer).data;
  }
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
