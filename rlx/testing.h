// What tests share.
#pragma once

#include <functional>
#include <string>

#include "rlx/base/error.h"

namespace rlx {

// The message of the Error that `action` throws; empty when it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace rlx
