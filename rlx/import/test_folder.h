// A folder for the files of one test, which goes away with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace rlx {

class TestFolder {
 public:
  TestFolder() : path_(std::filesystem::path(::testing::TempDir()) / unique_name()) {
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  static std::string unique_name() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::string("rlx_") + test->test_suite_name() + "_" + test->name() + "_" +
           std::to_string(::getpid());
  }

  std::filesystem::path path_;
};

}  // namespace rlx
