// Tensors in files of their own: a model may name regular files in its folder, and nothing else.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "rlx/base/file.h"
#include "rlx/import/onnx/build_model.h"
#include "rlx/import/test_folder.h"
#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx::onnx {
namespace {

namespace fs = std::filesystem;

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string external_tensor(const std::string& name, int elem_type,
                            const std::vector<int64_t>& shape, const Entries& entries) {
  return message([&](pbf_writer& out) {
    for (const int64_t extent : shape) out.add_int64(1, extent);
    out.add_int32(2, elem_type);
    out.add_string(8, name);
    for (const auto& each : entries)
      out.add_message(13, message([&](pbf_writer& entry) {
                        entry.add_string(1, each.first);
                        entry.add_string(2, each.second);
                      }));
    out.add_int32(14, 1);
  });
}

// A folder with a model in it and a file outside that must not be read.
class OnnxExternal : public ::testing::Test {
 protected:
  OnnxExternal() {
    fs::create_directories(folder_.path("model/sub"));
    write_file(folder_.path("secret.bin"), std::string(16, 's'));
    write_file(folder_.path("model/data.bin"), std::string(16, '\0'));
    write_file(folder_.path("model/sub/data..bin"), std::string(16, '\0'));
  }
  std::string inside(const std::string& name) const { return folder_.path("model/" + name); }

  rlx::Graph load(const std::string& tensor, bool sparse = false) const {
    std::string graph = graph_message({{node("Identity", {"w"}, "y")},
                                       sparse ? std::vector<std::string>{} : std::vector{tensor},
                                       {},
                                       {value_info("y", {})}});
    if (sparse) graph += message([&](pbf_writer& out) { out.add_message(15, tensor); });
    write_file(inside("m.onnx"), message([&](pbf_writer& out) {
                 out.add_message(7, graph);
                 out.add_message(8, message([](pbf_writer& entry) { entry.add_int64(2, 17); }));
               }));
    return load_onnx(inside("m.onnx"));
  }
  // What is said of four floats in `location`; the path of the folder left out.
  std::string said_of(const std::string& location, const Entries& more = {}) const {
    Entries entries{{"location", location}};
    entries.insert(entries.end(), more.begin(), more.end());
    std::string said = error_of([&] { load(external_tensor("w", kFloatType, {4}, entries)); });
    said = said.substr(0, said.find('\n'));
    const size_t at = said.find(inside(""));
    return at == std::string::npos ? said : said.erase(at, inside("").size());
  }

  TestFolder folder_;
};

TEST_F(OnnxExternal, FilesInTheFolderAreRead) {
  EXPECT_EQ(said_of("data.bin"), "");
  EXPECT_EQ(said_of("./data.bin"), "");
  EXPECT_EQ(said_of("sub/data..bin"), "");
}

TEST_F(OnnxExternal, NamesThatLeadElsewhereAreRefused) {
  constexpr char kNoName[] = "': it is not the name of a file in that folder";
  EXPECT_EQ(said_of("../secret.bin"),
            "cannot open '../secret.bin': its name leads out of that folder");
  EXPECT_EQ(said_of("sub/../data.bin"),
            "cannot open 'sub/../data.bin': its name leads out of that folder");
  EXPECT_EQ(said_of("sub/../../secret.bin"),
            "cannot open 'sub/../../secret.bin': its name leads out of that folder");
  for (const std::string name : {"/etc/passwd", "file:///etc/passwd", "sub\\data..bin", "sub/"})
    EXPECT_EQ(said_of(name), "cannot open '" + name + kNoName);
  EXPECT_NE(said_of("").find("which is not a file beside the model"), std::string::npos);
}

TEST_F(OnnxExternal, AZeroByteDoesNotEndAName) {
  EXPECT_EQ(said_of(std::string("data.bin\0.evil", 14)),
            "cannot open 'data.bin': there is a zero byte in its name");
}

TEST_F(OnnxExternal, LinksAreNotFollowed) {
  constexpr char kWhy[] = "': a symbolic link may lead out of that folder, and is not followed";
  fs::create_symlink("../secret.bin", inside("link.bin"));
  fs::create_symlink("..", inside("up"));
  fs::create_symlink("/dev/zero", inside("zero.bin"));
  for (const std::string name : {"link.bin", "up/secret.bin", "zero.bin"})
    EXPECT_EQ(said_of(name), "cannot open '" + name + kWhy);
}

TEST_F(OnnxExternal, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(::mkfifo(inside("pipe.bin").c_str(), 0600), 0);  // reading it would wait for ever
  EXPECT_EQ(said_of("pipe.bin"), "cannot open 'pipe.bin': it is no regular file");
  EXPECT_NE(said_of("sub"), "");
}

TEST_F(OnnxExternal, SparseTensorsAreHeldToTheSame) {
  fs::create_symlink("../secret.bin", inside("link.bin"));
  const auto sparse = [&](const std::string& values, const std::string& indices) {
    const std::string said = error_of([&] {
      load(message([&](pbf_writer& out) {
             out.add_message(
                 1, external_tensor("w", kFloatType, {2}, {{"location", values}, {"length", "8"}}));
             out.add_message(2, external_tensor("", kInt64Type, {2}, {{"location", indices}}));
             out.add_int64(3, 8);
           }),
           true);
    });
    return said.find("a symbolic link") != std::string::npos;
  };
  EXPECT_TRUE(sparse("link.bin", "data.bin"));
  EXPECT_TRUE(sparse("data.bin", "link.bin"));
  EXPECT_FALSE(sparse("data.bin", "data.bin"));
}

// At offset 3, where no float lies aligned.
TEST_F(OnnxExternal, DataMayBeginAnywhere) {
  std::string bytes(3, 'x');
  for (const float number : {1.5F, -2.0F})
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  write_file(inside("odd.bin"), bytes);
  const Entries entries{{"location", "odd.bin"}, {"offset", "3"}, {"length", "8"}};
  const rlx::Graph graph = load(external_tensor("w", kFloatType, {2}, entries));
  const Tensor y = evaluate(graph, {}).outputs.at("y");
  EXPECT_EQ(y.at(0), 1.5);
  EXPECT_EQ(y.at(1), -2);
  EXPECT_NE(said_of("data.bin", {{"offset", "0x0"}}), "");
  EXPECT_EQ(said_of("data.bin", {{"offset", "0"}}), "");
}

TEST_F(OnnxExternal, WhatIsNotInTheFileIsRefused) {
  EXPECT_NE(said_of("data.bin", {{"offset", "8"}}), "");
  EXPECT_NE(said_of("data.bin", {{"offset", "100"}}), "");
  EXPECT_NE(said_of("data.bin", {{"offset", "-4"}}), "");
  EXPECT_NE(said_of("data.bin", {{"offset", "9223372036854775807"}}), "");
  EXPECT_NE(said_of("data.bin", {{"length", "9223372036854775807"}}), "");
  EXPECT_NE(said_of("data.bin", {{"length", "8"}}), "");
  EXPECT_NE(
      error_of([&] {
        load(external_tensor("w", kFloatType, {int64_t{1} << 62}, {{"location", "data.bin"}}));
      }),
      "");
}

}  // namespace
}  // namespace rlx::onnx
