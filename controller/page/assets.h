// The files that pages are made of, as they were when this program was built (embed.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace plimsoll {

// A file of this folder or of dygraphs by its name, such as "report.css", which is in the list in CMakeLists.txt. The
// text lives as long as the program.
std::string_view Asset(std::string_view name);
// Files whose names begin with `prefix`, in the order of that list.
std::vector<std::string_view> AssetsOf(std::string_view prefix);

}  // namespace plimsoll
