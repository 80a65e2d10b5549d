// Where the values of a graph come from, initializers and inputs, and where they go.
#pragma once

#include <map>
#include <set>
#include <string>

#include "rlx/import/onnx/import.h"
#include "rlx/import/onnx/site.h"

namespace rlx::onnx {

// Names of values; one that is not found is looked for in the graph around.
struct Scope {
  std::map<std::string, Item> items = {};
  Scope* outer = nullptr;

  const Item* find(const std::string& name) const {
    const auto found = items.find(name);
    if (found != items.end()) return &found->second;
    return outer ? outer->find(name) : nullptr;
  }
};

// The symbols that names of dims become: no two names the same.
struct Symbols {
  std::map<std::string, std::string> by_name = {};
  std::set<std::string> taken = {};
  std::map<std::string, int> numbers = {};  // the next for a name that is taken

  std::string named(const std::string& name);
};

// `numbers`: those of one float that are as others.
void add_initializers(const Graph& from, rlx::Graph& graph, Scope& scope, Initializers as,
                      const std::vector<std::string>& numbers = {});
void add_input(const ValueInfo& info, const ImportOptions& options, rlx::Graph& graph, Scope& scope,
               Symbols& symbols);
void add_output(const std::string& name, rlx::Graph& graph, const Scope& scope);
// Or an Error.
Value tensor_named(const std::string& name, const Scope& scope);

}  // namespace rlx::onnx
