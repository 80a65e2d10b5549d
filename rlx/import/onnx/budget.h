// What an import may take. A file of a hundred bytes can ask for a million nodes: functions that
// call functions, loops that are written out, a sequence of as many parts. So each count has a
// limit that grows with the size of the file, and what is beyond it is an Error.
#pragma once

#include <cstdint>

namespace rlx::onnx {

struct ImportBudget {
  struct Allowance {
    int64_t always = 0, per_byte = 0;  // of the model and of the files its tensors are in
  };
  Allowance nodes = {32768, 4};       // of the graph, its bodies, what functions stand for
  Allowance iterations = {16384, 1};  // of loops that are written out
  Allowance elements = {int64_t{1} << 22, 64};   // of tensors that the import computes
  Allowance dim_parts = {int64_t{1} << 18, 64};  // terms, symbols and functions of dims
  int depth = 64;                                // of functions and bodies within each other
};

// What is left of a budget.
class Spending {
 public:
  Spending(const ImportBudget& budget, int64_t file_bytes);

  // Each is an Error of kind limit where there is not so much left.
  void nodes(int64_t count) { spend(nodes_, count); }
  void iterations(int64_t count) { spend(iterations_, count); }
  void elements(int64_t count) { spend(elements_, count); }
  void dim_parts(int64_t count) { spend(dim_parts_, count); }
  int64_t nodes_left() const { return nodes_.left; }

  // While one exists, what is imported is one deeper.
  class Level {
   public:
    explicit Level(Spending& spending);
    ~Level() { --spending_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Spending& spending_;
  };

 private:
  struct Account {
    const char* what;
    ImportBudget::Allowance allowance;
    int64_t allowed = 0, left = 0;
  };
  Account account(const char* what, const ImportBudget::Allowance& allowance) const;
  void spend(Account& account, int64_t count) const;

  int64_t file_bytes_;
  int deepest_, depth_ = 0;
  Account nodes_, iterations_, elements_, dim_parts_;
};

}  // namespace rlx::onnx
