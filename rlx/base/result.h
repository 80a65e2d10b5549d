// The one exception type: a failure the caller can act on. A broken invariant of ours is an assert.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "rlx/base/function.h"

namespace rlx {

enum class ErrorKind {
  invalid_graph,  // the graph's author can mend it: types, attributes, names
  invalid_model,  // a file's bytes are wrong
  invalid_input,  // what was handed to run() does not fit the graph
  unsupported,    // right, but not something rlx can do here
  limit,          // a size is beyond what the device or the budget allows
  device,         // the device or its driver refused
  device_lost,
  out_of_memory,
  io,
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // Says where it happened; called by each layer the error travels through.
  void add_note(const std::string& note) { message_ += "\n  " + note; }

 private:
  ErrorKind kind_;
  std::string message_;
};

// The exception being handled, as an Error.
Error current_error();

// What an asynchronous call delivers: a value, or the error that kept it from having one.
template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Error& error() const { return *error_; }
  T take() {  // the value, or throws the error
    if (error_) throw *error_;
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  std::optional<Error> error_;
};

// Called with the result, once.
template <class T>
using Receive = Function<void(Result<T>)>;

}  // namespace rlx
