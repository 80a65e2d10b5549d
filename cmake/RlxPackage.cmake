# What `cmake --install` puts where, and what find_package(rlx) finds there: rlx::rlx.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A program links the facade; all else comes with it. One that only runs images links rlx::runtime and
# rlx::ops. Conformance is for the tests and the program.
add_library(rlx::rlx ALIAS rlx_facade)
target_compile_features(rlx_base PUBLIC cxx_std_20)
get_property(libraries GLOBAL PROPERTY RLX_LIBRARIES)
list(REMOVE_ITEM libraries rlx_conformance)
foreach(library IN LISTS libraries)
  string(REGEX REPLACE "^rlx_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()
set_target_properties(rlx_facade PROPERTIES EXPORT_NAME rlx)

install(TARGETS rlx)
install(FILES examples/encoder.rlx examples/encoder.safetensors  # what `rlx demo` runs
  DESTINATION ${CMAKE_INSTALL_DATADIR}/rlx/examples)
install(TARGETS ${libraries} EXPORT rlx INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(CODE "set(source ${PROJECT_SOURCE_DIR})\nset(folder ${CMAKE_INSTALL_INCLUDEDIR})")
install(SCRIPT cmake/install_headers.cmake)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rlx)
install(EXPORT rlx NAMESPACE rlx:: FILE rlxTargets.cmake DESTINATION ${package})
configure_package_config_file(cmake/rlxConfig.cmake.in ${PROJECT_BINARY_DIR}/rlxConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what the last one had.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rlxConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rlxConfig.cmake ${PROJECT_BINARY_DIR}/rlxConfigVersion.cmake
  DESTINATION ${package})
