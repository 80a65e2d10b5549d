#include "rlx/base/error.h"

#include <new>

namespace rlx {

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorKind::out_of_memory, "the host has no more memory"};
  } catch (const std::exception& other) {
    return {ErrorKind::unsupported, other.what()};
  } catch (...) {
    return {ErrorKind::unsupported, "something was thrown that is no std::exception"};
  }
}

}  // namespace rlx
