#include "rlx/conformance/onnx_suite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "rlx/import/onnx/import.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

namespace fs = std::filesystem;
using onnx::Model;

// As ONNX's own runner compares.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

std::vector<onnx::TensorData> read_numbered(const fs::path& folder, const std::string& kind) {
  std::vector<onnx::TensorData> tensors;
  for (size_t i = 0;; ++i) {
    const fs::path file = folder / text(kind, '_', i, ".pb");
    if (!fs::exists(file)) return tensors;
    tensors.push_back(onnx::read_tensor(file.string()));
  }
}

bool uses(const std::vector<onnx::Node>& nodes, const std::vector<std::string>& ops) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const onnx::Node& node) {
    return std::find(ops.begin(), ops.end(), node.op) != ops.end();
  });
}
bool is_random(const Model& model) {
  return uses(model.graph.nodes, {"Bernoulli", "RandomUniform", "RandomUniformLike", "RandomNormal",
                                  "RandomNormalLike", "Multinomial"});
}

// The suite keeps bfloat16 as the integers of its bits.
Tensor as_declared(const Tensor& tensor, const onnx::TypeInfo& type) {
  const bool bits = tensor.dtype() == DType::u16 && onnx::dtype_of(type.elem_type) == DType::bf16;
  if (!bits) return tensor;
  Tensor floats(DType::bf16, tensor.shape());
  if (tensor.count() > 0)
    std::memcpy(floats.mutable_bytes().data(), tensor.bytes().data(), tensor.bytes().size());
  return floats;
}

std::string difference(const std::string& name, const Tensor& got, const onnx::TensorData& want) {
  if (want.is_string) return text(name, " is of strings");
  if (got.type() != want.tensor.type())
    return text(name, " is ", got.type(), ", it should be ", want.tensor.type());
  int64_t wrong = 0, worst = 0;
  double largest = -1;
  for (int64_t i = 0; i < got.count(); ++i) {
    const double a = got.at(i), b = want.tensor.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double error = std::abs(a - b);
    if (error <= kAbsolute + kRelative * std::abs(b)) continue;
    ++wrong;
    if (error > largest || std::isnan(error)) largest = error, worst = i;
  }
  if (wrong == 0) return "";
  return text(name, ": element ", worst, " is ", got.at(worst), ", it should be ",
              want.tensor.at(worst), " (", wrong, " of ", got.count(), " wrong)");
}

// Random results are what they should be by their type and, roughly, their mean.
std::string random_difference(const std::string& name, const Tensor& got,
                              const onnx::TensorData& want) {
  if (got.type() != want.tensor.type())
    return text(name, " is ", got.type(), ", it should be ", want.tensor.type());
  double a = 0, b = 0;
  for (int64_t i = 0; i < got.count(); ++i) a += got.at(i), b += want.tensor.at(i);
  const double spread = 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(got.count(), 1)));
  const double apart = std::abs(a - b) * spread * spread;
  return apart > 4 * spread ? text(name, ": means are ", apart, " apart") : "";
}

class TestRun {
 public:
  TestRun(const fs::path& folder, const SuiteOptions& options)
      : folder_(folder), options_(options) {}

  SuiteCase run(const std::string& name) {
    SuiteCase result{name};
    try {
      model_ = onnx::read_model((folder_ / "model.onnx").string());
      random_ = is_random(model_);
      for (size_t set = 0; fs::exists(folder_ / text("test_data_set_", set)); ++set)
        if (result.reason.empty()) result.reason = run_set(folder_ / text("test_data_set_", set));
      result.status = !result.reason.empty() ? SuiteStatus::failed
                      : random_              ? SuiteStatus::random
                                             : SuiteStatus::passed;
      if (result.reason.empty()) result.reason = note_;
    } catch (const Error& error) {
      result.reason = error.what();
      const bool refused =
          error.kind() == ErrorKind::unsupported || error.kind() == ErrorKind::limit;
      result.status = refused ? SuiteStatus::unsupported : SuiteStatus::failed;
    } catch (const std::exception& error) {
      result = {name, SuiteStatus::failed, error.what()};
    }
    return result;
  }

 private:
  std::vector<std::string> input_names() const {
    std::vector<std::string> names;
    for (const onnx::ValueInfo& input : model_.graph.inputs) names.push_back(input.name);
    return names;
  }

