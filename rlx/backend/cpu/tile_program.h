// The tile program of a call, made ready: it runs over blocks of [rows, columns], in pieces that
// stay in the first cache, with one call of a function for an instruction and a piece.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rlx/backend/cpu/engine.h"
#include "rlx/vector/range.h"

namespace rlx::detail {

// Operands have a step of 0 or 1; the result may be an operand of step 1 and its width.
struct TileArguments {
  static constexpr size_t kMost = 6;
  std::array<const void*, kMost> x = {};
  std::array<int64_t, kMost> steps = {};
  std::array<DType, kMost> dtypes = {};
  size_t operands = 0;
  const double* params = nullptr;
  void* y = nullptr;
  DType dtype = DType::f32;  // of the result
  int64_t count = 0;

  const float* floats(size_t i) const { return static_cast<const float*>(x[i]); }
  float* results() const { return static_cast<float*>(y); }
};
// Truth is 1 or 0 there.
inline bool is_f32_in_tiles(DType dtype) {
  return dtype == DType::f32 || half_of(dtype) || dtype == DType::boolean;
}

// An op on single elements: vector code, or else a function of one element.
struct TileOp {
  using Run = void (*)(const CpuEngine& engine, const TileArguments& arguments);
  Run run = nullptr;
  Run run_on_sums = nullptr;  // quicker, and exact enough for what has the roundings of a sum
  image::Scalar scalar = nullptr;
  enum class Known : uint8_t { nothing, sum, relu, clip, dequantise, quantise };
  Known known = Known::nothing;
  bool (*accepts)(const TileArguments& dtypes) = nullptr;  // null: f32 alone
  bool is_exact = false;     // of operands of one dtype its results need no rounding to it
  Run run_joined = nullptr;  // of quantise: of the operands of dequantise, then its own
};
using TileOps = std::map<std::string, TileOp, std::less<>>;

// A block of an op's result apart from the results of the call, its rows `row` elements apart.
struct TileBlock {
  const void* data = nullptr;
  int64_t row = 0;
};

class TileProgram {
 public:
  // An Error that names an op which `ops` lacks. `of_sums`: what it goes on with has the roundings
  // of a sum of products.
  TileProgram(const image::Tile& tile, const TileOps& ops, CpuEnginePtr engine,
              bool of_sums = false);

  bool is_of_floats() const { return is_f32_in_tiles(code_[0].dtype); }  // what an op leaves

  // Finds where a site's operands and results lie. The columns are the elements along `axis` of the
  // results, the rows all others, in the order of memory. Without an axis the columns are as many
  // as can be. False where there are too many axes or a dtype is not its register's. What is
  // narrower than f32 may lie in memory as it is, or as f32; an op leaves its result as f32.
  static constexpr size_t kNoAxis = SIZE_MAX;
  bool place(const image::CallSite& site, size_t axis = kNoAxis);
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // What a product may begin its sums with, where the program begins by adding it to them: rows
  // that lie `row` apart. The program then leaves it out. Null where there is none.
  struct Start {
    const float* data = nullptr;
    int64_t row = 0;
  };
  Start take_start();
  // The same of limits that the sums are cut to, where that is what the program does next.
  struct Limits {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
  };
  Limits take_limits();
  bool is_idle() const { return idle_; }  // nothing is left to do

  // Where an op has left its result in the place of the first result of the call, or in a block:
  // the rest.
  void run(vector::Range rows, vector::Range columns, const TileBlock& block = {}) const;
  void run_all() const;  // by the engine's team

