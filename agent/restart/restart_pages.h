// The pages of the files that a restart reads and writes: whose they are, whether they are whole, how they are changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "common/page_stamp.h"
#include "common/posix.h"

namespace plimsoll {

// Epochs of the stamps, which keep the files of a directory apart. Queue q (from 0) has kFirstQueueEpoch + q.
inline constexpr uint32_t kLogEpoch = 0;
inline constexpr uint32_t kFirstQueueEpoch = 1;
inline constexpr uint32_t kRollbackEpoch = UINT32_MAX;

// One file of a directory. Only the descriptor changes once other threads see the object.
struct RestartFile {
  std::string relative;  // "qm1/queues/queue1"
  std::string path;
  uint64_t size_bytes = 0;
  // Stamp of the first page. Every further page has the next sequence number; a log's are numbered through all extents.
  PageStamp stamp;
  UniqueFd fd;
};

// Memory that O_DIRECT accepts, of whole pages.
class PageBuffer {
 public:
  // Touches all of it, so that no measured call waits for memory. Throws std::bad_alloc.
  explicit PageBuffer(uint64_t bytes);

  // `bytes` is at most the buffer's size.
  std::span<std::byte> First(uint64_t bytes) const { return {memory_.get(), bytes}; }

 private:
  struct FreeMemory {
    void operator()(std::byte* memory) const;
  };

  std::unique_ptr<std::byte, FreeMemory> memory_;
};

// Checks that `pages` are the file's pages from `first_page` (from 0) on, each of them whole. DATA_LOSS names the file,
// the first page that is not, and what is wrong with it: it is missing (no stamp of a run), torn, or foreign (of
// another run, host, directory, file or place). Some 0.5 us a page, without allocation while nothing is wrong.
absl::Status CheckPages(const RestartFile& file, uint64_t first_page, std::span<const std::byte> pages);

// Changes `pages`, and makes them the file's pages from `first_page` on: adds one to the first word of each page's
// content and stamps the page, so that it is whole and differs from what was read. Some 0.4 us a page.
void ChangePages(const RestartFile& file, uint64_t first_page, std::span<std::byte> pages);

}  // namespace plimsoll
