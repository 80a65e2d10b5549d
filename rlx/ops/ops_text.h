// Strings.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// They are bytes, u8[..., length], as rlx/tensor/strings.h keeps them.
struct NormaliseTextOptions {
  std::string letter_case = "none";  // of what is left: lower, upper
  Strings stopwords = {};            // these strings are left out
  bool case_sensitive = false;       // is "Monday" another than "monday"?
};
// Of strings [C] or [1, C] those that are no stopwords; one that is empty where none is left.
Value normalise_text(Value text, const NormaliseTextOptions& options = {});
Value text_to_numbers(Value text, DType dtype);  // "1e-5", "-INF", "NaN"; another word is an Error
Value numbers_to_text(Value x);                  // the fewest digits that read back

}  // namespace rlx
