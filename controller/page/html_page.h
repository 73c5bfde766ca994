// One self-contained HTML file: styles, scripts and data in it, and nothing from a network.
//
// Text from hosts and plans reaches a page in two ways only: as the title, which is escaped, and as JSON that the
// page's scripts read and put in place as text. A Content-Security-Policy allows the scripts and styles given here, by
// their hashes, and nothing else: no other script, no request, no frame, no form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/render/json.h"

namespace plimsoll {

struct HtmlPage {
  // Title of the window; any text.
  std::string title;
  // What stands in <body>, as HTML. The page's own words: never text from elsewhere.
  std::string_view body;
  // CSS and JavaScript, in this order; those of every page (BaseStyles, BaseScripts) are put before them. A style must
  // not hold "</style", a script neither "</script" nor "<!--".
  std::vector<std::string_view> styles;
  std::vector<std::string_view> scripts;
  // One JSON value. Scripts get it from plimsoll.readData().
  std::string data;
};

// The file's text, valid HTML5 in UTF-8. A pure function of the page.
std::string RenderHtmlPage(const HtmlPage& page);

// Styles and scripts of every page: dygraphs, and the base of controller/page. Scripts find both below `plimsoll`.
std::vector<std::string_view> BaseStyles();
std::vector<std::string_view> BaseScripts();

// Text as HTML shows it, in elements and in quoted attributes.
std::string EscapeHtml(const std::string& text);

// The JSON value with every <, > and & as \u003c and so on, so that it can stand in a <script> element. These
// characters can be in strings only.
std::string JsonForScript(const std::string& json);

// Columns of whole numbers as short text, for the data of a page (pack.js reads them), and fewer rows of long series.

// Values beyond plus or minus this are packed as this: scripts count exactly up to 2^53, which twice a difference must
// not pass. In nanoseconds 26 days.
inline constexpr int64_t kMaxPacked = (int64_t{1} << 51) - 1;

// The differences from one value to the next, the first from 0, each as an unsigned number with the sign in its lowest
// bit, seven bits a byte, low ones first; all of it as base64.
std::string PackColumn(const std::vector<int64_t>& values);
// As a member of an object.
void WritePacked(const std::string& name, const std::vector<int64_t>& values, JsonWriter& json);

// One column of a series.
struct ThinColumn {
  std::vector<int64_t> values;
  // 0 means that there is nothing: it is not a minimum.
  bool zero_is_nothing = false;
};

// Which of the `rows` rows of columns that are all so long to keep, rising: all of them where they are at most `limit`.
// Otherwise the rows are cut into intervals of equal length, and of each those rows are kept in which a column has its
// smallest or its largest value there; and the first row, the last one, and those in `always`, whatever the limit. The
// kept rows are as they were: nothing is averaged.
std::vector<int> ThinRows(const std::vector<ThinColumn>& columns, int rows, int limit, const std::vector<int>& always);
// The values of those rows of a column.
std::vector<int64_t> KeepRows(const std::vector<int64_t>& column, const std::vector<int>& rows);

}  // namespace plimsoll
