// Expressions over symbols become cells and instructions, each computed once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "rlx/image/numbers.h"
#include "rlx/tensor/type.h"

namespace rlx::detail {

class NumbersBuilder : private Dim::Builder {
 public:
  // Symbols in `definitions` stand for expressions; those in `bounds` are planned for their bound.
  NumbersBuilder(std::map<std::string, Dim> definitions, SymbolRanges bounds)
      : definitions_(std::move(definitions)), bounds_(std::move(bounds)) {}

  image::Number of(const Dim& dim) { return dim.build(*this); }
  std::vector<image::Number> of(const std::vector<Dim>& dims);
  // The cell of a symbol that something tells; kNone where the symbol stands for an expression.
  image::Number told(const std::string& symbol);
  // A symbol that means this cell from now on.
  void set(const std::string& symbol, image::Number cell) { symbols_[symbol] = cell; }
  image::Number new_symbol(const std::string& name);

  // One that says the same as another is left out.
  void add_check(image::Check check);
  // What depends on these cells, or only as much of it as leads to `wanted`; filled in by finish().
  int32_t segment(std::vector<image::Number> told, std::vector<image::Number> wanted = {});
  image::Numbers finish();

 private:
  int32_t number(int64_t value) override;
  int32_t symbol(const std::string& name) override;
  int32_t sum(int32_t a, int32_t b) override;
  int32_t product(int32_t a, int32_t b) override;
  int32_t call(Dim::Function function, int32_t a, int32_t b) override;

  image::Number new_cell() { return numbers_.count++; }
  image::Number compute(image::Instruction::Op op, image::Number a, image::Number b);

  std::map<std::string, Dim> definitions_;
  SymbolRanges bounds_;
  image::Numbers numbers_;
  std::map<int64_t, image::Number> constants_;
  std::map<std::string, image::Number> symbols_;
  std::map<std::tuple<image::Instruction::Op, image::Number, image::Number>, image::Number> known_;
  std::set<std::tuple<Relation, image::Number, image::Number, image::Number>> checks_;
  struct Segment {
    std::vector<image::Number> told, wanted;
  };
  std::vector<Segment> segments_;
};

}  // namespace rlx::detail
