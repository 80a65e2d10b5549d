// Whole files: read into memory, mapped, or written so that a reader never sees half of one.
// Failures are Errors of kind io that name the path and the system's reason.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rlx {

std::string read_file(const std::string& path);

// A file's bytes without reading them first: pages come from the disk when they are touched. The
// bytes are those of the file as it was opened even when write_file() replaces it; a program that
// shortens it in place breaks every mapping of it.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path);

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  explicit MappedFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;  // the mapping, or memory where a file cannot be mapped
};

// Writes the parts one after the other into a file beside `path` and then puts it in its place.
// Only a regular file is replaced: a device, a FIFO or a socket is written through, and a symbolic
// link stays one, what it leads to being written.
void write_file(const std::string& path, const std::vector<std::span<const std::byte>>& parts);
void write_file(const std::string& path, std::string_view contents);

}  // namespace rlx
