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

#include "rlx/base/file_options.h"

namespace rlx {

std::string read_file(const std::string& path);

// A file's bytes without reading them first: pages come from the disk when they are touched. The
// bytes are those of the file as it was opened even when write_file() replaces it; a program that
// writes into it changes them, and one that shortens it breaks every mapping of it.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path,
                                                const FileOptions& options = {});
  // A file that another file names, so that the name may be meant to harm: only a regular file
  // below `folder` is opened. A name that leads up or is absolute, a symbolic link on the way, a
  // device or a FIFO is an Error. A hard link cannot be told from the file it is one of.
  static std::shared_ptr<const MappedFile> open_inside(const std::string& folder,
                                                       const std::string& name,
                                                       const FileOptions& options = {});

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

  // See OpenedFiles.
  void check_unchanged() const;

 private:
  explicit MappedFile(std::string path) : path_(std::move(path)) {}
  static std::shared_ptr<const MappedFile> of_descriptor(int number, const std::string& path,
                                                         bool regular_only,
                                                         const FileOptions& options);

  struct Stamp;  // which file it is, its size and when it was written
  std::string path_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;   // the mapping, or memory where a file cannot be mapped
  std::shared_ptr<const Stamp> stamp_;  // of a mapping
};

// Writes the parts one after the other into a file beside `path` and then puts it in its place.
// Only a regular file is replaced: a device, a FIFO or a socket is written through, and a symbolic
// link stays one, what it leads to being written.
void write_file(const std::string& path, const std::vector<std::span<const std::byte>>& parts);
void write_file(const std::string& path, std::string_view contents);

}  // namespace rlx
