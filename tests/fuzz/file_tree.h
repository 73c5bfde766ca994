// What lies in a directory tree, to see that nothing in it was touched.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::fuzz {

// By path: type, mode, and what is in it. Symbolic links are not followed.
inline std::map<std::string, std::string> LookAt(const std::string& directory) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> tree;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    const fs::file_status status = entry.symlink_status();
    std::string& what = tree[entry.path().string()];
    what = absl::StrCat(static_cast<int>(status.type()), " ", static_cast<unsigned>(status.permissions()), " ");
    if (fs::is_symlink(status)) what += fs::read_symlink(entry.path()).string();
    if (fs::is_regular_file(status)) {
      std::ifstream file(entry.path(), std::ios::binary);
      what.append(std::istreambuf_iterator<char>(file), {});
    }
  }
  return tree;
}

}  // namespace plimsoll::fuzz
