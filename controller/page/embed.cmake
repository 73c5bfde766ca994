# cmake -DOUT=assets.cc -DFILES=a.css|b.js -P embed.cmake: text files as constants of the program, which Asset finds by their
# names (controller/page/assets.h). A reference to a source map, which a browser's tools would try to load, is cut off.
string(REPLACE "|" ";" files "${FILES}")
set(texts "")
set(entries "")
set(number 0)
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)

  # Either would end, or twist, the element that holds a script.
  file(READ "${file}" text)
  foreach(mark "</script" "<!--")
    string(FIND "${text}" "${mark}" found)
    if(name MATCHES "\\.js$" AND NOT found EQUAL -1)
      message(FATAL_ERROR "${file} holds ${mark}: it cannot stand in a page")
    endif()
  endforeach()

  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "2f2[fa]2320736f757263654d617070696e6755524c3d.*$" "" hex "${hex}")  # "//# sourceMappingURL="
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" escaped "${hex}")
  string(REGEX REPLACE "\n" "\"\n    \"" escaped "${escaped}")
  string(APPEND texts "constexpr char kText${number}[] =\n    \"${escaped}\";\n")
  string(APPEND entries "    {\"${name}\", {kText${number}, sizeof(kText${number}) - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUT}" "// Made by controller/page/embed.cmake.
#include \"controller/page/assets.h\"

#include <cstdlib>

namespace plimsoll {
namespace {
${texts}
constexpr struct {
  std::string_view name;
  std::string_view text;
} kAssets[] = {
${entries}};
}  // namespace

std::string_view Asset(std::string_view name) {
  for (const auto& asset : kAssets) {
    if (asset.name == name) return asset.text;
  }
  std::abort();
}

std::vector<std::string_view> AssetsOf(std::string_view prefix) {
  std::vector<std::string_view> found;
  for (const auto& asset : kAssets) {
    if (asset.name.substr(0, prefix.size()) == prefix) found.push_back(asset.text);
  }
  return found;
}

}  // namespace plimsoll
")
