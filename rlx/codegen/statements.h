// Nodes on single elements, written as WGSL about element i.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rlx/codegen/scalar_formula.h"
#include "rlx/lower/site.h"

namespace rlx {

// What the functions written for a dispatch need beside what it has itself.
struct Module {
  std::vector<Operand> operands;
  std::vector<Param> params;
  std::vector<Constant> constants = {};
  std::vector<KernelText> includes;
  std::string functions;
  std::vector<std::string> written;  // names of functions and params
  std::set<ValueId> anywhere = {};   // of operands: a function reads any of their elements
  bool flags_errors = false;

  bool write(const std::string& name);  // false where it is there
};

// Writes pointwise nodes of a body, and what functions of one element compute (computed.h), as
// statements about element i of values that have so many. Where there is a transpose among them, i
// counts as before it: what is computed behind it is the element at its place there. The anchor and
// what it is made of have no part in that.
class Statements {
 public:
  // `window`: of the elements that a dispatch takes, where it does not take all.
  Statements(const LowerSite& site, const Graph& body, Module& module, Dim elements,
             const std::vector<bool>& in_front, std::optional<Operand::Window> window = {});

  bool is_behind_turn(int at) const;

  // The anchor's result, which its kernel has as `v`.
  void set_anchor(int at);
  // The same where another kernel has stored it, not rounded yet, as all elements in order.
  void set_staged(int at, Operand stored);

  // False where a node cannot be written so.
  bool add(int at);

  // What is stored of an output, and where element i goes in it.
  struct Map {
    std::string name;
    Dims shape;
    Layout layout;
  };
  std::optional<Map> stored(const Value& value);

  // The variable of a value for an element of a result of `shape`.
  std::optional<std::string> name_of(const Value& value, const Dims& shape, bool behind);

  // The operands that the lines speak of, by name; loads() gives them their elements i.
  std::string loads() const;
  const std::vector<std::string>& loaded_operands() const { return loaded_; }
  std::string lines;

 private:
  void find_turn();

  // The operand of what is behind the transpose, element by element as they are before it. False
  // where a reshape in between has left no axes to find.
  bool turn_back(Operand& operand) const;

  int origin_of(const Value& value) const;

  // What a kernel with a function of one element computes is that function's.
  bool add_map(int at);

  std::optional<std::string> constant(int at);

  // An operand of the group, once for each shape that it is read in.
  std::optional<std::string> loaded(const Value& value, const Dims& shape, bool behind);

  // As a store would round it: so that what goes on in registers agrees with what is read again.
  std::string rounded(const std::string& expression, DType dtype);

  // Ops without attributes share a function; attributes are params.
  std::string function_of(const Node& node, int at, const ScalarFormula& formula);

  const LowerSite& site_;
  const Graph& body_;
  Module& module_;
  const Dim elements_;
  const std::vector<bool>& in_front_;  // by node: the anchor is made of it
  const std::optional<Operand::Window> window_;
  std::vector<std::string> loaded_;  // operands
  std::vector<std::string> names_;   // of what has been computed, by node
  std::vector<int> inputs_;          // by node: which operand of the group it is
  std::map<int, int> reshaped_;      // nodes that are an input in another shape
  int turn_ = -1;                    // the transpose
  Dims order_, strides_;             // of its operand, and where its axes lie behind it
  std::vector<bool> before_;         // by node: what it is made of
};

}  // namespace rlx
