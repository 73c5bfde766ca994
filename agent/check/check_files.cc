#include "agent/check/check_files.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "absl/strings/str_format.h"

namespace plimsoll {

std::string CheckFileName(uint32_t number) {
  return absl::StrFormat("qm1/active/S%07d.LOG", number);
}

uint64_t CheckPageOffset(uint32_t page) {
  return (uint64_t{page} + 1) * kStampedPageBytes;
}

void FillCheckPage(const PageStamp& stamp, CheckPageBytes& page) {
  // A linear congruential generator: no two stamps of a run have the same content.
  uint64_t state = stamp.sequence * 0x9e3779b97f4a7c15 + (uint64_t{stamp.host_index} << 48) +
                   (uint64_t{stamp.qm} << 32) + (uint64_t{stamp.epoch} << 16) + stamp.page;
  for (size_t at = kStampBytes; at < page.bytes.size(); at += sizeof(state)) {
    state = state * 6364136223846793005 + 1442695040888963407;
    std::memcpy(page.bytes.data() + at, &state, sizeof(state));
  }
  WriteStamp(stamp, PayloadChecksum(std::span(page.bytes).subspan(kStampBytes)), page.bytes.data());
}

v1::CheckPage ReadCheckPage(const CheckPageBytes& page, uint32_t number, const std::array<uint8_t, 16>& run_token) {
  v1::CheckPage seen;
  seen.set_page(number);
  if (std::all_of(page.bytes.begin(), page.bytes.end(), [](std::byte byte) { return byte == std::byte{0}; })) {
    seen.set_state(v1::CHECK_PAGE_STATE_EMPTY);
    return seen;
  }
  PageStamp stamp;
  const StampState state = ReadStamp(page.bytes, stamp);
  if (state == StampState::kForeign || stamp.run_token != run_token) {
    seen.set_state(v1::CHECK_PAGE_STATE_FOREIGN);
    return seen;
  }
  seen.set_state(state == StampState::kWhole ? v1::CHECK_PAGE_STATE_WHOLE : v1::CHECK_PAGE_STATE_TORN);
  seen.set_host(stamp.host_index);
  seen.set_process(stamp.qm);
  seen.set_epoch(stamp.epoch);
  seen.set_written_page(stamp.page);
  seen.set_sequence(stamp.sequence);
  return seen;
}

}  // namespace plimsoll
