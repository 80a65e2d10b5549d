# The benchmarks of bench/, one program each, where Google Benchmark is installed.
find_package(benchmark QUIET)
if(NOT benchmark_FOUND)
  message(STATUS "Google Benchmark is not installed: the programs of bench/ are left out")
  return()
endif()

file(GLOB benchmarks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cpp)
foreach(source IN LISTS benchmarks)
  get_filename_component(name ${source} NAME_WE)
  add_executable(rlx_${name} EXCLUDE_FROM_ALL ${source})
  set_target_properties(rlx_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_link_libraries(rlx_${name} PRIVATE rlx_conformance benchmark::benchmark)
endforeach()

# oneDNN takes part, where it is installed, on OpenMP's threads.
find_package(OpenMP QUIET)
if(RLX_ONEDNN AND OpenMP_CXX_FOUND)
  foreach(name rlx_vector_bench rlx_conv_bench)
    target_compile_definitions(${name} PRIVATE RLX_ONEDNN)
    target_include_directories(${name} PRIVATE ${dnnl_include})
    target_link_libraries(${name} PRIVATE rlx::onednn OpenMP::OpenMP_CXX)
  endforeach()
endif()
