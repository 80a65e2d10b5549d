#include "rlx/conformance/onnx_suite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <regex>
#include <set>

#include "rlx/base/error.h"
#include "rlx/import/onnx/import_model.h"
#include "rlx/ir/graph.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/strings.h"

namespace rlx {
namespace {

namespace fs = std::filesystem;
using onnx::Model;

// As ONNX's own runner compares.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

std::regex regular_expression(const std::string& filter) {
  try {
    return std::regex(filter);
  } catch (const std::regex_error& error) {
    fail(ErrorKind::invalid_input, "conformance: the filter '", filter,
         "' is no regular expression: ", error.what());
  }
}

std::vector<onnx::ValueData> read_numbered(const fs::path& folder, const std::string& kind,
                                           const std::vector<onnx::ValueInfo>& declared) {
  std::vector<onnx::ValueData> values;
  for (size_t i = 0; i < declared.size(); ++i) {
    const fs::path file = folder / text(kind, '_', i, ".pb");
    if (!fs::exists(file)) break;
    values.push_back(onnx::read_value(file.string(), declared[i].type));
  }
  return values;
}

// Does a node draw random numbers, or may it, as Dropout does where it trains?
bool may_be_random(const Model& model) {
  static const std::set<std::string> kRandom{"Bernoulli",         "RandomUniform",
                                             "RandomUniformLike", "RandomNormal",
                                             "RandomNormalLike",  "Multinomial"};
  const std::vector<onnx::Node>& nodes = model.graph.nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](const onnx::Node& node) {
    return kRandom.count(node.op) != 0 || (node.op == "Dropout" && node.inputs.size() > 2);
  });
}

const onnx::TypeInfo& tensor_type(const onnx::TypeInfo& type) {
  return type.element ? tensor_type(*type.element) : type;
}

// The suite keeps bfloat16 as the integers of its bits.
Tensor as_declared(const Tensor& tensor, const onnx::TypeInfo& type) {
  const bool bits =
      tensor.dtype() == DType::u16 && onnx::dtype_of(tensor_type(type).elem_type) == DType::bf16;
  if (!bits) return tensor;
  Tensor floats(DType::bf16, tensor.shape());
  if (tensor.count() > 0)
    std::memcpy(floats.mutable_bytes().data(), tensor.bytes().data(), tensor.bytes().size());
  return floats;
}

// Strings may be padded to another length.
std::string string_difference(const std::string& name, const Tensor& got, const Tensor& want) {
  const auto shape_of = [](const Tensor& strings) {
    return Shape(strings.shape().begin(), strings.shape().end() - 1);
  };
  if (got.dtype() != DType::u8 || got.shape().empty() || shape_of(got) != shape_of(want))
    return text(name, " is ", got.type(), ", it should be strings ", shape_of(want));
  for (int64_t i = 0; i < string_count(want); ++i)
    if (string_at(got, i) != string_at(want, i))
      return text(name, ": string ", i, " is '", string_at(got, i), "', it should be '",
                  string_at(want, i), "'");
  return "";
}

