#include "rlx/base/text.h"

#include <locale>

namespace rlx {

TextStream::TextStream() { out_.imbue(std::locale::classic()); }
TextStream::~TextStream() = default;
std::string TextStream::str() const { return out_.str(); }

}  // namespace rlx
