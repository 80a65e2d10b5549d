#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>

#include "rlx/base/file.h"
#include "rlx/image/file.h"
#include "rlx/image/file_format.h"
#include "rlx/image/verify.h"

namespace rlx::image {
namespace {

Word word_of(Dim::Function function) {
  switch (function) {
    case Dim::Function::symbol:
      return Word::symbol;
    case Dim::Function::floor_div:
      return Word::floor_div;
    case Dim::Function::mod:
      return Word::mod;
    case Dim::Function::min:
      return Word::min;
    case Dim::Function::max:
      return Word::max;
    case Dim::Function::broadcast:
      break;
  }
  return Word::broadcast;
}

class Writer {
 public:
  template <class T>
  using Field = const T;

  template <class... T>
  void operator()(const T&... list) {
    (put(list), ...);
  }

  std::string bytes;
  std::vector<std::span<const std::byte>> tensors;  // each set of bytes once

  void put_count(uint64_t number) {  // seven bits to a byte, the low ones first
    for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
    bytes.push_back(static_cast<char>(number));
  }
  void put_word(uint64_t word) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(word >> (8 * i)));
  }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>)
      bytes.push_back(static_cast<char>(value));
    else if constexpr (std::is_integral_v<T>)  // small ones are short, whatever their sign
      put_count((static_cast<uint64_t>(value) << 1) ^ (value < 0 ? ~uint64_t{0} : 0));
    else
      fields(*this, value);
  }
  void put(bool value) { bytes.push_back(value ? 1 : 0); }
  void put(double value) {
    uint64_t word = 0;
    std::memcpy(&word, &value, 8);
    put_word(word);
  }
  void put(const std::string& string) {
    put_count(string.size());
    bytes += string;
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put_count(list.size());
    for (const T& each : list) put(each);
  }
  void put(const Dims& dims) { put(static_cast<const std::vector<Dim>&>(dims)); }
  void put(const Shape& shape) { put(static_cast<const std::vector<int64_t>&>(shape)); }
  void put(const Bools& list) {
    put_count(list.size());
    for (const bool each : list) put(each);
  }
  void put(const std::vector<std::byte>& list) {
    put_count(list.size());
    for (const std::byte each : list) bytes.push_back(std::to_integer<char>(each));
  }
  void put(const std::pair<int32_t, int32_t>& pair) { (*this)(pair.first, pair.second); }
  template <class... T>
  void put(const std::variant<T...>& variant) {
    bytes.push_back(static_cast<char>(variant.index()));
    std::visit([&](const auto& value) { put(value); }, variant);
  }
  void put(const Attrs& attrs) {
    put_count(attrs.size());
    for (const auto& [name, attr] : attrs) {
      put(name);
      put(attr.variant());
    }
  }
  void put(const GraphPtr&) {
    fail(ErrorKind::invalid_model, "image: an attribute of a call is a graph");
  }
  void put(const Tensor& tensor) {
    const auto [at, added] =
        places_.emplace(std::pair(tensor.bytes().data(), tensor.bytes().size()), tensors.size());
    if (added) tensors.push_back(tensor.bytes());
    (*this)(tensor.dtype(), tensor.shape(), static_cast<int64_t>(at->second));
  }

  // An expression with its operands before it. The parts are kept by number until they are joined:
  // in which order they are built is not said.
  struct DimWriter : Dim::Builder {
    struct Part {
      std::string bytes;
      size_t words = 1;
      int depth = 0;
    };
    std::vector<Part> parts;

    int32_t add(Part part) {
      if (part.words > kMostWords || part.depth > kDeepest)
        fail(ErrorKind::limit, "image: a dimension is too long to be written");
      parts.push_back(std::move(part));
      return static_cast<int32_t>(parts.size()) - 1;
    }
    int32_t join(Word word, int32_t a, int32_t b, int deeper) {
      const Part &x = parts[size_t(a)], &y = parts[size_t(b)];
      return add({x.bytes + y.bytes + static_cast<char>(word), x.words + y.words + 1,
                  std::max(x.depth, y.depth) + deeper});
    }
    int32_t number(int64_t value) override {
      Writer writer;
      writer(Word::number, value);
      return add({writer.bytes});
    }
    int32_t symbol(const std::string& name) override {
      Writer writer;
      writer(Word::symbol, name);
      return add({writer.bytes});
    }
    int32_t sum(int32_t a, int32_t b) override { return join(Word::sum, a, b, 0); }
    int32_t product(int32_t a, int32_t b) override { return join(Word::product, a, b, 0); }
    int32_t call(Dim::Function function, int32_t a, int32_t b) override {
      return join(word_of(function), a, b, 1);
    }
  };
  void put(const Dim& dim) {
    DimWriter builder;
    const DimWriter::Part& whole = builder.parts[size_t(dim.build(builder))];
    put_count(whole.words);
    bytes += whole.bytes;
  }

  std::map<std::pair<const std::byte*, size_t>, size_t> places_;
};

