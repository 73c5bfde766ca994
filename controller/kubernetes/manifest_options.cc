#include "controller/kubernetes/manifest_options.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxLabel = 63;
constexpr size_t kMaxSubdomain = 253;
// The controller of a StatefulSet puts "-<hash of ten>" behind the name, in a label.
constexpr size_t kMaxName = kMaxLabel - 11;
constexpr size_t kMaxImage = 500;

bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsAlphanumeric(char c) {
  return IsLower(c) || IsDigit(c) || (c >= 'A' && c <= 'Z');
}

// A label of DNS (RFC 1123): lower-case letters, digits and '-', which is neither first nor last.
bool IsDnsLabel(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; });
}

// Labels of DNS with points between them.
bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > kMaxSubdomain) return false;
  while (true) {
    const size_t point = text.find('.');
    if (!IsDnsLabel(text.substr(0, point))) return false;
    if (point == std::string_view::npos) return true;
    text.remove_prefix(point + 1);
  }
}

// What the value of a label may be, or the last part of its key.
bool IsLabelWord(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

absl::Status Refused(const char* option, const std::string& value, const std::string& expected) {
  return WithContext(option, absl::InvalidArgumentError(absl::StrCat(Quoted(value), " ", expected)));
}

absl::Status CheckSubdomain(const char* option, const std::string& value) {
  if (IsDnsSubdomain(value)) return absl::OkStatus();
  return Refused(option, value,
                 "is not a name in Kubernetes: lower-case letters, digits, '-' and '.', first and last a letter or a "
                 "digit");
}

// A whole number above 0 of at most nine digits.
bool IsCount(std::string_view digits) {
  return !digits.empty() && digits.size() <= 9 && std::all_of(digits.begin(), digits.end(), IsDigit) &&
         std::any_of(digits.begin(), digits.end(), [](char c) { return c != '0'; });
}

absl::Status CheckBytes(const char* option, const std::string& value) {
  const std::string_view text = value;
  for (const std::string_view unit : {"Ki", "Mi", "Gi", "Ti"}) {
    if (text.size() > 2 && text.substr(text.size() - 2) == unit && IsCount(text.substr(0, text.size() - 2))) {
      return absl::OkStatus();
    }
  }
  return Refused(option, value, "is not a size: expected a whole number above 0 with Ki, Mi, Gi or Ti, such as 20Gi");
}

absl::Status CheckCpu(const std::string& value) {
  const std::string_view text = value;
  if (IsCount(text) || (text.size() > 1 && text.back() == 'm' && IsCount(text.substr(0, text.size() - 1)))) {
    return absl::OkStatus();
  }
  return Refused("--cpu", value, "is not a number of CPUs: expected such as 2, or 500m for half of one");
}

absl::Status CheckNodeSelector(const std::string& selector) {
  const size_t equals = selector.find('=');
  const std::string_view key = std::string_view(selector).substr(0, equals);
  const size_t slash = key.find('/');
  const bool key_holds = slash == std::string_view::npos
                             ? IsLabelWord(key)
                             : IsDnsSubdomain(key.substr(0, slash)) && IsLabelWord(key.substr(slash + 1));
  const std::string value = equals == std::string::npos ? "" : selector.substr(equals + 1);
  if (equals != std::string::npos && key_holds && (value.empty() || IsLabelWord(value))) return absl::OkStatus();
  return Refused("--node-selector", selector, "is not a label of nodes: expected KEY=VALUE, such as node-role=storage");
}

}  // namespace

absl::Status CheckManifestOptions(const ManifestOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckSubdomain("--storage-class", options.storage_class));
  if (!IsDnsLabel(options.name) || !IsLower(options.name.front()) || options.name.size() > kMaxName) {
    return Refused("--name", options.name,
                   absl::StrCat("is not a name for a Service: lower-case letters, digits and '-', first a letter, at "
                                "most ",
                                kMaxName, " of them"));
  }
  if (!options.name_space.empty() && !IsDnsLabel(options.name_space)) {
    return Refused("--namespace", options.name_space, "is not a namespace: lower-case letters, digits and '-'");
  }
  const std::string& image = options.image;
  if (image.empty() || image.size() > kMaxImage || !IsAlphanumeric(image.front()) || !IsAlphanumeric(image.back()) ||
      !std::all_of(image.begin(), image.end(), [](char c) {
        return IsAlphanumeric(c) || std::string_view("._-/:@").find(c) != std::string_view::npos;
      })) {
    return Refused("--image", image, "is not an image: expected such as registry.example.com/plimsoll:1.0");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckBytes("--size", options.size));
  PLIMSOLL_RETURN_IF_ERROR(CheckBytes("--memory", options.memory));
  PLIMSOLL_RETURN_IF_ERROR(CheckCpu(options.cpu));
  for (size_t i = 0; i < options.node_selectors.size(); ++i) {
    const std::string& selector = options.node_selectors[i];
    PLIMSOLL_RETURN_IF_ERROR(CheckNodeSelector(selector));
    const std::string key = selector.substr(0, selector.find('=') + 1);
    for (size_t j = 0; j < i; ++j) {
      if (options.node_selectors[j].compare(0, key.size(), key) == 0) {
        return Refused("--node-selector", selector, "has a key that is there twice: a node has one value for it");
      }
    }
  }
  if (!options.results_claim.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSubdomain("--results-claim", options.results_claim));
    if (!options.job) return absl::InvalidArgumentError("--results-claim is for the results of --job: add --job");
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
