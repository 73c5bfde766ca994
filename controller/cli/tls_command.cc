#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/command_line/command_line.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/tls/tls.h"
#include "controller/cli/commands.h"
#include "controller/plan/host_list.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxPemBytes = 1 << 16;
constexpr mode_t kSecret = 0600;
constexpr mode_t kPublic = 0644;

// In an open directory; `path` is for people.
absl::Status WriteNew(int directory, const std::string& name, const std::string& path, const std::string& text,
                      mode_t mode) {
  const UniqueFd file(openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kSecret));
  if (!file.valid()) return PosixError("create", path, errno);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(file.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put < 0 ? errno : ENOSPC;
      unlinkat(directory, name.c_str(), 0);
      return PosixError("write", path, error);
    }
    done += static_cast<size_t>(put);
  }
  if (fchmod(file.get(), mode) != 0 || fsync(file.get()) != 0) return PosixError("write", path, errno);
  return absl::OkStatus();
}

// A file of this user that no other user may write, in an open directory; `path` is for people.
absl::StatusOr<std::string> ReadOwn(int directory, const std::string& name, const std::string& path) {
  const UniqueFd file(openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts{};
  if (!file.valid() || fstat(file.get(), &facts) != 0) return PosixError("open", path, errno);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a file of this user alone: move it away if another user may have put it there"));
  }
  return ReadRest(file.get(), path, kMaxPemBytes);
}

// A directory that is this user's alone, held open: whatever becomes of its path, files are read and made in this one.
// They are made for their owner alone, and an existing file is never written over.
class TlsDirectory {
 public:
  // Makes the directory where there is none. Errors name it: it is another user's, open to others, or not to be made.
  static absl::StatusOr<std::unique_ptr<TlsDirectory>> Open(const std::string& path);

  // Loads the CA, or makes one that is valid for `days`.
  absl::Status OpenAuthority(int64_t now_s, int days);
  // Makes key and certificate for a name, unless both are there.
  absl::Status Add(const std::string& name, CertificateAuthority::Role role, int64_t now_s, int days);

  // "beta.crt" for a host; a name's colons become underscores.
  static std::string FileStem(const std::string& name);
  const std::string& path() const { return path_; }
  // Files, in the order in which they were made, or found and left alone.
  const std::vector<std::string>& made() const { return made_; }
  const std::vector<std::string>& kept() const { return kept_; }

 private:
  TlsDirectory(std::string path, UniqueFd directory) : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string PathOf(const std::string& file) const { return path_ + "/" + file; }
  bool Exists(const std::string& file) const {
    struct stat facts{};
    return fstatat(directory_.get(), file.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
  }
  // Whether both files are there; one without the other is an error.
  absl::StatusOr<bool> HasPair(const std::string& stem);
  absl::Status WritePair(const std::string& stem, const KeyAndCertificate& pair);

  const std::string path_;
  const UniqueFd directory_;
  std::unique_ptr<CertificateAuthority> authority_;
  std::vector<std::string> made_;
  std::vector<std::string> kept_;
};

absl::StatusOr<std::unique_ptr<TlsDirectory>> TlsDirectory::Open(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    if (errno == ENOENT) {
      return absl::InvalidArgumentError(
          absl::StrCat("the directory above ", path, " does not exist: make it, or name another place"));
    }
    if (errno == ENOTDIR) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is below a file: name a directory, which is made if it is missing"));
    }
    return PosixError("make", path, errno);
  }
  UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat facts{};
  if (!directory.valid() && errno == ENOTDIR) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a directory: name a directory, which is made if it is missing"));
  }
  if (!directory.valid() || fstat(directory.get(), &facts) != 0) return PosixError("open", path, errno);
  if (facts.st_uid != geteuid()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " belongs to another user (", facts.st_uid,
                                                   "), who has or may put a CA of their own there: name a directory "
                                                   "of this user (",
                                                   geteuid(), "), or run as that one"));
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is accessible to other users, and will hold private keys: chmod 700 it"));
  }
  return std::unique_ptr<TlsDirectory>(new TlsDirectory(path, std::move(directory)));
}

std::string TlsDirectory::FileStem(const std::string& name) {
  std::string stem = name;
  std::replace(stem.begin(), stem.end(), ':', '_');
  return stem;
}

