// ONNX's own backend tests: a model and inputs and outputs in files, run as a user would run them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rlx/runtime/device.h"

namespace rlx {

struct SuiteOptions {
  std::string folder;  // with node/, simple/, pytorch-operator/, pytorch-converted/
  Device device = {};
  bool strict = false;  // tensor compute on the host of another device is an Error
  std::vector<std::string> disabled_passes = {};
  std::string filter;  // a regular expression that the names must match; empty: all
  std::function<void(size_t done, size_t all, const std::string& name)> progress = {};
};

enum class SuiteStatus { passed, failed, unsupported, random };
const char* name(SuiteStatus status);

struct SuiteCase {
  std::string name;
  SuiteStatus status = SuiteStatus::passed;
  std::string reason = {};
};

struct SuiteResult {
  std::string device;
  bool strict = false;
  std::vector<SuiteCase> cases;

  size_t count(SuiteStatus status) const;
};

// The tests in a folder, by name: "node/test_abs".
std::vector<std::string> suite_tests(const SuiteOptions& options);
SuiteResult run_suite(const SuiteOptions& options);

}  // namespace rlx
