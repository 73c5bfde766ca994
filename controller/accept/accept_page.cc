#include <string>

#include "absl/strings/str_cat.h"
#include "controller/accept/accept_configuration.h"
#include "controller/accept/accept_render.h"
#include "controller/accept/accept_report.h"
#include "controller/page/assets.h"
#include "controller/page/html_page.h"
#include "controller/render/json.h"

namespace plimsoll {

std::string RenderAcceptPage(const v1::AcceptReport& report) {
  JsonWriter json(/*compact=*/true);
  json.BeginObject();
  json.Key("report");
  WriteJson(report, json);
  json.Key("left_out");
  json.String(LeftOutText(report));
  json.Key("configuration");
  json.BeginArray();
  for (const auto& [name, value] : AcceptConfiguration(report)) {
    json.BeginArray();
    json.String(name);
    json.String(value);
    json.EndArray();
  }
  json.EndArray();
  json.EndObject();
  HtmlPage page;
  page.title = absl::StrCat(report.name().empty() ? "Acceptance" : report.name(), " \u2013 Plimsoll");
  page.body = assets::kAcceptHtml;
  page.styles = {assets::kReportCss, assets::kAcceptCss};
  page.scripts = {assets::kAcceptJs};
  page.data = json.Take();
  return RenderHtmlPage(page);
}

}  // namespace plimsoll
