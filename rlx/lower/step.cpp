#include "rlx/lower/step.h"

namespace rlx {

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
template Steps::Steps(Host);
template Steps::Steps(Fetch);
template Steps::Steps(Bind);
template Steps::Steps(If);
template Steps::Steps(Loop);
template Steps& Steps::add(Dispatch);
template Steps& Steps::add(Copy);
template Steps& Steps::add(Clear);
template Steps& Steps::add(Host);
template Steps& Steps::add(Fetch);
template Steps& Steps::add(Bind);
template Steps& Steps::add(If);
template Steps& Steps::add(Loop);

}  // namespace rlx
