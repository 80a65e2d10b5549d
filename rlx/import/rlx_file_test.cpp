#include "rlx/import/rlx_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "rlx/base/file.h"
#include "rlx/import/test_folder.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

Graph graph_with(const Tensor& weight) {
  Graph graph;
  graph.weight("small", Tensor::of(DType::f32, {2}, {1, 2}));
  graph.output("y", graph.weight("large", weight));
  return graph;
}

Tensor large_tensor() {
  Tensor tensor(DType::f32, {10, 10});
  for (int64_t i = 0; i < 100; ++i) tensor.set(i, static_cast<double>(i) / 3);
  return tensor;
}

std::string error_of(const std::string& path, ErrorKind kind) {
  try {
    load_rlx(path, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "no error";
}

TEST(RlxFile, LargeTensorsLieBesideTheText) {
  const TestFolder folder;
  const Graph graph = graph_with(large_tensor());
  save_rlx(graph, folder.path("m.rlx"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("m.safetensors")));
  const Graph loaded = load_rlx(folder.path("m.rlx"), {});
  EXPECT_EQ(print(loaded), print(graph));
  EXPECT_TRUE(same_bytes(*tensor_of(loaded.node(1)), large_tensor()));
  save_rlx(loaded, folder.path("m.rlx"));  // over the file its tensors are views of
  EXPECT_TRUE(same_bytes(*tensor_of(load_rlx(folder.path("m.rlx"), {}).node(1)), large_tensor()));
}

TEST(RlxFile, SmallTensorsNeedNoSecondFile) {
  const TestFolder folder;
  save_rlx(graph_with(Tensor::of(DType::i8, {2}, {3, 4})), folder.path("m"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("m.safetensors")));
  EXPECT_EQ(load_rlx(folder.path("m"), {}).nodes().size(), 2u);
}

TEST(RlxFile, TensorsOfAnEarlierSaveDoNotRemain) {
  const TestFolder folder;
  const std::string path = folder.path("m.rlx"), beside = folder.path("m.safetensors");
  EXPECT_EQ(save_rlx(graph_with(large_tensor()), path), beside);
  EXPECT_EQ(save_rlx(graph_with(Tensor::of(DType::i8, {2}, {3, 4})), path), "");
  EXPECT_FALSE(std::filesystem::exists(beside));
}

TEST(RlxFile, AnotherOnesTensorsAreLeftAlone) {
  const TestFolder folder;
  const std::string path = folder.path("m.rlx"), beside = folder.path("m.safetensors");
  write_file(beside, "precious");
  EXPECT_EQ(
      rlx::error_of([&] { save_rlx(graph_with(large_tensor()), path); }),
      "'" + beside + "' exists and is not of '" + path + "': choose another name, or remove it");
  EXPECT_FALSE(std::filesystem::exists(path));
  save_rlx(graph_with(Tensor::of(DType::i8, {2}, {3, 4})), path);
  save_rlx(graph_with(Tensor::of(DType::i8, {2}, {3, 4})), path);
  EXPECT_EQ(read_file(beside), "precious");
}

TEST(RlxFile, WhatIsMissingIsNamed) {
  const TestFolder folder;
  const std::string path = folder.path("m.rlx"), beside = folder.path("m.safetensors");
  const std::string missing = std::strerror(ENOENT);
  EXPECT_EQ(error_of(path, ErrorKind::io), "cannot open '" + path + "': " + missing);
  save_rlx(graph_with(large_tensor()), path);
  std::filesystem::remove(beside);
  EXPECT_EQ(error_of(path, ErrorKind::io),
            path + ":3:31: cannot open '" + beside + "': " + missing +
                "\n  tensor 'large' should be there, beside " + path);
  Graph other;
  other.weight("other", large_tensor());
  save_rlx(other, folder.path("other.rlx"));
  std::filesystem::rename(folder.path("other.safetensors"), beside);
  EXPECT_EQ(error_of(path, ErrorKind::invalid_model),
            path + ":3:31: there is no tensor 'large' in " + beside);
}

TEST(RlxFile, TensorsAreReadFromARegularFileOnly) {
  const TestFolder folder;
  const std::string path = folder.path("m.rlx"), beside = folder.path("m.safetensors");
  save_rlx(graph_with(large_tensor()), path);
  std::filesystem::remove(beside);
  ASSERT_EQ(::mkfifo(beside.c_str(), 0600), 0);  // reading it would wait for ever
  EXPECT_NE(error_of(path, ErrorKind::io).find(beside + "': it is no regular file"),
            std::string::npos);
}

TEST(RlxFile, AFolderInItsPlaceLeavesNoTensorsBehind) {
  const TestFolder folder;
  const std::string path = folder.path("m.rlx");
  std::filesystem::create_directory(path);
  EXPECT_EQ(rlx::error_of([&] { save_rlx(graph_with(large_tensor()), path); }),
            "cannot write '" + path + "': it is a folder");
  EXPECT_FALSE(std::filesystem::exists(folder.path("m.safetensors")));
}

}  // namespace
}  // namespace rlx
