#include "agent/writer/operation_tally.h"

namespace plimsoll {

void OperationTally::Report(v1::Frame& frame) const {
  *frame.mutable_latency() = latency_.ToProto();
  if (latency_.count() == 0) return;
  frame.set_first_seq(first_seq_);
  frame.set_first_start_ns(first_start_ns_);
  frame.set_last_end_ns(last_end_ns_);
  frame.set_fastest_seq(fastest_seq_);
}

void WholeTally::Report(bool rated, const std::function<void(const SlowestWrites::Entry&, v1::WriteSample&)>& set,
                        v1::Frame& frame) {
  if (rated) {
    *frame.mutable_response() = response_.ToProto();
    frame.mutable_start_delay()->set_max_ns(max_start_delay_ns_);
    frame.mutable_start_delay()->set_late_writes(late_);
  }
  frame.set_bytes(bytes_);
  if (const uint64_t first = figures_.first_seq(); first != 0) {
    slowest_.ForEachFrom(first, [&](const SlowestWrites::Entry& entry) { set(entry, *frame.add_slow()); });
    slowest_responses_.ForEachFrom(first,
                                   [&](const SlowestWrites::Entry& entry) { set(entry, *frame.add_slow_responses()); });
  }
  if (trace_.size() > 0) frame.add_trace(trace_.Finish());
  frame.set_untraced_writes(untraced_);
  figures_.Clear();
  response_.Clear();
  bytes_ = untraced_ = max_start_delay_ns_ = late_ = 0;
}

}  // namespace plimsoll
