# cmake -DOUT=assets.cc -DFILES=a.css|b.js -P embed.cmake: text files as constants of the program.
#
# page/base.css becomes plimsoll::assets::kBaseCss, dygraph.min.js kDygraphMinJs (declared in controller/page/assets.h).
# A reference to a source map, which a browser's tools would try to load, is cut off.
string(REPLACE "|" ";" files "${FILES}")
set(code "// Made by controller/page/embed.cmake.\n#include \"controller/page/assets.h\"\n\nnamespace plimsoll::assets {\n")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  string(REGEX REPLACE "[^A-Za-z0-9]" ";" words "${name}")
  set(constant "k")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 first)
    string(SUBSTRING "${word}" 1 -1 rest)
    string(TOUPPER "${first}" first)
    string(APPEND constant "${first}${rest}")
  endforeach()

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
  string(APPEND code "constexpr char ${constant}Text[] =\n    \"${escaped}\";\n"
    "const std::string_view ${constant}(${constant}Text, sizeof(${constant}Text) - 1);\n")
endforeach()
string(APPEND code "}  // namespace plimsoll::assets\n")
file(WRITE "${OUT}" "${code}")
