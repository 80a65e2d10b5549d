#include "rlx/import/onnx/import.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "rlx/import/onnx/import_model.h"
#include "rlx/import/onnx/site.h"
#include "rlx/import/onnx/sources.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/known.h"

namespace rlx::onnx {
namespace {

using Key = std::pair<std::string, std::string>;  // domain, name

std::map<Key, const Operator*> make_table() {
  std::map<Key, const Operator*> table;
  const auto add = [&](const std::string& domain, std::span<const Operator> operators) {
    for (const Operator& op : operators) table[{domain, std::string(op.name)}] = &op;
  };
  for (auto* family : {math_operators, reduction_operators, shape_operators, window_operators,
                       control_operators, sequence_operators, quantised_operators, signal_operators,
                       text_operators, transformer_operators, vision_operators})
    add("", family());
  add("ai.onnx.preview.training", training_operators());
  for (auto* family : {microsoft_operators, microsoft_attention_operators,
                       microsoft_block_operators, microsoft_quantised_operators})
    add("com.microsoft", family());
  return table;
}

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options)
      : model_(model),
        options_(options),
        table_(make_table()),
        spending_(options.budget, model.bytes) {
    for (const Function& function : model.functions)
      functions_[{function.domain, function.name, function.overload}] = &function;
  }

  rlx::Graph import() {
    refuse_missing();
    rlx::Graph graph;
    Scope scope;
    Symbols symbols;
    add_initializers(model_.graph, graph, scope, options_.initializers, options_.numbers);
    std::set<std::string> given;
    for (const ValueInfo& input : model_.graph.inputs) {
      if (!given.insert(input.name).second)
        fail(ErrorKind::invalid_model, "there are two inputs '", input.name, "'");
      add_input(input, options_, graph, scope, symbols);
    }
    for (const auto& [name, item] : scope.items) given.insert(name);
    for (const Node& node : model_.graph.nodes)
      for (const std::string& name : node.outputs)
        if (given.count(name))
          fail(ErrorKind::invalid_model, "'", name,
               "' is an input or an initializer, and made by a node");
    convert_nodes(model_.graph.nodes, model_.opsets, graph, scope);
    for (const ValueInfo& output : model_.graph.outputs) add_output(output.name, graph, scope);
    graph.data()->most_nodes = SIZE_MAX;  // from now on it is its user's
    return graph;
  }

 private:
  // ---- What cannot be expressed ----

  void refuse_missing() {
    struct Missing {
      int count = 0;
      std::vector<std::string> nodes;
    };
    std::map<std::string, Missing> missing;
    const auto note = [&](const Node& node) {
      Missing& entry = missing[text(node.domain, node.domain.empty() ? "" : ".", node.op,
                                    node.overload.empty() ? "" : ":", node.overload)];
      if (++entry.count <= 3)
        entry.nodes.push_back(node.name.empty() ? node.outputs.empty() ? "?" : node.outputs[0]
                                                : node.name);
    };
    find_missing(model_.graph.nodes, note);
    for (const Function& function : model_.functions) find_missing(function.nodes, note);
    if (missing.empty()) return;
    std::string message = "operators that rlx does not have:";
    for (const auto& [op, entry] : missing)
      message += text("\n  ", op, ", ", entry.count,
                      entry.count == 1 ? " node: " : " nodes: ", joined(entry.nodes),
                      entry.count > 3 ? ", ..." : "");
    throw Error(ErrorKind::unsupported, message);
  }
  template <class Note>
  void find_missing(const std::vector<Node>& nodes, const Note& note) const {
    for (const Node& node : nodes) {
      if (!table_.count({node.domain, node.op}) && !function_of(node)) note(node);
      for (const Attribute& attribute : node.attributes)
        if (attribute.g) find_missing(attribute.g->nodes, note);
    }
  }

  // ---- Nodes ----

  void convert_nodes(const std::vector<Node>& nodes, const OpsetVersions& opsets, rlx::Graph& graph,
                     Scope& scope) {
    std::set<std::string> made;
    for (const Node& node : nodes) {
      try {
        for (const std::string& name : node.outputs)
          if (!name.empty() && !made.insert(name).second)
            fail(ErrorKind::invalid_model, "'", name, "' is made by two nodes");
        convert(node, opsets, graph, scope);
      } catch (Error& error) {
        error.add_note(text("while importing node '", node.name, "' (", node.op, ")"));
        throw;
      }
    }
  }

