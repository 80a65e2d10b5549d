// Capital and small letters of UTF-8, without a locale.
#pragma once

#include <string>

namespace rlx {

// Letters one by one, of the Latin (with the marks of Europe and Vietnam), Greek, Cyrillic and
// Armenian alphabets. A letter that has no single other form of as many bytes stays, as ß does, and
// so do bytes that are no UTF-8.
std::string lowered(std::string text);
std::string uppered(std::string text);

}  // namespace rlx
