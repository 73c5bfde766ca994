// The MQI's functions as libmqm_r has them, with parameters of the same types. Each takes a few microseconds.
#include <cstdint>
#include <ctime>

namespace {

void TakeTime(int64_t length_ns) {
  const auto now_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  for (const int64_t end_ns = now_ns() + length_ns; now_ns() < end_ns;) {
  }
}

void Succeed(int32_t* completion, int32_t* reason) {
  *completion = 0;
  *reason = 0;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void MQPUT(int32_t /*connection*/, int32_t /*object*/, void* /*descriptor*/,
                                          void* /*options*/, int32_t length, void* /*buffer*/, int32_t* completion,
                                          int32_t* reason) {
  TakeTime(5'000 + length / 10);
  Succeed(completion, reason);
}

[[gnu::visibility("default")]] void MQPUT1(int32_t /*connection*/, void* /*object*/, void* /*descriptor*/,
                                           void* /*options*/, int32_t length, void* /*buffer*/, int32_t* completion,
                                           int32_t* reason) {
  TakeTime(5'000 + length / 10);
  Succeed(completion, reason);
}

[[gnu::visibility("default")]] void MQGET(int32_t /*connection*/, int32_t /*object*/, void* /*descriptor*/,
                                          void* /*options*/, int32_t length, void* /*buffer*/, int32_t* data_length,
                                          int32_t* completion, int32_t* reason) {
  TakeTime(3'000);
  *data_length = length;
  Succeed(completion, reason);
}

[[gnu::visibility("default")]] void MQCMIT(int32_t /*connection*/, int32_t* completion, int32_t* reason) {
  TakeTime(10'000);
  Succeed(completion, reason);
}

[[gnu::visibility("default")]] void MQBACK(int32_t /*connection*/, int32_t* completion, int32_t* reason) {
  TakeTime(4'000);
  Succeed(completion, reason);
}

}  // extern "C"
