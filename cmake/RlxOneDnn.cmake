# oneDNN makes products and convolutions fast on the CPU; without it rlx uses loops of its own.
find_package(dnnl 2 QUIET)
if(NOT dnnl_FOUND)
  message(STATUS "oneDNN 2 is not installed: products on the CPU will be slow")
  return()
endif()
target_link_libraries(rlx_backend_cpu PRIVATE DNNL::dnnl)
set_source_files_properties(rlx/backend/cpu/onednn.cpp PROPERTIES COMPILE_DEFINITIONS RLX_ONEDNN)
