// einsum(equation, operands): products summed over the letters that the result does not have. The
// operands are multiplied in pairs by dot_general, from left to right.

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_einsum.h"

namespace rlx {
namespace {

// A label per dim: a letter's code, or .., -2, -1 for the dims of an ellipsis, which are aligned at
// the last one.
using Labels = std::vector<int>;

struct Labelled {
  Value value;
  Labels labels;

  bool has(int label) const {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }
  int64_t axis(int label) const {
    return std::find(labels.begin(), labels.end(), label) - labels.begin();
  }
  const Dim& dim(int label) const { return value.shape()[size_t(axis(label))]; }
};

Labels ellipsis_labels(size_t count) {
  Labels labels;
  for (size_t i = count; i > 0; --i) labels.push_back(-static_cast<int>(i));
  return labels;
}

// One operand's part of the equation; an ellipsis stands for `ellipsis` dims.
Labels parse_part(const std::string& equation, const std::string& part, size_t ellipsis) {
  Labels labels;
  bool dots = false;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part.compare(i, 3, "...") == 0 && !dots) {
      const Labels more = ellipsis_labels(ellipsis);
      labels.insert(labels.end(), more.begin(), more.end());
      dots = true;
      i += 2;
      continue;
    }
    require(std::isalpha(static_cast<unsigned char>(part[i])) != 0, "einsum: '", equation,
            "' has '", std::string(1, part[i]), "' where a letter should be");
    labels.push_back(static_cast<unsigned char>(part[i]));
  }
  return labels;
}

size_t letters_of(const std::string& part) {
  return static_cast<size_t>(std::count_if(part.begin(), part.end(),
                                           [](unsigned char c) { return std::isalpha(c) != 0; }));
}

bool has_ellipsis(const std::string& part) { return part.find("...") != std::string::npos; }

struct Equation {
  Strings parts;
  std::optional<std::string> result;

  explicit Equation(std::string text) {
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    const size_t arrow = text.find("->");
    if (arrow != std::string::npos) result = text.substr(arrow + 2);
    const std::string operands = text.substr(0, arrow);
    for (size_t at = 0;;) {
      const size_t comma = operands.find(',', at);
      parts.push_back(operands.substr(at, comma - at));
      if (comma == std::string::npos) break;
      at = comma + 1;
    }
  }
};

// Of two dims with one label, the first: the elements where both indices are equal.
Labelled diagonal(const Labelled& x, size_t first, size_t second) {
  const Dim &extent = x.value.shape()[first], &other = x.value.shape()[second];
  require(!extent.is_number() || !other.is_number() || extent == other, "einsum: the diagonal of ",
          x.value.type(), " over dims ", first, " and ", second, " needs them equal");
  Ints order;
  Labelled y;
  Dims shape;
  for (size_t d = 0; d < x.labels.size(); ++d) {
    if (d == first || d == second) continue;
    order.push_back(static_cast<int64_t>(d));
    shape.push_back(x.value.shape()[d]);
    y.labels.push_back(x.labels[d]);
  }
  const auto axis = static_cast<int64_t>(order.size());
  order.insert(order.end(), {static_cast<int64_t>(first), static_cast<int64_t>(second)});
  y.labels.push_back(x.labels[first]);
  const Value last = transpose(x.value, order);
  if (extent.is_number() && other.is_number()) {
    const int64_t n = extent.number();
    shape.emplace_back(n * n);
    y.value = slice(reshape(last, shape), {0}, {n * n}, {axis}, {n + 1});
    return y;
  }
  // Every step of n + 1 elements, written as columns: [n, n] is [1, n n], and with n zeros behind
  // it [n, n + 1], of which the first column is the diagonal. A run is held to n being one number.
  const Dim n = other.is_number() ? other : extent;
  shape.push_back(n * n);
  const Value flat = reshape(last, shape);
  Dims pads(2 * shape.size(), Dim(0));
  pads.back() = n;
  const Value padded = pad(flat, pads);
  shape.back() = n;
  shape.push_back(n + 1);
  y.value = squeeze(slice(reshape(padded, shape), {0}, {1}, {axis + 1}), {axis + 1});
  return y;
}

Labelled without_repeats(Labelled x) {
  for (size_t second = 1; second < x.labels.size(); ++second)
    for (size_t first = 0; first < second; ++first)
      if (x.labels[first] == x.labels[second]) return without_repeats(diagonal(x, first, second));
  return x;
}

// Sums over the labels nobody asks for any more.
Labelled reduced(const Labelled& x, const std::set<int>& needed) {
  Labelled y;
  Ints axes;
  for (const int label : x.labels)
    if (needed.count(label) != 0)
      y.labels.push_back(label);
    else
      axes.push_back(x.axis(label));
  y.value = axes.empty() ? x.value : sum(x.value, axes);
  return y;
}

