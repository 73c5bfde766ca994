// Any bytes are refused, or are a trace that packs and unpacks to itself.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/trace.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string block(reinterpret_cast<const char*>(data), size);
  const plimsoll::TracedWrite before{1, 2};
  std::vector<plimsoll::TracedWrite> writes = {before};
  const bool ok = plimsoll::DecodeTrace(block, writes).ok();
  Check(!writes.empty() && writes.front() == before);
  if (!ok) {
    Check(writes.size() == 1);
    return 0;
  }
  writes.erase(writes.begin());
  // No sample is invented: a block of n bytes holds at most n writes.
  Check(writes.size() <= size);
  // All of one size, which the block does not say, or each of one that it says.
  std::vector<uint64_t> sizes;
  for (const plimsoll::TracedWrite& write : writes) {
    Check((write.bytes == 0) == (writes.front().bytes == 0));
    if (write.bytes != 0 && std::find(sizes.begin(), sizes.end(), write.bytes) == sizes.end()) {
      sizes.push_back(write.bytes);
    }
  }
  // A block of one size in version 2.
  if (sizes.size() == 1) sizes.push_back(sizes.front());
  const bool parts = !writes.empty() && writes.front().write_call_ns >= 0;
  plimsoll::TraceEncoder encoder(sizes, parts);
  for (size_t i = 0; i < writes.size(); ++i) {
    Check(i == 0 || writes[i].start_ns >= writes[i - 1].start_ns);
    // The call is a part of the write.
    Check((writes[i].write_call_ns >= 0) == parts);
    Check(!parts || static_cast<uint64_t>(writes[i].write_call_ns) <= writes[i].latency_ns);
    const auto place = std::find(sizes.begin(), sizes.end(), writes[i].bytes) - sizes.begin();
    encoder.Add(writes[i].start_ns, writes[i].latency_ns, sizes.empty() ? 0 : static_cast<uint32_t>(place),
                parts ? static_cast<uint64_t>(writes[i].write_call_ns) : 0);
  }
  const std::string packed = encoder.Finish();
  std::vector<plimsoll::TracedWrite> again;
  Check(plimsoll::DecodeTrace(packed, again).ok());
  Check(again == writes);
  return 0;
}
