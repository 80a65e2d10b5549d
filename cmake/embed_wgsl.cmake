# Writes OUTPUT: a function embedded_<NAME>(file) that gives the text of each of KERNELS.
set(cases "")
foreach(kernel IN LISTS KERNELS)
  file(READ ${kernel} text)
  get_filename_component(file ${kernel} NAME)
  string(APPEND cases "  if (file == \"${file}\") return R\"wgsl(${text})wgsl\";\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from the .wgsl files of one folder.
#include <string_view>

#include \"rlx/base/error.h\"

namespace rlx {

std::string_view embedded_${NAME}(std::string_view file) {
${cases}  fail(ErrorKind::unsupported, \"there is no kernel file '\", file, \"'\");
}

}  // namespace rlx
")
