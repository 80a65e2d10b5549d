#include "rlx/cli/printable.h"

namespace rlx::cli {
namespace {

constexpr unsigned char kDelete = 0x7f, kFirstOfPair = 0xc2;  // U+0080 to U+009F are C2 80 to C2 9F

bool is_control(unsigned char byte) {
  return (byte < ' ' && byte != '\n' && byte != '\t') || byte == kDelete;
}

std::string escaped(unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

bool PrintableBuffer::write_raw(std::string_view bytes) {
  const auto count = static_cast<std::streamsize>(bytes.size());
  return to_.sputn(bytes.data(), count) == count;
}

bool PrintableBuffer::finish_pair(unsigned char byte) {
  half_ = false;
  if (byte >= 0x80 && byte < 0xa0) return write_raw(escaped(kFirstOfPair) + escaped(byte));
  const char first = static_cast<char>(kFirstOfPair);
  return write_raw({&first, 1}) && put(byte);
}

bool PrintableBuffer::put(unsigned char byte) {
  if (half_) return finish_pair(byte);
  half_ = byte == kFirstOfPair;
  if (half_) return true;
  const char plain = static_cast<char>(byte);
  return is_control(byte) ? write_raw(escaped(byte)) : write_raw({&plain, 1});
}

PrintableBuffer::int_type PrintableBuffer::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  return put(static_cast<unsigned char>(traits_type::to_char_type(byte))) ? byte
                                                                          : traits_type::eof();
}

std::streamsize PrintableBuffer::xsputn(const char* bytes, std::streamsize count) {
  std::streamsize plain = 0;  // where what needs no escape begins
  for (std::streamsize i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (!half_ && !is_control(byte) && byte != kFirstOfPair) continue;
    if (to_.sputn(bytes + plain, i - plain) != i - plain || !put(byte)) return plain;
    plain = i + 1;
  }
  return plain + to_.sputn(bytes + plain, count - plain);
}

int PrintableBuffer::sync() { return to_.pubsync(); }

void write_raw(std::ostream& out, std::string_view bytes) {
  auto* printable = dynamic_cast<PrintableBuffer*>(out.rdbuf());
  if (!printable)
    out << bytes;
  else if (!printable->write_raw(bytes))
    out.setstate(std::ios::badbit);
}

std::ostream& operator<<(std::ostream& out, const Bold& bold) {
  if (bold.on) write_raw(out, "\033[1m");
  out << bold.text;
  if (bold.on) write_raw(out, "\033[0m");
  return out;
}

}  // namespace rlx::cli
