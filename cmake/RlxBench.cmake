# The benchmarks of bench/, one program each, where Google Benchmark is installed.
# onnxruntime beside rlx, where ./run bench --peers has fetched its header; the library is loaded by the
# program when it runs.
set(ort_include ${PROJECT_SOURCE_DIR}/.deps/packages/@siteed/sherpa-onnx.rn/prebuilt/include/onnxruntime)
if(EXISTS ${ort_include}/onnxruntime_c_api.h)
  add_executable(rlx_ort_peer EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/ort_peer.cpp)
  set_target_properties(rlx_ort_peer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_include_directories(rlx_ort_peer SYSTEM PRIVATE ${ort_include})
  target_link_libraries(rlx_ort_peer PRIVATE rlx_import nlohmann_json::nlohmann_json)
endif()

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

# FFTW is a peer to time, never a dependency.
find_path(fftw_include fftw3.h)
find_library(fftw_library fftw3f)
if(fftw_include AND fftw_library)
  target_compile_definitions(rlx_fft_bench PRIVATE RLX_FFTW)
  target_include_directories(rlx_fft_bench SYSTEM PRIVATE ${fftw_include})
  target_link_libraries(rlx_fft_bench PRIVATE ${fftw_library})
endif()
