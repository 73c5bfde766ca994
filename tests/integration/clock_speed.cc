// Preloaded into a program, makes its CLOCK_MONOTONIC run at PLIMSOLL_CLOCK_SPEED times the speed of the kernel's, from
// the first reading on. Waits until a moment of that clock end when it shows that moment.
#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int64_t ToNs(const timespec& time) {
  return int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec;
}

timespec ToTimespec(int64_t ns) {
  return {ns / kNsPerSecond, ns % kNsPerSecond};
}

int KernelClock(clockid_t clock, timespec* time) {
  static auto* const next = Next<int(clockid_t, timespec*)>("clock_gettime");
  return next(clock, time);
}

double Speed() {
  static const double speed = [] {
    const char* const text = std::getenv("PLIMSOLL_CLOCK_SPEED");
    return text == nullptr ? 1.0 : std::strtod(text, nullptr);
  }();
  return speed;
}

int64_t OriginNs() {
  static const int64_t origin_ns = [] {
    timespec now{};
    KernelClock(CLOCK_MONOTONIC, &now);
    return ToNs(now);
  }();
  return origin_ns;
}

int64_t Shown(int64_t kernel_ns) {
  return OriginNs() + static_cast<int64_t>(static_cast<double>(kernel_ns - OriginNs()) * Speed());
}

timespec OfKernel(const timespec& shown) {
  return ToTimespec(OriginNs() + static_cast<int64_t>(static_cast<double>(ToNs(shown) - OriginNs()) / Speed()));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock == CLOCK_MONOTONIC) OriginNs();
  const int result = KernelClock(clock, time);
  if (result == 0 && clock == CLOCK_MONOTONIC) *time = ToTimespec(Shown(ToNs(*time)));
  return result;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* request, timespec* left) {
  static auto* const next = Next<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  const bool until = clock == CLOCK_MONOTONIC && (flags & TIMER_ABSTIME) != 0;
  const timespec kernel = until ? OfKernel(*request) : *request;
  return next(clock, flags, &kernel, left);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static auto* const next =
      Next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  const timespec kernel = clock == CLOCK_MONOTONIC ? OfKernel(*until) : *until;
  return next(condition, mutex, clock, &kernel);
}

}  // extern "C"
