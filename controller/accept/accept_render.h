// The result of an acceptance as text, Markdown, JUnit XML and a page. Pure functions of the report.
#pragma once

#include <string>

#include "plimsoll/v1/accept_report.pb.h"

namespace plimsoll {

// At most 80 columns wide, UTF-8, without control characters but line breaks, whatever hosts and plans contain. The
// verdict and why it is not PASS come first, then the parts, the spread of their figures, what limits the verdict,
// notes, and the hosts.
std::string RenderAcceptText(const v1::AcceptReport& report);

// A short summary for a pull request. Texts from hosts and plans stand in <code>. `results`: the directory.
std::string RenderAcceptMarkdown(const v1::AcceptReport& report, const std::string& results);

// One test suite with a test case for each run of a part, of class "accept.load": a failure where it fails, an error
// where it is inconclusive or was not done. The case "accept.conclusive" is an error where nothing was done. So the
// suite is green where the verdict is PASS, and nowhere else.
std::string RenderAcceptJUnit(const v1::AcceptReport& report);

// One file of HTML, with lines for signatures, and links to the results of the parts beside it.
std::string RenderAcceptPage(const v1::AcceptReport& report);

}  // namespace plimsoll
