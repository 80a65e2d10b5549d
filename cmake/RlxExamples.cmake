# Builds examples/<name>.cpp into the program example_<name>.
function(rlx_example name)
  add_executable(example_${name} ${PROJECT_SOURCE_DIR}/examples/${name}.cpp)
  target_link_libraries(example_${name} PRIVATE rlx_runtime)
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endfunction()

file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
foreach(example IN LISTS examples)
  get_filename_component(name ${example} NAME_WE)
  rlx_example(${name})
endforeach()

# Pictures come and go by stb.
find_path(stb_include stb/stb_image.h)
find_library(stb_library stb)
if(stb_include AND stb_library)
  target_include_directories(example_ocr PRIVATE ${stb_include})
  target_link_libraries(example_ocr PRIVATE ${stb_library})
else()
  message(STATUS "stb is not installed: examples/ocr.cpp is left out")
  set_target_properties(example_ocr PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

# `rlx demo` runs examples/encoder.rlx, also where the build is not below the source.
target_compile_definitions(rlx PRIVATE
  RLX_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RLX_VERSION="${PROJECT_VERSION}")
