#include "controller/launch/kubernetes_pods.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

std::string Pod(const std::string& name, const std::string& phase, const std::string& more = "") {
  return absl::StrCat(R"({"kind":"Pod","metadata":{"name":")", name, R"(","labels":{"app":"x"})", more,
                      R"(},"spec":{"nodeName":"n1"},"status":{"phase":")", phase, R"("}})");
}

std::string ListOf(const std::string& items) {
  return absl::StrCat(R"({"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[)", items, "]}");
}

TEST(KubernetesPods, ThoseThatRunAreTakenInTheOrderOfTheirNames) {
  const auto pods =
      RunningPods(ListOf(Pod("b-1", "Running") + "," + Pod("a-0", "Running") + "," + Pod("c-2", "Pending") + "," +
                         Pod("d-3", "Running", R"(,"deletionTimestamp":"2026-11-27T10:00:00Z")")));
  ASSERT_THAT(pods, IsOk());
  EXPECT_THAT(*pods, ElementsAre("a-0", "b-1"));
  EXPECT_THAT(RunningPods(ListOf("")).value(), IsEmpty());
}

TEST(KubernetesPods, NodesAreThoseOfAListAndOfOnePod) {
  const auto on_n1 = [](const std::string& pod) { return Pair(pod, "n1"); };
  EXPECT_THAT(NodesOfPods(ListOf(Pod("b-1", "Running") + "," + Pod("a-0", "Pending"))),
              UnorderedElementsAre(on_n1("a-0"), on_n1("b-1")));
  EXPECT_THAT(NodesOfPods(Pod("a-0", "Running")), ElementsAre(on_n1("a-0")));
  // Not scheduled, not a name, not a list.
  for (const char* text : {"", "[1]", "{}", R"({"metadata":{"name":"a"},"spec":{}})", R"({"items":3})",
                           R"({"items":[3,{"metadata":{"name":"a"},"spec":{"nodeName":7}}]})"}) {
    EXPECT_THAT(NodesOfPods(text), IsEmpty()) << text;
  }
  EXPECT_THAT(NodesOfPods(R"({"metadata":{"name":"a"},"spec":{"nodeName":")" + std::string(254, 'n') + "\"}}"),
              IsEmpty());
}

TEST(KubernetesPods, WhatIsNoListOfPodsIsRefused) {
  for (const char* text : {"", "No resources found", "{}", R"({"items":3})", "[1]"}) {
    EXPECT_THAT(RunningPods(text), StatusIs(StatusCode::kUnavailable, "not JSON with items")) << text;
  }
  // Items that are no pods name none.
  EXPECT_THAT(RunningPods(R"({"items":[3,{},{"metadata":4},{"metadata":{"name":"x"},"status":[]}]})").value(),
              IsEmpty());
}

}  // namespace
}  // namespace plimsoll
