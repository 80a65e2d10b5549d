// What is left of the budget of an import.
#pragma once

#include <cstdint>

#include "rlx/import/onnx/import.h"

namespace rlx::onnx {

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
