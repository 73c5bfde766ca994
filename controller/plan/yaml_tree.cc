#include "controller/plan/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {

namespace {

// Builds the tree from the parser's events. After the first error it only waits for the end: an exception would have
// to pass through the library.
class TreeBuilder : public YAML::EventHandler {
 public:
  // `text` and `file_name` must outlive the object.
  TreeBuilder(const std::string& text, const std::string& file_name) : text_(text), file_name_(file_name) {}

  const absl::Status& status() const { return status_; }
  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) Fail(mark, "a second document; expected one plan");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Add(YamlNode::Kind::kNull, mark, "", anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    Fail(mark, "aliases are not supported in a plan; write the value itself");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag == "!" && !IsClosed(mark)) Fail(mark, "a quote that is not closed");
    if (YamlNode* node = Add(YamlNode::Kind::kText, mark, tag, anchor); node != nullptr) node->text = value;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  void Fail(const YAML::Mark& mark, const std::string& message) {
    if (status_.ok()) status_ = YamlError(file_name_, mark.line + 1, mark.column + 1, message);
  }

  // Whether quoted text that begins at `mark` ends: the parser takes the end of the document for its end.
  bool IsClosed(const YAML::Mark& mark) const {
    const auto begin = static_cast<size_t>(mark.pos);
    if (begin >= text_.size() || (text_[begin] != '"' && text_[begin] != '\'')) return true;
    const char quote = text_[begin];
    for (size_t i = begin + 1; i < text_.size(); ++i) {
      if (text_[i] == quote) return true;
      if (quote == '"' && text_[i] == '\\') ++i;
    }
    return false;
  }

  // Null after an error.
  YamlNode* Add(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) Fail(mark, "anchors are not supported in a plan; write the value where it is used");
    // "?" and "!" are the parser's tags for plain and quoted text.
    if (!tag.empty() && tag != "?" && tag != "!") Fail(mark, "tags are not supported in a plan; write the value alone");
    if (++nodes_ > kMaxYamlNodes) Fail(mark, absl::StrCat("more than ", kMaxYamlNodes, " values"));
    if (!status_.ok()) return nullptr;
    YamlNode* node = &root_;
    if (!open_.empty()) node = &open_.back()->items.emplace_back();
    node->kind = kind;
    node->line = mark.line + 1;
    node->column = mark.column + 1;
    return node;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (open_.size() >= kMaxYamlDepth) Fail(mark, absl::StrCat("more than ", kMaxYamlDepth, " levels"));
    // Nodes on the way to the open one do not move: only the innermost list grows.
    if (YamlNode* node = Add(kind, mark, tag, anchor); node != nullptr) open_.push_back(node);
  }

  void Close() {
    if (status_.ok()) open_.pop_back();
  }

  const std::string& text_;
  const std::string& file_name_;
  absl::Status status_;
  YamlNode root_;
  std::vector<YamlNode*> open_;
  size_t nodes_ = 0;
  int documents_ = 0;
};

absl::Status ErrorAt(const std::string& text, const std::string& file_name, size_t offset, const std::string& message) {
  const std::string before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') == std::string::npos ? 0 : before.rfind('\n') + 1;
  const auto column = 1 + offset - line_begin;
  return YamlError(file_name, static_cast<int>(line), static_cast<int>(column), message);
}

absl::Status CheckCharacters(const std::string& text, const std::string& file_name) {
  if (text.size() > kMaxYamlBytes) {
    return YamlError(file_name, 1, 1, absl::StrCat("larger than ", kMaxYamlBytes, " bytes; this is not a plan"));
  }
  if (const size_t offset = FindInvalidUtf8(text); offset != std::string::npos) {
    return ErrorAt(text, file_name, offset, "not UTF-8; a plan is UTF-8 text");
  }
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F;
  };
  if (const auto found = std::find_if(text.begin(), text.end(), is_control); found != text.end()) {
    return ErrorAt(text, file_name, static_cast<size_t>(found - text.begin()), "a control character; a plan is text");
  }
  return absl::OkStatus();
}

// The first unquoted range of hosts in a line (from 0), such as node[1-3]; empty where there is none.
std::string BareRange(const std::string& text, int line) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (line < 0 || static_cast<size_t>(line) >= lines.size()) return "";
  const std::string& of = lines[static_cast<size_t>(line)];
  for (size_t open = of.find('['); open != std::string::npos; open = of.find('[', open + 1)) {
    size_t begin = open;
    while (begin > 0 && IsPlainNameChar(of[begin - 1])) --begin;
    const size_t close = of.find_first_not_of("0123456789-,", open + 1);
    if (begin == open || close == std::string::npos || of[close] != ']' || close == open + 1) continue;
    size_t end = close + 1;
    while (end < of.size() && (IsPlainNameChar(of[end]) || of[end] == ':')) ++end;
    return of.substr(begin, end - begin);
  }
  return "";
}

// The parser's words for what it cannot read, in those of a plan's author.
std::string NotYaml(const std::string& words) {
  static const std::pair<const char*, const char*> kCommon[] = {
      {"end of sequence flow not found", "a list is not closed: expected ']'"},
      {"end of map flow not found", "a map is not closed: expected '}'"},
      {"illegal EOF in scalar", "a quote is not closed"},
      {"unknown escape character", "an unknown escape after '\\': use single quotes"},
      {"illegal tab", "a tab in the indentation: use blanks"},
      {"the referenced anchor is not defined",
       "aliases are not supported in a plan: write the value itself, or quote it"},
      {"unknown token", "a character that no value begins with: quote the text"},
      {"illegal map value", "':' is not expected here: check the indentation, or quote the text"},
      {"illegal flow end", "a bracket that was not opened: remove it, or quote the text"},
  };
  for (const auto& [begin, text] : kCommon) {
    if (absl::StartsWith(words, begin)) return absl::StrCat("not YAML: ", text);
  }
  return "not YAML: the line does not fit what is above it: check the indentation, or quote the text";
}

}  // namespace

absl::Status YamlError(const std::string& file_name, int line, int column, const std::string& message) {
  return absl::InvalidArgumentError(absl::StrCat(file_name, ":", line, ":", column, ": ", message));
}

absl::StatusOr<YamlNode> ParseYaml(const std::string& text, const std::string& file_name) {
  PLIMSOLL_RETURN_IF_ERROR(CheckCharacters(text, file_name));
  // The parser does not count a byte order mark in its offsets.
  const std::string content(absl::StripPrefix(text, "\xEF\xBB\xBF"));
  TreeBuilder builder(content, file_name);
  try {
    std::istringstream stream(content);
    YAML::Parser parser(stream);
    while (builder.status().ok() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    PLIMSOLL_RETURN_IF_ERROR(builder.status());
    const bool known = !error.mark.is_null();
    const std::string range = known ? BareRange(content, error.mark.line) : "";
    const std::string hint = range.empty() ? "" : absl::StrCat("; in a list of YAML, quote it: \"", range, "\"");
    return YamlError(file_name, known ? error.mark.line + 1 : 1, known ? error.mark.column + 1 : 1,
                     absl::StrCat(NotYaml(error.msg), hint));
  } catch (const std::exception& error) {
    PLIMSOLL_RETURN_IF_ERROR(builder.status());
    return YamlError(file_name, 1, 1, NotYaml(error.what()));
  }
  PLIMSOLL_RETURN_IF_ERROR(builder.status());
  return builder.TakeRoot();
}

}  // namespace plimsoll
