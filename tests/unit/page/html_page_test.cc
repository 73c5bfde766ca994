#include "controller/page/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "controller/page/report_page.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(EscapeHtml, LeavesNothingThatHtmlWouldRead) {
  EXPECT_EQ(EscapeHtml("<b a='1' b=\"2\">&amp;"), "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;amp;");
}

TEST(EscapeHtml, TakesTheStingOutOfControlCharactersAndBrokenUtf8) {
  EXPECT_EQ(EscapeHtml("a\x1b[31m\xff"), "a\xEF\xBF\xBD[31m\xEF\xBF\xBD");
}

TEST(JsonForScript, IsTheSameValueWithoutMarkup) {
  EXPECT_EQ(JsonForScript(R"({"a":"</script><!-- & -->"})"), R"({"a":"\u003c/script\u003e\u003c!-- \u0026 --\u003e"})");
}

TEST(RenderHtmlPage, HoldsItsPartsOnceAndNothingElse) {
  HtmlPage page;
  page.title = "a <title> & more";
  page.body = "<main>the body</main>";
  page.styles = {"p { color: red }"};
  page.scripts = {"plimsoll.own = 1;"};
  page.data = R"({"text":"</script><script>evil()</script>"})";
  const std::string html = RenderHtmlPage(page);
  EXPECT_EQ(html.rfind("<!DOCTYPE html>", 0), 0U);
  EXPECT_THAT(html, HasSubstr("<title>a &lt;title&gt; &amp; more</title>"));
  EXPECT_THAT(html, HasSubstr("<body>\n<main>the body</main>"));
  EXPECT_THAT(html, HasSubstr("<style>p { color: red }</style>"));
  EXPECT_THAT(html, HasSubstr("<script>plimsoll.own = 1;</script>"));
  EXPECT_THAT(html, Not(HasSubstr("evil()</script>")));
  // The blocks of columns and data, and a script element for each script.
  EXPECT_EQ(Count(html, "<script"), static_cast<int>(BaseScripts().size()) + 3);
  EXPECT_EQ(Count(html, "</script>"), static_cast<int>(BaseScripts().size()) + 3);
}

TEST(RenderHtmlPage, AllowsItsOwnScriptsAndStylesByHashAndNothingElse) {
  HtmlPage page;
  page.scripts = {"alert(1)"};
  const std::string html = RenderHtmlPage(page);
  EXPECT_THAT(html, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
  EXPECT_THAT(html, HasSubstr("'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"));
  EXPECT_THAT(html, Not(HasSubstr("'unsafe-inline'; ")));
  EXPECT_EQ(Count(html.substr(0, html.find("<title>")), "unsafe"), 0);
}

TEST(RenderHtmlPage, NamesNoAddressToLoadFrom) {
  const std::string html = RenderHtmlPage({});
  for (const char* attribute : {" src=", " href=\"http", "@import", "url(", "sourceMappingURL"}) {
    EXPECT_THAT(html, Not(HasSubstr(attribute))) << attribute;
  }
}

TEST(RenderReportPage, HasTheDigestOfTheResultsWhereItIsKnown) {
  EXPECT_THAT(RenderReportPage({}, "sha256:9f86d081"), HasSubstr(R"("digest":"sha256:9f86d081")"));
  EXPECT_THAT(RenderReportPage({}), Not(HasSubstr(R"("digest":)")));
}

TEST(BaseScripts, CannotEndTheirElement) {
  for (const std::string_view script : BaseScripts()) {
    std::string lower(script);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    EXPECT_EQ(lower.find("</script"), std::string::npos);
    EXPECT_EQ(lower.find("<!--"), std::string::npos);
    EXPECT_FALSE(lower.empty());
  }
}

}  // namespace
}  // namespace plimsoll
