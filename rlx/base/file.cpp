#include "rlx/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "rlx/base/error.h"

#ifndef __EMSCRIPTEN__
#include <sys/mman.h>
#endif

namespace rlx {

struct OpenedFiles::List {
  std::vector<std::shared_ptr<const MappedFile>> files;
};

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
  void reset(int number) {
    close();
    number_ = number;
  }
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

int open_to_read(const std::string& path) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) fail_io("open", path, errno);
  return number;
}

// Folder by folder, so that no link is followed on the way, whoever puts one there meanwhile.
int open_below(const std::string& folder, const std::string& name, const std::string& path) {
  const auto refuse = [&](const char* why) { fail(ErrorKind::io, "cannot open '", path, why); };
  if (const size_t zero = name.find('\0');
      zero != std::string::npos)  // the system would stop there
    fail(ErrorKind::io, "cannot open '", path.substr(0, path.find('\0')),
         "': there is a zero byte in its name");
  if (name.empty() || name[0] == '/' || name.find_first_of("\\:") != std::string::npos)
    refuse("': it is not the name of a file in that folder");
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.number() < 0) fail_io("open", path, errno);
  for (size_t begin = 0;;) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part == "..") refuse("': its name leads out of that folder");
    // O_NONBLOCK: a FIFO would make us wait for someone who writes to it.
    const int kind = end == name.size() ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY;
    if (!part.empty() && part != ".") {
      const int next =
          ::openat(at.number(), part.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
      const int reason = errno;
      struct stat status = {};
      const bool link = next < 0 &&
                        ::fstatat(at.number(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISLNK(status.st_mode);
      if (link) refuse("': a symbolic link may lead out of that folder, and is not followed");
      if (next < 0) fail_io("open", path, reason);
      if (end == name.size()) return next;
      at.reset(next);
    } else if (end == name.size()) {
      refuse("': it is not the name of a file in that folder");
    }
    begin = end + 1;
  }
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

// What writing to a path means. A regular file, or a name that is free, gets a new file in its
// place. A device, a FIFO or a socket is written through: whoever is at its other end would not see
// a file that took its name, and `--report-json /dev/null` would replace the device. A symbolic
// link stays one: what it leads to is written.
struct Target {
  std::string path;
  bool replaced = true;
  std::optional<mode_t> mode = std::nullopt;     // of the file that is replaced
  std::optional<int> descriptor = std::nullopt;  // one of ours, as /dev/stdout names it
};

// /dev/stdout is a link to /proc/self/fd/1, which the system shows as a link to the file itself.
std::optional<int> descriptor_named(std::filesystem::path link) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(link, error); ++i) {
    const std::filesystem::path parent = link.has_parent_path() ? link.parent_path() : ".";
    const std::filesystem::path folder = std::filesystem::canonical(parent, error);
    const std::string name = link.filename().string();
    if (folder == text("/proc/", ::getpid(), "/fd")) return std::atoi(name.c_str());
    link = parent / std::filesystem::read_symlink(link, error);
    if (error) break;
  }
  return std::nullopt;
}

Target target_of(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return {path};  // a free name, or open() tells why
  if (!S_ISLNK(status.st_mode)) {
    if (!S_ISREG(status.st_mode)) return {path, false};
    return {path, true, status.st_mode & 07777U};
  }
  if (const auto descriptor = descriptor_named(path)) return {path, false, {}, descriptor};
  if (::stat(path.c_str(), &status) != 0) return {path, false};  // open() makes what it names
  std::error_code unknown;
  const std::filesystem::path real = std::filesystem::canonical(path, unknown);
  if (unknown || !S_ISREG(status.st_mode)) return {path, false};
  return {real.string(), true, status.st_mode & 07777U};
}

int open_to_write(const Target& target, const std::string& temporary) {
  if (target.descriptor) return ::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0);
  const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_CREAT;
  if (target.replaced) return ::open(temporary.c_str(), flags | O_EXCL, 0666);
  return ::open(target.path.c_str(), flags | O_TRUNC, 0666);  // as `>` of a shell does
}

}  // namespace

std::string read_file(const std::string& path) {
  const Descriptor file(open_to_read(path));
  return read_all(file, path, status_of(file, path));
}

