#include "rlx/import/npy.h"

#include <gtest/gtest.h>

#include "rlx/base/error.h"
#include "rlx/base/file.h"
#include "rlx/import/test_folder.h"

namespace rlx {
namespace {

std::string file_of(int version, const std::string& dict, const std::string& data) {
  std::string file = text("\x93NUMPY", static_cast<char>(version), '\0');
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(dict.size() >> (8 * i));
  return file + dict + data;
}
std::string dict_of(const char* descr, const char* shape, const char* order = "False") {
  return text("{'descr': '", descr, "', 'fortran_order': ", order, ", 'shape': ", shape, ", }  \n");
}

Tensor parse(const std::string& file) {
  return parse_npy(std::as_bytes(std::span(file.data(), file.size())), "x.npy");
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

TEST(Npy, EveryDTypeReadsBack) {
  const TestFolder folder;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 0}}) {
      Tensor tensor(dtype, shape);
      for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, static_cast<double>(i % 3));
      if (dtype == DType::bf16) {
        EXPECT_THROW(save_npy(folder.path("x.npy"), tensor), Error);  // NumPy has none
        continue;
      }
      save_npy(folder.path("x.npy"), tensor);
      EXPECT_TRUE(same_bytes(load_npy(folder.path("x.npy")), tensor)) << tensor.type();
    }
}

TEST(Npy, IsWrittenAsNumPyWritesIt) {
  const TestFolder folder;
  save_npy(folder.path("x.npy"), Tensor::of(DType::i16, {2}, {1, 2}));
  std::string expected = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
  expected.resize(128 - 10 - 1, ' ');
  EXPECT_EQ(read_file(folder.path("x.npy")),
            file_of(1, expected + '\n', std::string("\1\0\2\0", 4)));
}

TEST(Npy, AllVersionsAndByteOrdersAreRead) {
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(parse(file_of(version, dict_of("<i2", "(2,)"), std::string("\1\0\2\0", 4))).at(1), 2);
    EXPECT_EQ(parse(file_of(version, dict_of(">i2", "(2,)"), std::string("\0\1\0\2", 4))).at(1), 2);
  }
  const Tensor complex =
      parse(file_of(1, dict_of(">c8", "()"), std::string("\x3f\x80\0\0\x40\0\0\0", 8)));
  EXPECT_EQ(complex.data<float[2]>()[0][0], 1.0f);
  EXPECT_EQ(complex.data<float[2]>()[0][1], 2.0f);
  EXPECT_EQ(parse(file_of(1, dict_of("|b1", "(1,)"), "\7")).data<uint8_t>()[0], 1);
  EXPECT_EQ(parse(file_of(1, "{\"shape\":(1L,2L),\"descr\":\"u1\",\"fortran_order\":False}", "ab"))
                .shape(),
            (Shape{1, 2}));
}

TEST(Npy, FortranOrderIsTurned) {
  const Tensor tensor = parse(file_of(1, dict_of("|u1", "(2, 3, 2)", "True"), "abcdefghijkl"));
  const std::string_view turned(reinterpret_cast<const char*>(tensor.bytes().data()), 12);
  EXPECT_EQ(turned, "agciekbhdjfl");  // element (i, j, k) is at i + 2 j + 6 k
}

TEST(Npy, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(error_of("NUMPY"), "x.npy: byte 0: expected \\x93NUMPY at the start of a .npy file");
  EXPECT_EQ(error_of("\x93NUMPY"), "x.npy: byte 6: the file ends in its header");
  EXPECT_EQ(error_of(file_of(4, "{}", "")),
            "x.npy: byte 6: the file is of version 4, expected 1 to 3");
  EXPECT_EQ(error_of(file_of(1, "{}", "").substr(0, 11)),
            "x.npy: byte 8: the header is 2 bytes long, the file has 1 after it");
  EXPECT_EQ(error_of(file_of(1, "{}", "")),
            "x.npy: byte 12: the header lacks 'descr', 'fortran_order' or 'shape'");
  EXPECT_EQ(
      error_of(file_of(1, "{'a': 1}", "")),
      "x.npy: byte 11: the header's keys are 'descr', 'fortran_order' and 'shape', each once");
  EXPECT_EQ(error_of(file_of(1, dict_of("<f16", "(2,)"), ""), ErrorKind::unsupported),
            "x.npy: byte 20: elements are '<f16', which rlx does not have");
  EXPECT_EQ(error_of(file_of(1, "{'descr': [('a', '<f4')]}", ""), ErrorKind::unsupported),
            "x.npy: byte 20: the array is of records, which rlx does not have");
  EXPECT_EQ(error_of(file_of(1, dict_of("<f4", "(-2,)"), "")),
            "x.npy: byte 61: expected an extent of the shape");
  EXPECT_EQ(error_of(file_of(1, dict_of("<f4", "(2,)", "Maybe"), "")),
            "x.npy: byte 44: expected True or False");
  EXPECT_EQ(error_of(file_of(1, dict_of("<f4", "(2,)"), "abc")),
            "x.npy: byte 70: an array f32[2] has 8 bytes, here are 3");
  EXPECT_EQ(error_of(file_of(1, dict_of("<f4", "(9223372036854775807, 9)"), "")),
            "x.npy: byte 90: an array f32[9223372036854775807, 9] has too many bytes, here are 0");
}

}  // namespace
}  // namespace rlx
