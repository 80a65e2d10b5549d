// The safetensors format: a JSON header that says where in the file each tensor lies.
#pragma once

#include <map>
#include <span>
#include <string>

#include "rlx/base/file_options.h"
#include "rlx/tensor/tensor.h"

namespace rlx {

// The tensors by name. They are views of the mapped file, which they keep open; only one that does
// not lie as its elements need is copied. A wrong file is an Error that names the byte.
std::map<std::string, Tensor> load_safetensors(const std::string& path,
                                               const FileOptions& options = {});

// The same from bytes that `keep_alive` owns; `source` is their name in messages.
std::map<std::string, Tensor> parse_safetensors(std::span<const std::byte> bytes, Keep keep_alive,
                                                const std::string& source);

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors);

}  // namespace rlx
