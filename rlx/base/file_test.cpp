#include "rlx/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "rlx/base/error.h"

namespace rlx {
namespace {

// A folder that goes away with the test.
class File : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / text("rlx_file_test_", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::filesystem::path folder_;
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Action>
std::string io_error(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return error.what();
  }
  return "no error";
}

TEST_F(File, WhatIsWrittenIsRead) {
  const std::string contents("a\0b\nc", 5);
  write_file(path("x"), contents);
  EXPECT_EQ(read_file(path("x")), contents);
  EXPECT_EQ(text_of(MappedFile::open(path("x"))->bytes()), contents);
}

TEST_F(File, PartsAreWrittenInOrder) {
  const std::string a = "first ", b = "second";
  write_file(path("x"), {std::as_bytes(std::span(a)), {}, std::as_bytes(std::span(b))});
  EXPECT_EQ(read_file(path("x")), "first second");
}

TEST_F(File, AnEmptyFileHasNoBytes) {
  write_file(path("x"), "");
  EXPECT_EQ(read_file(path("x")), "");
  EXPECT_TRUE(MappedFile::open(path("x"))->bytes().empty());
}

TEST_F(File, AMappingOutlivesItsReplacement) {
  write_file(path("x"), "before");
  const auto mapped = MappedFile::open(path("x"));
  write_file(path("x"), "after, and longer");
  EXPECT_EQ(text_of(mapped->bytes()), "before");
  EXPECT_EQ(read_file(path("x")), "after, and longer");
}

TEST_F(File, WritingLeavesNothingElseBehind) {
  write_file(path("x"), "1");
  write_file(path("x"), "2");
  std::filesystem::create_directory(path("folder"));
  EXPECT_NE(io_error([&] { write_file(path("folder"), "3"); }), "no error");
  EXPECT_EQ(files(), 2u);
}

TEST_F(File, AFifoIsWrittenThroughAndStays) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = read_file(path("pipe")); });
  write_file(path("pipe"), "through");
  // A file in its place would leave the reader waiting for ever.
  const bool stays = std::filesystem::is_fifo(path("pipe"));
  if (!stays) reader.detach();
  ASSERT_TRUE(stays);
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, ALinkStaysAndItsFileIsReplaced) {
  write_file(path("x"), "before");
  std::filesystem::create_symlink("x", path("link"));
  const auto mapped = MappedFile::open(path("x"));
  write_file(path("link"), "after");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("x")), "after");
  EXPECT_EQ(text_of(mapped->bytes()), "before");

  std::filesystem::create_symlink("made", path("dangling"));
  write_file(path("dangling"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("dangling")));
  EXPECT_EQ(read_file(path("made")), "new");
}

TEST_F(File, WhatIsReplacedKeepsWhoMayReadIt) {
  write_file(path("x"), "before");
  std::filesystem::permissions(
      path("x"), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  write_file(path("x"), "after");
  EXPECT_EQ(std::filesystem::status(path("x")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(File, AMappingTellsWhenItsFileWasWrittenTo) {
  const auto write_in_place = [&](const std::string& contents) {
    std::ofstream(path("x"), std::ios::binary | std::ios::trunc) << contents;
    const auto later = std::filesystem::last_write_time(path("x")) + std::chrono::seconds(1);
    std::filesystem::last_write_time(path("x"), later);  // where a clock is too coarse to tell
  };
  write_in_place("before");
  const auto mapped = MappedFile::open(path("x"));
  const auto copied = MappedFile::open(path("x"), {.copy = true});
  OpenedFiles opened;
  MappedFile::open(path("x"), {.opened = &opened});
  mapped->check_unchanged();
  opened.check_unchanged();
  write_in_place("behind");
  EXPECT_EQ(io_error([&] { mapped->check_unchanged(); }),
            "'" + path("x") +
                "' was written to while it was in use (it had 6 bytes, it has 6): "
                "what was made of it may be wrong");
  EXPECT_NE(io_error([&] { opened.check_unchanged(); }), "no error");
  const auto longer = MappedFile::open(path("x"));
  write_in_place("be");
  EXPECT_NE(io_error([&] { longer->check_unchanged(); }), "no error");
  copied->check_unchanged();
  EXPECT_EQ(text_of(copied->bytes()), "before");
}

TEST_F(File, AMappingIsNotHurtByAReplacement) {
  write_file(path("x"), "before");
  OpenedFiles opened;
  const auto mapped = MappedFile::open(path("x"), {.opened = &opened});
  write_file(path("x"), "after");
  mapped->check_unchanged();
  opened.check_unchanged();
  std::filesystem::remove(path("x"));
  mapped->check_unchanged();
}

TEST_F(File, AnErrorNamesThePathAndTheReason) {
  const std::string missing = path("missing");
  const std::string expected = "cannot open '" + missing + "': " + std::strerror(ENOENT);
  EXPECT_EQ(io_error([&] { read_file(missing); }), expected);
  EXPECT_EQ(io_error([&] { MappedFile::open(missing); }), expected);
  const std::string inside = missing + "/x";
  EXPECT_EQ(io_error([&] { write_file(inside, "x"); }),
            "cannot write '" + inside + "': " + std::strerror(ENOENT));
  EXPECT_NE(io_error([&] { read_file(path("")); }).find(std::strerror(EISDIR)), std::string::npos);
}

}  // namespace
}  // namespace rlx
