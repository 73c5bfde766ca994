#include "agent/watch/function_symbols.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/host/storage_stack.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

// MQ's libraries that applications call, by the stems of their names: bindings and clients, with and without threads.
constexpr const char* kMqLibraries[] = {"libmqm", "libmqm_r", "libmqic", "libmqic_r"};
// Calls of the MQI that are known without a library.
constexpr const char* kMqCalls[] = {"MQPUT", "MQPUT1", "MQGET", "MQCMIT", "MQBACK"};

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

// Whether a file name is that of the library: "libmqm_r.so", "libmqm_r.so.9".
bool HasStem(const std::string& path, const std::string& stem) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return absl::StartsWith(name, stem) &&
         (name.size() == stem.size() || absl::StartsWith(name.substr(stem.size()), ".so"));
}

// Where an address of the program lies in its file.
std::optional<uint64_t> FileOffset(Elf* elf, uint64_t address) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header{};
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
    if (address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz) {
      return address - header.p_vaddr + header.p_offset;
    }
  }
  return std::nullopt;
}

// Distance from a function's address to the first instruction that all of its callers execute. On POWER (ELFv2) callers
// in other files enter at the address, and callers in the same file behind the instructions that load the register of
// the function's own data.
uint64_t LocalEntryOffset(Elf* elf, const GElf_Sym& symbol) {
  GElf_Ehdr header{};
  if (gelf_getehdr(elf, &header) == nullptr || header.e_machine != EM_PPC64) return 0;
  return static_cast<uint64_t>(PPC64_LOCAL_ENTRY_OFFSET(symbol.st_other));
}

// Address of the first instruction that every call of the function executes; 0: the section's symbols do not define it.
uint64_t AddressOf(Elf* elf, Elf_Scn* section, const std::string& function) {
  GElf_Shdr header{};
  if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) return 0;
  if (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) return 0;
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr) return 0;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol{};
    if (gelf_getsym(data, i, &symbol) == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && function == name) return symbol.st_value + LocalEntryOffset(elf, symbol);
  }
  return 0;
}

}  // namespace

absl::StatusOr<FunctionName> FunctionName::Parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    if (std::ranges::find(kMqCalls, text) != std::end(kMqCalls)) return FunctionName{"", text};
    return absl::InvalidArgumentError(
        absl::StrCat("--calls ", text,
                     ": not one of MQPUT, MQPUT1, MQGET, MQCMIT, MQBACK; name another function as LIBRARY:FUNCTION"));
  }
  FunctionName name{text.substr(0, colon), text.substr(colon + 1)};
  if (name.library.empty() || name.function.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--calls ", text, ": use LIBRARY:FUNCTION, such as libmqm_r.so:MQPUT"));
  }
  return name;
}

bool FunctionName::MayBeIn(const std::string& path) const {
  if (library.empty()) {
    return std::ranges::any_of(kMqLibraries, [&path](const char* stem) { return HasStem(path, stem); });
  }
  if (library.find('/') != std::string::npos) return path == library;
  return HasStem(path, library) || path.substr(path.rfind('/') + 1) == library;
}

absl::StatusOr<std::optional<uint64_t>> FindFunction(const std::string& path, const std::string& function) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return PosixError("open", path, errno);
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(fd.get(), ELF_C_READ, nullptr));
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is neither a program nor a library"));
  }
  if (gelf_getclass(elf.get()) != ELFCLASS64) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is a 32-bit file; only 64-bit programs can be watched"));
  }
  for (Elf_Scn* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
       section = elf_nextscn(elf.get(), section)) {
    if (const uint64_t address = AddressOf(elf.get(), section, function); address != 0) {
      return FileOffset(elf.get(), address);
    }
  }
  return std::optional<uint64_t>();
}

std::set<MappedFile> ReadMappedFiles(uint32_t pid) {
  std::set<MappedFile> mapped;
  for (const absl::string_view line : absl::StrSplit(ReadTextFile(absl::StrCat("/proc/", pid, "/maps")), '\n')) {
    // 7f12-7f34 r-xp 00000000 fd:00 1234   /opt/mqm/lib64/libmqm_r.so
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    const size_t slash = line.find('/');
    if (words.size() < 6 || words[1].size() < 3 || words[1][2] != 'x' || slash == absl::string_view::npos) continue;
    const std::string path(line.substr(slash));
    // Through the process's own root: in a container its paths are others.
    mapped.insert({path, absl::StrCat("/proc/", pid, "/root", path)});
  }
  return mapped;
}

