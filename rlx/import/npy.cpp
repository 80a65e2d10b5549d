#include "rlx/import/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "rlx/base/error.h"
#include "rlx/base/file.h"

namespace rlx {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // of the data, as NumPy writes it

struct Named {
  const char* name;
  DType dtype;
};
constexpr Named kDTypes[] = {
    {"f2", DType::f16},     {"f4", DType::f32}, {"f8", DType::f64}, {"c8", DType::c64},
    {"i1", DType::i8},      {"i2", DType::i16}, {"i4", DType::i32}, {"i8", DType::i64},
    {"u1", DType::u8},      {"u2", DType::u16}, {"u4", DType::u32}, {"u8", DType::u64},
    {"b1", DType::boolean},
};

struct Header {
  DType dtype = DType::f32;
  bool big_endian = false, column_major = false;
  Shape shape;
  size_t data_start = 0;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& source)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), source_(source) {}

  Header read_header() {
    if (text_.substr(0, kMagic.size()) != kMagic)
      fail_at(0, "expected \\x93NUMPY at the start of a .npy file");
    const uint64_t major = number_at(kMagic.size(), 1);
    if (major < 1 || major > 3)
      fail_at(kMagic.size(), "the file is of version ", major, ", expected 1 to 3");
    const size_t length_start = kMagic.size() + 2, length_bytes = major == 1 ? 2 : 4;
    const uint64_t length = number_at(length_start, length_bytes);
    at_ = length_start + length_bytes;
    if (length > text_.size() - at_)
      fail_at(length_start, "the header is ", length, " bytes long, the file has ",
              text_.size() - at_, " after it");
    header_.data_start = at_ + static_cast<size_t>(length);
    end_ = header_.data_start;
    parse_dict();
    return header_;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail_at(size_t position, const Parts&... parts) const {
    fail(ErrorKind::invalid_model, source_, ": byte ", position, ": ", parts...);
  }

  uint64_t number_at(size_t position, size_t bytes) const {
    if (text_.size() < position + bytes) fail_at(text_.size(), "the file ends in its header");
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; ++i)
      number |= uint64_t{static_cast<unsigned char>(text_[position + i])} << (8 * i);
    return number;
  }

  // Python, as far as NumPy writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
  void parse_dict() {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const size_t start = skip_space();
      const std::string_view key = parse_string();
      expect(':');
      if (key == "descr" && !std::exchange(descr, true))
        parse_descr();
      else if (key == "fortran_order" && !std::exchange(order, true))
        header_.column_major = parse_bool();
      else if (key == "shape" && !std::exchange(shape, true))
        parse_shape();
      else
        fail_at(start, "the header's keys are 'descr', 'fortran_order' and 'shape', each once");
      if (!accept(',') && !next_is('}')) fail_at(at_, "expected ',' or '}' in the header");
    }
    if (!descr || !order || !shape)
      fail_at(at_, "the header lacks 'descr', 'fortran_order' or 'shape'");
    if (skip_space() != end_) fail_at(at_, "the header goes on after its dict");
  }

  void parse_descr() {
    const size_t start = skip_space();
    if (!next_is('\'') && !next_is('"'))
      fail(ErrorKind::unsupported, source_, ": byte ", start,
           ": the array is of records, which rlx does not have");
    const std::string_view descr = parse_string();
    const bool ordered =
        !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
    const auto* found = std::find_if(
        std::begin(kDTypes), std::end(kDTypes),
        [&](const Named& named) { return descr.substr(ordered ? 1 : 0) == named.name; });
    if (found == std::end(kDTypes))
      fail(ErrorKind::unsupported, source_, ": byte ", start, ": elements are '",
           descr.substr(0, 40), "', which rlx does not have");
    header_.dtype = found->dtype;
    header_.big_endian = ordered && descr[0] == '>';
  }

  bool parse_bool() {
    const size_t start = skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(0, end_).substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail_at(start, "expected True or False");
  }

  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      const size_t start = skip_space();
      int64_t extent = 0;
      const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + end_, extent);
      if (error != std::errc() || extent < 0) fail_at(start, "expected an extent of the shape");
      at_ = static_cast<size_t>(stop - text_.data());
      accept('L');  // of Python 2
      header_.shape.push_back(extent);
      if (!accept(',') && !next_is(')')) fail_at(at_, "expected ',' or ')' in the shape");
    }
  }

  std::string_view parse_string() {
    const size_t start = skip_space();
    const char quote = start < end_ ? text_[start] : '\0';
    if (quote != '\'' && quote != '"') fail_at(start, "expected a string in the header");
    const size_t close = text_.substr(0, end_).find(quote, start + 1);
    if (close == std::string_view::npos) fail_at(start, "the string is not closed");
    at_ = close + 1;
    return text_.substr(start + 1, close - start - 1);
  }

  size_t skip_space() {
    while (at_ < end_ && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_;
  }
  bool next_is(char c) { return skip_space() < end_ && text_[at_] == c; }
  bool accept(char c) { return next_is(c) && ++at_; }
  void expect(char c) {
    if (!accept(c)) fail_at(at_, "expected '", c, "' in the header");
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0, end_ = 0;  // in the header
  Header header_;
};

// The bytes of an array, or none when no memory could hold them.
std::optional<uint64_t> bytes_of(const Header& header) {
  uint64_t bytes = static_cast<uint64_t>(rlx::bytes_of(header.dtype));
  for (const int64_t extent : header.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) return std::nullopt;
  return bytes;
}

// Copies elements that lie with the first index fastest to where the last is.
void copy_transposed(const std::byte* from, std::byte* to, const Shape& shape, size_t element) {
  const size_t rank = shape.size();
  Shape strides(rank), index(rank);  // strides of the source, in elements
  int64_t count = 1;
  for (size_t d = 0; d < rank; ++d) {
    strides[d] = count;
    count *= shape[d];
  }
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * element, from + static_cast<size_t>(offset) * element,
                element);
    for (size_t d = rank; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& source) {
  const Header header = Reader(bytes, source).read_header();
  const TensorType type{header.dtype, header.shape};
  const std::span<const std::byte> data = bytes.subspan(header.data_start);
  const std::optional<uint64_t> expected = bytes_of(header);
  if (!expected || *expected != data.size())
    fail(ErrorKind::invalid_model, source, ": byte ", header.data_start, ": an array ", type,
         " has ", expected ? text(*expected) : "too many", " bytes, here are ", data.size());
  Tensor tensor(header.dtype, header.shape);
  if (data.empty()) return tensor;
  const std::span<std::byte> to = tensor.mutable_bytes();
  const size_t element = static_cast<size_t>(rlx::bytes_of(header.dtype));
  if (header.column_major)
    copy_transposed(data.data(), to.data(), header.shape, element);
  else
    std::memcpy(to.data(), data.data(), data.size());
  const size_t part = header.dtype == DType::c64 ? 4 : element;  // what an order of bytes is for
  if (header.big_endian && part > 1)
    for (size_t i = 0; i < to.size(); i += part) std::reverse(to.data() + i, to.data() + i + part);
  if (header.dtype == DType::boolean)
    for (std::byte& b : to) b = b == std::byte{0} ? b : std::byte{1};
  return tensor.sealed();
}

Tensor load_npy(const std::string& path) {
  return parse_npy(MappedFile::open(path)->bytes(), path);
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const auto* found = std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const Named& named) {
    return named.dtype == tensor.dtype();
  });
  if (found == std::end(kDTypes))
    fail(ErrorKind::unsupported, path, ": the .npy format has no ", tensor.dtype());
  const char order = rlx::bytes_of(tensor.dtype()) == 1 ? '|' : '<';
  std::string dict =
      text("{'descr': '", order, found->name, "', 'fortran_order': False, 'shape': (",
           joined(tensor.shape()), tensor.shape().size() == 1 ? ",), }" : "), }");
  const size_t before = kMagic.size() + 4;
  dict.append(kAlignment - 1 - (before + dict.size()) % kAlignment, ' ') += '\n';
  if (dict.size() > UINT16_MAX)
    fail(ErrorKind::unsupported, path, ": a shape of ", tensor.shape().size(),
         " extents does not fit the header");
  const std::string start = text(kMagic, '\x01', '\0', static_cast<char>(dict.size() & 0xff),
                                 static_cast<char>(dict.size() >> 8), dict);
  write_file(path, {std::as_bytes(std::span(start.data(), start.size())), tensor.bytes()});
}

}  // namespace rlx
