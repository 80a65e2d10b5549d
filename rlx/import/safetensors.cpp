#include "rlx/import/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <vector>

#include "rlx/base/error.h"
#include "rlx/base/file.h"

namespace rlx {
namespace {

using Json = nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr size_t kLongestHeader = 100'000'000;  // as the format's own reader has it
constexpr size_t kAlignment = 8;                // of the data, and so of the largest elements
constexpr char kMetadata[] = "__metadata__";

struct Named {
  const char* name;
  DType dtype;
};
constexpr Named kDTypes[] = {
    {"F64", DType::f64}, {"F32", DType::f32},      {"F16", DType::f16}, {"BF16", DType::bf16},
    {"C64", DType::c64}, {"I64", DType::i64},      {"I32", DType::i32}, {"I16", DType::i16},
    {"I8", DType::i8},   {"U64", DType::u64},      {"U32", DType::u32}, {"U16", DType::u16},
    {"U8", DType::u8},   {"BOOL", DType::boolean},
};

const char* name_of(DType dtype) {
  return std::find_if(std::begin(kDTypes), std::end(kDTypes),
                      [&](const Named& named) { return named.dtype == dtype; })
      ->name;
}

// A tensor as the header has it; the bytes are counted from the end of the header.
struct Entry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  size_t begin = 0, end = 0;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, Keep keep_alive, const std::string& source)
      : bytes_(bytes), keep_alive_(std::move(keep_alive)), source_(source) {}

  std::map<std::string, Tensor> read() {
    const Json header = parse_header(header_text());
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items())
      if (name != kMetadata) entries.push_back(entry_of(name, value));
    check_places(entries);
    std::map<std::string, Tensor> tensors;
    for (const Entry& entry : entries) tensors.emplace(entry.name, tensor_of(entry));
    return tensors;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail_model(const Parts&... parts) const {
    fail(ErrorKind::invalid_model, source_, ": ", parts...);
  }

