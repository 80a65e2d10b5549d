// Reads the tensors of ONNX: their elements lie in the message, as bytes or numbers, or in a file
// beside the model.
#pragma once

#include <map>
#include <memory>

#include "rlx/base/file.h"
#include "rlx/import/onnx/model.h"
#include "rlx/import/onnx/wire.h"

namespace rlx::onnx {

class TensorReader {
 public:
  // Tensors are views of what `keep_alive` owns. `folder`: where external data may be.
  TensorReader(const Wire& wire, Keep keep_alive, std::string folder,
               const FileOptions& options = {})
      : wire_(wire),
        keep_alive_(std::move(keep_alive)),
        folder_(std::move(folder)),
        options_(options) {}

  TensorData tensor(pbf_reader message);
  SparseTensor sparse(pbf_reader message);
  int64_t external_bytes() const;  // of the files that were read so far

 private:
  struct Raw;
  void tensor_field(pbf_reader& in, Raw& raw);
  void entry(pbf_reader message, std::map<std::string, std::string>& entries);
  int64_t count_of(const Raw& raw) const;
  TensorData assemble(Raw& raw);
  Tensor of_bytes(const Raw& raw, DType dtype, int64_t count, std::span<const std::byte> bytes,
                  const Keep& owner) const;
  Tensor of_numbers(const Raw& raw, DType dtype, int64_t count) const;
  int64_t number_in(const Raw& raw, const char* key, int64_t otherwise) const;
  Tensor external(const Raw& raw, DType dtype, int64_t count);

  const Wire& wire_;
  Keep keep_alive_;
  std::string folder_;
  FileOptions options_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace rlx::onnx
