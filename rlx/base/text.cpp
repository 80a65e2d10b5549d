#include "rlx/base/text.h"

#include <locale>

namespace rlx {

TextStream::TextStream() {
  if (out_.getloc() != std::locale::classic()) out_.imbue(std::locale::classic());
}
TextStream::~TextStream() = default;
std::string TextStream::str() const { return out_.str(); }

}  // namespace rlx
