#include <algorithm>
#include <ctime>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/tls.h"
#include "controller/cli/commands.h"
#include "controller/cli/tls_directory.h"
#include "controller/plan/host_list.h"

namespace plimsoll {
namespace {

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
  if (!addresses.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--hosts: ", std::string(addresses.status().message())));
  }
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
  for (const std::string& file : directory.kept()) out << "left as it is: " << file << '\n';
  for (const std::string& file : directory.made()) out << "made " << file << '\n';
  const std::string& dir = directory.path();
  if (!hosts.empty()) {
    out << "\nCopy to each host, where its agent's user alone can read the key:\n";
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
  out << " --dir DIR --tls-ca " << dir << "/ca.crt --tls-cert " << dir << '/' << stem << ".crt --tls-key " << dir << '/'
      << stem << ".key\n\nKeep " << dir
      << "/ca.key where nobody else gets at it: whoever has it can make a controller.\n";
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
  init->add_option("--hosts", flags->hosts, "Hosts, as in `plimsoll run`; ports are ignored: a,10.0.0.1,node[1-4]")
      ->required()
      ->type_name("LIST");
  init->add_option("--controller", flags->controller, "Name in the controller's certificate, for the agents' --allow")
      ->capture_default_str()
      ->type_name("NAME");
  init->add_option("--days", flags->days, "Validity of the certificates")
      ->capture_default_str()
      ->check(CLI::Range(1, kMaxDays))
      ->type_name("N");
  init->footer("Example:\n  plimsoll tls init certificates --hosts node[1-4],10.0.0.5 --controller ops");
  init->callback([flags, &line] { line.action = [flags, &line] { return Init(*flags, line); }; });
}

}  // namespace plimsoll