 private:
  static constexpr size_t kMostLoops = 12;
  // How far an operand moves; the loops of the rows, the innermost last.
  struct Moves {
    std::byte* data = nullptr;
    int64_t width = sizeof(float);             // of an element, in bytes
    std::optional<vector::Element> half = {};  // what it is in memory, where that is not f32
    bool is_truth = false;                     // or bytes of bools, which are read and not written
    int64_t column = 0;
    std::array<int64_t, kMostLoops> loops = {};
  };
  struct Instruction {
    TileOp op;
    std::vector<int32_t> operands;
    std::vector<double> params;
    TileArguments arguments = {};  // of compute: but for where they lie
    enum class Kind : uint8_t { compute, number, memory, nothing } kind = Kind::compute;
    alignas(float) std::array<std::byte, sizeof(float)> number = {};  // of its dtype
    DType dtype = DType::f32;
    size_t place = 0;        // of memory: into moves_
    size_t slot = 0;         // where its tile is kept
    bool passes_on = false;  // the op has begun its sums with the other operand
    bool copied = false;     // of memory: its place is written before the tile is done
    bool rounds = false;     // to a dtype narrower than f32, which its tile holds the numbers of
  };
  struct Register {
    const std::byte* data = nullptr;
    int64_t step = 0;
  };
  struct Piece {
    vector::Range rows, columns;
  };

  void join_numbers();
  void find_sum();
  int32_t only_reader(int32_t value) const;
  void find_roundings();
  void make_slots();
  void check(const Instruction& each, const std::string& name) const;
  // By instruction: rows laid out before.
  using Repeated = std::array<const std::byte*, image::Tile::kMostRegisters>;
  static constexpr size_t kMostRepeated = 4;
  int64_t height_of(const Piece& whole) const;
  void repeat_rows(const Piece& whole, int64_t height, float* to, Repeated& repeated) const;
  // `whole` is what the block holds, and the piece a part of it.
  void run_piece(const Piece& piece, const Piece& whole, const TileBlock& block,
                 const Repeated& repeated, float* scratch) const;
  TileArguments arguments_of(const Instruction& each) const;
  Register compute(const Instruction& each, const Register* registers, std::byte* y,
                   int64_t count) const;
  Register read(const Moves& from, const Instruction& each, const Piece& piece,
                std::byte* buffer) const;
  static Register read_block(const TileBlock& block, int64_t width, const Piece& piece,
                             const Piece& whole, std::byte* buffer);
  Register read_half(const Moves& from, const Piece& piece, std::byte* buffer) const;
  Register read_truth(const Moves& from, const Piece& piece, std::byte* buffer) const;
  Register rounded(const Instruction& each, const Register& x, std::byte* buffer,
                   int64_t count) const;
  void write_half(const Moves& to, const Register& from, const Piece& piece) const;
  void write(const Moves& to, const Register& from, const Piece& piece) const;
  bool is_contiguous(const Moves& moves, const Piece& piece) const;
  int64_t offset(const Moves& moves, int64_t row) const;
  std::byte* first(const Moves& moves, int64_t row, int64_t column) const {
    return moves.data + (offset(moves, row) + column * moves.column) * moves.width;
  }

  CpuEnginePtr engine_;
  std::vector<Instruction> code_;
  std::vector<int32_t> stores_;  // by result
  std::vector<int32_t> inputs_;  // by place: the input of the call; -1: the first result
  size_t slots_ = 1;
  int32_t sum_ = -1;  // the instruction that adds to the op's result first
  bool has_op_ = false, idle_ = false;
  bool stores_last_ = false;  // the last instruction may write where its only result lies

  std::vector<Moves> moves_;  // by place
  std::vector<Moves> results_;
  std::array<int64_t, kMostLoops> extents_ = {};
  size_t loops_ = 0;
  int64_t rows_ = 0, columns_ = 0;
  // For pieces of whole rows, so many at a time.
  std::vector<float> rows_again_;
  Repeated repeated_ = {};
  int64_t repeated_height_ = 0;
};

// The call of a tile that has no op of its own.
std::unique_ptr<image::CallKernel> elements_kernel(const image::Call& call, const TileOps& ops,
                                                   CpuEnginePtr engine);

}  // namespace rlx::detail
