# The programs as their users see them: what they print, and how they exit.
add_test(NAME cli.program
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/run.sh $<TARGET_FILE:rlx> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.program PROPERTIES LABELS cli TIMEOUT 900)

add_test(NAME cli.examples
  COMMAND ${PROJECT_SOURCE_DIR}/tests/cli/examples.sh
          $<TARGET_FILE:example_hello> $<TARGET_FILE:example_make_encoder> ${PROJECT_SOURCE_DIR})
set_tests_properties(cli.examples PROPERTIES LABELS examples TIMEOUT 300)
