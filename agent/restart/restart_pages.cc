#include "agent/restart/restart_pages.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "common/integers.h"

namespace plimsoll {
namespace {

PageStamp StampOfPage(const RestartFile& file, uint64_t page) {
  PageStamp stamp = file.stamp;
  stamp.sequence += page;
  return stamp;
}

// What is wrong with a page that is whole and belongs elsewhere.
std::string DescribeForeign(const PageStamp& expected, const PageStamp& found) {
  if (found.run_token != expected.run_token) return "is foreign: another run wrote it";
  if (found.host_index != expected.host_index) {
    return absl::StrCat("is foreign: host ", found.host_index, " of the run wrote it, this is host ",
                        expected.host_index);
  }
  if (found.qm != expected.qm) {
    return absl::StrCat("is foreign: it belongs to directory ", found.qm, " of the plan, this is directory ",
                        expected.qm);
  }
  if (found.epoch != expected.epoch) return "is foreign: it belongs to another file of the directory";
  return absl::StrCat("is foreign: it is page ", found.sequence, " (counted from 1), and page ", expected.sequence,
                      " was written here");
}

[[gnu::cold]] absl::Status PageFault(const RestartFile& file, uint64_t page, StampState state, const PageStamp& found) {
  std::string wrong;
  switch (state) {
    case StampState::kForeign:
      wrong = "is missing: it carries no stamp of a run";
      break;
    case StampState::kTorn:
      wrong = "is torn: its content is not what its stamp was written with";
      break;
    case StampState::kWhole:
      wrong = DescribeForeign(StampOfPage(file, page), found);
      break;
  }
  return absl::DataLossError(
      absl::StrCat(file.path, ": page ", page, " (offset ", page * kStampedPageBytes, ") ", wrong));
}

}  // namespace

void PageBuffer::FreeMemory::operator()(std::byte* memory) const {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): aligned_alloc's counterpart
}

PageBuffer::PageBuffer(uint64_t bytes) {
  // aligned_alloc takes multiples of the alignment.
  const uint64_t whole = (bytes + kStampedPageBytes - 1) / kStampedPageBytes * kStampedPageBytes;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kStampedPageBytes, whole)));
  if (memory_ == nullptr) throw std::bad_alloc();
  std::memset(memory_.get(), 0, whole);
}

absl::Status CheckPages(const RestartFile& file, uint64_t first_page, std::span<const std::byte> pages) {
  PageStamp expected = StampOfPage(file, first_page);
  for (uint64_t at = 0; at < pages.size(); at += kStampedPageBytes) {
    PageStamp found;
    const StampState state = ReadStamp(pages.subspan(at, kStampedPageBytes), found);
    if (state != StampState::kWhole || found != expected) [[unlikely]] {
      return PageFault(file, first_page + at / kStampedPageBytes, state, found);
    }
    ++expected.sequence;
  }
  return absl::OkStatus();
}

void ChangePages(const RestartFile& file, uint64_t first_page, std::span<std::byte> pages) {
  PageStamp stamp = StampOfPage(file, first_page);
  for (uint64_t at = 0; at < pages.size(); at += kStampedPageBytes) {
    const std::span<std::byte> page = pages.subspan(at, kStampedPageBytes);
    const std::span<std::byte> content = page.subspan(kStampBytes);
    StoreLittle(LoadLittle<uint64_t>(content.data()) + 1, content.data());
    WriteStamp(stamp, PayloadChecksum(content), page.data());
    ++stamp.sequence;
  }
}

}  // namespace plimsoll
