#include "controller/run/connect_error.h"

#include <sys/stat.h>

#include <cctype>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace plimsoll {
namespace {

constexpr char kNameNotFound[] = "name not found";
constexpr char kUnixPrefix[] = "unix:";

// What the system says after gRPC's last colon: "Connection refused".
std::string Reason(const std::string& text) {
  std::string reason = text.substr(text.rfind(": ") == std::string::npos ? 0 : text.rfind(": ") + 2);
  if (!reason.empty()) reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  return reason;
}

std::string MissingSocket(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  struct stat info{};
  if (path.rfind('/') != std::string::npos && !directory.empty() && stat(directory.c_str(), &info) != 0) {
    return absl::StrCat("the directory ", directory, " does not exist");
  }
  return absl::StrCat("no agent is listening: the socket does not exist; start plimsoll-agent with --listen unix:",
                      path);
}

std::string InWords(const std::string& address, const std::string& text) {
  const bool is_unix = absl::StartsWith(address, kUnixPrefix);
  if (absl::StrContains(text, "DNS resolution failed")) {
    // c-ares tells a name that is not there from servers that do not answer.
    const bool unanswered = absl::StrContains(text, "Timeout") || absl::StrContains(text, "Could not contact");
    return unanswered ? "the name cannot be resolved: no DNS server answers" : kNameNotFound;
  }
  if (!absl::StrContains(text, "failed to connect to all addresses")) return text;
  if (absl::StrContains(text, "Connection refused")) {
    return "connection refused: no agent is listening; start plimsoll-agent there";
  }
  if (absl::StrContains(text, "Failed parsing HTTP/2") || absl::StrContains(text, "SETTINGS")) {
    return "not a Plimsoll agent: another protocol answers there; check the port";
  }
  if (is_unix && absl::StrContains(text, "No such file or directory")) {
    return MissingSocket(std::string(absl::StripPrefix(address, kUnixPrefix)));
  }
  return absl::StrCat("cannot connect: ", Reason(text));
}

}  // namespace

absl::Status ExplainConnectError(const std::string& address, const absl::Status& failure) {
  return {failure.code(), InWords(address, std::string(failure.message()))};
}

std::string DirectoryInWords(const std::string& label, const std::string& error) {
  return absl::EndsWith(error, " does not exist") ? absl::StrCat("--dir: ", error, " on ", label)
                                                  : absl::StrCat(label, ": --dir: ", error);
}

std::string UnreachableInWords(const std::string& address, const absl::Status& failure) {
  const bool nameless = failure.message() == kNameNotFound;
  return absl::StrCat(nameless ? address.substr(0, address.rfind(':')) : address, ": ", std::string(failure.message()));
}

}  // namespace plimsoll
