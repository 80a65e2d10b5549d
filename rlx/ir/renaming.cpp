#include "rlx/ir/renaming.h"

#include <algorithm>

#include "rlx/ir/known.h"

namespace rlx {

void Renaming::note(const Node& from, const Values& to) {
  for (size_t r = 0; r < to.size(); ++r) {
    const Dims &was = from.types[r].shape, &is = to[r].shape();
    for (size_t d = 0; d < std::min(was.size(), is.size()); ++d) note(was[d], is[d]);
    const std::optional<HostValue>& host = from.host_values[r];
    if (!host || !host->own_symbols) continue;
    const std::optional<HostValue>& now = to[r].producer().host_values[size_t(to[r].result)];
    if (!now) make_symbols(to[r]);
    for (size_t i = 0; now && i < host->elements.size(); ++i)
      note(host->elements[i], now->elements[i]);
  }
}

void Renaming::note(const Dim& was, const Dim& is) {
  if (const auto symbol = was.symbol(); symbol && !(was == is))
    renamed_.insert_or_assign(*symbol, is);
}

Attrs Renaming::operator()(const Attrs& attrs) const {
  Attrs result = attrs;
  if (renamed_.empty()) return result;
  for (const auto& [name, attr] : attrs)
    if (const auto* dims = std::get_if<Dims>(&attr.variant())) {
      Dims now;
      for (const Dim& dim : *dims) now.push_back(dim.substitute(renamed_));
      result.set(name, now);
    }
  return result;
}

}  // namespace rlx
