// Where an agent may write, and where it may not.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <iostream>

#include "agent/host/beneath.h"
#include "agent/host/run_ownership.h"
#include "agent/host/sandbox.h"
#include "common/text.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

class SandboxTest : public ::testing::Test {
 protected:
  SandboxTest() {
    root_ = temp_.MakeDirectory("root");
    outside_ = temp_.MakeDirectory("outside");
  }

  std::unique_ptr<Sandbox> Make(const std::vector<std::string>& roots) {
    auto sandbox = Sandbox::Create(roots, "00000000000000aa");
    EXPECT_THAT(sandbox, IsOk());
    return sandbox.ok() ? *std::move(sandbox) : nullptr;
  }

  TempDirectory temp_;
  std::string root_;
  std::string outside_;
};

TEST_F(SandboxTest, AcceptsItsRootAndWhatLiesBelow) {
  const auto sandbox = Make({root_});
  fs::create_directories(root_ + "/a/b");
  EXPECT_THAT(sandbox->Check(root_), IsOk());
  EXPECT_THAT(sandbox->Check(root_ + "/"), IsOk());
  EXPECT_THAT(sandbox->Check(root_ + "/a/./b//"), IsOk());
  EXPECT_THAT(sandbox->Check(root_ + "/a/../a/b"), IsOk());
}

TEST_F(SandboxTest, LeftoversOfARootAreThoseOfAnyAgentThatHasItWithTheSameId) {
  const std::string second = temp_.MakeDirectory("second");
  const auto both = Sandbox::Create({root_, second}, "", {"00000000000000aa", "00000000000000bb"});
  ASSERT_THAT(both, IsOk());
  ASSERT_THAT((*both)->MakeRunDirectory(second, "7f3a21", {}, "alpha").status(), IsOk());
  auto kept = (*both)->MakeRunDirectory(second, "7f3a22", {}, "alpha");
  ASSERT_THAT(kept, IsOk());
  (*kept)->Keep();
  kept->reset();
  const auto go = [] { return absl::OkStatus(); };
  const auto other = Sandbox::Create({second}, "00000000000000aa");
  EXPECT_THAT((*other)->Clean(second, "7f3a22", go).status(), IsOk());
  EXPECT_TRUE(fs::exists(second + "/plimsoll-7f3a22/alpha")) << "another root's id";
  const auto one = Sandbox::Create({second}, "00000000000000bb");
  EXPECT_THAT((*one)->Clean(second, "7f3a22", go).status(), IsOk());
  EXPECT_FALSE(fs::exists(second + "/plimsoll-7f3a22"));
}

TEST_F(SandboxTest, LeftoversThatCarryTheIdOfAllRootsTogetherAreItsOwnToo) {
  const std::string second = temp_.MakeDirectory("second");
  const std::string all = "00000000000000cc";
  const auto go = [] { return absl::OkStatus(); };
  const auto leave = [&](const char* run_id) {
    return InChild([&] {
      const auto former = Sandbox::Create({root_, second}, all);
      if (!former.ok()) return kBroken;
      auto killed = (*former)->MakeRunDirectory(second, run_id, {}, "alpha");
      if (!killed.ok()) return kBroken;
      // As a process that is killed leaves it.
      [[maybe_unused]] const RunDirectory* const left = killed->release();
      auto kept = (*former)->MakeRunDirectory(second, "7f3a22", {}, "alpha");
      if (kept.ok()) (*kept)->Keep();
      return kHeld;
    });
  };
  ASSERT_EQ(leave("7f3a21"), kHeld);
  const std::string staged = second + "/" + FormatStagingName({all, "7f3a23", {}, "alpha"}, 0);
  fs::create_directory(staged);
  const auto other = Sandbox::Create({root_, second}, "00000000000000dd", {"00000000000000aa", "00000000000000bb"});
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT((*other)->RemoveLeftovers(), ::testing::IsEmpty()) << "with other roots";
  const auto now = Sandbox::Create({root_, second}, all, {"00000000000000aa", "00000000000000bb"});
  ASSERT_THAT(now, IsOk());
  EXPECT_THAT((*now)->RemoveLeftovers(), ::testing::ElementsAre(second + "/plimsoll-7f3a21/alpha"));
  EXPECT_FALSE(fs::exists(staged));
  ASSERT_EQ(leave("7f3a24"), kHeld);
  const auto listed = (*now)->ListRunDirectories(second);
  ASSERT_THAT(listed, IsOk());
  ASSERT_EQ(listed->size(), 2U) << "one that was kept, one whose agent was killed";
  for (const auto& one : *listed) EXPECT_EQ(one.owner(), v1::RUN_DIRECTORY_OWNER_THIS_AGENT) << one.path();
  EXPECT_THAT((*now)->Clean(second, "7f3a22", go).status(), IsOk());
  EXPECT_THAT((*now)->Clean(second, "", go).status(), IsOk());
  EXPECT_TRUE(fs::is_empty(second));
}

