// The support table: which op works on which device for which dtypes, by running every row.
#pragma once

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "rlx/conformance/runner.h"

namespace rlx {

struct OpSupport {
  std::string name, family;
  int64_t rows = 0;
  bool gradient = false;
  std::map<std::string, std::vector<DType>> devices = {};  // the dtypes that ran there, and passed
  std::string note = {};  // why no gradient; what ran on the host, was refused or failed
};

struct SupportTable {
  std::vector<std::string> devices;  // in the order of the columns
  std::vector<OpSupport> ops;        // by name
};

struct SupportOptions {
  std::function<void(size_t done, size_t all)> progress = {};
  // Called for each row on each device, and with `gradients` for its gradient too.
  std::function<void(const OpCase&, const Device&, bool gradient, const CaseResult&)> details = {};
  bool gradients = false;
};
// Of the ops that have rows, compositions among them.
SupportTable support_table(const std::vector<OpCase>& rows, const OpSet& ops,
                           const std::vector<Device>& devices, const SupportOptions& options = {});

std::ostream& operator<<(std::ostream& out, const SupportTable& table);
std::string to_markdown(const SupportTable& table);

}  // namespace rlx
