// Sizes and times as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace plimsoll {

inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;
// MB, as drives and IBM's tables have it, not MiB.
inline constexpr double kBytesPerMegabyte = 1e6;

// Reads "4096", "4k", "64M", "1g", "2t" (any case, base 1024, an optional "b" or "ib" behind the letter) as bytes.
// Anything else, a negative number and a value beyond 64 bits are INVALID_ARGUMENT, saying what is accepted.
absl::StatusOr<uint64_t> ParseSize(const std::string& text);

// Reads "250us", "1.5s", "10m", "5min", "1h", "2d", "100ns", "20ms", "1h30m" as nanoseconds. A number without a unit is
// in `bare_unit_ns` (one second by default). A leading "-" is read, so that the caller can name the range. Anything
// else, and more than 146 years, is INVALID_ARGUMENT.
absl::StatusOr<int64_t> ParseDuration(const std::string& text, int64_t bare_unit_ns = kNsPerSecond);

// The shortest exact spelling that ParseSize reads back: 4096 is "4k", 5000 is "5000".
std::string FormatSize(uint64_t size_bytes);
// For people: 4096 is "4 KiB", 1536 is "1.5 KiB", 5000 is "5,000 B", 50000 is "48.8 KiB" (rounded down).
std::string FormatSizeForPeople(uint64_t size_bytes);
// A step's block size for people; "mixed" where its queue managers have different ones (0).
std::string FormatBlockSize(uint64_t block_size_bytes);
// The shortest exact spelling that ParseDuration reads back: "10s", "250us", "0s".
std::string FormatDuration(int64_t duration_ns);
// Another exact spelling that ParseDuration reads back, for messages: "3650d2s", "1h30m", and of less than an hour in
// seconds with a fraction, "10.5s", where FormatDuration has milliseconds or less.
std::string FormatReadableDuration(int64_t duration_ns);
// FormatDuration with a blank before the unit: "30 s", "250 ms".
std::string FormatLength(int64_t length_ns);
// Rounded to milliseconds, in seconds: "13.578"; and for people with a unit, "13.578 s", below a second "88 ms".
std::string FormatSeconds(int64_t time_ns);
std::string FormatRoundedTime(int64_t time_ns);
// 1234567 is "1,234,567".
std::string FormatCount(uint64_t count);
// "1 host", "1,200 hosts".
std::string Counted(uint64_t count, const std::string& noun);
// Shown in place of a figure that is not known well enough.
inline constexpr char kDash[] = "\u2013";
// 1234567.891 with two decimals is "1,234,567.89"; kDash where it is not finite.
std::string FormatFixed(double value, int decimals);
// Writes per second: whole from 100 on, with two decimals below.
std::string FormatRate(double per_second);
// A rate that was given: "12.5", "2500", "1,000,000".
std::string FormatTargetRate(double per_second);
// RFC 3339 in UTC with nine digits of the second: "2026-11-20T19:20:11.000000042Z".
std::string FormatUtc(int64_t utc_ns);

}  // namespace plimsoll