  // An input that decides the graph's structure cannot stay one; those alone become constants.
  Graph import(const TensorMap& inputs) {
    onnx::ImportOptions options;
    for (;;) {
      try {
        return onnx::import_model(model_, options);
      } catch (const Error& error) {
        const std::string message = error.what();
        const size_t end = message.find("') decides the graph's structure");
        const size_t begin = end == std::string::npos ? end : message.rfind("('", end);
        if (begin == std::string::npos) throw;
        const std::string name = message.substr(begin + 2, end - begin - 2);
        const auto found = inputs.find(name);
        if (found == inputs.end() || !options.known_inputs.insert(*found).second) throw;
        note_ += (note_.empty() ? "known when importing: " : ", ") + name;
      }
    }
  }

  std::string run_set(const fs::path& set) {
    const std::vector<std::string> names = input_names();
    const auto tensors = read_numbered(set, "input");
    auto wanted = read_numbered(set, "output");
    TensorMap inputs;
    for (size_t i = 0; i < tensors.size() && i < names.size(); ++i) {
      if (tensors[i].is_string)
        throw Error(ErrorKind::unsupported, text("input '", names[i], "' is of strings"));
      inputs.emplace(names[i], as_declared(tensors[i].tensor, model_.graph.inputs[i].type));
    }
    const Graph graph = import(inputs);
    TensorMap fed;
    for (const rlx::Node& node : graph.nodes())
      if (is_input(node))
        if (const auto found = inputs.find(node.name); found != inputs.end()) fed.insert(*found);
    const Program program = compile(graph, {.device = options_.device, .strict = options_.strict});
    const TensorMap outputs = program.run(fed);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const std::string& output = model_.graph.outputs.at(i).name;
      const Tensor& got = outputs.at(output);
      wanted[i].tensor = as_declared(wanted[i].tensor, model_.graph.outputs.at(i).type);
      const std::string wrong =
          random_ ? random_difference(output, got, wanted[i]) : difference(output, got, wanted[i]);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  fs::path folder_;
  const SuiteOptions& options_;
  Model model_;
  bool random_ = false;
  std::string note_;
};

}  // namespace

const char* name(SuiteStatus status) {
  constexpr const char* kNames[] = {"passed", "failed", "unsupported", "random"};
  return kNames[static_cast<size_t>(status)];
}

size_t SuiteResult::count(SuiteStatus status) const {
  return static_cast<size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const SuiteCase& test) { return test.status == status; }));
}

std::vector<std::string> suite_tests(const SuiteOptions& options) {
  std::vector<std::string> names;
  if (!fs::is_directory(options.folder))
    fail(ErrorKind::io, "conformance: there is no folder ", options.folder);
  const std::regex filter(options.filter);
  for (const auto& group : fs::directory_iterator(options.folder)) {
    if (!group.is_directory()) continue;
    for (const auto& test : fs::directory_iterator(group.path())) {
      if (!fs::exists(test.path() / "model.onnx")) continue;
      const std::string name =
          group.path().filename().string() + "/" + test.path().filename().string();
      if (std::regex_search(name, filter)) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

SuiteResult run_suite(const SuiteOptions& options) {
  SuiteResult result{options.device.name(), options.strict, {}};
  const std::vector<std::string> names = suite_tests(options);
  for (const std::string& name : names) {
    if (options.progress) options.progress(result.cases.size(), names.size(), name);
    result.cases.push_back(TestRun(fs::path(options.folder) / name, options).run(name));
  }
  return result;
}

std::string to_json(const SuiteResult& result) {
  nlohmann::ordered_json json{{"device", result.device},
                              {"strict", result.strict},
                              {"total", result.cases.size()},
                              {"passed", result.count(SuiteStatus::passed)},
                              {"failed", result.count(SuiteStatus::failed)},
                              {"unsupported", result.count(SuiteStatus::unsupported)},
                              {"random", result.count(SuiteStatus::random)},
                              {"cases", nlohmann::ordered_json::array()}};
  for (const SuiteCase& test : result.cases)
    json["cases"].push_back(
        {{"name", test.name}, {"status", name(test.status)}, {"reason", test.reason}});
  return json.dump(1);
}

}  // namespace rlx
