# Highway compiles rlx/vector for several instruction sets side by side, and the processor at hand decides
# between them. Its headers are all we take. Without it there is one set of plain loops.
find_path(highway_include hwy/foreach_target.h)
if(NOT highway_include)
  message(STATUS "Highway (libhwy-dev) is not installed: vector code on the CPU will be slow")
  return()
endif()
target_include_directories(rlx_vector SYSTEM PRIVATE ${highway_include})
target_compile_definitions(rlx_vector PRIVATE RLX_HIGHWAY)