  void convert(const Node& node, const OpsetVersions& opsets, rlx::Graph& graph, Scope& scope) {
    const size_t before = graph.nodes().size(), inlined_around = std::exchange(inlined_, 0);
    const int64_t known_before = graph.data()->known_elements;
    spending_.nodes(1);
    // Held to as they are made: a converter may make any number of them.
    graph.data()->most_nodes = before + static_cast<size_t>(spending_.nodes_left());
    const auto version = opsets.find(node.domain);
    NodeSite site{node,      version == opsets.end() ? 1 : version->second, graph, {}, {}, {}, {},
                  &spending_};
    for (const std::string& name : node.inputs) {
      const Item* item = name.empty() ? nullptr : scope.find(name);
      if (!name.empty() && !item)
        fail(ErrorKind::invalid_model, "there is no value '", name, "' before this node");
      site.inputs.push_back(item ? *item : Item{});
    }
    site.make_bodies = [&](const std::vector<const Graph*>& bodies, const Types& types) {
      return make_bodies(bodies, types, opsets, graph, scope);
    };
    site.inline_body = [&](const Graph& body, const Items& items) {
      return inline_body(body, items, opsets, graph, scope);
    };
    site.exact_resize = options_.exact_resize;
    site.named = [&](const std::string& name) {
      const Item* item = scope.find(name);
      return item ? *item : Item{};
    };
    const Items results = results_of(node, site);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (i >= results.size() || (!results[i].present() && !results[i].is_none))
        fail(ErrorKind::unsupported, node.op, ": output ", i, " is not made");
      scope.items[node.outputs[i]] = results[i];
    }
    spending_.elements(graph.data()->known_elements - known_before);
    finish(node, graph, before, inlined_around);
  }

  Items results_of(const Node& node, const NodeSite& site) {
    const Function* function = function_of(node);
    try {
      return function ? call(*function, site) : converted(*table_.at({node.domain, node.op}), site);
    } catch (const Error&) {
      GraphData& graph = *site.graph.data();
      // The graph knows its own limit; what the whole import is allowed says more.
      if (graph.nodes.size() >= std::exchange(graph.most_nodes, SIZE_MAX))
        spending_.nodes(spending_.nodes_left() + 1);
      throw;
    }
  }

  // What the node itself made; what it has of bodies and functions was counted there.
  void finish(const Node& node, rlx::Graph& graph, size_t before, size_t inlined_around) {
    constexpr size_t kOperandsLikeANode = 16;
    const size_t made = graph.nodes().size() - before - inlined_;
    size_t more = 0, dim_parts = 0;
    for (size_t at = graph.nodes().size() - made; at < graph.nodes().size(); ++at) {
      const rlx::Node& each = graph.node(static_cast<int>(at));
      more += each.inputs.size() / kOperandsLikeANode;
      for (const TensorType& type : each.types)
        for (const Dim& dim : type.shape) dim_parts += dim.parts();
      for (const auto& host : each.host_values)
        for (size_t k = 0; host && k < host->elements.size(); ++k)
          dim_parts += host->elements[k].parts();
    }
    spending_.nodes(static_cast<int64_t>(made + more));
    spending_.dim_parts(static_cast<int64_t>(dim_parts));
    inlined_ = inlined_around;
    set_origins(node, graph, before);
  }

  // Operators ask for what they need with at(); a file may lack it.
  static Items converted(const Operator& operation, const NodeSite& site) {
    try {
      return operation.convert(site);
    } catch (const std::out_of_range&) {
      fail(ErrorKind::invalid_model, site.node.op,
           ": an operand, a dim or an element that it needs is not there");
    }
  }

  static void set_origins(const Node& node, rlx::Graph& graph, size_t from) {
    for (size_t at = from; at < graph.nodes().size(); ++at)
      graph.set_origin(graph.value(static_cast<int>(at)), node.name.empty() ? node.op : node.name);
  }

  const Function* function_of(const Node& node) const {
    const auto found = functions_.find({node.domain, node.op, node.overload});
    return found == functions_.end() ? nullptr : found->second;
  }

  // A function of the model: its nodes, with the call's attributes in the place of references.
  Items call(const Function& function, const NodeSite& site) {
    const Spending::Level level(spending_);
    spending_.nodes(static_cast<int64_t>(node_count(function.nodes)));  // they are copied
    const size_t before = site.graph.nodes().size();
    Scope scope;
    for (size_t i = 0; i < function.inputs.size(); ++i)
      scope.items[function.inputs[i]] = i < site.inputs.size() ? site.inputs[i] : Item{};
    std::vector<Node> nodes = function.nodes;
    for (Node& node : nodes) substitute(node, site.node, function);
    OpsetVersions opsets = function.opsets.empty() ? model_.opsets : function.opsets;
    for (const auto& [domain, version] : model_.opsets) opsets.emplace(domain, version);
    convert_nodes(nodes, opsets, site.graph, scope);
    inlined_ += site.graph.nodes().size() - before;
    Items results;
    for (const std::string& name : function.outputs) {
      const Item* item = scope.find(name);
      results.push_back(item ? *item : Item{});
    }
    return results;
  }

  static size_t node_count(const std::vector<Node>& nodes) {
    size_t count = nodes.size();
    for (const Node& node : nodes)
      for (const Attribute& attribute : node.attributes)
        if (attribute.g) count += node_count(attribute.g->nodes);
    return count;
  }

  static void substitute(Node& node, const Node& call, const Function& function) {
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : node.attributes) {
      if (attribute.reference.empty()) {
        attributes.push_back(attribute);
        if (!attribute.g) continue;
        Graph body = *attribute.g;  // it is the function's as well
        for (Node& inner : body.nodes) substitute(inner, call, function);
        attributes.back().g = std::make_shared<const Graph>(std::move(body));
        continue;
      }
      const Attribute* given = call.find(attribute.reference);
      for (const Attribute& otherwise : function.defaults)
        if (!given && otherwise.name == attribute.reference) given = &otherwise;
      if (!given) continue;  // an attribute that was not given is absent here, too
      attributes.push_back(*given);
      attributes.back().name = attribute.name;
    }
    node.attributes = std::move(attributes);
  }

  // ---- Bodies ----

  // The names a body reads and does not make itself, each once, as they come.
  struct FreeNames {
    std::vector<std::string> list;
    std::set<std::string> found;
  };
  static void find_free(const Graph& body, FreeNames& free) {
    std::set<std::string> made;
    for (const ValueInfo& input : body.inputs) made.insert(input.name);
    for (const TensorData& data : body.initializers) made.insert(data.name);
    for (const SparseTensor& sparse : body.sparse_initializers) made.insert(sparse.values.name);
    const auto use = [&](const std::string& name) {
      if (!name.empty() && !made.count(name) && free.found.insert(name).second)
        free.list.push_back(name);
    };
    for (const Node& node : body.nodes) {
      for (const std::string& name : node.inputs) use(name);
      for (const Attribute& attribute : node.attributes) {
        if (!attribute.g) continue;
        FreeNames inner;
        find_free(*attribute.g, inner);
        for (const std::string& name : inner.list) use(name);
      }
      made.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const ValueInfo& output : body.outputs) use(output.name);
  }

  // Extents as a body's inputs have them. An expression over what only running the graph around it
  // tells becomes a symbol of the body's own: passes number what is told anew, and could not say in
  // the body what such an expression has become.
  class OwnDims {
   public:
    OwnDims(const rlx::Graph& around, int& made) : made_(made) {
      for (const rlx::Node& node : around.nodes())
        for (size_t d = 0; is_input(node) && d < node.types[0].shape.size(); ++d)
          for (const std::string& symbol : node.types[0].shape[d].symbols()) given_.insert(symbol);
    }
    TensorType operator()(TensorType type) {
      for (Dim& dim : type.shape) {
        const std::vector<std::string> symbols = dim.symbols();
        if (dim.symbol() || std::all_of(symbols.begin(), symbols.end(), [&](const auto& symbol) {
              return given_.count(symbol) > 0;
            }))
          continue;
        const auto [found, is_new] = own_.try_emplace(text(dim), Dim(0));
        if (is_new) found->second = Dim(text("outer.", made_++));
        dim = found->second;
      }
      return type;
    }

   private:
    std::set<std::string> given_;
    std::map<std::string, Dim> own_;
    int& made_;  // so far, in the whole model
  };

  // What a body sees of the values around it. A constant is one inside as well, so that shapes made
  // of it stay known; another tensor becomes an input.
  static Scope captured_scope(const std::vector<std::string>& names, Scope& outer,
                              rlx::Graph& graph, OwnDims& dims, Values& captured) {
    Scope scope;
    captured.clear();
    for (const std::string& name : names) {
      const Item* item = outer.find(name);
      if (!item) continue;  // found missing where it is used
      const std::optional<Tensor> constant =
          item->value.present() ? rlx::known_tensor(item->value) : std::nullopt;
      if (constant) {
        scope.items[name] = graph.constant(*constant);
      } else if (item->value.present()) {
        captured.push_back(item->value);
        scope.items[name] = graph.input("outer." + name, dims(item->value.type()));
      } else if (item->text.present()) {
        captured.push_back(item->text);
        scope.items[name] =
            tensor_item(graph.input("outer." + name, dims(item->text.type())), true);
      } else if (item->rows) {
        captured.push_back(item->rows);
        scope.items[name].rows = graph.input("outer." + name, dims(item->rows.type()));
        if (!item->repeats) continue;
        captured.push_back(item->repeats);
        scope.items[name].repeats = graph.input("repeats." + name, dims(item->repeats.type()));
        scope.items[name].repeats_along = item->repeats_along;
      } else if (item->sequence) {
        scope.items[name] = captured_sequence(name, item->sequence, graph, dims, captured);
      } else {
        scope.items[name] = *item;
      }
    }
    return scope;
  }

  static Item captured_sequence(const std::string& name, const Sequence& sequence,
                                rlx::Graph& graph, OwnDims& dims, Values& captured) {
    Scope around, inside;
    std::vector<std::string> names;
    for (size_t k = 0; k < sequence.size(); ++k) {
      names.push_back(element_name(name, k));
      around.items[names.back()] = sequence.at(k);
    }
    Values elements;
    inside = captured_scope(names, around, graph, dims, elements);
    captured.insert(captured.end(), elements.begin(), elements.end());
    Item item;
    Items items;
    for (const std::string& each : names) items.push_back(inside.items[each]);
    item.sequence = Sequence(std::move(items));
    return item;
  }

  Bodies make_bodies(const std::vector<const Graph*>& from, const Types& types,
                     const OpsetVersions& opsets, const rlx::Graph& around, Scope& outer) {
    const Spending::Level level(spending_);
    FreeNames names;
    for (const Graph* body : from) find_free(*body, names);
    OwnDims dims(around, own_dims_);
    Bodies bodies;
    for (const Graph* body : from) {
      require(body->inputs.size() == types.size(), "the body has ", body->inputs.size(),
              " inputs, it is given ", types.size());
      rlx::Graph& graph = bodies.graphs.emplace_back();
      std::map<std::string, Item> own;
      for (size_t i = 0; i < types.size(); ++i)
        own[body->inputs[i].name] = graph.input(body->inputs[i].name, dims(types[i]));
      Scope scope = captured_scope(names.list, outer, graph, dims, bodies.captured);
      for (const auto& [name, item] : own) scope.items[name] = item;
      add_initializers(*body, graph, scope, Initializers::constants);
      spending_.nodes(static_cast<int64_t>(graph.nodes().size()));
      convert_nodes(body->nodes, opsets, graph, scope);
      std::set<std::string> taken;
      for (size_t i = 0; i < body->outputs.size(); ++i) {  // one value may be several of them
        const std::string& name = body->outputs[i].name;
        graph.output(taken.insert(name).second ? name : text(name, '+', i),
                     tensor_named(name, scope));
      }
      graph.data()->most_nodes = SIZE_MAX;
    }
    return bodies;
  }

  Items inline_body(const Graph& body, const Items& inputs, const OpsetVersions& opsets,
                    rlx::Graph& graph, Scope& outer) {
    const Spending::Level level(spending_);
    const size_t before = graph.nodes().size();
    Scope scope;
    scope.outer = &outer;
    for (size_t i = 0; i < body.inputs.size(); ++i) scope.items[body.inputs[i].name] = inputs.at(i);
    add_initializers(body, graph, scope, Initializers::constants);
    spending_.nodes(static_cast<int64_t>(graph.nodes().size() - before));
    convert_nodes(body.nodes, opsets, graph, scope);
    inlined_ += graph.nodes().size() - before;
    Items outputs;
    for (const ValueInfo& output : body.outputs) {
      const Item* item = scope.find(output.name);
      if (!item) fail(ErrorKind::invalid_model, "there is no value '", output.name, "'");
      outputs.push_back(*item);
    }
    return outputs;
  }

  const Model& model_;
  const ImportOptions& options_;
  std::map<Key, const Operator*> table_;
  std::map<std::array<std::string, 3>, const Function*> functions_;  // domain, name, overload
  Spending spending_;
  int own_dims_ = 0;
  size_t inlined_ = 0;  // nodes of bodies and functions that the node at hand has put in its place
};

}  // namespace

rlx::Graph import_model(const Model& model, const ImportOptions& options) {
  return Importer(model, options).import();
}

rlx::Graph load_onnx(const std::string& path, const ImportOptions& options) {
  try {
    return import_model(read_model(path, options.files), options);
  } catch (Error& error) {
    if (error.kind() != ErrorKind::io) error.add_note("while importing " + path);
    throw;
  }
}

rlx::Graph parse_onnx(std::span<const std::byte> bytes, Keep keep_alive, const std::string& source,
                      const ImportOptions& options) {
  return import_model(parse_model(bytes, std::move(keep_alive), source, ""), options);
}

}  // namespace rlx::onnx