absl::StatusOr<bool> TlsDirectory::HasPair(const std::string& stem) {
  const std::string certificate = PathOf(stem + ".crt");
  const std::string key = PathOf(stem + ".key");
  const bool has_certificate = Exists(stem + ".crt");
  const bool has_key = Exists(stem + ".key");
  if (has_certificate != has_key) {
    return absl::InvalidArgumentError(absl::StrCat(has_certificate ? certificate : key, " exists without ",
                                                   has_certificate ? key : certificate,
                                                   ": restore the missing file or move the other one away"));
  }
  if (has_certificate) {
    kept_.push_back(certificate);
    kept_.push_back(key);
  }
  return has_certificate;
}

absl::Status TlsDirectory::WritePair(const std::string& stem, const KeyAndCertificate& pair) {
  const auto write = [&](const std::string& name, const std::string& text, mode_t mode) {
    return WriteNew(directory_.get(), name, PathOf(name), text, mode);
  };
  PLIMSOLL_RETURN_IF_ERROR(write(stem + ".key", pair.key_pem, kSecret));
  if (const absl::Status status = write(stem + ".crt", pair.cert_pem, kPublic); !status.ok()) {
    unlinkat(directory_.get(), (stem + ".key").c_str(), 0);  // just made here
    return status;
  }
  made_.push_back(PathOf(stem + ".crt"));
  made_.push_back(PathOf(stem + ".key"));
  return absl::OkStatus();
}

absl::Status TlsDirectory::OpenAuthority(int64_t now_s, int days) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, HasPair("ca"));
  if (!exists) {
    PLIMSOLL_ASSIGN_OR_RETURN(authority_, CertificateAuthority::Create(now_s, days));
    return WritePair("ca", authority_->pem());
  }
  KeyAndCertificate pem;
  PLIMSOLL_ASSIGN_OR_RETURN(pem.cert_pem, ReadOwn(directory_.get(), "ca.crt", PathOf("ca.crt")));
  PLIMSOLL_ASSIGN_OR_RETURN(pem.key_pem, ReadOwn(directory_.get(), "ca.key", PathOf("ca.key")));
  auto loaded = CertificateAuthority::Load(pem, now_s);
  if (!loaded.ok()) return WithContext(PathOf("ca.crt") + " and ca.key", loaded.status());
  authority_ = *std::move(loaded);
  return absl::OkStatus();
}

absl::Status TlsDirectory::Add(const std::string& name, CertificateAuthority::Role role, int64_t now_s, int days) {
  const std::string stem = FileStem(name);
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, HasPair(stem));
  if (exists) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const KeyAndCertificate pair, authority_->Issue(name, role, now_s, days));
  return WritePair(stem, pair);
}

constexpr int kDefaultDays = 365;
constexpr int kMaxDays = 3650;
// The CA outlives the certificates that are renewed with it.
constexpr int kAuthorityDays = 3650;

struct InitFlags {
  std::string directory;
  std::string hosts;
  std::string controller = "controller";
  int days = kDefaultDays;
};

// A name without its port, as it stands in a certificate.
absl::StatusOr<std::string> NameOf(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(address), ": a Unix socket needs no certificate"));
  }
  return CanonicalName(address.substr(0, address.rfind(':')));
}

absl::StatusOr<std::vector<std::string>> HostNames(const std::string& list) {
  const auto addresses = ParseHostList(list);
  if (!addresses.ok()) return WithContext("--hosts", addresses.status());
  std::vector<std::string> names;
  for (const std::string& address : *addresses) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string name, NameOf(address));
    // One host may have several agents, on several ports.
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

absl::StatusOr<std::string> ControllerName(const std::string& given) {
  const auto parsed = ParseHostList(given);
  if (!parsed.ok() || parsed->size() != 1 || absl::StrContains(given, ":")) {
    return absl::InvalidArgumentError(absl::StrCat("--controller: ", Quoted(given), " is not one host's name"));
  }
  return NameOf(parsed->front());
}

