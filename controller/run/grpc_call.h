// What all calls to an agent over gRPC share.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/parse_budget.h"
#include "common/status_macros.h"

namespace plimsoll {

// Parses what an agent sent, after a look at what that would cost. gRPC's own parsing looks at the bytes alone.
template <typename Message>
absl::Status ParseReceived(const grpc::ByteBuffer& received, uint64_t budget, Message& message) {
  grpc::Slice bytes;
  if (!received.Valid() || !received.DumpToSingleSlice(&bytes).ok()) {
    return absl::InternalError("the agent's message cannot be read");
  }
  PLIMSOLL_RETURN_IF_ERROR(
      CheckParseBudget(*Message::descriptor(), {reinterpret_cast<const char*>(bytes.begin()), bytes.size()}, budget));
  if (!message.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
    return absl::InternalError("the agent's message is damaged");
  }
  return absl::OkStatus();
}

// A status of gRPC as ours; the codes are the same.
inline absl::Status FromGrpc(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

// Counts the calls to gRPC that have not ended, so that the client's destructor can wait for them. End() is the last
// that a call does, its context is gone by then: a context holds the channel, and who lets go of the last channel ends
// gRPC's threads that run reactions (1.51: CallbackAlternativeCQ). One of them cannot do that to itself; it goes on in
// freed memory.
class CallCount {
 public:
  // A call starts.
  void Begin() {
    MutexLock lock(mutex_);
    ++open_;
  }
  // It has ended, and nothing of it is left.
  void End() {
    MutexLock lock(mutex_);
    --open_;
    changed_.NotifyAll();
  }
  // Until every call has ended.
  void WaitForNone() {
    MutexLock lock(mutex_);
    while (open_ > 0) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll
