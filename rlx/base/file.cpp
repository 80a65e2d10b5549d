#include "rlx/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "rlx/base/error.h"

#ifndef __EMSCRIPTEN__
#include <sys/mman.h>
#endif

namespace rlx {
namespace {

[[noreturn]] void fail_io(const char* what, const std::string& path, int reason) {
  fail(ErrorKind::io, "cannot ", what, " '", path, "': ", std::strerror(reason));
}

std::span<const std::byte> bytes_of(std::string_view contents) {
  return std::as_bytes(std::span(contents.data(), contents.size()));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

int open_to_read(const std::string& path) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) fail_io("open", path, errno);
  return number;
}

struct stat status_of(const Descriptor& file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) fail_io("read", path, errno);
  if (S_ISDIR(status.st_mode)) fail_io("read", path, EISDIR);
  return status;
}

// To the end, whatever the size said at first: a pipe has none, a log grows.
std::string read_all(const Descriptor& file, const std::string& path, const struct stat& status) {
  std::string contents;
  size_t room = static_cast<size_t>(std::max<off_t>(status.st_size, 0)) + 1;  // 1 to see the end
  for (size_t size = 0;;) {
    contents.resize(size + room);
    const ssize_t got = ::read(file.number(), contents.data() + size, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io("read", path, errno);
    size += static_cast<size_t>(got);
    if (got == 0) {
      contents.resize(size);
      return contents;
    }
    room = std::max<size_t>(room - static_cast<size_t>(got), 4096);
  }
}

void write_all(const Descriptor& file, std::span<const std::byte> bytes, const std::string& path) {
  constexpr size_t kMost = size_t{1} << 30;  // some systems refuse 2 GiB at once
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.number(), bytes.data(), std::min(bytes.size(), kMost));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_io("write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
}

// A name beside `path` that no other writer uses: in the same folder, so that it can be renamed.
std::string name_beside(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return text(path, ".", ::getpid(), "-", counter++, ".tmp");
}

}  // namespace

std::string read_file(const std::string& path) {
  const Descriptor file(open_to_read(path));
  return read_all(file, path, status_of(file, path));
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const Descriptor file(open_to_read(path));
  const struct stat status = status_of(file, path);
  const std::shared_ptr<MappedFile> opened(new MappedFile(path));
#ifndef __EMSCRIPTEN__
  if (S_ISREG(status.st_mode) && status.st_size > 0) {  // nothing cannot be mapped
    const size_t size = static_cast<size_t>(status.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (at == MAP_FAILED) fail_io("map", path, errno);
    opened->owner_ = {at, [size](void* mapping) { ::munmap(mapping, size); }};
    opened->bytes_ = {static_cast<const std::byte*>(at), size};
    return opened;
  }
#endif
  const auto contents = std::make_shared<const std::string>(read_all(file, path, status));
  opened->owner_ = contents;
  opened->bytes_ = bytes_of(*contents);
  return opened;
}

void write_file(const std::string& path, const std::vector<std::span<const std::byte>>& parts) {
  const std::string temporary = name_beside(path);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.number() < 0) fail_io("write", path, errno);
  try {
    for (const std::span<const std::byte> part : parts) write_all(file, part, path);
    // Before the rename: else a crash could leave the new name with none of the bytes.
    if (::fsync(file.number()) != 0 && errno != EINVAL) fail_io("write", path, errno);
    if (!file.close()) fail_io("write", path, errno);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) fail_io("write", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void write_file(const std::string& path, std::string_view contents) {
  write_file(path, {bytes_of(contents)});
}

}  // namespace rlx