// The image without the tensors of some weights.
Image without_weights(Image image, const WriteOptions& options) {
  std::vector<bool> left_out(image.values.size(), false);
  const auto leave_out = [&](const Weight& weight) {
    if (weight.value >= 0) left_out[size_t(weight.value)] = true;
  };
  for (const std::string& name : options.without) {
    const auto found = std::find_if(image.weights.begin(), image.weights.end(),
                                    [&](const Weight& weight) { return weight.name == name; });
    if (found == image.weights.end())
      fail(ErrorKind::invalid_input, "image: there is no weight '", name, "' to leave out");
    leave_out(*found);
  }
  if (!options.weights) std::for_each(image.weights.begin(), image.weights.end(), leave_out);
  std::vector<Tensor> sources;
  for (size_t v = 0; v < image.values.size(); ++v) {
    int32_t& source = image.values[v].source;
    if (source >= 0 && !left_out[v]) sources.push_back(image.sources[size_t(source)]);
    source = source < 0 || left_out[v] ? -1 : static_cast<int32_t>(sources.size()) - 1;
  }
  image.sources = std::move(sources);
  return image;
}

// A file as the parts that follow each other, so that no tensor is copied.
struct Parts {
  std::string start, padding = std::string(kAlignment, '\0');
  std::vector<std::span<const std::byte>> list;
};

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// What is before the tensors: how long each is and its checksum, then the image.
std::string structure_of(const Writer& body) {
  Writer table;
  table.put_count(body.tensors.size());
  for (const std::span<const std::byte> tensor : body.tensors) {
    table.put_count(tensor.size());
    table.put_word(checksum(tensor));
  }
  return table.bytes + body.bytes;
}

void lay_out(const Image& image, Parts& parts) {
  verify(image);
  Writer body;
  body(image);
  const std::string structure = structure_of(body);
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.structure_bytes = structure.size();
  header.structure_checksum = checksum(bytes_of_text(structure));
  header.file_bytes = align(kHeaderBytes + structure.size());
  for (const std::span<const std::byte> tensor : body.tensors)
    header.file_bytes += align(tensor.size());
  header.checksum = header_checksum(header);
  parts.start.assign(reinterpret_cast<const char*>(&header), sizeof header);
  parts.start += structure;
  parts.start.resize(size_t(align(parts.start.size())));
  parts.list.push_back(bytes_of_text(parts.start));
  for (const std::span<const std::byte> tensor : body.tensors) {
    parts.list.push_back(tensor);
    parts.list.push_back(
        bytes_of_text(parts.padding).first(size_t(align(tensor.size()) - tensor.size())));
  }
}

// Calls `use` with the image as the options want it.
template <class Use>
void with_options(const Image& image, const WriteOptions& options, Use use) {
  if (options.weights && options.without.empty()) return use(image);
  use(without_weights(image, options));
}

}  // namespace

std::vector<std::byte> to_bytes(const Image& image, const WriteOptions& options) {
  std::vector<std::byte> bytes;
  with_options(image, options, [&](const Image& wanted) {
    Parts parts;
    lay_out(wanted, parts);
    for (const std::span<const std::byte> part : parts.list)
      bytes.insert(bytes.end(), part.begin(), part.end());
  });
  return bytes;
}

std::string structure_of(const Image& image) {
  Writer body;
  body(image);
  return structure_of(body);
}

uint64_t hash_of(const Image& image) { return checksum(bytes_of_text(structure_of(image))); }

void write_image(const std::string& path, const Image& image, const WriteOptions& options) {
  with_options(image, options, [&](const Image& wanted) {
    Parts parts;
    lay_out(wanted, parts);
    write_file(path, parts.list);
  });
}

}  // namespace rlx::image
