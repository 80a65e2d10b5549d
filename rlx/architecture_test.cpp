// The rules of the tree, read from the tree: what a folder may include, and who may name an op.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "rlx/ir/op_def.h"
#include "rlx/ops/catalog.h"

namespace rlx {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

const fs::path kSource = RLX_SOURCE_DIR;

// From CMakeLists.txt: folder -> what its line allows, closed over.
std::map<std::string, std::set<std::string>> allowed_includes() {
  std::map<std::string, std::set<std::string>> allowed;
  const std::string cmake = read(kSource / "CMakeLists.txt");
  const std::regex line(R"(rlx_(?:library|program)\((\S+)(?:\s+DEPENDS ([^)]*))?\))");
  for (std::sregex_iterator it(cmake.begin(), cmake.end(), line), end; it != end; ++it) {
    std::set<std::string>& set = allowed[(*it)[1]];
    set.insert((*it)[1]);
    std::istringstream words((*it)[2]);
    for (std::string word; words >> word;) set.insert(allowed[word].begin(), allowed[word].end());
  }
  return allowed;
}

std::vector<fs::path> sources() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "rlx")) {
    const std::string name = entry.path().filename().string();
    const bool code = entry.path().extension() == ".cpp" || entry.path().extension() == ".h";
    const bool exempt =
        name == "testing.h" || name == "rlx.h" || name == "op.h";  // they name every folder
    if (code && !exempt && name.find("_test") == std::string::npos) files.push_back(entry.path());
  }
  return files;
}

std::string folder_of(const fs::path& file) {
  return fs::relative(file.parent_path(), kSource / "rlx").generic_string();
}

TEST(Architecture, FoldersIncludeOnlyWhatTheirCMakeLineAllows) {
  const auto allowed = allowed_includes();
  ASSERT_GE(allowed.size(), 12u);
  const std::regex include("#include \"rlx/(.*)/[^/\"]*\"");
  for (const fs::path& file : sources()) {
    const std::string folder = folder_of(file), content = read(file);
    ASSERT_TRUE(allowed.count(folder)) << folder << " has no line in CMakeLists.txt";
    for (std::sregex_iterator it(content.begin(), content.end(), include), end; it != end; ++it)
      EXPECT_TRUE(allowed.at(folder).count((*it)[1])) << file << " includes " << (*it)[1];
  }
}

// So that a program that runs images links none.
TEST(Architecture, WhatRunsAnImageKnowsNoCompiler) {
  const auto allowed = allowed_includes();
  for (const char* folder :
       {"runtime", "backend", "backend/cpu", "backend/webgpu", "plan", "image"})
    for (const char* compiler : {"compile", "passes", "codegen", "autodiff", "import", "ops"})
      EXPECT_EQ(allowed.at(folder).count(compiler), 0u) << folder << " may include " << compiler;
  EXPECT_EQ(allowed.at("facade").count("compile"), 1u);
}

TEST(Architecture, OnlyOpsAndOneTablePerBackendNameAnOp) {
  // The sources belong to the IR; min, max and mod are also functions of dimensions.
  const std::set<std::string> structure{"input", "weight", "constant", "state",
                                        "min",   "max",    "mod"};
  const std::set<std::string> tables{"backend/cpu/fast_ops.cpp", "backend/cpu/fast_tables.cpp",
                                     "backend/cpu/fast_tile_ops.cpp"};
  for (const fs::path& file : sources()) {
    const std::string folder = folder_of(file),
                      name = fs::relative(file, kSource / "rlx").generic_string();
    const bool engine = folder == "ir" || folder == "image" || folder == "lower" ||
                        folder == "codegen" || folder == "compile" || folder == "plan" ||
                        folder.rfind("backend", 0) == 0 || folder == "runtime" ||
                        folder == "facade";
    if (!engine || tables.count(name)) continue;
    const std::string content = read(file);
    for (const OpRef& op : catalog().all()) {
      if (structure.count(op->name)) continue;
      EXPECT_EQ(content.find("\"" + op->name + "\""), std::string::npos)
          << name << " names the op " << op->name;
      EXPECT_EQ(content.find(" " + op->name + "_op("), std::string::npos)
          << name << " names the op " << op->name;
    }
  }
}

std::set<std::string> rlx_includes(const std::string& content) {
  const std::regex include("#include \"(rlx/[^\"]*)\"");
  std::set<std::string> headers;
  for (std::sregex_iterator it(content.begin(), content.end(), include), end; it != end; ++it)
    headers.insert((*it)[1]);
  return headers;
}

// Whoever adds an op edits the header of its family, and all that includes it, by whatever way, is
// compiled again.
TEST(Architecture, AFamilyOfOpsIsIncludedByFewFiles) {
  constexpr size_t kMost = 15;
  const std::string all = read(kSource / "rlx/ops/ops.h");
  std::map<std::string, std::set<std::string>> includes, sources;  // by file; by header
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "rlx")) {
    const std::string name = fs::relative(entry.path(), kSource).generic_string();
    if (name.rfind("rlx/ops/ops_", 0) == 0)
      EXPECT_NE(all.find(name), std::string::npos) << "ops.h does not include " << name;
    const fs::path extension = entry.path().extension();
    if (extension == ".cpp" || extension == ".h") includes[name] = rlx_includes(read(entry.path()));
  }
  for (const auto& [source, direct] : includes) {
    if (fs::path(source).extension() != ".cpp") continue;
    std::vector<std::string> left(direct.begin(), direct.end());
    for (std::set<std::string> seen; !left.empty();) {
      const std::string header = left.back();
      left.pop_back();
      if (!seen.insert(header).second) continue;
      sources[header].insert(source);
      left.insert(left.end(), includes[header].begin(), includes[header].end());
    }
  }
  size_t families = 0;
  for (const auto& [header, by] : sources) {
    const bool is_core = header == "rlx/ops/ops_core.h";  // no new op is declared there
    if (header.rfind("rlx/ops/ops_", 0) != 0 || is_core) continue;
    ++families;
    EXPECT_LE(by.size(), kMost) << header << " is compiled into " << joined(by, ", ");
  }
  EXPECT_GE(families, 20u);
  EXPECT_TRUE(sources["rlx/ops/ops.h"].empty())
      << "include the families: " << joined(sources["rlx/ops/ops.h"], ", ");
}

TEST(Architecture, TheLibraryPrintsNothingAndReadsNoEnvironment) {
  for (const fs::path& file : sources()) {
    if (folder_of(file) == "cli" || folder_of(file) == "conformance") continue;
    const std::string content = read(file);
    for (const char* word :
         {"getenv(", "std::cout", "std::cerr", " printf(", "fprintf(", " puts("}) {
      // It points the Vulkan loader at a driver and puts the variable back: decision 005.
      if (file.filename() == "native.cpp" && word == std::string("getenv(")) continue;
      EXPECT_EQ(content.find(word), std::string::npos) << file << " has " << word;
    }
  }
}

TEST(Architecture, NoFileIsTooLongToRead) {
  for (const fs::path& file : sources()) {
    const std::string content = read(file);
    EXPECT_LE(std::count(content.begin(), content.end(), '\n'), 620) << file;
  }
}

}  // namespace
}  // namespace rlx
