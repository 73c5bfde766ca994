// What a result records of the program that made it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plimsoll {

// SHA-256 of the file of this program (/proc/self/exe) in hexadecimal digits; empty if it cannot be read. Reads the
// whole file at the first call and remembers the digest. Thread-safe.
const std::string& ThisProgramSha256();

// Most bytes of a command line that CommandText shows.
inline constexpr size_t kMostCommandBytes = 4096;

// A program and its arguments as a shell reads them back, on one line and in UTF-8; "…" in place of what is beyond
// kMostCommandBytes, and of what follows "--": those are the arguments of another program, and may hold its secrets.
std::string CommandText(const std::vector<std::string>& arguments);

// CommandText of this process; empty if it is not known.
std::string ThisCommand();

}  // namespace plimsoll
