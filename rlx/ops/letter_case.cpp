#include "rlx/ops/letter_case.h"

#include <cstdint>

namespace rlx {
namespace {

// Capital letters from `first` to `last`, every `step`th; the small one is `apart` further.
struct Capitals {
  int first, last, step, apart;
};
constexpr Capitals kCapitals[] = {
    {'A', 'Z', 1, 32},
    // Latin-1
    {0xc0, 0xd6, 1, 32},
    {0xd8, 0xde, 1, 32},
    // Latin Extended-A, where a capital is followed by its small letter
    {0x100, 0x12e, 2, 1},
    {0x132, 0x136, 2, 1},
    {0x139, 0x147, 2, 1},
    {0x14a, 0x176, 2, 1},
    {0x178, 0x178, 1, -121},
    {0x179, 0x17d, 2, 1},
    // Greek
    {0x386, 0x386, 1, 38},
    {0x388, 0x38a, 1, 37},
    {0x38c, 0x38c, 1, 64},
    {0x38e, 0x38f, 1, 63},
    {0x391, 0x3a1, 1, 32},
    {0x3a3, 0x3ab, 1, 32},
    // Cyrillic
    {0x400, 0x40f, 1, 80},
    {0x410, 0x42f, 1, 32},
    {0x460, 0x480, 2, 1},
    {0x48a, 0x4be, 2, 1},
    {0x4c0, 0x4c0, 1, 15},
    {0x4c1, 0x4cd, 2, 1},
    {0x4d0, 0x52e, 2, 1},
    // Armenian
    {0x531, 0x556, 1, 48},
    // Latin Extended Additional
    {0x1e00, 0x1e94, 2, 1},
    {0x1ea0, 0x1efe, 2, 1},
};
constexpr int kFinalSigma = 0x3c2, kSigma = 0x3a3;

bool is_among(const Capitals& letters, int code) {
  return code >= letters.first && code <= letters.last &&
         (code - letters.first) % letters.step == 0;
}
int lower(int code) {
  for (const Capitals& letters : kCapitals)
    if (is_among(letters, code)) return code + letters.apart;
  return code;
}
int upper(int code) {
  if (code == kFinalSigma) return kSigma;
  for (const Capitals& letters : kCapitals)
    if (is_among(letters, code - letters.apart)) return code - letters.apart;
  return code;
}

int byte_at(const std::string& text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}
bool continues(int byte) { return byte >> 6 == 2; }

std::string changed(std::string text, int (*change)(int)) {
  for (size_t at = 0; at < text.size();) {
    const int a = byte_at(text, at), b = byte_at(text, at + 1), c = byte_at(text, at + 2);
    size_t bytes = 1;
    int code = a;
    if (a >= 0xc2 && a < 0xe0 && continues(b)) {
      bytes = 2;
      code = (a & 0x1f) << 6 | (b & 0x3f);
    } else if (a > 0xe0 && a < 0xf0 && continues(b) && continues(c)) {
      bytes = 3;
      code = (a & 0xf) << 12 | (b & 0x3f) << 6 | (c & 0x3f);
    }
    if (bytes > 1 || a < 0x80) {  // another byte is no letter
      code = change(code);
      if (bytes == 1) text[at] = static_cast<char>(code);
      if (bytes == 2) text[at] = static_cast<char>(0xc0 | code >> 6);
      if (bytes == 3) {
        text[at] = static_cast<char>(0xe0 | code >> 12);
        text[at + 1] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
      }
      if (bytes > 1) text[at + bytes - 1] = static_cast<char>(0x80 | (code & 0x3f));
    }
    at += bytes;
  }
  return text;
}

}  // namespace

std::string lowered(std::string text) { return changed(std::move(text), lower); }
std::string uppered(std::string text) { return changed(std::move(text), upper); }

}  // namespace rlx