namespace {

// What a file names as its libraries, and the directories in which it wants them to be looked for.
struct DynamicSection {
  std::vector<std::string> needed;
  std::vector<std::string> directories;
};

DynamicSection ReadDynamicSection(const std::string& path) {
  DynamicSection found;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return found;
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(fd.get(), ELF_C_READ, nullptr));
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) return found;
  const std::string origin = path.substr(0, path.rfind('/'));
  for (Elf_Scn* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
       section = elf_nextscn(elf.get(), section)) {
    GElf_Shdr header{};
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC || header.sh_entsize == 0) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    for (int i = 0; data != nullptr && i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
      GElf_Dyn entry{};
      if (gelf_getdyn(data, i, &entry) == nullptr) break;
      if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
      const char* const text = elf_strptr(elf.get(), header.sh_link, entry.d_un.d_val);
      if (text == nullptr) continue;
      if (entry.d_tag == DT_NEEDED) {
        found.needed.emplace_back(text);
        continue;
      }
      for (const absl::string_view directory : absl::StrSplit(text, ':', absl::SkipEmpty())) {
        found.directories.push_back(absl::StrReplaceAll(directory, {{"$ORIGIN", origin}, {"${ORIGIN}", origin}}));
      }
    }
  }
  return found;
}

// Where libraries lie on the distributions that MQ supports, and MQ's own.
constexpr const char* kLibraryDirectories[] = {"/opt/mqm/lib64",
                                               "/lib64",
                                               "/usr/lib64",
                                               "/lib",
                                               "/usr/lib",
#if defined(__x86_64__)
                                               "/lib/x86_64-linux-gnu",
                                               "/usr/lib/x86_64-linux-gnu",
#elif defined(__powerpc64__)
                                               "/lib/powerpc64le-linux-gnu",
                                               "/usr/lib/powerpc64le-linux-gnu",
#elif defined(__s390x__)
                                               "/lib/s390x-linux-gnu",
                                               "/usr/lib/s390x-linux-gnu",
#endif
                                               "/usr/local/lib"};
// Libraries of libraries: MQ's have some four levels.
constexpr size_t kMostNeededFiles = 256;

std::vector<std::string> LibraryPath(uint32_t pid) {
  std::vector<std::string> directories;
  constexpr char kVariable[] = "LD_LIBRARY_PATH=";
  for (absl::string_view variable :
       absl::StrSplit(ReadTextFile(absl::StrCat("/proc/", pid, "/environ")), absl::ByChar(0))) {
    if (!absl::ConsumePrefix(&variable, kVariable)) continue;
    for (const absl::string_view directory : absl::StrSplit(variable, ':', absl::SkipEmpty())) {
      directories.emplace_back(directory);
    }
  }
  return directories;
}

}  // namespace

std::set<MappedFile> FindNeededFiles(const std::string& program, uint32_t pid) {
  std::vector<std::string> common = LibraryPath(pid);
  common.insert(common.end(), std::begin(kLibraryDirectories), std::end(kLibraryDirectories));
  std::set<MappedFile> found = {{program, program}};
  std::vector<std::string> open_paths = {program};
  for (size_t i = 0; i < open_paths.size() && open_paths.size() < kMostNeededFiles; ++i) {
    const DynamicSection section = ReadDynamicSection(open_paths[i]);
    for (const std::string& library : section.needed) {
      std::vector<std::string> directories = section.directories;
      directories.insert(directories.end(), common.begin(), common.end());
      for (const std::string& directory : directories) {
        const std::string path = absl::StrCat(directory, "/", library);
        if (!UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)).valid()) continue;
        if (found.insert({path, path}).second) open_paths.push_back(path);
        break;
      }
    }
  }
  return found;
}

std::vector<FunctionPlace> FindPlaces(const FunctionName& name, std::set<MappedFile> candidates, uint32_t pid) {
  std::vector<FunctionPlace> places;
  if (!name.library.empty() && name.library.front() == '/') {
    candidates.insert({name.library, absl::StrCat("/proc/", pid, "/root", name.library)});
  }
  for (const MappedFile& file : candidates) {
    if (!name.MayBeIn(file.path)) continue;
    const auto offset = FindFunction(file.open_path, name.function);
    if (offset.ok() && offset->has_value()) places.push_back({file.open_path, file.path, **offset});
  }
  return places;
}

}  // namespace plimsoll
