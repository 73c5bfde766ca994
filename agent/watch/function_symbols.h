// Where functions lie in programs and libraries, and which libraries a process uses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// A function whose calls are timed: its name, and the library that it is in, by its path or the name of its file; an
// empty library: any of MQ's.
struct FunctionName {
  std::string library;
  std::string function;
  // "MQPUT", or "LIBRARY:FUNCTION". INVALID_ARGUMENT for anything else.
  static absl::StatusOr<FunctionName> Parse(const std::string& text);
  // Whether the file may hold it.
  bool MayBeIn(const std::string& path) const;
};

// A place where a probe goes.
struct FunctionPlace {
  // As the agent opens it.
  std::string path;
  // As the process knows it.
  std::string shown_path;
  uint64_t offset = 0;
  bool operator==(const FunctionPlace&) const = default;
};

// Place of a function in the file of an ELF program or library; nothing if the file does not define it.
// FAILED_PRECONDITION where the file is not a 64-bit ELF file.
absl::StatusOr<std::optional<uint64_t>> FindFunction(const std::string& path, const std::string& function);

// Files that a process has mapped to run code from: its path in the process, and how the agent opens it.
struct MappedFile {
  std::string path;
  std::string open_path;
  auto operator<=>(const MappedFile&) const = default;
};
std::set<MappedFile> ReadMappedFiles(uint32_t pid);

// Files that a program will map when it starts, as far as that can be foreseen: itself, and the libraries that it and
// these name, found where the loader looks for them with the process's environment.
std::set<MappedFile> FindNeededFiles(const std::string& program, uint32_t pid);

// Places of the function in these files, and, for a library that is named by its path, in that file. May be empty: the
// process may load the library later.
std::vector<FunctionPlace> FindPlaces(const FunctionName& name, std::set<MappedFile> candidates, uint32_t pid);

}  // namespace plimsoll
