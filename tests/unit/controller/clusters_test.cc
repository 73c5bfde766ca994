// Clusters by name: their options are those that the line would have, and what the line has itself is not replaced.
#include "controller/cli/clusters.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/command_line/command_line.h"
#include "controller/app/agents.h"
#include "controller/cli/command.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr char kClustersText[] =
    "prod:\n"
    "  hosts: [node1, 'node[2-3]']\n"
    "  dir: /mnt/mqlog\n"
    "  tls_ca: tls/ca.crt\n"
    "  tls_cert: /etc/plimsoll/ops.crt\n"
    "lab:\n"
    "  hosts: lab1\n"
    "  launch: ssh\n"
    "  no_copy: true\n"
    "  launch_clean: false\n"
    "  agent_option: [--allow-kept, --allow-watch]\n";

class ClustersTest : public ::testing::Test {
 protected:
  ClustersTest() {
    unsetenv("PLIMSOLL_CLUSTER");
    std::ofstream(file_) << kClustersText;
    CLI::App* run = app_.add_subcommand("run", "Run");
    run->add_option("PLAN", plan_);
    CLI::App* storage = app_.add_subcommand("storage", "Show");
    storage->add_option("DIR", plan_);
    for (CLI::App* command : {run, storage}) {
      AddAgentList(*command, list_, "Agents");
      AddAccessFlags(*command, access_);
    }
    run->add_option("--dir", dir_);
    run->add_option("--qm-dirs", dir_);
    app_.add_subcommand("report", "Report");
  }
  ~ClustersTest() override {
    unsetenv("PLIMSOLL_CLUSTER");
    unsetenv("XDG_CONFIG_HOME");
  }

  // The words with those of the cluster; of an error its message alone.
  std::vector<std::string> Expanded(std::vector<std::string> words, bool with_file = true) {
    if (with_file) words.push_back(absl::StrCat("--config=", file_));
    const absl::StatusOr<std::vector<std::string>> expanded = WithCluster(app_, words, note_);
    if (!expanded.ok()) return {std::string(expanded.status().message())};
    return {expanded->begin() + static_cast<std::ptrdiff_t>(words.size()), expanded->end()};
  }
  std::string ErrorOf(const std::string& text, const std::string& name = "prod") {
    return std::string(ReadCluster(text, "c.yaml", name).status().message());
  }

  tests::TempDirectory directory_;
  const std::string file_ = directory_.Sub("clusters.yaml");
  std::string note_;

 private:
  CLI::App app_{"Test", "plimsoll"};
  std::string plan_;
  std::string dir_;
  AgentList list_;
  AccessFlags access_;
};

TEST_F(ClustersTest, TheOptionsOfAClusterAreBehindTheLine) {
  EXPECT_THAT(Expanded({"run", "--cluster", "prod"}),
              ElementsAre("--hosts=node1,node[2-3]", "--dir=/mnt/mqlog",
                          absl::StrCat("--tls-ca=", directory_.Sub("tls/ca.crt")), "--tls-cert=/etc/plimsoll/ops.crt"));
  EXPECT_THAT(Expanded({"run", "--cluster=lab"}),
              ElementsAre("--hosts=lab1", "--launch=ssh", "--no-copy", "--agent-option=--allow-kept",
                          "--agent-option=--allow-watch"));
  EXPECT_EQ(note_, "");
}

TEST_F(ClustersTest, WhatACommandDoesNotHaveIsLeftOut) {
  EXPECT_THAT(Expanded({"storage", "/mnt/a", "--cluster", "prod"}), SizeIs(3));
  EXPECT_THAT(Expanded({"report", "--cluster", "prod"}, false), IsEmpty());
}

TEST_F(ClustersTest, TheLineReplacesWhatItGives) {
  EXPECT_THAT(Expanded({"run", "--cluster", "prod", "--hosts", "node9", "--tls-ca=mine.crt"}),
              ElementsAre("--dir=/mnt/mqlog", "--tls-cert=/etc/plimsoll/ops.crt"));
  EXPECT_THAT(Expanded({"run", "--cluster", "prod", "--hosts-file", "f", "--qm-dirs", "/a,/b", "--launch", "ssh"}),
              IsEmpty());
  EXPECT_THAT(Expanded({"run", "--cluster", "lab", "--launch=none"}), ElementsAre("--hosts=lab1"));
}

TEST_F(ClustersTest, TheVariableIsADefaultForLinesWithoutHostsAndPlans) {
  setenv("PLIMSOLL_CLUSTER", "lab", 1);
  EXPECT_THAT(Expanded({"run", "--dir", "/mnt/a"}), Contains("--hosts=lab1"));
  EXPECT_EQ(note_, "the hosts are those of cluster lab (PLIMSOLL_CLUSTER)");
  EXPECT_THAT(Expanded({"storage", "/mnt/a"}), Contains("--hosts=lab1"));
  EXPECT_THAT(Expanded({"run", "--cluster", "prod"}), Contains("--hosts=node1,node[2-3]"));
  EXPECT_THAT(Expanded({"run", "--hosts", "node1"}, false), IsEmpty());
  EXPECT_THAT(Expanded({"run", "plan.yaml"}, false), IsEmpty());
  EXPECT_THAT(Expanded({"run", "--help"}, false), IsEmpty());
}

TEST_F(ClustersTest, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_EQ(ErrorOf("prod:\n  host: a\n"), "c.yaml:2:3: unknown key 'host'; did you mean 'hosts'?");
  EXPECT_EQ(ErrorOf("prod:\n  tls-ca: a\n"), "c.yaml:2:3: unknown key 'tls-ca'; did you mean 'tls_ca'?");
  EXPECT_EQ(ErrorOf("prod:\n  dir: [a, b]\n"), "c.yaml:2:8: 'dir' takes one value, not a list");
  EXPECT_THAT(ErrorOf("prod:\n  hosts:\n"), EndsWith("'hosts' needs a value"));
  EXPECT_EQ(ErrorOf("prod:\n  no_copy: yes\n"), "c.yaml:2:12: 'no_copy' is true or false, not 'yes'");
  EXPECT_THAT(ErrorOf("prod: node1\n"), EndsWith("cluster 'prod' has no keys; it needs hosts"));
  EXPECT_EQ(ErrorOf("prood: {hosts: a}\n"), "c.yaml has no cluster 'prod'; did you mean 'prood'?");
  EXPECT_THAT(ErrorOf("- a\n"), HasSubstr("clusters are written as NAME:"));
  EXPECT_THAT(Expanded({"run", "--cluster", "missing"}),
              ElementsAre(absl::StrCat("--cluster: ", file_, " has no cluster 'missing'; it has prod, lab")));
  EXPECT_THAT(Expanded({"run"}), ElementsAre("--config needs --cluster, the name of one of its clusters"));
  setenv("XDG_CONFIG_HOME", directory_.path().c_str(), 1);
  EXPECT_THAT(Expanded({"run", "--cluster", "prod"}, false),
              ElementsAre(absl::StrCat("--cluster prod: ", directory_.Sub("plimsoll/clusters.yaml"),
                                       " does not exist; create it or name another file with --config")));
}

}  // namespace
}  // namespace plimsoll
