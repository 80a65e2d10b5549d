# examples/CMakeLists.txt also stands by itself, against an installed rlx.
add_subdirectory(${PROJECT_SOURCE_DIR}/examples)

# `rlx demo` finds what it runs from where the program is: here as where it is installed.
foreach(file encoder.rlx encoder.safetensors)
  configure_file(${PROJECT_SOURCE_DIR}/examples/${file} ${PROJECT_BINARY_DIR}/rlx/share/rlx/examples/${file} COPYONLY)
endforeach()
target_compile_definitions(rlx PRIVATE RLX_VERSION="${PROJECT_VERSION}")
