find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
include(GoogleTest)
add_compile_options(-Wall -Wextra -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # it sees ghosts in moved variants
  add_compile_options(-Wno-maybe-uninitialized)
elseif(CMAKE_CXX_COMPILER_ID MATCHES Clang)  # a cache may give a precompiled header to files that are younger
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

# What nearly every file includes, compiled once, and again with what nearly every file from ops/ on
# includes. Nothing that changes with an op: whoever adds one would compile everything again. Sources
# never rely on it: check-emscripten has none.
set(common_headers
  <algorithm> <functional> <map> <memory> <optional> <set> <sstream> <string> <variant> <vector>)
set(ops_headers ${common_headers} <rlx/ir/graph.h> <rlx/lower/site.h>)
set(tables_headers ${ops_headers})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")  # not touched where it is there
foreach(headers common ops tables)
  add_library(rlx_precompiled_${headers} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_include_directories(rlx_precompiled_${headers} PRIVATE ${PROJECT_SOURCE_DIR})
  target_precompile_headers(rlx_precompiled_${headers} PRIVATE ${${headers}_headers})
endforeach()
target_compile_options(rlx_precompiled_tables PRIVATE -O0)

# Which of the first two a target takes that may include what the folders of its line may.
function(rlx_precompile target folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  get_property(above GLOBAL PROPERTY RLX_FROM_OPS_ON)
  set(headers common)
  foreach(each ${folder} ${ARG_DEPENDS})
    if(each STREQUAL ops OR each IN_LIST above)
      set(headers ops)
      set_property(GLOBAL APPEND PROPERTY RLX_FROM_OPS_ON ${folder})
    endif()
  endforeach()
  target_precompile_headers(${target} REUSE_FROM rlx_precompiled_${headers})
endfunction()

# The sources of rlx/<folder>, without tests; its .wgsl and .html files become one generated source.
function(rlx_sources folder out)
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rlx/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  # The tables of rows run once; optimising them takes most of their build.
  set(tables ${sources})
  list(FILTER tables INCLUDE REGEX "/cases_[a-z]+\\.cpp$")
  if(tables)
    list(REMOVE_ITEM sources ${tables})
    add_library(rlx_${name}_tables OBJECT ${tables})
    target_compile_options(rlx_${name}_tables PRIVATE -O0)
    target_include_directories(rlx_${name}_tables PRIVATE ${PROJECT_SOURCE_DIR})
    target_precompile_headers(rlx_${name}_tables REUSE_FROM rlx_precompiled_tables)
    list(APPEND sources $<TARGET_OBJECTS:rlx_${name}_tables>)
  endif()
  file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rlx/${folder}/*.wgsl ${PROJECT_SOURCE_DIR}/rlx/${folder}/*.html)
  if(kernels)
    set(embedded ${PROJECT_BINARY_DIR}/embedded_${name}.cpp)
    add_custom_command(OUTPUT ${embedded}
      COMMAND ${CMAKE_COMMAND} -D NAME=${name} -D "KERNELS=${kernels}" -D OUTPUT=${embedded}
              -P ${PROJECT_SOURCE_DIR}/cmake/embed_wgsl.cmake
      DEPENDS ${kernels} ${PROJECT_SOURCE_DIR}/cmake/embed_wgsl.cmake VERBATIM)
    list(APPEND sources ${embedded})
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Data go through these folders. The others say what happens to it, once for a graph (and the loops of
# the reference are no faster by it): to optimise them as much takes a quarter of the whole build.
set(optimised_folders base vector tensor tensor/blocks image ir lower plan backend backend/cpu backend/webgpu runtime)
function(rlx_optimise target folder)
  if(NOT folder IN_LIST optimised_folders)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# Builds the library of folder rlx/<folder>.
function(rlx_library folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  string(REPLACE "/" "_" dependencies "${ARG_DEPENDS}")
  list(TRANSFORM dependencies PREPEND rlx_)
  rlx_sources(${folder} sources)
  if(sources)
    add_library(rlx_${name} ${sources})
    rlx_precompile(rlx_${name} ${folder} DEPENDS ${ARG_DEPENDS})
    rlx_optimise(rlx_${name} ${folder})
    set(scope PUBLIC)
  else()  # headers only
    add_library(rlx_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(rlx_${name} ${scope} ${dependencies} Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(rlx_${name} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  set_property(GLOBAL APPEND PROPERTY RLX_LIBRARIES rlx_${name})
endfunction()

# Builds the program rlx from folder rlx/<folder>.
function(rlx_program folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  string(REPLACE "/" "_" dependencies "${ARG_DEPENDS}")
  list(TRANSFORM dependencies PREPEND rlx_)
  rlx_sources(${folder} sources)
  if(sources)
    add_executable(rlx ${sources})
    rlx_precompile(rlx ${folder} DEPENDS ${ARG_DEPENDS})
    rlx_optimise(rlx ${folder})
    set_target_properties(rlx PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/rlx/${folder}
      POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(rlx PRIVATE -fPIC)  # as the header it shares was compiled
    # Half of each of its files is the code of CLI11 and of the JSON library: ten at a time have it once.
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      set_target_properties(rlx PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    endif()
    target_link_libraries(rlx PRIVATE ${dependencies})
  endif()
endfunction()

# Builds every *_test.cpp, each next to what it tests, into one program.
function(rlx_tests)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/rlx/*_test.cpp ${PROJECT_SOURCE_DIR}/examples/*_test.cpp)
  if(RLX_TEST_SOURCES)  # a preset that looks at a few of them only
    list(FILTER sources INCLUDE REGEX "${RLX_TEST_SOURCES}")
  endif()
  get_property(libraries GLOBAL PROPERTY RLX_LIBRARIES)
  add_executable(rlx_tests ${sources})
  target_link_libraries(rlx_tests PRIVATE ${libraries} GTest::gtest GTest::gtest_main)
  # What takes time is the library's; the tests themselves only take it to compile.
  target_compile_options(rlx_tests PRIVATE -O0)
  target_precompile_headers(rlx_tests PRIVATE ${ops_headers} <gtest/gtest.h>)
  # Each test is a process: relocating a sanitized program takes it longer than most tests do.
  target_link_options(rlx_tests PRIVATE -no-pie)
  # Only these read the tree: a path in a file's flags keeps caches from serving another clone.
  foreach(source IN LISTS sources)
    if(source MATCHES "architecture_test|catalogue_test|modules_test|oracle_test|format_test")
      set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS RLX_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    endif()
  endforeach()
  # Found when ctest runs, since which devices there are decides which tests there are.
  set(options NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120)
  # What the drivers do takes most of the time of rows on devices, and twice as much of it where a
  # sanitizer is below their malloc: the release build runs them. Each row as it stands is run by
  # cli.ops there. The differences of gradients run every row many times.
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    gtest_discover_tests(rlx_tests ${options} TEST_LIST rows
      TEST_FILTER "Rows/*Lavapipe*:Rows/*Swiftshader*:Rows/Variants.*:Rows/GradientRows.*:ConformanceModes.*:ConformanceRows.*:Catalogue.*-Rows/Conformance.*"
      PROPERTIES LABELS rows TIMEOUT 900 DEPENDS cli.ops)  # whose kernels lavapipe then has in its cache
    gtest_discover_tests(rlx_tests ${options} TEST_LIST long_rows TEST_FILTER "RowsLong/*"
      PROPERTIES LABELS long TIMEOUT 3600)
  else()
    gtest_discover_tests(rlx_tests ${options} TEST_LIST sanitized_rows
      TEST_FILTER "Rows/Conformance.*Cpu*" PROPERTIES LABELS rows TIMEOUT 900)
    gtest_discover_tests(rlx_tests ${options} TEST_LIST long_sanitized_rows
      TEST_FILTER "Rows/GradientRows.*Cpu*:Rows/Conformance.*Lavapipe*" PROPERTIES LABELS long TIMEOUT 900)
    gtest_discover_tests(rlx_tests ${options} TEST_LIST plain
      TEST_FILTER "-*Thread*:*Long.*:*Long/*:Rows*:ConformanceModes.*:ConformanceRows.*:Catalogue.*" PROPERTIES TIMEOUT 900)
    gtest_discover_tests(rlx_tests ${options} TEST_LIST threaded TEST_FILTER "*Thread*-*Long.*"
      PROPERTIES LABELS threads TIMEOUT 900)
    gtest_discover_tests(rlx_tests ${options} TEST_LIST long TEST_FILTER "*Long.*:*Long/*-Rows*"
      PROPERTIES LABELS long TIMEOUT 3600)
  endif()
  find_program(valgrind valgrind)
  if(valgrind AND CMAKE_BUILD_TYPE STREQUAL "Release")
    add_test(NAME valgrind.encoder COMMAND ${valgrind} --quiet --error-exitcode=1 --leak-check=full
      --errors-for-leak-kinds=definite $<TARGET_FILE:rlx> run ${PROJECT_SOURCE_DIR}/examples/encoder.rlx
      --device cpu --bind batch=2 --bind seq=7)
    set_tests_properties(valgrind.encoder PROPERTIES LABELS valgrind TIMEOUT 900)
  endif()
endfunction()
