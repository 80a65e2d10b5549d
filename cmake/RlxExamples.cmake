# examples/CMakeLists.txt also stands by itself, against an installed rlx. Where the tests do not run
# them they are built by name only: each includes all there is, and every op would build them again.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_subdirectory(${PROJECT_SOURCE_DIR}/examples)
else()
  add_subdirectory(${PROJECT_SOURCE_DIR}/examples EXCLUDE_FROM_ALL)
endif()

# `rlx demo` finds what it runs from where the program is: here as where it is installed.
foreach(file encoder.rlx encoder.safetensors)
  configure_file(${PROJECT_SOURCE_DIR}/examples/${file} ${PROJECT_BINARY_DIR}/rlx/share/rlx/examples/${file} COPYONLY)
endforeach()
target_compile_definitions(rlx PRIVATE RLX_VERSION="${PROJECT_VERSION}")
