// The work that only removes, as a session sees it.
#include <gtest/gtest.h>

#include <limits>

#include "agent/host/run_ownership.h"
#include "agent/work/work.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

constexpr char kAgent[] = "00000000000000aa";

class CleanWorkTest : public ::testing::Test {
 protected:
  CleanWorkTest() {
    sandbox_ = *Sandbox::Create({temp_.path()}, kAgent);
    extent_ = temp_.MakeDirectory("plimsoll-0a/alpha/qm1/active") + "/S0000000.LOG";
    tests::WriteText(extent_, tests::ExtentPage());
    tests::WriteText(temp_.Sub("plimsoll-0a/alpha/") + kOwnerMarkerName,
                     FormatOwnerMarker({kAgent, "0a", {}, "alpha"}));
    plan_.mutable_clean()->set_dir(temp_.path());
  }
  std::unique_ptr<CleanWork> Make() {
    auto work = CleanWork::Create(plan_, *sandbox_, deadline_ns_);
    EXPECT_THAT(work, IsOk());
    return *std::move(work);
  }

  tests::TempDirectory temp_;
  std::unique_ptr<Sandbox> sandbox_;
  std::string extent_;
  v1::HostPlan plan_;
  std::atomic<int64_t> deadline_ns_{std::numeric_limits<int64_t>::max()};
};

TEST_F(CleanWorkTest, RemovesInPrepareAndReportsWhatWent) {
  const auto prepared = Make()->Prepare([](uint64_t, uint64_t) {});
  ASSERT_THAT(prepared, IsOk());
  ASSERT_EQ(prepared->cleaned_size(), 1);
  EXPECT_EQ(prepared->cleaned(0).path(), temp_.Sub("plimsoll-0a/alpha"));
  EXPECT_EQ(prepared->cleaned(0).removed_files(), 1U);
  EXPECT_EQ(prepared->cleaned(0).removed_bytes(), 4096U);
  EXPECT_EQ(prepared->cleaned(0).left(), "");
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

TEST_F(CleanWorkTest, RemovesNothingOnceItIsStoppedOrItsLeaseIsOver) {
  const auto stopped = Make();
  stopped->Stop("interrupted");
  EXPECT_THAT(stopped->Prepare([](uint64_t, uint64_t) {}), StatusIs(StatusCode::kCancelled, "stopped"));
  deadline_ns_ = 0;
  EXPECT_THAT(Make()->Prepare([](uint64_t, uint64_t) {}), StatusIs(StatusCode::kDeadlineExceeded, "lease"));
  EXPECT_TRUE(fs::exists(extent_));
}

TEST_F(CleanWorkTest, HasNoStepToArm) {
  EXPECT_EQ(Make()->stepped(), nullptr);
}

TEST_F(CleanWorkTest, StaysInsideTheSandbox) {
  plan_.mutable_clean()->set_dir(temp_.path() + "/..");
  EXPECT_THAT(Make()->Prepare([](uint64_t, uint64_t) {}), StatusIs(StatusCode::kPermissionDenied, "--root"));
  plan_.clear_clean();
  EXPECT_THAT(CleanWork::Create(plan_, *sandbox_, deadline_ns_).status(),
              StatusIs(StatusCode::kInvalidArgument, "clean"));
}

}  // namespace
}  // namespace plimsoll
