// How files are opened.
#pragma once

#include "rlx/base/shared.h"

namespace rlx {

// Files that were opened, to be asked later whether they are still what they were.
class OpenedFiles {
 public:
  OpenedFiles();
  // An Error where one was written or shortened since: what was computed from its bytes may then
  // be of neither version. The times of a file tell, as far as they are fine.
  void check_unchanged() const;

 private:
  friend class MappedFile;
  struct List;
  Shared<List> list_;
};

struct FileOptions {
  // Reads a file whole instead of mapping it: it may change afterwards, and costs its size.
  bool copy = false;
  OpenedFiles* opened = nullptr;  // where to note what was opened
};

}  // namespace rlx