void PrintResult(const TlsDirectory& directory, const std::vector<std::string>& hosts, const std::string& controller,
                 std::ostream& out) {
  for (const std::string& file : directory.kept()) out << "unchanged: " << file << '\n';
  for (const std::string& file : directory.made()) out << "created " << file << '\n';
  const std::string& dir = directory.path();
  if (!hosts.empty()) {
    out << "\nCopy to each host; only the agent's user may be able to read the key:\n";
    for (const std::string& host : hosts) {
      const std::string stem = TlsDirectory::FileStem(host);
      out << "  " << host << ": " << dir << "/ca.crt " << dir << '/' << stem << ".crt " << dir << '/' << stem
          << ".key\n";
    }
    const std::string stem = TlsDirectory::FileStem(hosts.front());
    const std::string listen =
        absl::StrContains(hosts.front(), ":") ? absl::StrCat("[", hosts.front(), "]") : hosts.front();
    out << "and start the agent there, for example on " << hosts.front() << ":\n  plimsoll-agent --root DIR --listen "
        << listen << ":7461 --tls-ca ca.crt --tls-cert " << stem << ".crt --tls-key " << stem << ".key --allow "
        << controller << '\n';
  }
  out << "\nOn the controller:\n  plimsoll run --hosts " << (hosts.empty() ? "HOSTS" : "");
  for (size_t i = 0; i < hosts.size(); ++i) {
    const bool v6 = absl::StrContains(hosts[i], ":");
    out << (i > 0 ? "," : "") << (v6 ? "[" : "") << hosts[i] << (v6 ? "]" : "");
  }
  const std::string stem = TlsDirectory::FileStem(controller);
  out << " --dir DIR --tls-ca " << ShellQuoted(dir + "/ca.crt") << " --tls-cert "
      << ShellQuoted(absl::StrCat(dir, "/", stem, ".crt")) << " --tls-key "
      << ShellQuoted(absl::StrCat(dir, "/", stem, ".key")) << "\n\nKeep " << dir
      << "/ca.key private: anyone who has it can issue controller certificates.\n";
}

int Init(const InitFlags& flags, CommandLine& line) {
  const auto hosts = HostNames(flags.hosts);
  if (!hosts.ok()) return PrintError(line, hosts.status(), Exit::kWrong);
  const auto controller = ControllerName(flags.controller);
  if (!controller.ok()) return PrintError(line, controller.status(), Exit::kWrong);
  std::set<std::string> stems = {"ca"};
  std::vector<std::string> names = *hosts;
  names.push_back(*controller);
  for (const std::string& name : names) {
    if (stems.insert(TlsDirectory::FileStem(name)).second) continue;
    return PrintError(line,
                      absl::StrCat("the CA, every host and the controller need names that differ: ", Quoted(name),
                                   " is there twice (--controller names the controller)"),
                      Exit::kWrong);
  }
  const int64_t now_s = std::time(nullptr);
  auto directory = TlsDirectory::Open(flags.directory);
  if (!directory.ok()) return PrintError(line, directory.status(), Exit::kWrong);
  absl::Status status = (*directory)->OpenAuthority(now_s, kAuthorityDays);
  for (const std::string& host : *hosts) {
    if (status.ok()) status = (*directory)->Add(host, CertificateAuthority::Role::kHost, now_s, flags.days);
  }
  if (status.ok()) status = (*directory)->Add(*controller, CertificateAuthority::Role::kController, now_s, flags.days);
  if (!status.ok()) return PrintError(line, status, Exit::kWrong);
  PrintResult(**directory, *hosts, *controller, line.out);
  return static_cast<int>(Exit::kOk);
}

}  // namespace

void AddTlsCommand(CLI::App& app, CommandLine& line) {
  CLI::App* tls = app.add_subcommand("tls", "Create certificates for agents and controllers");
  tls->footer("Example:\n  plimsoll tls init certificates --hosts node[1-4]");
  auto flags = std::make_shared<InitFlags>();
  CLI::App* init =
      tls->add_subcommand("init", "Create a private CA and a certificate for each host and the controller");
  init->add_option("DIR", flags->directory, "Directory for keys and certificates; if it has a CA, hosts are added")
      ->required();
  AddValue(*init, "--hosts", "LIST", flags->hosts,
           "Hosts, as in `plimsoll run`; ports are ignored: a,10.0.0.1,node[1-4]")
      ->required();
  AddValue(*init, "--controller", "NAME", flags->controller,
           "Name in the controller's certificate, for the agents' --allow")
      ->capture_default_str();
  AddValue(*init, "--days", "N", flags->days, "Validity of the certificates")
      ->capture_default_str()
      ->check(NumberFrom(1, kMaxDays));
  init->footer("Example:\n  plimsoll tls init certificates --hosts node[1-4],10.0.0.5 --controller ops");
  init->callback([flags, &line] { line.action = [flags, &line] { return Init(*flags, line); }; });
}

}  // namespace plimsoll
