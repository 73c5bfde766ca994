#include "controller/page/html_page.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "controller/page/assets.h"
#include "controller/render/columns.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

// How a policy names an inline script or style: 'sha256-...'.
std::string HashSource(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  const std::string bytes(digest.begin(), digest.end());
  return absl::StrCat("'sha256-", absl::Base64Escape(bytes), "'");
}

std::string HashSources(const std::vector<std::string_view>& texts) {
  std::string sources;
  for (const std::string_view text : texts) sources += " " + HashSource(text);
  return texts.empty() ? " 'none'" : sources;
}

std::vector<std::string_view> Joined(std::vector<std::string_view> first, const std::vector<std::string_view>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace

std::vector<std::string_view> BaseStyles() {
  return {Asset("dygraph.min.css"), Asset("base.css")};
}

std::vector<std::string_view> BaseScripts() {
  return {Asset("dygraph.min.js"), Asset("base.js"),      Asset("terms.js"), Asset("format.js"),
          Asset("columns.js"),     Asset("pack.js"),      Asset("chart.js"), Asset("range.js"),
          Asset("percentiles.js"), Asset("whole_page.js")};
}

std::string EscapeHtml(const std::string& text) {
  std::string html;
  for (const char c : SanitizeForTerminal(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string JsonForScript(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '&':
        safe += "\\u0026";
        break;
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string RenderHtmlPage(const HtmlPage& page) {
  const std::vector<std::string_view> styles = Joined(BaseStyles(), page.styles);
  const std::vector<std::string_view> scripts = Joined(BaseScripts(), page.scripts);
  std::string html;
  const auto add = [&html](std::string_view text) { html.append(text.data(), text.size()); };
  add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
  add(absl::StrCat("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src",
                   HashSources(scripts), "; style-src", HashSources(styles),
                   "; base-uri 'none'; form-action 'none'\">\n"));
  add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  add("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
  add(absl::StrCat("<title>", EscapeHtml(page.title), "</title>\n"));
  for (const std::string_view style : styles) {
    add("<style>");
    add(style);
    add("</style>\n");
  }
  add("</head>\n<body>\n");
  add(page.body);
  add("<script type=\"application/json\" id=\"columns\">");
  add(JsonForScript(ColumnsJson()));
  add("</script>\n<script type=\"application/json\" id=\"data\">");
  add(JsonForScript(page.data));
  add("</script>\n<!--\n");
  add(Asset("dygraphs_licence.txt"));
  add("-->\n");
  for (const std::string_view script : scripts) {
    add("<script>");
    add(script);
    add("</script>\n");
  }
  add("</body>\n</html>\n");
  return html;
}

namespace {

// The rows of [from, to) with the column's smallest and largest value.
void AddExtremes(const ThinColumn& column, int from, int to, std::set<int>& kept) {
  int smallest = -1;
  int largest = -1;
  const auto at = [&column](int row) { return column.values[static_cast<size_t>(row)]; };
  for (int row = from; row < to; ++row) {
    if (column.zero_is_nothing && at(row) == 0) continue;
    if (smallest < 0 || at(row) < at(smallest)) smallest = row;
    if (largest < 0 || at(row) > at(largest)) largest = row;
  }
  if (smallest < 0) return;
  kept.insert({smallest, largest});
}

}  // namespace

std::string PackColumn(const std::vector<int64_t>& values) {
  std::string bytes;
  int64_t last = 0;
  for (const int64_t value : values) {
    const int64_t packed = std::clamp(value, -kMaxPacked, kMaxPacked);
    const int64_t change = packed - last;
    last = packed;
    uint64_t folded = change < 0 ? 2 * static_cast<uint64_t>(-(change + 1)) + 1 : 2 * static_cast<uint64_t>(change);
    for (; folded >= 0x80; folded >>= 7)
      bytes += static_cast<char>(static_cast<unsigned char>(0x80U | (folded & 0x7FU)));
    bytes += static_cast<char>(folded);
  }
  return absl::Base64Escape(bytes);
}

void WritePacked(const std::string& name, const std::vector<int64_t>& values, JsonWriter& json) {
  json.Key(name).String(PackColumn(values));
}

std::vector<int> ThinRows(const std::vector<ThinColumn>& columns, int rows, int limit, const std::vector<int>& always) {
  if (rows <= limit) {
    std::vector<int> all(static_cast<size_t>(std::max(rows, 0)));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::set<int> kept(always.begin(), always.end());
  kept.insert({0, rows - 1});
  const int64_t intervals =
      std::max<int64_t>(1, limit / (2 * std::max<int64_t>(1, static_cast<int64_t>(columns.size()))));
  for (int64_t interval = 0; interval < intervals; ++interval) {
    const auto from = static_cast<int>(interval * rows / intervals);
    const auto to = static_cast<int>((interval + 1) * rows / intervals);
    for (const ThinColumn& column : columns) AddExtremes(column, from, to, kept);
  }
  return {kept.begin(), kept.end()};
}

std::vector<int64_t> KeepRows(const std::vector<int64_t>& column, const std::vector<int>& rows) {
  std::vector<int64_t> kept;
  kept.reserve(rows.size());
  for (const int row : rows) kept.push_back(column[static_cast<size_t>(row)]);
  return kept;
}

}  // namespace plimsoll
