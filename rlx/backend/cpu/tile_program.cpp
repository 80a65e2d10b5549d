// What a tile becomes: instructions that know their vector code, what they round, and where they
// keep their numbers. tile_run.cpp runs them.
#include "rlx/backend/cpu/tile_program.h"

#include <algorithm>
#include <cstring>

namespace rlx::detail {
namespace {

std::array<std::byte, sizeof(float)> bits_of(double number, DType dtype) {
  std::array<std::byte, sizeof(float)> bits = {};
  const auto put = [&](auto value) { std::memcpy(bits.data(), &value, sizeof value); };
  const double whole = number == number ? std::clamp<double>(number, INT32_MIN, INT32_MAX) : 0;
  const auto integer = static_cast<int32_t>(whole);
  if (is_f32_in_tiles(dtype)) put(static_cast<float>(number));
  if (dtype == DType::i32) put(integer);
  if (dtype == DType::i8 || dtype == DType::u8) put(static_cast<uint8_t>(integer));
  return bits;
}

}  // namespace

TileProgram::TileProgram(const image::Tile& tile, const TileOps& ops, CpuEnginePtr engine,
                         bool of_sums)
    : engine_(std::move(engine)), stores_(tile.stores) {
  for (const image::Tile::Instruction& given : tile.code) {
    Instruction& made = code_.emplace_back();
    if (given.op == image::Tile::kNumber) {
      made.kind = Instruction::Kind::number;
      made.number = bits_of(given.params[0], given.dtype);
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
      if (of_sums && made.op.run_on_sums) made.op.run = made.op.run_on_sums;
      made.operands = given.operands;
      made.params = given.params;
    }
    made.dtype = given.dtype;
    check(made, given.op);
  }
  // The op's result lies where the first result of the call will: it is kept aside where it is a
  // result itself.
  const bool kept = std::count(stores_.begin(), stores_.end(), 0) != 0;
  code_[0].copied = tile.has_anchor() && kept && stores_.size() > 1;
  const auto last = static_cast<int32_t>(code_.size()) - 1;
  stores_last_ =
      stores_.size() == 1 && stores_[0] == last && code_.back().kind == Instruction::Kind::compute;
  join_numbers();
  moves_.resize(inputs_.size());
  results_.resize(stores_.size());
  has_op_ = tile.has_anchor();
  if (has_op_) find_sum();
  find_roundings();
  make_slots();
  for (Instruction& each : code_)
    if (each.kind == Instruction::Kind::compute) each.arguments = arguments_of(each);
}

TileArguments TileProgram::arguments_of(const Instruction& each) const {
  TileArguments arguments{
      .operands = each.operands.size(), .params = each.params.data(), .dtype = each.dtype};
  const auto in_tiles = [](DType dtype) { return is_f32_in_tiles(dtype) ? DType::f32 : dtype; };
  arguments.dtype = in_tiles(each.dtype);
  for (size_t k = 0; k < each.operands.size(); ++k)
    arguments.dtypes[k] = in_tiles(code_[static_cast<size_t>(each.operands[k])].dtype);
  return arguments;
}

void TileProgram::check(const Instruction& each, const std::string& name) const {
  if (each.kind != Instruction::Kind::compute) return;
  const TileArguments arguments = arguments_of(each);
  const auto end = arguments.dtypes.begin() + static_cast<int64_t>(arguments.operands);
  const bool floats =
      arguments.dtype == DType::f32 &&
      std::all_of(arguments.dtypes.begin(), end, [](DType dtype) { return dtype == DType::f32; });
  if (each.op.accepts ? !each.op.accepts(arguments) : !floats)
    fail(ErrorKind::unsupported, "there is no implementation of '", name,
         "' on single elements of ", joined(std::vector<DType>(arguments.dtypes.begin(), end)),
         " that gives ", each.dtype);
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

// Integers that become floats for nothing but to be integers again do so in registers.
void TileProgram::join_numbers() {
  for (Instruction& each : code_) {
    if (each.kind != Instruction::Kind::compute || each.op.known != TileOp::Known::quantise)
      continue;
    const int32_t floats = each.operands[0];
    Instruction& before = code_[static_cast<size_t>(floats)];
    const bool joins = before.kind == Instruction::Kind::compute &&
                       before.op.known == TileOp::Known::dequantise && only_reader(floats) >= 0 &&
                       before.operands.size() == 3 &&
                       before.dtype == DType::f32;  // what is narrower rounds
    if (!joins) continue;
    std::vector<int32_t> operands = std::move(before.operands);
    operands.insert(operands.end(), each.operands.begin() + 1, each.operands.end());
    each.operands = std::move(operands);
    each.op.run = each.op.run_joined;
    before.operands.clear();
    before.kind = Instruction::Kind::nothing;
  }
}

// The op's result is read by an addition of what is in memory.
void TileProgram::find_sum() {
  const int32_t reader = only_reader(0);
  if (reader < 0 || code_[static_cast<size_t>(reader)].op.known != TileOp::Known::sum) return;
  const std::vector<int32_t>& operands = code_[static_cast<size_t>(reader)].operands;
  const auto other = static_cast<size_t>(operands[0] == 0 ? operands[1] : operands[0]);
  // Sums of what is narrower than f32 are rounded before anything is added.
  const bool rounds = half_of(code_[0].dtype) || half_of(code_[other].dtype);
  if (code_[other].kind == Instruction::Kind::memory && !rounds) sum_ = reader;
}

// What is only stored is rounded there.
void TileProgram::find_roundings() {
  std::vector<bool> is_read(code_.size());
  for (const Instruction& each : code_)
    for (const int32_t operand : each.operands) is_read[static_cast<size_t>(operand)] = true;
  for (size_t i = 0; i < code_.size(); ++i) {
    Instruction& each = code_[i];
    const bool is_source = each.kind == Instruction::Kind::memory && inputs_[each.place] >= 0;
    if (!half_of(each.dtype) || is_source || each.kind == Instruction::Kind::number) continue;
    const bool exact =
        each.op.is_exact && std::all_of(each.operands.begin(), each.operands.end(), [&](int32_t x) {
          return code_[static_cast<size_t>(x)].dtype == each.dtype;
        });
    each.rounds = is_read[i] && !exact;
  }
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
  return {reinterpret_cast<const float*>(moves.data), loops_ == 0 ? 0 : moves.loops[0]};
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
    if (code_[i].kind == Instruction::Kind::number || code_[i].kind == Instruction::Kind::nothing)
      continue;
    // The result may be written over an operand of the same width.
    const size_t before = code_[i].op.accepts ? i : i + 1;
    const auto found = std::find_if(free_after.begin(), free_after.end(),
                                    [&](size_t end) { return end < before; });
    code_[i].slot = static_cast<size_t>(found - free_after.begin());
    if (found == free_after.end()) free_after.push_back(0);
    free_after[code_[i].slot] = std::max(last[i], i + 1);
  }
  slots_ = std::max<size_t>(free_after.size(), 1);
}

}  // namespace rlx::detail
