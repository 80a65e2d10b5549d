#include "rlx/import/rlx_file.h"

#include <map>
#include <optional>

#include "rlx/base/file.h"
#include "rlx/import/safetensors.h"
#include "rlx/ir/text.h"

namespace rlx {
namespace {

std::string tensors_path(const std::string& path) {
  constexpr std::string_view kExtension = ".rlx";
  const bool named =
      path.size() > kExtension.size() &&
      path.compare(path.size() - kExtension.size(), kExtension.size(), kExtension) == 0;
  return path.substr(0, path.size() - (named ? kExtension.size() : 0)) + ".safetensors";
}

}  // namespace

void save_rlx(const Graph& graph, const std::string& path) {
  std::map<std::string, Tensor> large;
  PrintOptions options;
  options.large = [&](const std::string& key, const Tensor& tensor) { large.emplace(key, tensor); };
  const std::string printed = print(graph, options);
  // The text last: it is what a reader looks for, and then finds what it names.
  if (!large.empty()) save_safetensors(tensors_path(path), large);
  write_file(path, printed);
}

Graph load_rlx(const std::string& path, const OpSet& ops) {
  std::optional<std::map<std::string, Tensor>> large;  // read when the first is asked for
  const auto find = [&](const std::string& key) {
    const std::string beside = tensors_path(path);
    try {
      if (!large) large = load_safetensors(beside);
    } catch (Error& error) {
      error.add_note("tensor '" + key + "' should be there, beside " + path);
      throw;
    }
    const auto found = large->find(key);
    if (found == large->end())
      fail(ErrorKind::invalid_model, "there is no tensor '", key, "' in ", beside);
    return found->second;
  };
  return parse(read_file(path), ops, {find, path});
}

}  // namespace rlx
