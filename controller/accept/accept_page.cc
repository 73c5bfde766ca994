// The result of an acceptance as a page: one file of HTML to sign.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/accept/accept_report.h"
#include "controller/accept/accept_summary.h"
#include "controller/page/assets.h"
#include "controller/page/html_page.h"
#include "controller/render/json.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

// An array of objects, with a string for each name.
void WriteTexts(const char* key, const std::vector<std::vector<std::pair<const char*, std::string>>>& objects,
                JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const auto& object : objects) {
    json.BeginObject();
    for (const auto& [name, text] : object) json.Key(name).String(text);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string RenderAcceptPage(const v1::AcceptReport& report, const std::string& digest) {
  JsonWriter json(/*compact=*/true);
  json.BeginObject();
  WriteJson(report, json.Key("report"));
  json.Key("left_out").String(LeftOutText(report));
  json.Key("warnings").BeginArray();
  for (const std::string& warning : AcceptWarnings(report)) json.String(warning);
  json.EndArray();
  json.Key("configuration").BeginArray();
  for (const auto& configuration : {AcceptConfiguration(report), AcceptEvidence(report)}) {
    for (const auto& [name, value] : configuration) {
      json.BeginArray();
      json.String(name);
      json.String(value);
      json.EndArray();
    }
  }
  json.EndArray();
  std::vector<std::vector<std::pair<const char*, std::string>>> rows;
  for (const WorstCriterion& row : WorstCriteria(report)) {
    const v1::CriterionReport& criterion = *row.criterion;
    const bool known = !criterion.value_text().empty();
    rows.push_back({{"part", PartName(row.run->part())},
                    {"run", RunName(*row.run)},
                    {"criterion", criterion.criterion()},
                    {"outcome", EnumName(*v1::Outcome_descriptor(), criterion.outcome())},
                    {"value", criterion.value_text()},
                    {"place", known ? PlaceOf(criterion) : criterion.reason()}});
  }
  WriteTexts("criteria", rows, json);
  rows.clear();
  for (const AcceptAnswer& answer : AcceptAnswers(report))
    rows.push_back({{"title", answer.title}, {"text", answer.text}});
  WriteTexts("answers", rows, json);
  rows.clear();
  for (const AcceptNote& note : AcceptNotes(report)) rows.push_back({{"runs", note.runs}, {"text", note.text}});
  WriteTexts("notes", rows, json);
  if (!digest.empty()) json.Key("digest").String(digest);
  json.EndObject();
  HtmlPage page;
  page.title = absl::StrCat("Acceptance test", report.name().empty() ? "" : ": ", report.name(), " \u2013 Plimsoll");
  page.body = Asset("accept.html");
  page.styles = {Asset("report.css"), Asset("accept.css")};
  page.scripts = {Asset("accept.js")};
  page.data = json.Take();
  return RenderHtmlPage(page);
}

}  // namespace plimsoll
