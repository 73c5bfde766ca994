#include "common/link/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

TEST(FrameTest, AFrameIsTakenOnceItIsWhole) {
  const std::string packed = PackFrame(FrameType::kData, 0x01020304, "one\n") + PackFrame(FrameType::kEnd, 0, "");
  std::string_view left = packed;
  const auto data = TakeFrame(left);
  ASSERT_THAT(data, IsOk());
  ASSERT_TRUE(data->has_value());
  EXPECT_EQ((*data)->type, FrameType::kData);
  EXPECT_EQ((*data)->connection, 0x01020304U);
  EXPECT_EQ((*data)->payload, "one\n");
  const auto end = TakeFrame(left);
  ASSERT_THAT(end, IsOk());
  ASSERT_TRUE(end->has_value());
  EXPECT_EQ((*end)->type, FrameType::kEnd);
  EXPECT_TRUE(left.empty());
  for (size_t size = 0; size < kFrameHeaderBytes + 4; ++size) {
    std::string_view part = std::string_view(packed).substr(0, size);
    const auto taken = TakeFrame(part);
    ASSERT_THAT(taken, IsOk()) << size;
    EXPECT_FALSE(taken->has_value()) << size;
    EXPECT_EQ(part.size(), size);
  }
}

// Controller and agent may be of either byte order.
TEST(FrameTest, AFrameKeepsItsLayout) {
  EXPECT_EQ(absl::BytesToHexString(PackFrame(FrameType::kData, 0x01020304, "one")),
            absl::StrFormat("fe504c%02x04030201030000006f6e65", static_cast<unsigned>(FrameType::kData)));
}

TEST(FrameTest, WhatCannotBeAFrameIsRefusedAtItsFirstWrongByte) {
  const auto refused = [](std::string bytes) {
    std::string_view left = bytes;
    return TakeFrame(left).status().code() == StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused("W"));
  EXPECT_TRUE(refused("plimsoll-launch ended 0\n"));
  std::string frame = PackFrame(FrameType::kData, 1, "x");
  EXPECT_FALSE(refused(frame.substr(0, 3)));
  EXPECT_TRUE(refused(frame.substr(0, 3) + "?"));
  frame[9] = '\x10';  // 4096 and more bytes
  EXPECT_TRUE(refused(frame));
}

TEST(FrameTest, TheFirstFrameHoldsEveryByte) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_NE(HelloPayload().find(static_cast<char>(byte)), std::string::npos) << byte;
  }
  EXPECT_LT(HelloPayload().size(), kMaxPayloadBytes);
}

TEST(FrameTest, AGarbledStreamIsNamedWithItsFirstBytesAndTheWayOut) {
  EXPECT_THAT(GarbledInWords("Welcome to node1\n\xfePL"),
              AllOf(HasSubstr("a banner, .bashrc"), EndsWith("(it begins with 'Welcome to node1??PL')")));
  EXPECT_THAT(GarbledInWords(PackFrame(FrameType::kHello, 0, "plimsoll-agent --stdio 1\r\r\n")),
              AllOf(HasSubstr("a terminal (pty) is in between; leave out -t, and -u of srun"), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace plimsoll