TEST_F(SandboxTest, NamesTheRootOptionForADirectoryOutside) {
  const auto sandbox = Make({root_});
  EXPECT_THAT(sandbox->Check(outside_), StatusIs(StatusCode::kPermissionDenied, "--root: " + root_));
  // A name that only begins like the root.
  fs::create_directories(root_ + "2");
  EXPECT_THAT(sandbox->Check(root_ + "2"), StatusIs(StatusCode::kPermissionDenied, "--root"));
  EXPECT_THAT(sandbox->MakeRunDirectory(outside_, "ab", {}, "h"), StatusIs(StatusCode::kPermissionDenied, "--root"));
}

TEST_F(SandboxTest, RefusesToClimbOutWithDots) {
  const auto sandbox = Make({root_});
  fs::create_directories(root_ + "/a");
  EXPECT_THAT(sandbox->Check(root_ + "/../outside"), StatusIs(StatusCode::kPermissionDenied, "--root"));
  EXPECT_THAT(sandbox->Check(root_ + "/a/../../outside"), StatusIs(StatusCode::kPermissionDenied, "--root"));
}

TEST_F(SandboxTest, RefusesSymbolicLinksBelowTheRoot) {
  const auto sandbox = Make({root_});
  fs::create_directories(outside_ + "/deep");
  fs::create_directories(root_ + "/real");
  fs::create_directory_symlink(outside_, root_ + "/absolute");
  fs::create_directory_symlink("../outside", root_ + "/relative");
  fs::create_directory_symlink("real", root_ + "/harmless");
  for (const char* name : {"/absolute", "/relative", "/absolute/deep", "/harmless"}) {
    EXPECT_THAT(sandbox->Check(root_ + name), StatusIs(StatusCode::kPermissionDenied, "symbolic link")) << name;
    EXPECT_THAT(sandbox->MakeRunDirectory(root_ + name, "ab", {}, "h"),
                StatusIs(StatusCode::kPermissionDenied, root_ + name));
  }
  EXPECT_TRUE(fs::is_empty(outside_ + "/deep"));
}

TEST_F(SandboxTest, ResolvesLinksInTheRootItselfOnce) {
  const std::string link = temp_.Sub("link");
  fs::create_directory_symlink(root_, link);
  fs::create_directories(root_ + "/a");
  const auto sandbox = Make({link});
  EXPECT_EQ(sandbox->roots(), std::vector<std::string>{root_});
  EXPECT_THAT(sandbox->Check(link + "/a"), IsOk());
  EXPECT_THAT(sandbox->Check(root_ + "/a"), IsOk());
  // Whoever turns the link elsewhere afterwards does not move the agent.
  fs::remove(link);
  fs::create_directory_symlink(outside_, link);
  const auto run = sandbox->MakeRunDirectory(link, "ab", {}, "h");
  ASSERT_THAT(run, IsOk());
  EXPECT_EQ((*run)->path(), root_ + "/plimsoll-ab/h");
  EXPECT_TRUE(fs::is_empty(outside_));
}

TEST_F(SandboxTest, RefusesARootThatBecameALink) {
  const auto sandbox = Make({root_});
  fs::remove(root_);
  fs::create_directory_symlink(outside_, root_);
  EXPECT_THAT(sandbox->Check(root_), StatusIs(StatusCode::kPermissionDenied, "symbolic link"));
}

TEST_F(SandboxTest, DistinguishesMissingFromNoDirectory) {
  const auto sandbox = Make({root_});
  tests::WriteText(root_ + "/file", "x");
  EXPECT_THAT(sandbox->Check(root_ + "/missing"), StatusIs(StatusCode::kNotFound, root_ + "/missing"));
  EXPECT_THAT(sandbox->Check(root_ + "/file"), StatusIs(StatusCode::kFailedPrecondition, root_ + "/file"));
  EXPECT_THAT(sandbox->Check("relative"), StatusIs(StatusCode::kInvalidArgument, "absolute"));
  EXPECT_THAT(sandbox->Check(""), StatusIs(StatusCode::kInvalidArgument, "absolute"));
}

TEST_F(SandboxTest, NeedsRootsThatExist) {
  tests::WriteText(root_ + "/file", "x");
  EXPECT_THAT(Sandbox::Create({}, "a"), StatusIs(StatusCode::kInvalidArgument, "--root"));
  EXPECT_THAT(Sandbox::Create({"here"}, "a"), StatusIs(StatusCode::kInvalidArgument, "absolute"));
  EXPECT_THAT(Sandbox::Create({root_ + "/no"}, "a"), StatusIs(StatusCode::kNotFound, root_ + "/no"));
  EXPECT_THAT(Sandbox::Create({root_ + "/file"}, "a"), StatusIs(StatusCode::kFailedPrecondition, "file"));
}

TEST_F(SandboxTest, AcceptsPlainNamesOnly) {
  const auto sandbox = Make({root_});
  for (const char* run_id : {"", "AB", "..", "a/b", "xyz", "a b"}) {
    EXPECT_THAT(sandbox->MakeRunDirectory(root_, run_id, {}, "h"), StatusIs(StatusCode::kInvalidArgument, "run id"));
  }
  for (const std::string& label : std::vector<std::string>{"", ".", "..", ".h", "a/b", "a b", std::string(65, 'h')}) {
    EXPECT_THAT(sandbox->MakeRunDirectory(root_, "ab", {}, label), StatusIs(StatusCode::kInvalidArgument, "label"));
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(SandboxTest, ReportsADirectoryThatItMayNotWrite) {
  // Below a directory of its own that everybody may enter: the temporary directory may be closed to others.
  const auto sandbox = Make({root_});
  fs::create_directories(root_ + "/closed");
  ASSERT_EQ(chmod(temp_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod((root_ + "/closed").c_str(), 0555), 0);
  const int result = InChild([&] {
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) return kNotPermitted;
    const absl::Status check = sandbox->Check(root_ + "/closed");
    const absl::Status made = sandbox->MakeRunDirectory(root_ + "/closed", "ab", {}, "h").status();
    std::cerr << check << "\n" << made << "\n";
    return absl::IsPermissionDenied(check) && absl::IsPermissionDenied(made) ? kHeld : kBroken;
  });
  if (result == kNotPermitted) GTEST_SKIP() << "SKIPPED: root may not become another user here";
  EXPECT_EQ(result, kHeld);
}

TEST(ExplainDenial, NamesRootSquashOnlyForRootOnNfs) {
  const absl::Status denied = absl::PermissionDeniedError("mkdir /mnt: Permission denied (13)");
  EXPECT_THAT(ExplainDenial(denied, 0, true), StatusIs(StatusCode::kPermissionDenied, "root_squash"));
  EXPECT_THAT(ExplainDenial(denied, 0, true), StatusIs(StatusCode::kPermissionDenied, "mkdir /mnt"));
  EXPECT_EQ(ExplainDenial(denied, 0, false), denied);
  EXPECT_EQ(ExplainDenial(denied, 1000, true), denied);
  const absl::Status full = absl::ResourceExhaustedError("full");
  EXPECT_EQ(ExplainDenial(full, 0, true), full);
}

TEST_F(SandboxTest, AcceptsAMountBelowTheRootButNoneBelowTheRunDirectory) {
  const std::string mount_point = temp_.MakeDirectory("root/mnt");
  const int result = InChild([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=1m") != 0) {
      return kNotPermitted;
    }
    const auto sandbox = Sandbox::Create({root_}, "aa");
    if (!sandbox.ok() || !(*sandbox)->Check(mount_point).ok()) return kBroken;
    const auto run = (*sandbox)->MakeRunDirectory(mount_point, "ab", {}, "h");
    if (!run.ok()) return kBroken;
    // Another file system, and a part of the outside bound in: both lead out.
    const std::string tmpfs = (*run)->path() + "/qm1";
    const std::string bound = (*run)->path() + "/qm2";
    fs::create_directories(tmpfs);
    fs::create_directories(bound);
    if (mount("tmpfs", tmpfs.c_str(), "tmpfs", 0, "size=1m") != 0 ||
        mount(outside_.c_str(), bound.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      return kNotPermitted;
    }
    const absl::Status into_tmpfs = (*run)->CreateFile("qm1/active/S0.LOG", O_RDWR).status();
    const absl::Status into_bound = (*run)->CreateFile("qm2/S0.LOG", O_RDWR).status();
    std::cerr << into_tmpfs << "\n" << into_bound << "\n";
    const bool clean = fs::is_empty(tmpfs) && fs::is_empty(outside_);
    return absl::IsPermissionDenied(into_tmpfs) && absl::IsPermissionDenied(into_bound) && clean ? kHeld : kBroken;
  });
  if (result == kNotPermitted) GTEST_SKIP() << "SKIPPED: mounts of one's own are not permitted here";
  EXPECT_EQ(result, kHeld);
}

TEST(MakeAgentId, IsStableAndDistinguishesNamesAndRoots) {
  const std::string id = MakeAgentId("alpha", {"/a", "/b"});
  EXPECT_EQ(id.size(), 16U);
  EXPECT_TRUE(IsRunId(id));
  EXPECT_EQ(MakeAgentId("alpha", {"/b/", "/a", "/a"}), id);
  EXPECT_NE(MakeAgentId("beta", {"/a", "/b"}), id);
  EXPECT_NE(MakeAgentId("alpha", {"/a"}), id);
  EXPECT_NE(MakeAgentId("alpha", {"/a/b"}), id);
}

}  // namespace
}  // namespace plimsoll
