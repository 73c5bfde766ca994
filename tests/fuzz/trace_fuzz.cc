// Any bytes are refused, or are a trace that packs and unpacks to itself.
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
  plimsoll::TraceEncoder encoder;
  for (size_t i = 0; i < writes.size(); ++i) {
    Check(i == 0 || writes[i].start_ns >= writes[i - 1].start_ns);
    encoder.Add(writes[i].start_ns, writes[i].latency_ns);
  }
  const std::string packed = encoder.Finish();
  std::vector<plimsoll::TracedWrite> again;
  Check(plimsoll::DecodeTrace(packed, again).ok());
  Check(again == writes);
  return 0;
}
