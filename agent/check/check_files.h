// The files of a check, and the pages in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/page_stamp.h"
#include "plimsoll/v1/check.pb.h"

namespace plimsoll {

// Name of file `number` in its host's directory: that of an extent, so that whatever removes what a killed agent left
// knows it.
std::string CheckFileName(uint32_t number);

// Offset of a page, in bytes. In front of page 0 is the page with the run's token.
uint64_t CheckPageOffset(uint32_t page);

// A page in memory, aligned as O_DIRECT asks.
struct alignas(kStampedPageBytes) CheckPageBytes {
  std::array<std::byte, kStampedPageBytes> bytes{};
};

// Fills the page: the stamp, and content that is another one for each stamp.
void FillCheckPage(const PageStamp& stamp, CheckPageBytes& page);

// What a page of the run with this token, read as page `number`, holds.
v1::CheckPage ReadCheckPage(const CheckPageBytes& page, uint32_t number, const std::array<uint8_t, 16>& run_token);

}  // namespace plimsoll
