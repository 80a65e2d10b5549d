// Pages for a browser that need nothing but themselves: the files of this folder, with data in
// them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rlx::cli {

// The file with `data` in the place of {{data}}.
std::string page_with(std::string_view file, const nlohmann::ordered_json& data);

}  // namespace rlx::cli
