// What the text report has for those who must show later what was measured by which program, and when: the command, the
// programs, and how far its UTC times can be off.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

constexpr size_t kMostNamedHosts = 8;

// "node1, node2 and 3 more".
std::string NamedHosts(std::vector<std::string> labels) {
  const size_t more = labels.size() > kMostNamedHosts ? labels.size() - kMostNamedHosts : 0;
  labels.resize(labels.size() - more);
  return absl::StrCat(absl::StrJoin(labels, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// "The clocks of 2 hosts are synchronised, maximum error 16 ms (node1); that of node3 is not synchronised."
std::string HostClocksText(const v1::Report& report) {
  size_t synchronised = 0;
  const v1::HostReport* worst = nullptr;
  std::vector<std::string> others;
  for (const v1::HostReport& host : report.hosts()) {
    if (!host.clock().time_synchronized()) {
      others.push_back(host.label());
      continue;
    }
    ++synchronised;
    if (worst == nullptr || host.clock().time_error_ns() > worst->clock().time_error_ns()) worst = &host;
  }
  std::vector<std::string> parts;
  if (worst != nullptr) {
    parts.push_back(absl::StrCat("synchronised on ", Counted(synchronised, "host"), ", maximum error ",
                                 FormatShortTime(static_cast<int64_t>(worst->clock().time_error_ns())),
                                 synchronised > 1 ? absl::StrCat(" (", worst->label(), ")") : ""));
  }
  if (!others.empty()) parts.push_back(absl::StrCat("not synchronised on ", NamedHosts(others)));
  return parts.empty()
             ? ""
             : absl::StrCat("Clocks by which the hosts write logs of their own: ", absl::StrJoin(parts, "; "), ".");
}

}  // namespace

std::string TimeStatusText(const v1::TimeStatus& status) {
  if (!status.synchronized()) {
    return absl::StrCat("not synchronised", status.has_service() ? ", although there is a process " : "",
                        status.service());
  }
  return absl::StrCat("synchronised", status.has_service() ? " by " : "", status.service(), ", maximum error ",
                      FormatShortTime(static_cast<int64_t>(status.max_error_ns())), ", estimated error ",
                      FormatShortTime(static_cast<int64_t>(status.estimated_error_ns())));
}

std::string UtcErrorText(const v1::ControllerFacts& controller) {
  if (!controller.has_time()) return "";
  return absl::StrCat("The controller's clock is ", TimeStatusText(controller.time()),
                      controller.time().synchronized() ? ": UTC times can be off by as much."
                                                       : ": how far UTC times are off is not known.",
                      " Measured latencies do not depend on it.");
}

std::string ProgramText(const v1::ControllerFacts& controller, const std::string& version) {
  if (!controller.has_program_sha256()) return "";
  return absl::StrCat("plimsoll ", version, ", SHA-256 ", controller.program_sha256());
}

std::vector<std::string> TextCommand(const v1::Report& report) {
  constexpr char kHeading[] = "Command";
  constexpr size_t kIndent = 10;
  const std::string command = SanitizeForTerminal(report.run().controller().command());
  if (command.empty()) return {};
  std::vector<std::string> lines = WrapCommand(command, kTextWidth - kIndent);
  const auto fits = [](const std::string& line) { return DisplayWidth(line) <= kTextWidth - kIndent; };
  // An argument that fits on no line: report.json has the command as a shell reads it back.
  if (!std::ranges::all_of(lines, fits)) return UnderHeading(kHeading, command);
  for (size_t i = 0; i < lines.size(); ++i) lines[i] = PadRight(i == 0 ? kHeading : "", kIndent) + lines[i];
  return lines;
}

std::vector<std::string> TextUtc(const v1::Report& report) {
  const std::string error = UtcErrorText(report.run().controller());
  if (error.empty()) return {};
  std::vector<std::string> lines = UnderHeading("UTC", error);
  if (const std::string hosts = HostClocksText(report); !hosts.empty()) AppendLines(UnderHeading("", hosts), lines);
  return lines;
}

std::vector<std::string> TextPrograms(const v1::Report& report) {
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& what, const std::string& digest) {
    if (lines.empty()) lines.emplace_back("Programs, each with its SHA-256");
    AddIndented(what, lines);
    AddIndented(digest, lines);
  };
  const v1::RunReport& run = report.run();
  if (run.controller().has_program_sha256()) {
    add(absl::StrCat("controller: plimsoll ", run.version()), run.controller().program_sha256());
  }
  // Hosts by version and digest, in the order of their first one.
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> agents;
  for (const v1::HostReport& host : report.hosts()) {
    if (!host.has_program_sha256()) continue;
    const std::pair program(host.version(), host.program_sha256());
    const auto found = std::ranges::find(agents, program, [](const auto& each) { return each.first; });
    if (found == agents.end()) {
      agents.push_back({program, {host.label()}});
    } else {
      found->second.push_back(host.label());
    }
  }
  for (const auto& [program, labels] : agents) {
    add(absl::StrCat(labels.size() == 1 ? "agent of " : "agents of ", NamedHosts(labels), ": plimsoll-agent ",
                     program.first),
        program.second);
  }
  return lines;
}

}  // namespace plimsoll
