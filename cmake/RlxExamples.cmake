# examples/CMakeLists.txt also stands by itself, against an installed rlx.
add_subdirectory(${PROJECT_SOURCE_DIR}/examples)

# `rlx demo` runs examples/encoder.rlx, also where the build is not below the source.
target_compile_definitions(rlx PRIVATE
  RLX_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RLX_VERSION="${PROJECT_VERSION}")
