#include "rlx/import/rlx_file.h"

#include <filesystem>
#include <map>
#include <optional>

#include "rlx/base/error.h"
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

// Whether the text at `path`, if there is one, names tensors of the file beside it.
bool names_tensors(const std::string& path) {
  return std::filesystem::is_regular_file(path) &&
         read_file(path).find("]@\"") != std::string::npos;
}

}  // namespace

std::string save_rlx(const Graph& graph, const std::string& path) {
  std::map<std::string, Tensor> large;
  PrintOptions options;
  options.large = [&](const std::string& key, const Tensor& tensor) { large.emplace(key, tensor); };
  const std::string printed = print(graph, options);
  const std::string beside = tensors_path(path);
  const bool exists = std::filesystem::exists(beside), ours = exists && names_tensors(path);
  if (!large.empty() && exists && !ours)
    fail(ErrorKind::io, "'", beside, "' exists and is not of '", path,
         "': choose another name, or remove it");
  // Before anything is written: else the tensors would stay behind.
  if (std::filesystem::is_directory(path))
    fail(ErrorKind::io, "cannot write '", path, "': it is a folder");
  // The text last: it is what a reader looks for, and then finds what it names.
  if (!large.empty()) save_safetensors(beside, large);
  try {
    write_file(path, printed);
  } catch (const Error&) {
    if (!large.empty() && !exists) std::filesystem::remove(beside);
    throw;
  }
  if (large.empty() && ours) std::filesystem::remove(beside);
  return large.empty() ? "" : beside;
}

Graph load_rlx(const std::string& path, const OpSet& ops, const FileOptions& options) {
  std::optional<std::map<std::string, Tensor>> large;  // read when the first is asked for
  const auto find = [&](const std::string& key) {
    const std::string beside = tensors_path(path);
    try {
      // A FIFO that came along with the text would make us wait, a device fill the memory.
      if (!large && std::filesystem::exists(beside) && !std::filesystem::is_regular_file(beside))
        fail(ErrorKind::io, "cannot open '", beside, "': it is no regular file");
      if (!large) large = load_safetensors(beside, options);
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
