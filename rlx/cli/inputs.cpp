#include "rlx/cli/inputs.h"

#include <algorithm>
#include <charconv>
#include <random>

#include "rlx/cli/literal.h"
#include "rlx/import/npy.h"

namespace rlx::cli {
namespace {

struct Flag {
  std::string name, value;
};
Flag split_flag(const char* flag, const std::string& given, const char* form) {
  const size_t equals = given.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == given.size())
    throw CLI::ValidationError(flag, text("'", given, "' is not of the form ", form));
  return {given.substr(0, equals), given.substr(equals + 1)};
}

int64_t parse_count(const char* flag, const std::string& given) {
  int64_t number = 0;
  const char* end = given.data() + given.size();
  const auto [last, error] = std::from_chars(given.data(), end, number);
  if (error != std::errc() || last != end || number < 0)
    throw CLI::ValidationError(flag, text("'", given, "' is not a number of 0 or more"));
  return number;
}

// Floats in [-1, 1], integers in [0, 9], bools; the same on every machine.
Tensor random_tensor(DType dtype, const Shape& shape, int64_t seed) {
  constexpr uint64_t kIntegers = 10;
  Tensor tensor(dtype, shape);
  if (dtype == DType::c64) return tensor;
  std::mt19937_64 bits(static_cast<uint64_t>(seed));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const uint64_t drawn = bits() >> 11;  // the 53 bits a double holds
    if (is_float(dtype))
      tensor.set(i, std::ldexp(static_cast<double>(drawn), -52) - 1);
    else
      tensor.set_integer(i, static_cast<int64_t>(drawn % (is_integer(dtype) ? kIntegers : 2)));
  }
  return tensor;
}

// What a SPEC asks for: a tensor at once, or one that waits for the shape.
struct Spec {
  std::optional<Tensor> tensor = {};  // its shape binds symbols
  enum class Fill { random, number } fill = Fill::random;
  int64_t seed = 0;
  std::string number = {};  // a literal
};

Spec parse_spec(const std::string& name, const std::string& given, DType dtype) {
  constexpr std::string_view kRandom = "random", kSuffix = ".npy";
  Spec spec;
  const bool is_file =
      given.size() > kSuffix.size() && given.substr(given.size() - kSuffix.size()) == kSuffix;
  if (given.substr(0, kRandom.size()) == kRandom && !is_file) {
    const std::string rest = given.substr(kRandom.size());
    if (!rest.empty() && rest[0] != ':')
      throw CLI::ValidationError("--input", text(name, ": write random:SEED"));
    if (!rest.empty()) spec.seed = parse_count("--input", rest.substr(1));
    return spec;
  }
  if (given == "zeros" || given == "ones" || (is_literal(given) && given[0] != '[')) {
    spec.fill = Spec::Fill::number;
    spec.number = given == "zeros" ? "0" : given == "ones" ? "1" : given;
    return spec;
  }
  if (is_literal(given)) {
    spec.tensor = parse_literal(given, dtype);
    return spec;
  }
  if (!is_file)
    throw CLI::ValidationError(
        "--input", text(name, "=", given, " is no file.npy, literal, random:SEED, zeros or ones"));
  spec.tensor = load_npy(given);
  return spec;
}

Tensor fill(const Spec& spec, DType dtype, const Shape& shape) {
  if (spec.fill == Spec::Fill::random) return random_tensor(dtype, shape, spec.seed);
  const Tensor number = parse_literal(spec.number, dtype);
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    is_float(dtype) ? tensor.set(i, number.at(0)) : tensor.set_integer(i, number.integer_at(0));
  return tensor;
}

// The shape of an input no tensor was given for.
Shape shape_of_input(const Signature::Input& input, const SymbolValues& symbols) {
  for (const Dim& dim : input.type.shape)
    for (const std::string& symbol : dim.symbols())
      if (!symbols.count(symbol))
        fail(ErrorKind::invalid_input, "input '", input.name, "' is ", input.type,
             " and nothing says how long '", symbol, "' is: add --bind ", symbol,
             "=NUMBER, or give the input");
  return bound(input.type.shape, symbols);
}

