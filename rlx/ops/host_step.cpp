#include "rlx/ops/host_step.h"

namespace rlx {

Host wide_integers_on_host(const LowerSite& site) {
  const auto run = [&node = site.node](const std::vector<const Tensor*>& inputs,
                                       std::vector<Tensor>& results, const SymbolValues& symbols) {
    node.op->reference({*node.op, inputs, node.attrs, results, symbols});
  };
  const std::string& name = site.node.op->name;
  return {name,
          run,
          {site.inputs[0]},
          {site.results[0].value},
          text(name, " of ", site.in(0).dtype, " may leave the 32 bits a device has"),
          &site.node};
}

}  // namespace rlx