std::string difference(const std::string& name, const Tensor& got, const onnx::TensorData& want) {
  if (want.is_string) return string_difference(name, got, want.tensor);
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
      may_be_random_ = may_be_random(model_);
      if (!fs::exists(folder_ / "test_data_set_0")) result.reason = "it has no test_data_set_0";
      for (size_t set = 0; fs::exists(folder_ / text("test_data_set_", set)); ++set)
        if (result.reason.empty()) result.reason = run_set(folder_ / text("test_data_set_", set));
      result.status = !result.reason.empty() ? SuiteStatus::failed
                      : random_              ? SuiteStatus::random
                                             : SuiteStatus::passed;
      if (result.reason.empty()) result.reason = notes();
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
  // An input that decides the graph's structure cannot stay one; those alone become constants.
  Graph import(const TensorMap& inputs, onnx::ImportOptions options) {
    for (;;) {
      try {
        return onnx::import_model(model_, options);
      } catch (const onnx::UnknownInput& error) {
        bool mended = false;
        for (const std::string& name : error.inputs()) {
          const auto found = inputs.find(name);
          if (found == inputs.end() || !options.known_inputs.insert(*found).second) continue;
          mended = true;
          known_.insert(name);
        }
        if (!mended) throw;
      }
    }
  }

  // What differs from a run of the model with these inputs.
  std::string notes() const {
    std::string all;
    const auto add = [&](const char* what, const std::set<std::string>& names) {
      if (!names.empty())
        all += text(all.empty() ? "" : "; ", what, ": ",
                    joined(std::vector<std::string>(names.begin(), names.end())));
    };
    add("known when importing", known_);
    add("of another shape than the model declares", reshaped_);
    return all;
  }

  // Some files of the suite have another shape than their model says; it means them.
  void take_shape(onnx::ValueInfo& info, const Shape& shape) {
    if (info.type.kind != onnx::TypeInfo::Kind::tensor || !info.type.shape) return;
    std::vector<onnx::DimInfo>& dims = *info.type.shape;
    bool fits = dims.size() == shape.size();
    for (size_t d = 0; fits && d < dims.size(); ++d)
      fits = !dims[d].number || *dims[d].number == shape[d];
    if (fits) return;
    reshaped_.insert(info.name);
    dims.clear();
    for (const int64_t extent : shape) dims.push_back({extent});
  }

  TensorMap read_inputs(const fs::path& set, onnx::ImportOptions& options) {
    TensorMap inputs;
    const auto values = read_numbered(set, "input", model_.graph.inputs);
    for (size_t i = 0; i < values.size(); ++i) {
      onnx::ValueInfo& info = model_.graph.inputs[i];
      onnx::ElementTypes elements{values[i].present};
      for (size_t k = 0; k < values[i].tensors.size(); ++k) {
        const Tensor tensor = as_declared(values[i].tensors[k].tensor, info.type);
        take_shape(info, values[i].tensors[k].shape);
        elements.types.push_back(tensor.type());
        inputs.emplace(values[i].is_sequence ? onnx::element_name(info.name, k) : info.name,
                       tensor);
      }
      if (info.type.kind != onnx::TypeInfo::Kind::tensor)
        options.sequence_inputs.emplace(info.name, elements);
    }
    return inputs;
  }

  std::string compare(const std::string& name, const TensorMap& outputs, onnx::TensorData wanted,
                      const onnx::TypeInfo& type) {
    const auto got = outputs.find(name);
    if (got == outputs.end()) return text("there is no ", name);
    wanted.tensor = as_declared(wanted.tensor, type);
    std::string wrong = difference(name, got->second, wanted);
    if (wrong.empty() || !may_be_random_) return wrong;
    random_ = true;
    return random_difference(name, got->second, wanted);
  }

  std::string run_set(const fs::path& set) {
    onnx::ImportOptions options;
    options.exact_resize = true;  // its results are those of the text
    const TensorMap inputs = read_inputs(set, options);
    const auto wanted = read_numbered(set, "output", model_.graph.outputs);
    if (wanted.empty()) return text("it has no output_0.pb in ", set.filename().string());
    const Graph graph = import(inputs, std::move(options));
    TensorMap fed;
    for (const rlx::Node& node : graph.nodes())
      if (is_input(node))
        if (const auto found = inputs.find(node.name); found != inputs.end()) fed.insert(*found);
    const Program program = compile(graph, {.device = options_.device,
                                            .strict = options_.strict,
                                            .disabled_passes = options_.disabled_passes});
    const TensorMap outputs = program.run(fed);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const onnx::ValueInfo& info = model_.graph.outputs[i];
      const size_t count = wanted[i].tensors.size();
      for (size_t k = 0; k < count; ++k) {
        std::string wrong =
            compare(wanted[i].is_sequence ? onnx::element_name(info.name, k) : info.name, outputs,
                    wanted[i].tensors[k], info.type);
        if (!wrong.empty()) return wrong;
      }
      if (wanted[i].is_sequence && outputs.count(onnx::element_name(info.name, count)))
        return text(info.name, " has more than ", count, " elements");
    }
    return "";
  }

  fs::path folder_;
  const SuiteOptions& options_;
  Model model_;
  bool may_be_random_ = false, random_ = false;
  std::set<std::string> known_, reshaped_;
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
  const std::regex filter = regular_expression(options.filter);
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

}  // namespace rlx