struct MappedFile::Stamp {
  dev_t device;
  ino_t number;
  off_t size;
  time_t seconds;
  long nanoseconds;

  explicit Stamp(const struct stat& status)
      : device(status.st_dev),
        number(status.st_ino),
        size(status.st_size),
#ifdef __APPLE__
        seconds(status.st_mtimespec.tv_sec),
        nanoseconds(status.st_mtimespec.tv_nsec) {
  }
#else
        seconds(status.st_mtim.tv_sec),
        nanoseconds(status.st_mtim.tv_nsec) {
  }
#endif
};

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path,
                                                   const FileOptions& options) {
  return of_descriptor(open_to_read(path), path, false, options);
}

std::shared_ptr<const MappedFile> MappedFile::open_inside(const std::string& folder,
                                                          const std::string& name,
                                                          const FileOptions& options) {
  const std::string path = folder + "/" + name;
  return of_descriptor(open_below(folder, name, path), path, true, options);
}

std::shared_ptr<const MappedFile> MappedFile::of_descriptor(int number, const std::string& path,
                                                            bool regular_only,
                                                            const FileOptions& options) {
  const Descriptor file(number);
  const struct stat status = status_of(file, path);
  if (regular_only && !S_ISREG(status.st_mode))
    fail(ErrorKind::io, "cannot open '", path, "': it is no regular file");
  const std::shared_ptr<MappedFile> opened(new MappedFile(path));
  if (options.opened) options.opened->list_->files.push_back(opened);
#ifndef __EMSCRIPTEN__
  if (S_ISREG(status.st_mode) && status.st_size > 0 && !options.copy) {  // nothing cannot be mapped
    const size_t size = static_cast<size_t>(status.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (at == MAP_FAILED) fail_io("map", path, errno);
    opened->owner_ = {at, [size](void* mapping) { ::munmap(mapping, size); }};
    opened->bytes_ = {static_cast<const std::byte*>(at), size};
    opened->stamp_ = std::make_shared<const Stamp>(status);
    return opened;
  }
#endif
  const auto contents = std::make_shared<const std::string>(read_all(file, path, status));
  opened->owner_ = contents;
  opened->bytes_ = bytes_of(*contents);
  return opened;
}

void MappedFile::check_unchanged() const {
  struct stat status = {};
  if (!stamp_ || ::stat(path_.c_str(), &status) != 0) return;  // a removed file keeps its bytes
  const Stamp now(status);
  if (now.device != stamp_->device || now.number != stamp_->number) return;  // as a replaced one
  const bool same = now.size == stamp_->size && now.seconds == stamp_->seconds &&
                    now.nanoseconds == stamp_->nanoseconds;
  if (!same)
    fail(ErrorKind::io, "'", path_, "' was written to while it was in use (it had ", stamp_->size,
         " bytes, it has ", now.size, "): what was made of it may be wrong");
}

OpenedFiles::OpenedFiles() : list_(std::make_shared<List>()) {}

void OpenedFiles::check_unchanged() const {
  for (const auto& file : list_->files) file->check_unchanged();
}

void write_file(const std::string& path, const std::vector<std::span<const std::byte>>& parts) {
  const Target target = target_of(path);
  const std::string temporary = target.replaced ? name_beside(target.path) : "";
  Descriptor file(open_to_write(target, temporary));
  if (file.number() < 0) fail_io("write", path, errno);
  try {
    for (const std::span<const std::byte> part : parts) write_all(file, part, path);
    if (target.mode) ::fchmod(file.number(), *target.mode);  // as far as we may
    // Before the rename: else a crash could leave the new name with none of the bytes.
    if (target.replaced && ::fsync(file.number()) != 0 && errno != EINVAL)
      fail_io("write", path, errno);
    if (!file.close()) fail_io("write", path, errno);
    if (target.replaced && std::rename(temporary.c_str(), target.path.c_str()) != 0)
      fail_io("write", path, errno);
  } catch (...) {
    if (target.replaced) ::unlink(temporary.c_str());
    throw;
  }
}

void write_file(const std::string& path, std::string_view contents) {
  write_file(path, {bytes_of(contents)});
}

}  // namespace rlx
