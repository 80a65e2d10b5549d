#include <algorithm>
#include <cstring>
#include <type_traits>

#include "rlx/base/file.h"
#include "rlx/image/file.h"
#include "rlx/image/file_format.h"
#include "rlx/image/verify.h"

namespace rlx::image {
namespace {

class Reader {
 public:
  template <class T>
  using Field = T;

  Reader(std::span<const std::byte> bytes, Keep keep_alive, const std::string& source,
         const ReadOptions& options)
      : file_(bytes), keep_alive_(std::move(keep_alive)), source_(source), options_(options) {}

  Image read() {
    read_header();
    read_table();
    Image image;
    fields(*this, image);
    if (!bytes_.empty()) wrong(bytes_.size(), " bytes follow the image's structure");
    return image;
  }

  template <class... T>
  void operator()(T&... list) {
    (get(list), ...);
  }

 private:
  template <class... Text>
  [[noreturn]] void wrong(const Text&... parts) const {
    fail(ErrorKind::invalid_model, source_, ": byte ", place(), ": ", parts...);
  }
  template <class... Text>
  [[noreturn]] void wrong_file(const Text&... parts) const {
    fail(ErrorKind::invalid_model, source_, ": ", parts...);
  }
  size_t place() const { return size_t(bytes_.data() - file_.data()); }

  void read_header() {
    Header header;
    if (file_.size() < kHeaderBytes)
      wrong_file("an image has a header of ", kHeaderBytes, " bytes, the file has ", file_.size());
    std::memcpy(&header, file_.data(), kHeaderBytes);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) wrong_file("this is no image");
    if (header.version != kVersion)
      wrong_file("the image has version ", header.version, ", this program reads ", kVersion);
    if (options_.checksums && header.checksum != header_checksum(header))
      wrong_file("the header is damaged");
    if (header.zero != 0 || header.zeros[0] != 0 || header.zeros[1] != 0)
      wrong_file("the header has bytes that this version does not know");
    if (header.file_bytes != file_.size())
      wrong_file("the image has ", header.file_bytes, " bytes, the file has ", file_.size());
    if (header.structure_bytes > file_.size() - kHeaderBytes)
      wrong_file("the image's structure has ", header.structure_bytes, " bytes, the file has ",
                 file_.size() - kHeaderBytes, " after the header");
    bytes_ = file_.subspan(kHeaderBytes, size_t(header.structure_bytes));
    if (options_.checksums && header.structure_checksum != checksum(bytes_))
      wrong_file("the image's structure is damaged: its checksum differs");
  }

  // Where the tensors are: one behind the other, to the end, with zeros between.
  void read_table() {
    uint64_t at = kHeaderBytes + bytes_.size();
    const auto skip_zeros = [&] {
      const uint64_t end = align(at);
      if (end > file_.size()) wrong_file("the file ends within its tensors");
      for (; at < end; ++at)
        if (file_[size_t(at)] != std::byte{0})
          wrong_file("byte ", at, " belongs to nothing, and is not 0");
    };
    skip_zeros();
    for (size_t left = get_length(); left > 0; --left) {
      const uint64_t size = get_count(), sum = get_word();
      if (size > file_.size() - at) wrong("tensor ", tensors_.size(), " has ", size, " bytes");
      tensors_.push_back(file_.subspan(size_t(at), size_t(size)));
      if (options_.checksums && checksum(tensors_.back()) != sum)
        wrong_file("tensor ", tensors_.size() - 1, " is damaged: its checksum differs");
      at += size;
      skip_zeros();
    }
    if (at != file_.size()) wrong_file("byte ", at, ": what follows belongs to no tensor");
  }

