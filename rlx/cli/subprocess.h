// Other programs, run to their end.
#pragma once

#include <string>
#include <vector>

namespace rlx::cli {

// What a program writes to standard output. `arguments` begin with the program's file. An Error
// with the last of what it writes to standard error where it does not end with 0.
std::string output_of(const std::vector<std::string>& arguments);

// A folder for files that nobody wants to keep; it goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace rlx::cli
