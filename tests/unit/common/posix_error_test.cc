#include <gtest/gtest.h>

#include <cerrno>

#include "common/posix.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

TEST(PosixError, NamesOperationSubjectAndErrno) {
  EXPECT_EQ(PosixError("pwritev2", "/mnt/a/S0000003.LOG", ENOSPC).message(),
            "pwritev2 /mnt/a/S0000003.LOG: No space left on device (28)");
  EXPECT_EQ(PosixError("epoll_wait", "", EBADF).message(), "epoll_wait: Bad file descriptor (9)");
}

TEST(PosixError, StandsForTheFittingCode) {
  EXPECT_THAT(PosixError("open", "x", ENOENT), StatusIs(absl::StatusCode::kNotFound, "open x"));
  EXPECT_THAT(PosixError("open", "x", EACCES), StatusIs(absl::StatusCode::kPermissionDenied, "(13)"));
  EXPECT_THAT(PosixError("open", "x", EEXIST), StatusIs(absl::StatusCode::kAlreadyExists, "(17)"));
  EXPECT_THAT(PosixError("write", "x", ENOSPC), StatusIs(absl::StatusCode::kResourceExhausted, "(28)"));
  EXPECT_FALSE(PosixError("write", "x", EIO).ok());
}

TEST(WithContext, KeepsTheCode) {
  EXPECT_THAT(WithContext("--dir", PosixError("open", "x", ENOENT)),
              StatusIs(absl::StatusCode::kNotFound, "--dir: open x: No such file or directory (2)"));
}

}  // namespace
}  // namespace plimsoll