  std::span<const std::byte> take(size_t size) {
    if (size > bytes_.size()) wrong("expected ", size, " bytes, there are ", bytes_.size());
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  uint64_t get_byte() { return std::to_integer<uint64_t>(take(1)[0]); }
  uint64_t get_count() {
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint64_t byte = get_byte();
      const uint64_t part = (byte & 0x7f) << shift;
      if (part >> shift != (byte & 0x7f)) break;
      number |= part;
      if (byte < 0x80) return number;
    }
    wrong("a number does not fit 64 bits");
  }
  uint64_t get_word() {
    uint64_t word = 0;
    const auto eight = take(8);
    for (size_t i = 0; i < 8; ++i) word |= std::to_integer<uint64_t>(eight[i]) << (8 * i);
    return word;
  }
  // Of something whose elements have a byte at least: no list is longer than what is left.
  size_t get_length() {
    const uint64_t length = get_count();
    if (length > bytes_.size())
      wrong("a list of ", length, " is longer than the ", bytes_.size(), " bytes that are left");
    return size_t(length);
  }

  template <class T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      const uint64_t number = get_byte();
      if (number > static_cast<uint64_t>(last(T()))) wrong("there is no kind ", number);
      value = static_cast<T>(number);
    } else if constexpr (std::is_integral_v<T>) {
      const uint64_t word = get_count();
      const auto number = static_cast<int64_t>((word >> 1) ^ (0 - (word & 1)));
      value = static_cast<T>(number);
      if (value != number) wrong(number, " is too large here");
    } else {
      fields(*this, value);
    }
  }
  void get(bool& value) {
    const uint64_t number = get_byte();
    if (number > 1) wrong(number, " is neither true nor false");
    value = number != 0;
  }
  void get(double& value) {
    const uint64_t word = get_word();
    std::memcpy(&value, &word, 8);
  }
  void get(std::string& string) {
    const auto taken = take(get_length());
    string.assign(reinterpret_cast<const char*>(taken.data()), taken.size());
  }
  template <class T>
  void get(std::vector<T>& list) {
    for (size_t left = get_length(); left > 0; --left) get(list.emplace_back());
  }
  void get(Dims& dims) { get(static_cast<std::vector<Dim>&>(dims)); }
  void get(Shape& shape) { get(static_cast<std::vector<int64_t>&>(shape)); }
  void get(Bools& list) {
    for (size_t left = get_length(); left > 0; --left) {
      bool each = false;
      get(each);
      list.push_back(each);
    }
  }
  void get(std::vector<std::byte>& list) {
    const auto taken = take(get_length());
    list.assign(taken.begin(), taken.end());
  }
  void get(std::pair<int32_t, int32_t>& pair) { (*this)(pair.first, pair.second); }

  template <class Variant, size_t... i>
  void get_alternative(Variant& variant, uint64_t index, std::index_sequence<i...>) {
    ((index == i ? get(variant.template emplace<i>()) : void()), ...);
  }
  template <class... T>
  void get(std::variant<T...>& variant) {
    const uint64_t index = get_byte();
    if (index >= sizeof...(T)) wrong("there is no kind ", index);
    get_alternative(variant, index, std::index_sequence_for<T...>());
  }
  void get(Attrs& attrs) {
    for (size_t left = get_length(); left > 0; --left) {
      std::string name;
      get(name);
      if (attrs.has(name)) wrong("attribute '", name, "' is there twice");
      Attr::Variant value;
      get(value);
      std::visit([&](auto& each) { attrs.set(name, Attr(std::move(each))); }, value);
    }
  }
  void get(GraphPtr&) { wrong("an attribute is a graph"); }

  void get(Tensor& tensor) {
    DType dtype{};
    Shape shape;
    int64_t index = 0;
    (*this)(dtype, shape, index);
    if (index < 0 || static_cast<uint64_t>(index) >= tensors_.size())
      wrong("tensor ", index, " of ", tensors_.size());
    const std::span<const std::byte> elements = tensors_[size_t(index)];
    uint64_t needed = static_cast<uint64_t>(rlx::bytes_of(dtype));
    bool fits = true, empty = false;
    for (const int64_t extent : shape) {
      fits = fits && extent >= 0 &&
             !__builtin_mul_overflow(needed, static_cast<uint64_t>(extent), &needed);
      empty |= extent == 0;
    }
    // Of an empty one the other extents must still be such that they can be counted.
    if (!fits || (empty ? 0 : needed) != elements.size())
      wrong("a tensor ", TensorType{dtype, shape}, " has ", elements.size(), " bytes");
    if (dtype == DType::boolean &&
        std::any_of(elements.begin(), elements.end(), [](std::byte b) { return b > std::byte{1}; }))
      wrong("a tensor of bools has other elements than 0 and 1");
    tensor = Tensor::view(dtype, std::move(shape), elements, keep_alive_).aligned().sealed();
  }

  // A part of an expression. Only products of what is no sum are multiplied: then nothing that is
  // read grows beyond what was written.
  struct Part {
    Dim dim;
    bool is_sum = false;
    int depth = 0;
  };
  Part joined_parts(Word word, const Part& a, const Part& b) {
    const int depth = std::max(a.depth, b.depth);
    switch (word) {
      case Word::sum:
        return {a.dim + b.dim, true, depth};
      case Word::product:
        if (a.is_sum || b.is_sum) wrong("a dimension is not multiplied out");
        return {a.dim * b.dim, false, depth};
      case Word::floor_div:
        return called("floor_div", floor_div(a.dim, b.dim), a, b);
      case Word::mod:
        return called("mod", mod(a.dim, b.dim), a, b);
      case Word::min:
        return called("min", min(a.dim, b.dim), a, b);
      case Word::max:
        return called("max", max(a.dim, b.dim), a, b);
      default:
        return called("broadcast", broadcast(a.dim, b.dim), a, b);
    }
  }
  Part called(const char* name, Dim made, const Part& a, const Part& b) {
    const int depth = std::max(a.depth, b.depth) + 1;
    if (depth > kDeepest) wrong("a dimension is nested more than ", kDeepest, " deep");
    if (text(made) != text(name, '(', a.dim, ", ", b.dim, ')'))
      wrong("a dimension is not as short as it could be: ", made);
    return {std::move(made), false, depth};
  }
  void get(Dim& dim) {
    const uint64_t words = get_count();
    if (words > kMostWords) wrong("a dimension has ", words, " words, the limit is ", kMostWords);
    std::vector<Part> parts;
    for (uint64_t i = 0; i < words; ++i) {
      Word word{};
      get(word);
      if (word == Word::number) {
        int64_t number = 0;
        get(number);
        parts.push_back({Dim(number)});
      } else if (word == Word::symbol) {
        std::string name;
        get(name);
        if (!is_symbol_name(name)) wrong("'", name, "' is not a name for a symbol");
        parts.push_back({Dim(name)});
      } else {
        if (parts.size() < 2) wrong("a dimension lacks an operand");
        Part made = joined_parts(word, parts[parts.size() - 2], parts.back());
        parts.resize(parts.size() - 2);
        parts.push_back(std::move(made));
      }
    }
    if (parts.size() != 1) wrong("a dimension is ", parts.size(), " expressions");
    dim = std::move(parts[0].dim);
  }

  std::span<const std::byte> file_, bytes_;  // all, and what is left of the structure
  Keep keep_alive_;
  const std::string& source_;
  const ReadOptions& options_;
  std::vector<std::span<const std::byte>> tensors_;
};

}  // namespace

Image from_bytes(std::span<const std::byte> bytes, Keep keep_alive, const std::string& source,
                 const ReadOptions& options) {
  Image image;
  try {
    image = Reader(bytes, std::move(keep_alive), source, options).read();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_model) throw;
    // A size that overflows, say: whatever it is, the file has it wrong.
    fail(ErrorKind::invalid_model, source, ": ", error.what());
  }
  try {
    verify(image);
  } catch (Error& error) {
    error.add_note(text("while reading ", source));
    throw;
  }
  return image;
}

Image read_image(const std::string& path, const ReadOptions& options) {
  const auto file = MappedFile::open(path, options.files);
  return from_bytes(file->bytes(), file, path, options);
}

}  // namespace rlx::image
