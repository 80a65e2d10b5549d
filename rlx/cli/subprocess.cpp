#include "rlx/cli/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "rlx/base/error.h"
#include "rlx/base/file.h"

extern char** environ;

namespace rlx::cli {
namespace {

namespace fs = std::filesystem;

// Standard output and error go to files: nobody has to read while the program runs.
struct Streams {
  posix_spawn_file_actions_t actions;
  Streams(const std::string& out, const std::string& err) {
    posix_spawn_file_actions_init(&actions);
    constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kNew, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kNew, 0600);
  }
  ~Streams() { posix_spawn_file_actions_destroy(&actions); }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
};

std::string end_of(const std::string& text) {
  constexpr size_t kMost = 2000;
  return text.size() > kMost ? "…" + text.substr(text.size() - kMost) : text;
}

}  // namespace

std::string output_of(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out", err = folder.path() + "/err";
  const Streams streams(out, err);
  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int problem =
      posix_spawn(&child, words[0], &streams.actions, nullptr, words.data(), environ);
  if (problem != 0)
    fail(ErrorKind::io, "cannot start ", arguments[0], ": ", std::strerror(problem));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail(ErrorKind::io, "cannot wait for ", arguments[0]);
  if (WIFSIGNALED(status))
    fail(ErrorKind::io, arguments[0], " was ended by signal ", WTERMSIG(status), '\n',
         end_of(read_file(err)));
  if (WEXITSTATUS(status) != 0)
    fail(ErrorKind::io, arguments[0], " failed\n", end_of(read_file(err)));
  return read_file(out);
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = ((error ? fs::path("/tmp") : parent) / "rlx.XXXXXX").string();
  if (!mkdtemp(name.data())) fail(ErrorKind::io, "cannot make a folder for files: ", name);
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace rlx::cli
