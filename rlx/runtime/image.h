// An image: a graph, compiled for a device, as data. It prints, compares, is kept in a file, and is
// made ready to run without being compiled again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rlx/image/file_options.h"
#include "rlx/runtime/program.h"

namespace rlx {

namespace image {
struct Image;
}

class Image {
 public:
  explicit Image(Shared<const image::Image> data) : data_(std::move(data)) {}

  std::vector<Description> inputs() const;
  std::vector<Description> outputs() const;
  std::vector<Description> weights() const;
  std::vector<Description> states() const;
  SymbolRanges symbols() const;        // those with bounds
  const DeviceTraits& traits() const;  // of the device it was built for
  bool operator==(const Image& other) const;
  // Of all of it, weights included: equal images have equal hashes, on every machine.
  uint64_t hash() const;
  const image::Image& data() const { return *data_; }

 private:
  Shared<const image::Image> data_;
};

// As a person reads it; equal images print equal text.
std::string to_text(const Image& image);

// What is read back is equal to what was written. Reading maps the file and trusts nothing in it:
// it gives an image or an Error of kind invalid_model.
void write_image(const std::string& path, const Image& image,
                 const image::WriteOptions& options = {});
Image read_image(const std::string& path, const image::ReadOptions& options = {});

// The image that compile would prepare.
Image compile_image(const Graph& graph, const CompileOptions& options = {});
// An image made ready on a device; `ops` has what it calls on the host.
void prepare_async(const Device& device, const Image& image, const OpSet& ops,
                   int64_t memory_budget, Receive<Program> done);
Program prepare(const Device& device, const Image& image, const OpSet& ops,
                int64_t memory_budget = 0);  // waits

}  // namespace rlx
