#include "rlx/lower/step.h"

namespace rlx {

Operand::Operand() = default;
Operand::Operand(ValueId of, const TensorType& type, Access how)
    : value(of),
      dtype(type.dtype),
      access(how),
      shape(type.shape),
      layout(Layout::row_major(type.shape)) {}
Operand::Operand(const Operand& other) = default;
Operand::Operand(Operand&& other) noexcept = default;
Operand& Operand::operator=(const Operand& other) = default;
Operand& Operand::operator=(Operand&& other) noexcept = default;
Operand::~Operand() = default;

Param::Param(std::string_view n, const Dim& value) : name(n), number(value) {}
Param::Param(std::string_view n, int value) : Param(n, Dim(value)) {}
Param::Param(std::string_view n, double value) : name(n), kind(Kind::f32), real(value) {}
Param::Param(std::string_view n, Dims values)
    : name(n), kind(Kind::list), list(std::move(values)) {}
Param::Param(const Param& other) = default;
Param::Param(Param&& other) noexcept = default;
Param& Param::operator=(const Param& other) = default;
Param& Param::operator=(Param&& other) noexcept = default;
Param::~Param() = default;
Param Param::signed_number(std::string_view n, const Dim& value) {
  Param param(n, value);
  param.kind = Kind::i32;
  return param;
}

Steps::Steps() = default;
Steps::Steps(const Steps& other) = default;
Steps::Steps(Steps&& other) noexcept = default;
Steps& Steps::operator=(const Steps& other) = default;
Steps& Steps::operator=(Steps&& other) noexcept = default;
Steps::~Steps() = default;

template <class S>
Steps::Steps(S step) {
  list.push_back({std::move(step), -1});
}
template <class S>
Steps& Steps::add(S step) {
  list.push_back({std::move(step), -1});
  return *this;
}
Steps& Steps::append(Steps more) {
  for (Step& step : more.list) list.push_back(std::move(step));
  return *this;
}

template Steps::Steps(Dispatch);
template Steps::Steps(Copy);
template Steps::Steps(Clear);
template Steps::Steps(Call);
template Steps::Steps(Write);
template Steps::Steps(Fetch);
template Steps::Steps(Bind);
template Steps::Steps(If);
template Steps::Steps(Loop);
template Steps& Steps::add(Dispatch);
template Steps& Steps::add(Copy);
template Steps& Steps::add(Clear);
template Steps& Steps::add(Call);
template Steps& Steps::add(Write);
template Steps& Steps::add(Fetch);
template Steps& Steps::add(Bind);
template Steps& Steps::add(If);
template Steps& Steps::add(Loop);

}  // namespace rlx
