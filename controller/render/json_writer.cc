#include "controller/render/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "controller/render/plain_text.h"

namespace plimsoll {

void JsonWriter::Separate() {
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  const bool first = std::exchange(level.empty, false);
  if (compact_) {
    if (!first) out_ += ',';
    return;
  }
  if (level.one_line) {
    if (!first) out_ += ", ";
    return;
  }
  if (!first) out_ += ',';
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
}

void JsonWriter::Begin(char bracket, bool one_line) {
  Separate();
  out_ += bracket;
  levels_.push_back({one_line, true});
}

void JsonWriter::End(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.one_line && !compact_) {
    out_ += '\n';
    out_.append(2 * levels_.size(), ' ');
  }
  out_ += bracket;
}

void JsonWriter::Key(const std::string& key) {
  Separate();
  Quote(key);
  out_ += compact_ ? ":" : ": ";
  after_key_ = true;
}

void JsonWriter::Value(const std::string& text) {
  Separate();
  out_ += text;
}

void JsonWriter::String(const std::string& text) {
  Separate();
  Quote(text);
}

void JsonWriter::Double(double value) {
  if (!std::isfinite(value)) {
    Value("null");
    return;
  }
  if (value == 0) value = 0;  // "-0" would be read back as a whole number, which has no sign
  std::array<char, 40> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  Value(error == std::errc() ? std::string(digits.data(), end) : "null");
}

void JsonWriter::Quote(const std::string& text) {
  out_ += '"';
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    pos += point.bytes;
    if (point.value == '"' || point.value == '\\') {
      out_ += '\\';
      out_ += static_cast<char>(point.value);
    } else if (point.value == '\n') {
      out_ += "\\n";
    } else if (IsControl(point.value) && point.value >= 0x10000) {
      // JSON escapes characters of that height in two halves.
      out_ +=
          absl::StrFormat("\\u%04x\\u%04x", 0xD800 + ((point.value - 0x10000) >> 10), 0xDC00 + (point.value & 0x3FF));
    } else if (IsControl(point.value)) {
      out_ += absl::StrFormat("\\u%04x", point.value);
    } else {
      AppendUtf8(point.value, out_);
    }
  }
  out_ += '"';
}

std::string JsonWriter::Take() {
  if (!compact_) out_ += '\n';
  return std::exchange(out_, std::string());
}

}  // namespace plimsoll
