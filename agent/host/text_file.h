// Small files of /proc and /sys.
#pragma once

#include <string>

namespace plimsoll {

// The file's text; empty where it cannot be read, which stands for "the kernel does not tell".
std::string ReadTextFile(const std::string& path);

// The same without white space around it.
std::string ReadTextLine(const std::string& path);

}  // namespace plimsoll
