#include "rlx/lower/site.h"

namespace rlx {

Operand LowerSite::named(Operand operand, const std::string& name, Access access) {
  operand.name = name;
  operand.access = access;
  return operand;
}

Operand LowerSite::read(const std::string& name, size_t i) const {
  return named(inputs[i], name, Access::read);
}
Operand LowerSite::write(const std::string& name, size_t i) const {
  return named(results[i], name, Access::write);
}
Operand LowerSite::update(const std::string& name, size_t i) const {
  return named(results[i], name, Access::read_write);
}

Operand LowerSite::temporary(const std::string& name, const TensorType& type) const {
  return named({make_temporary(type), type, Access::write}, name, Access::write);
}

Steps LowerSite::wide_integers_on_host() const {
  return on_host(text(node.op->name, " of ", in(0).dtype, " may leave the 32 bits a device has"));
}

std::string LowerSite::compute_type(DType dtype) const {
  return device_storage(dtype, traits).compute;
}

}  // namespace rlx
