#include "agent/host/run_content.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

#include "agent/host/beneath.h"
#include "common/page_stamp.h"

namespace plimsoll {

RunContent HoldsRun(int directory_fd, const std::string& name, const std::array<uint8_t, 16>& run_token) {
  const auto fd = OpenRegular(directory_fd, name, O_RDONLY, name);
  if (!fd.ok()) return RunContent::kForeign;
  std::array<std::byte, kStampedPageBytes> page{};
  const ssize_t size = pread(fd->get(), page.data(), page.size(), 0);
  if (size == 0) return RunContent::kEmpty;
  if (size != static_cast<ssize_t>(page.size())) return RunContent::kForeign;
  PageStamp stamp;
  // A torn page is ours all the same: a block smaller than a page, or a write that a kill cut.
  if (ReadStamp(page, stamp) == StampState::kForeign) return RunContent::kForeign;
  return stamp.run_token == run_token ? RunContent::kThisRun : RunContent::kForeign;
}

}  // namespace plimsoll
