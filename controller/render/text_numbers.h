// Numbers, moments and mount options as the text report shows and compares them.
#pragma once

#include <cstdint>
#include <string>

#include "google/protobuf/timestamp.pb.h"

namespace plimsoll {

// What stands where a figure is not known well enough to be shown.
inline constexpr char kDash[] = "\u2013";

// 1234567.891 with two decimals is "1,234,567.89".
std::string FormatFixed(double value, int decimals);

// Writes per second: whole from 100 on, with two decimals below.
std::string FormatRate(double per_second);

// Megabytes per second, with about five digits.
std::string FormatThroughput(double mb_per_second);

// A time in a unit of `unit_ns`, with as many decimals as leave about five digits: "0.912", "14.211", "120.41",
// "71,902".
std::string FormatLatency(double time_ns, int64_t unit_ns);

// A short time in the unit that suits it: "4 us", "1.204 ms", "-3.2 s".
std::string FormatShortTime(int64_t time_ns);

// A length of time as a plan has it: "30 s", "250 ms".
std::string FormatLength(int64_t length_ns);

// "2026-11-20 19:20:11 UTC".
std::string FormatDateTime(const google::protobuf::Timestamp& moment);

// "19:20:32.114"; with the date in front where it is not that of `begin`.
std::string FormatTimeOfDay(const google::protobuf::Timestamp& moment, const google::protobuf::Timestamp& begin);

// `options` as /proc/mounts has them, without what is the client's own: NFS's clientaddr, which differs on every host
// of one and the same export.
std::string SharedMountOptions(const std::string& options);

}  // namespace plimsoll
