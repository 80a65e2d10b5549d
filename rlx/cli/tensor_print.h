// Tensors as a table to look at, as JSON, and as .npy files.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "rlx/ir/evaluate.h"

namespace rlx::cli {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// One line each: name, type, smallest, largest, mean, the first values.
void print_tensors(const std::vector<NamedTensor>& tensors, std::ostream& out);

// {"name": {"dtype", "shape", "values"}}; values in row-major order, NaN and infinities as strings,
// complex numbers as [real, imaginary].
nlohmann::ordered_json tensors_json(const std::vector<NamedTensor>& tensors);

// JSON to read, which ends with a new line; names that are not UTF-8 lose what is wrong with them.
std::string json_text(const nlohmann::ordered_json& json);

// Element i as text, as short as reads back the same.
std::string element_text(const Tensor& tensor, int64_t i);
// The first of them, separated by spaces.
std::string first_elements(const Tensor& tensor, int64_t most);

// Writes folder/name.npy, and makes the folder; the name is changed where a file's may not be so.
// The file's name, without the folder; a number keeps it apart from those `taken` already.
std::string save_tensor(const std::string& folder, const std::string& name, const Tensor& tensor,
                        std::set<std::string>& taken);

}  // namespace rlx::cli
