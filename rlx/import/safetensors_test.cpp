#include "rlx/import/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "rlx/base/error.h"
#include "rlx/base/file.h"
#include "rlx/import/test_folder.h"

namespace rlx {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
  return file + header + data;
}

std::map<std::string, Tensor> parse(const std::string& file) {
  const auto owned = std::make_shared<const std::string>(file);
  return parse_safetensors(std::as_bytes(std::span(owned->data(), owned->size())), owned,
                           "m.safetensors");
}

std::string error_of(const std::string& file, ErrorKind kind = ErrorKind::invalid_model) {
  try {
    parse(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "no error";
}

Tensor numbered(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  std::span<std::byte> bytes = tensor.mutable_bytes();
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 2 : i * 7 + 1);
  return tensor;
}

TEST(Safetensors, EveryDTypeReadsBackAsAView) {
  const TestFolder folder;
  std::map<std::string, Tensor> tensors;
  for (const DType dtype : all_dtypes())
    tensors.emplace(text(dtype, " é \"x\""), numbered(dtype, {3, 5}));
  tensors.emplace("empty", Tensor(DType::f64, {2, 0, 3}));
  tensors.emplace("scalar", numbered(DType::bf16, {}));
  save_safetensors(folder.path("x.safetensors"), tensors);
  const auto loaded = load_safetensors(folder.path("x.safetensors"));
  ASSERT_EQ(loaded.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(same_bytes(tensor, loaded.at(name))) << name;
    if (tensor.count() == 0) continue;
    Tensor view = loaded.at(name);
    EXPECT_THROW(view.mutable_bytes(), Error) << name << " was copied";
  }
}

TEST(Safetensors, NoTensorsIsAFile) {
  const TestFolder folder;
  save_safetensors(folder.path("x"), {});
  EXPECT_TRUE(load_safetensors(folder.path("x")).empty());
}

TEST(Safetensors, AFileMayBeReplacedByWhatWasLoadedFromIt) {
  const TestFolder folder;
  save_safetensors(folder.path("x"),
                   {{"a", numbered(DType::f32, {100})}, {"b", numbered(DType::i8, {3})}});
  auto loaded = load_safetensors(folder.path("x"));
  loaded.erase("b");
  save_safetensors(folder.path("x"), loaded);
  EXPECT_TRUE(same_bytes(load_safetensors(folder.path("x")).at("a"), numbered(DType::f32, {100})));
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  const auto tensors = parse(file_of(
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}    )",
      std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors.at("w").shape(), (Shape{1, 2}));
  EXPECT_EQ(tensors.at("w").at(1), 2.0);
}

TEST(Safetensors, MisalignedTensorsAreCopied) {
  const std::string data("\1\0\0\0\x80\x3f", 6);
  for (const char* padding : {"", " ", "  ", "   "}) {
    const auto tensors =
        parse(file_of(text(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                           R"("w":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                           padding),
                      data));
    EXPECT_EQ(tensors.at("w").data<float>()[0], 1.0f);
    EXPECT_EQ(tensors.at("b").data<uint8_t>()[0], 1);
  }
}

TEST(Safetensors, BoolsAreZeroOrOne) {
  const auto tensors = parse(file_of(R"({"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})",
                                     std::string("\0\1\7", 3)));
  EXPECT_EQ(tensors.at("b").data<uint8_t>()[2], 1);
}

TEST(Safetensors, ErrorsSayWhereAndWhat) {
  const auto entry = [](const char* rest) { return text(R"({"w":{)", rest, "}}"); };
  const std::string four(4, '\0'), eight(8, '\0');
  EXPECT_EQ(error_of("abc"),
            "m.safetensors: byte 0: expected 8 bytes with the header's length, the file has 3");
  EXPECT_EQ(error_of(std::string("\xff\0\0\0\0\0\0\0{}", 10)),
            "m.safetensors: byte 0: the header is 255 bytes long, the file has 2 after it");
  EXPECT_EQ(
      error_of(std::string(8, '\xff') + "{}"),
      "m.safetensors: byte 0: the header is 18446744073709551615 bytes long, the limit is 100000000");
  EXPECT_EQ(error_of(file_of("{\"a\": x}", "")), "m.safetensors: byte 14: the header is not JSON");
  EXPECT_EQ(error_of(file_of("[]", "")), "m.safetensors: byte 8: the header is not a JSON object");
  EXPECT_EQ(error_of(file_of("{\"w\":[[[]]]}", "")),
            "m.safetensors: the header is nested more than 3 deep");
  EXPECT_EQ(error_of(file_of("{\"w\":{},\"w\":{}}", "")),
            "m.safetensors: tensor 'w' is in the header twice");
  EXPECT_EQ(error_of(file_of("{\"w\":3}", "")), "m.safetensors: tensor 'w' has no 'dtype'");
  EXPECT_EQ(error_of(file_of(entry(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])"), four),
                     ErrorKind::unsupported),
            "m.safetensors: tensor 'w' has dtype \"F8_E4M3\", which rlx does not have");
  EXPECT_EQ(error_of(file_of(entry(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), four)),
            "m.safetensors: tensor 'w': 'shape' has -1, expected a size");
  EXPECT_EQ(error_of(file_of(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), four)),
            "m.safetensors: tensor 'w': 'data_offsets' is not a list of two sizes");
  EXPECT_EQ(error_of(file_of(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), four)),
            "m.safetensors: tensor 'w' is in bytes 0 to 8 of the data, which has 4");
  EXPECT_EQ(error_of(file_of(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), four)),
            "m.safetensors: tensor 'w' is f32[2] and has 4 bytes, expected 8");
  EXPECT_EQ(
      error_of(file_of(entry(R"("dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4])"),
                       four)),
      "m.safetensors: tensor 'w' is f32[4611686018427387905] and has 4 bytes");
  EXPECT_EQ(error_of(file_of(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), eight)),
            "m.safetensors: byte 66: 4 bytes are of no tensor");
  EXPECT_EQ(error_of(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                             std::string(6, '\0'))),
            "m.safetensors: byte 117: tensors 'a' and 'b' overlap");
}

// A header is read in one pass: the library's own callbacks took minutes for this one.
TEST(Safetensors, AHeaderMayHaveManyTensors) {
  constexpr int kTensors = 50000;
  TextStream header;
  for (int i = 0; i < kTensors; ++i)
    header.out() << (i ? "," : "{") << "\"layer." << i
                 << ".weight\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[" << i << ','
                 << i + 1 << "]}";
  const auto tensors = parse(file_of(header.str() + "}", std::string(kTensors, '\1')));
  EXPECT_EQ(tensors.size(), size_t{kTensors});
}

TEST(Safetensors, NamesTheFormatCannotHoldAreRefused) {
  const TestFolder folder;
  EXPECT_THROW(save_safetensors(folder.path("x"), {{"\xff", Tensor()}}), Error);
  EXPECT_THROW(save_safetensors(folder.path("x"), {{"__metadata__", Tensor()}}), Error);
  EXPECT_THROW(load_safetensors(folder.path("x")), Error);
}

}  // namespace
}  // namespace rlx