// x without dims of extent 1 that broadcast to a longer dim of `other`: the product needs no copy.
Labelled without_ones(const Labelled& x, const Labelled& other) {
  Labelled y;
  Ints axes;
  for (const int label : x.labels)
    if (other.has(label) && x.dim(label).is(1) && !other.dim(label).is(1))
      axes.push_back(x.axis(label));
    else
      y.labels.push_back(label);
  y.value = axes.empty() ? x.value : squeeze(x.value, axes);
  return y;
}

// Dims where only a run knows whether the extent is 1, expanded to the extent of both operands.
Labelled repeated(const Labelled& x, const Labelled& other) {
  Dims shape = x.value.shape();
  for (const int label : x.labels)
    if (Dim& dim = shape[size_t(x.axis(label))];
        other.has(label) && !(dim.is_number() && other.dim(label).is_number()))
      dim = broadcast(dim, other.dim(label));
  return {shape == x.value.shape() ? x.value : expand(x.value, shape), x.labels};
}

Labelled contracted(const Labelled& left, const Labelled& right, const std::set<int>& needed) {
  const Labelled own_a = without_ones(left, right), own_b = without_ones(right, left);
  Labelled a = repeated(own_a, own_b), b = repeated(own_b, own_a);
  std::set<int> wanted_a = needed, wanted_b = needed;
  wanted_a.insert(b.labels.begin(), b.labels.end());
  wanted_b.insert(a.labels.begin(), a.labels.end());
  a = reduced(a, wanted_a);
  b = reduced(b, wanted_b);
  DotDims dims;
  Labels batch, free;
  for (const int label : a.labels) {
    if (!b.has(label)) {
      free.push_back(label);
    } else if (needed.count(label) != 0) {
      batch.push_back(label);
      dims.a_batch.push_back(a.axis(label));
      dims.b_batch.push_back(b.axis(label));
    } else {
      dims.a_contracting.push_back(a.axis(label));
      dims.b_contracting.push_back(b.axis(label));
    }
  }
  for (const int label : b.labels)
    if (!a.has(label)) free.push_back(label);
  batch.insert(batch.end(), free.begin(), free.end());
  return {dot_general(a.value, b.value, dims), batch};
}

// Without an arrow: the dims of ellipses, then the letters that occur once.
Labels result_labels(const std::string& text, const Equation& equation,
                     const std::vector<Labelled>& parsed, size_t ellipsis) {
  if (equation.result) return parse_part(text, *equation.result, ellipsis);
  std::map<int, int> uses;
  for (const Labelled& operand : parsed)
    for (const int label : operand.labels) ++uses[label];
  Labels labels = ellipsis_labels(ellipsis);
  for (const auto& [label, count] : uses)
    if (label > 0 && count == 1) labels.push_back(label);
  return labels;
}

}  // namespace

Value einsum(const std::string& text, const Values& operands) {
  const Equation equation(text);
  require(!operands.empty() && equation.parts.size() == operands.size(), "einsum: '", text,
          "' is for ", equation.parts.size(), " operands, there are ", operands.size());
  std::vector<Labelled> parsed;
  size_t ellipsis = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& part = equation.parts[i];
    const size_t letters = letters_of(part), dims = operands[i].shape().size();
    require(has_ellipsis(part) ? letters <= dims : letters == dims, "einsum: '", part, "' of '",
            text, "' does not fit ", operands[i].type());
    ellipsis = std::max(ellipsis, dims - letters);
    parsed.push_back({operands[i], parse_part(text, part, dims - letters)});
  }
  const Labels wanted = result_labels(text, equation, parsed, ellipsis);
  const std::set<int> in_result(wanted.begin(), wanted.end());
  require(in_result.size() == wanted.size(), "einsum: '", text, "' repeats a letter in its result");

  Labelled total = without_repeats(parsed[0]);
  for (size_t i = 1; i < parsed.size(); ++i) {
    std::set<int> needed = in_result;
    for (size_t later = i + 1; later < parsed.size(); ++later)
      needed.insert(parsed[later].labels.begin(), parsed[later].labels.end());
    total = contracted(total, without_repeats(parsed[i]), needed);
  }
  total = reduced(total, in_result);
  Ints order;
  for (const int label : wanted) {
    require(total.has(label), "einsum: '", text, "' has '",
            std::string(1, static_cast<char>(std::max(label, int{'.'}))),
            "' in its result and in no operand");
    order.push_back(total.axis(label));
  }
  return std::is_sorted(order.begin(), order.end()) ? total.value : transpose(total.value, order);
}

}  // namespace rlx
