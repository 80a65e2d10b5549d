// The tile program of a call, made ready: it runs over blocks of [rows, columns], in pieces that
// stay in the first cache, with one call of a function for an instruction and a piece.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "rlx/backend/cpu/engine.h"
#include "rlx/vector/range.h"

namespace rlx::detail {

// Operands have a step of 0 or 1; the result may be an operand of step 1.
struct TileArguments {
  std::array<const float*, 3> x = {};
  std::array<int64_t, 3> steps = {};
  const double* params = nullptr;
  float* y = nullptr;
  int64_t count = 0;
};
// An op on single elements: vector code, or else a function of one element.
struct TileOp {
  using Run = void (*)(const vector::Elementwise& functions, const TileArguments& arguments);
  Run run = nullptr;
  Run run_on_sums = nullptr;  // quicker, and exact enough for what has the roundings of a sum
  image::Scalar scalar = nullptr;
  enum class Known : uint8_t { nothing, sum, relu, clip } known = Known::nothing;
};
using TileOps = std::map<std::string, TileOp, std::less<>>;

class TileProgram {
 public:
  // An Error that names an op which `ops` lacks.
  TileProgram(const image::Tile& tile, const TileOps& ops, CpuEnginePtr engine);

  // Finds where a site's operands and results lie. The columns are the elements along `axis` of the
  // results, the rows all others, in the order of memory. Without an axis the columns are as many
  // as can be. False where there are too many axes or something is not f32.
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

  // Where an op has left its result in the place of the first result of the call: the rest.
  void run(vector::Range rows, vector::Range columns) const;
  void run_all() const;  // by the engine's team

 private:
  static constexpr size_t kMostLoops = 12;
  // How far an operand moves; the loops of the rows, the innermost last.
  struct Moves {
    float* data = nullptr;
    int64_t column = 0;
    std::array<int64_t, kMostLoops> loops = {};
  };
  struct Instruction {
    TileOp op;
    std::vector<int32_t> operands;
    std::vector<double> params;
    enum class Kind : uint8_t { compute, number, memory } kind = Kind::compute;
    float number = 0;
    size_t place = 0;        // of memory: into moves_
    size_t slot = 0;         // where its tile is kept
    bool passes_on = false;  // the op has begun its sums with the other operand
    bool copied = false;     // of memory: its place is written before the tile is done
  };
  struct Register {
    const float* data = nullptr;
    int64_t step = 0;
  };

  void find_sum();
  int32_t only_reader(int32_t value) const;
  void make_slots();
  void run_piece(vector::Range rows, vector::Range columns, float* scratch) const;
  Register compute(const Instruction& each, const Register* registers, float* y,
                   int64_t count) const;
  Register read(const Moves& from, const Instruction& each, vector::Range rows,
                vector::Range columns, float* buffer) const;
  void write(const Moves& to, const Register& from, vector::Range rows,
             vector::Range columns) const;
  bool is_contiguous(const Moves& moves, vector::Range rows, vector::Range columns) const;
  int64_t offset(const Moves& moves, int64_t row) const;

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
};

// The call of a tile that has no op of its own.
std::unique_ptr<image::CallKernel> elements_kernel(const image::Call& call, const TileOps& ops,
                                                   CpuEnginePtr engine);

}  // namespace rlx::detail
