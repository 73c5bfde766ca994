#include "common/page_stamp.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace plimsoll {
namespace {

using Page = std::vector<std::byte>;

PageStamp SomeStamp(std::mt19937_64& random) {
  PageStamp stamp;
  for (uint8_t& byte : stamp.run_token) byte = static_cast<uint8_t>(random());
  stamp.host_index = static_cast<uint32_t>(random());
  stamp.qm = static_cast<uint32_t>(random());
  stamp.epoch = static_cast<uint32_t>(random());
  stamp.page = static_cast<uint32_t>(random());
  stamp.sequence = random();
  return stamp;
}

Page RandomPage(size_t size_bytes, std::mt19937_64& random) {
  Page page(size_bytes);
  for (std::byte& byte : page) byte = static_cast<std::byte>(random());
  return page;
}

std::span<const std::byte> Payload(const Page& page) {
  return std::span(page).subspan(kStampBytes);
}

Page StampedPage(const PageStamp& stamp, size_t size_bytes, std::mt19937_64& random) {
  Page page = RandomPage(size_bytes, random);
  WriteStamp(stamp, PayloadChecksum(Payload(page)), page.data());
  return page;
}

class PageStampOfSize : public ::testing::TestWithParam<size_t> {};

TEST_P(PageStampOfSize, ReadsBackWhatWasWritten) {
  std::mt19937_64 random(GetParam());
  const PageStamp written = SomeStamp(random);
  const Page page = StampedPage(written, GetParam(), random);
  PageStamp read;
  EXPECT_EQ(ReadStamp(page, read), StampState::kWhole);
  EXPECT_EQ(read, written);
}

TEST_P(PageStampOfSize, NoticesEveryFlippedBit) {
  std::mt19937_64 random(GetParam());
  const PageStamp written = SomeStamp(random);
  Page page = StampedPage(written, GetParam(), random);
  const PageStamp untouched = SomeStamp(random);
  for (size_t bit = 0; bit < page.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    page[bit / 8] ^= mask;
    PageStamp read = untouched;
    const StampState state = ReadStamp(page, read);
    if (bit / 8 < kStampBytes) {
      ASSERT_EQ(state, StampState::kForeign) << "bit " << bit;
      ASSERT_EQ(read, untouched);
    } else {
      ASSERT_EQ(state, StampState::kTorn) << "bit " << bit;
      ASSERT_EQ(read, written);
    }
    page[bit / 8] ^= mask;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PageStampOfSize, ::testing::Values(512, 1024, 2048, 4096));

TEST(PageStamp, ReportsAPageWhoseLaterSectorsAreOlder) {
  std::mt19937_64 random(1);
  PageStamp stamp = SomeStamp(random);
  const Page older = StampedPage(stamp, kStampedPageBytes, random);
  ++stamp.sequence;
  const Page newer = StampedPage(stamp, kStampedPageBytes, random);
  for (size_t cut = 512; cut < kStampedPageBytes; cut += 512) {
    Page mixed = newer;
    std::memcpy(mixed.data() + cut, older.data() + cut, mixed.size() - cut);
    PageStamp read;
    EXPECT_EQ(ReadStamp(mixed, read), StampState::kTorn) << cut;
    EXPECT_EQ(read, stamp);
  }
}

TEST(PageStamp, ReportsAPayloadUnderTheStampOfAnotherPage) {
  std::mt19937_64 random(2);
  const PageStamp stamp = SomeStamp(random);
  const Page first = StampedPage(stamp, 4096, random);
  Page second = StampedPage(SomeStamp(random), 4096, random);
  std::memcpy(second.data(), first.data(), kStampBytes);
  PageStamp read;
  EXPECT_EQ(ReadStamp(second, read), StampState::kTorn);
  EXPECT_EQ(read, stamp);
}

TEST(PageStamp, CallsWhatNobodyStampedForeign) {
  std::mt19937_64 random(3);
  PageStamp read;
  EXPECT_EQ(ReadStamp(Page(4096), read), StampState::kForeign);
  EXPECT_EQ(ReadStamp(Page(4096, std::byte{0xFF}), read), StampState::kForeign);
  EXPECT_EQ(ReadStamp(Page(), read), StampState::kForeign);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ReadStamp(RandomPage(512, random), read), StampState::kForeign);
  Page page = StampedPage(SomeStamp(random), 512, random);
  page.resize(kStampBytes - 1);
  EXPECT_EQ(ReadStamp(page, read), StampState::kForeign);
  EXPECT_EQ(read, PageStamp());
}

TEST(PageStamp, AShortenedPageIsTorn) {
  std::mt19937_64 random(4);
  Page page = StampedPage(SomeStamp(random), 4096, random);
  // Zeros at the end must not hide that bytes are missing.
  std::fill(page.begin() + 3584, page.end(), std::byte{0});
  WriteStamp(SomeStamp(random), PayloadChecksum(Payload(page)), page.data());
  PageStamp read;
  ASSERT_EQ(ReadStamp(page, read), StampState::kWhole);
  page.resize(3584);
  EXPECT_EQ(ReadStamp(page, read), StampState::kTorn);
}

// What lies on disks must stay readable: the layout is fixed.
TEST(PageStamp, KeepsItsLayout) {
  PageStamp stamp;
  for (uint8_t i = 0; i < 16; ++i) stamp.run_token[i] = static_cast<uint8_t>(0x10 + i);
  stamp.host_index = 0x01020304;
  stamp.qm = 5;
  stamp.epoch = 6;
  stamp.page = 7;
  stamp.sequence = 0x1122334455667788;
  Page page(512);
  for (size_t i = 0; i < page.size(); ++i) page[i] = static_cast<std::byte>(i);
  WriteStamp(stamp, PayloadChecksum(Payload(page)), page.data());
  const std::string expected =
      "504c494d50414745"
      "101112131415161718191a1b1c1d1e1f"
      "04030201050000000600000007000000"
      "8877665544332211"
      "46a94b2fbf09da7a"
      "a50d13e66b8c849b";
  std::string hex;
  for (size_t i = 0; i < kStampBytes; ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    hex += kDigits[std::to_integer<size_t>(page[i]) >> 4U];
    hex += kDigits[std::to_integer<size_t>(page[i]) & 15U];
  }
  EXPECT_EQ(hex, expected);
}

TEST(PageStamp, PayloadsThatDifferHaveDifferentChecksums) {
  std::mt19937_64 random(5);
  std::set<uint64_t> seen;
  Page payload = RandomPage(4096 - kStampBytes, random);
  for (int i = 0; i < 10'000; ++i) {
    payload[random() % payload.size()] ^= static_cast<std::byte>(1 + random() % 255);
    seen.insert(PayloadChecksum(payload));
  }
  // Two changes may cancel out: a few states may come twice, but no more.
  EXPECT_GT(seen.size(), 9'980U);
  EXPECT_NE(PayloadChecksum(Page(8)), PayloadChecksum(Page(16)));
  EXPECT_NE(PayloadChecksum(Page(7)), PayloadChecksum(Page(8)));
}

}  // namespace
}  // namespace plimsoll