std::map<std::string, Spec> parse_specs(const Signature& signature, const InputOptions& options) {
  std::map<std::string, DType> inputs;
  std::vector<std::string> names;
  for (const auto& [name, type] : signature.inputs)
    inputs.emplace(name, type.dtype), names.push_back(name);
  std::map<std::string, Spec> specs;
  for (const std::string& given : options.inputs) {
    const auto [name, value] = split_flag("--input", given, "NAME=SPEC");
    const auto found = inputs.find(name);
    if (found == inputs.end())
      fail(ErrorKind::invalid_input, "there is no input '", name, "'; there is ",
           names.empty() ? "none" : joined(names));
    const bool added = specs.emplace(name, parse_spec(name, value, found->second)).second;
    if (!added) throw CLI::ValidationError("--input", text("'", name, "' is given twice"));
  }
  return specs;
}

}  // namespace

void add_bind_option(CLI::App& command, InputOptions& options) {
  command
      .add_option("--bind", options.binds,
                  "Gives a symbol of the inputs' shapes its value: --bind seq=128")
      ->type_name("SYMBOL=NUMBER")
      ->allow_extra_args(false);
}

void add_input_options(CLI::App& command, InputOptions& options) {
  command
      .add_option("--input", options.inputs,
                  "An input: file.npy, a literal like [[1, 2], [3, 4]], a number that fills it, "
                  "random:SEED, zeros or ones; inputs not given are random:0")
      ->type_name("NAME=SPEC")
      ->allow_extra_args(false);
  add_bind_option(command, options);
}

Signature signature_of(const Graph& graph) {
  Signature signature;
  for (const Node& node : graph.nodes())
    if (is_input(node)) signature.inputs.push_back({node.name, node.types[0]});
  for (const GraphOutput& output : graph.outputs()) signature.outputs.push_back(output.name);
  signature.symbols = graph.symbols();
  return signature;
}

Signature signature_of(const Image& image) {
  Signature signature;
  for (const Description& input : image.inputs())
    signature.inputs.push_back({input.name, input.type});
  for (const Description& output : image.outputs()) signature.outputs.push_back(output.name);
  signature.symbols = image.symbols();
  return signature;
}

std::vector<std::string> input_symbols(const Signature& signature) {
  std::vector<std::string> symbols;
  for (const auto& [name, type] : signature.inputs)
    for (const Dim& dim : type.shape)
      for (const std::string& symbol : dim.symbols())
        if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
          symbols.push_back(symbol);
  return symbols;
}

SymbolValues bound_symbols(const Signature& signature, const InputOptions& options) {
  const std::vector<std::string> known = input_symbols(signature);
  SymbolValues symbols;
  for (const std::string& given : options.binds) {
    const auto [name, value] = split_flag("--bind", given, "SYMBOL=NUMBER");
    const int64_t number = parse_count("--bind", value);
    if (number == kUnbounded)  // stands for a symbol without a bound
      throw CLI::ValidationError("--bind", text("'", value, "' is more than a dim can be"));
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail(ErrorKind::invalid_input, "there is no symbol '", name,
           "' in the inputs' shapes; there is ", known.empty() ? "none" : joined(known));
    const auto bounds = signature.symbols.find(name);
    if (bounds != signature.symbols.end() &&
        (number < bounds->second.low || number > bounds->second.high))
      fail(ErrorKind::invalid_input, "--bind ", given, ": '", name, "' lies in ",
           bounds->second.low, "..", bounds->second.high);
    if (!symbols.emplace(name, number).second)
      throw CLI::ValidationError("--bind", text("'", name, "' is given twice"));
  }
  return symbols;
}

TensorMap make_inputs(const Signature& signature, const InputOptions& options) {
  SymbolValues symbols = bound_symbols(signature, options);
  const std::map<std::string, Spec> specs = parse_specs(signature, options);
  TensorMap tensors;
  for (const auto& [name, type] : signature.inputs) {
    const auto spec = specs.find(name);
    if (spec == specs.end() || !spec->second.tensor) continue;
    bind_input(name, type, spec->second.tensor->type(), symbols);
    tensors.emplace(name, *spec->second.tensor);
  }
  for (const Signature::Input& input : signature.inputs) {
    if (tensors.count(input.name)) continue;
    const auto spec = specs.find(input.name);
    tensors.emplace(input.name, fill(spec == specs.end() ? Spec{} : spec->second, input.type.dtype,
                                     shape_of_input(input, symbols)));
  }
  return tensors;
}

}  // namespace rlx::cli