  std::string_view header_text() {
    if (bytes_.size() < kLengthBytes)
      fail_model("byte 0: expected ", kLengthBytes,
                 " bytes with the header's length, the file has ", bytes_.size());
    uint64_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i)
      length |= std::to_integer<uint64_t>(bytes_[i]) << (8 * i);
    if (length > kLongestHeader)
      fail_model("byte 0: the header is ", length, " bytes long, the limit is ", kLongestHeader);
    if (length > bytes_.size() - kLengthBytes)
      fail_model("byte 0: the header is ", length, " bytes long, the file has ",
                 bytes_.size() - kLengthBytes, " after it");
    data_start_ = kLengthBytes + static_cast<size_t>(length);
    return {reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes,
            static_cast<size_t>(length)};
  }

  Json parse_header(std::string_view header) const {
    Outline outline{*this};
    try {
      Json::sax_parse(header.begin(), header.end(), &outline);
      Json parsed = Json::parse(header.begin(), header.end());
      if (!parsed.is_object())
        fail_model("byte ", kLengthBytes, ": the header is not a JSON object");
      return parsed;
    } catch (const Json::parse_error& error) {
      fail_model("byte ", kLengthBytes + (error.byte ? error.byte - 1 : 0),
                 ": the header is not JSON");
    } catch (const Json::exception& error) {
      fail_model("the header is not JSON: ", error.what());
    }
  }

  // Looks at a header without keeping it: how deep it is, and that no name is there twice. The
  // library's own callbacks go through all earlier tensors at the end of each.
  struct Outline : nlohmann::json_sax<Json> {
    static constexpr int kDeepest = 3;  // the header, a tensor, its shape
    const Reader& reader;
    int depth = 0;
    std::unordered_set<std::string> names = {};

    explicit Outline(const Reader& r) : reader(r) {}
    bool open() {
      if (++depth > kDeepest)
        reader.fail_model("the header is nested more than ", kDeepest, " deep");
      return true;
    }
    bool close() {
      --depth;
      return true;
    }
    bool key(string_t& name) override {
      if (depth == 1 && !names.insert(name).second)
        reader.fail_model("tensor '", name, "' is in the header twice");
      return true;
    }
    bool start_object(size_t) override { return open(); }
    bool end_object() override { return close(); }
    bool start_array(size_t) override { return open(); }
    bool end_array() override { return close(); }
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool parse_error(size_t, const std::string&, const Json::exception&) override {
      return false;  // parse() tells
    }
  };

  const Json& field(const std::string& name, const Json& entry, const char* key) const {
    const auto found = entry.is_object() ? entry.find(key) : entry.end();
    if (!entry.is_object() || found == entry.end())
      fail_model("tensor '", name, "' has no '", key, "'");
    return *found;
  }

  size_t size_of(const std::string& name, const char* key, const Json& number) const {
    constexpr uint64_t kMost = std::min<uint64_t>(INT64_MAX, std::numeric_limits<size_t>::max());
    if (!number.is_number_unsigned() || number.get<uint64_t>() > kMost)
      fail_model("tensor '", name, "': '", key, "' has ", short_text(number), ", expected a size");
    return static_cast<size_t>(number.get<uint64_t>());
  }

  static std::string short_text(const Json& value) {
    const std::string dumped = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return dumped.size() > 40 ? dumped.substr(0, 40) + "..." : dumped;
  }

  Entry entry_of(const std::string& name, const Json& value) const {
    Entry entry;
    entry.name = name;
    const Json& dtype = field(name, value, "dtype");
    const auto* found =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const Named& named) {
          return dtype.is_string() && dtype.get_ref<const std::string&>() == named.name;
        });
    if (found == std::end(kDTypes))
      fail(ErrorKind::unsupported, source_, ": tensor '", name, "' has dtype ", short_text(dtype),
           ", which rlx does not have");
    entry.dtype = found->dtype;

    const Json& shape = field(name, value, "shape");
    if (!shape.is_array()) fail_model("tensor '", name, "': 'shape' is not a list");
    for (const Json& extent : shape)
      entry.shape.push_back(static_cast<int64_t>(size_of(name, "shape", extent)));

    const Json& offsets = field(name, value, "data_offsets");
    if (!offsets.is_array() || offsets.size() != 2)
      fail_model("tensor '", name, "': 'data_offsets' is not a list of two sizes");
    entry.begin = size_of(name, "data_offsets", offsets[0]);
    entry.end = size_of(name, "data_offsets", offsets[1]);
    check_size(entry);
    return entry;
  }

  void check_size(const Entry& entry) const {
    const TensorType type{entry.dtype, entry.shape};
    const size_t data = bytes_.size() - data_start_;
    if (entry.begin > entry.end || entry.end > data)
      fail_model("tensor '", entry.name, "' is in bytes ", entry.begin, " to ", entry.end,
                 " of the data, which has ", data);
    uint64_t needed = static_cast<uint64_t>(bytes_of(entry.dtype));
    const bool empty = std::count(entry.shape.begin(), entry.shape.end(), 0) != 0;
    bool fits = true;
    for (const int64_t extent : entry.shape)
      fits = fits && !__builtin_mul_overflow(needed, static_cast<uint64_t>(extent), &needed);
    if (empty) needed = 0;
    if ((!fits && !empty) || needed != entry.end - entry.begin)
      fail_model("tensor '", entry.name, "' is ", type, " and has ", entry.end - entry.begin,
                 " bytes", fits ? text(", expected ", needed) : "");
  }

  // The format wants the data without holes, so that nothing can hide in one.
  void check_places(const std::vector<Entry>& entries) const {
    std::vector<const Entry*> sorted;
    for (const Entry& entry : entries) sorted.push_back(&entry);
    std::sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) {
      return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    size_t end = 0;
    const Entry* before = nullptr;
    for (const Entry* entry : sorted) {
      if (entry->begin < end)
        fail_model("byte ", data_start_ + entry->begin, ": tensors '", before->name, "' and '",
                   entry->name, "' overlap");
      check_no_hole(end, entry->begin);
      end = entry->end;
      before = entry;
    }
    check_no_hole(end, bytes_.size() - data_start_);
  }
  void check_no_hole(size_t begin, size_t end) const {
    if (begin != end)
      fail_model("byte ", data_start_ + begin, ": ", end - begin, " bytes are of no tensor");
  }

  Tensor tensor_of(const Entry& entry) const {
    const auto bytes = bytes_.subspan(data_start_ + entry.begin, entry.end - entry.begin);
    Tensor view = Tensor::view(entry.dtype, entry.shape, bytes, keep_alive_);
    const size_t alignment =
        entry.dtype == DType::c64 ? 4 : static_cast<size_t>(bytes_of(entry.dtype));
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0;
    const bool proper =
        entry.dtype != DType::boolean ||
        std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
    if (aligned && proper) return view.sealed();
    Tensor copy = view.copy();
    if (!proper)
      for (std::byte& b : copy.mutable_bytes()) b = b == std::byte{0} ? b : std::byte{1};
    return copy;
  }

  std::span<const std::byte> bytes_;
  Keep keep_alive_;
  const std::string& source_;
  size_t data_start_ = 0;
};

}  // namespace

std::map<std::string, Tensor> parse_safetensors(std::span<const std::byte> bytes, Keep keep_alive,
                                                const std::string& source) {
  return Reader(bytes, std::move(keep_alive), source).read();
}

std::map<std::string, Tensor> load_safetensors(const std::string& path,
                                               const FileOptions& options) {
  const auto file = MappedFile::open(path, options);
  return parse_safetensors(file->bytes(), file, path);
}

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors) {
  std::vector<const std::pair<const std::string, Tensor>*> sorted;
  for (const auto& named : tensors) sorted.push_back(&named);
  // Large elements first: then all lie as they need without padding, which the format forbids.
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return bytes_of(a->second.dtype()) > bytes_of(b->second.dtype());
  });

  Json header = Json::object();
  size_t end = 0;
  std::vector<std::span<const std::byte>> parts = {{}};
  for (const auto* named : sorted) {
    const auto& [name, tensor] = *named;
    if (name == kMetadata)
      fail(ErrorKind::unsupported, path, ": a tensor cannot be named '", kMetadata,
           "' in this format");
    const size_t begin = end;
    end += tensor.bytes().size();
    const std::vector<int64_t>& shape = tensor.shape();
    header[name] = {
        {"dtype", name_of(tensor.dtype())}, {"shape", shape}, {"data_offsets", {begin, end}}};
    parts.push_back(tensor.bytes());
  }
  std::string start;
  try {
    start = header.dump();
  } catch (const Json::exception&) {
    fail(ErrorKind::unsupported, path,
         ": the name of a tensor is not UTF-8, which this format needs");
  }
  start.resize((start.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string length(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i)
    length[i] = static_cast<char>(uint64_t{start.size()} >> (8 * i));
  start.insert(0, length);
  parts[0] = std::as_bytes(std::span(start.data(), start.size()));
  write_file(path, parts);
}

}  // namespace rlx
