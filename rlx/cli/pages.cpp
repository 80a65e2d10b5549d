#include "rlx/cli/pages.h"

#include "rlx/base/error.h"

namespace rlx {
std::string_view embedded_cli(std::string_view file);  // generated from the .html files
}

namespace rlx::cli {

std::string page_with(std::string_view file, const nlohmann::ordered_json& data) {
  constexpr std::string_view kPlace = "{{data}}";
  std::string page(embedded_cli(file));
  std::string json = data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  // Names come from files: none may end the script that the data are in.
  for (size_t at = 0; (at = json.find('<', at)) != std::string::npos;)
    json.replace(at, 1, "\\u003c");
  const size_t at = page.find(kPlace);
  if (at == std::string::npos) fail(ErrorKind::io, file, " has no place for data");
  return page.replace(at, kPlace.size(), json);
}

}  // namespace rlx::cli
