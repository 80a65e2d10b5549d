# The programs as their users see them: what they print, and how they exit. With the sanitizers the
# programs are not built: what reads files has tests of its own there.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  return()
endif()
add_test(NAME cli.program
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/run.sh $<TARGET_FILE:rlx> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.program PROPERTIES LABELS cli TIMEOUT 900)

# What runs an image links neither the compiler nor its passes.
add_executable(rlx_run_image ${PROJECT_SOURCE_DIR}/tests/wasm/run_image.cpp)
target_link_libraries(rlx_run_image PRIVATE rlx_runtime rlx_ops rlx_import)
add_test(NAME cli.run-image
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/run-image.sh $<TARGET_FILE:rlx> ${PROJECT_BINARY_DIR}/run-image
          $<TARGET_FILE:rlx_run_image>)
set_tests_properties(cli.run-image PROPERTIES LABELS cli TIMEOUT 300)

add_test(NAME cli.bench
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/bench.sh $<TARGET_FILE:rlx> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.bench PROPERTIES LABELS cli TIMEOUT 300)

add_test(NAME cli.explain
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/explain.sh $<TARGET_FILE:rlx> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.explain PROPERTIES LABELS cli TIMEOUT 300)

add_test(NAME cli.safety
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/safety.sh $<TARGET_FILE:rlx> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.safety PROPERTIES LABELS cli TIMEOUT 300)

add_test(NAME cli.examples
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/examples.sh
          $<TARGET_FILE:example_hello> $<TARGET_FILE:example_make_encoder> $<TARGET_FILE:example_own_op>
          ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.examples PROPERTIES LABELS examples TIMEOUT 300)
if(TARGET example_splat)
  add_test(NAME cli.splat-files
    COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/splat-files.sh $<TARGET_FILE:example_splat>)
  set_tests_properties(cli.splat-files PROPERTIES LABELS examples TIMEOUT 300)
  add_test(NAME cli.pictures
    COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/pictures.sh
            $<TARGET_FILE:example_spectrum> $<TARGET_FILE:example_splat> $<TARGET_FILE:example_neighbours>
            ${PROJECT_SOURCE_DIR})
  set_tests_properties(cli.pictures PROPERTIES LABELS examples TIMEOUT 300)
endif()

add_test(NAME cli.ops
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/ops.sh $<TARGET_FILE:rlx> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.ops PROPERTIES LABELS cli TIMEOUT 1200 COST 100)  # long, so begun early
add_test(NAME cli.onnx
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/onnx.sh $<TARGET_FILE:rlx> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.onnx PROPERTIES LABELS cli TIMEOUT 1200 SKIP_RETURN_CODE 77)
add_test(NAME cli.models
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/models.sh $<TARGET_FILE:rlx> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.models PROPERTIES LABELS cli TIMEOUT 900 SKIP_RETURN_CODE 77)
add_test(NAME cli.install
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/install.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.install PROPERTIES LABELS cli TIMEOUT 600 ENVIRONMENT CXX=${CMAKE_CXX_COMPILER})
add_test(NAME cli.real-models
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/real-models.sh $<TARGET_FILE:rlx>
          ${PROJECT_BINARY_DIR}/examples ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.real-models PROPERTIES LABELS cli TIMEOUT 1800 COST 100 SKIP_RETURN_CODE 77)
add_test(NAME cli.slow-models
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/real-models.sh $<TARGET_FILE:rlx>
          ${PROJECT_BINARY_DIR}/examples ${PROJECT_SOURCE_DIR} --slow)
set_tests_properties(cli.slow-models PROPERTIES LABELS long TIMEOUT 3600 COST 100 SKIP_RETURN_CODE 77)
# These have the driver as users have it, whatever ./test asks of it for the rows.
set_tests_properties(cli.models cli.real-models cli.slow-models PROPERTIES
  ENVIRONMENT_MODIFICATION "GALLIVM_PERF=unset:;LP_NATIVE_VECTOR_WIDTH=unset:")
