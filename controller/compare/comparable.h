// Whether runs can be compared at all, and in what they differ besides their figures: where they wrote, from which
// hosts, with which options.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "plimsoll/v1/compare.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

struct RunInput {
  // As the command line names it.
  std::string source;
  v1::Report report;
};

// Runs of the same thing; at least one.
struct SideInput {
  std::vector<RunInput> runs;
};

// "A", "B", ..., "Z", "AA", ...
std::string SideLabel(size_t index);

// FAILED_PRECONDITION with the reason where figures of the sides, or of the runs within a side, do not measure the same
// thing: no block size in common, writes made durable in different ways, O_DIRECT in effect or not, writes on schedule
// against one after another.
absl::Status CheckComparable(const std::vector<SideInput>& sides);

// Block sizes that every run measured, in ascending order.
std::vector<uint64_t> CommonBlockSizes(const std::vector<SideInput>& sides);

// Sentences about runs that are incomplete or inconclusive.
std::vector<std::string> RunTroubles(const std::vector<SideInput>& sides);

// Sentences about what keeps the figures from being taken at their face: runs that are incomplete or inconclusive, the
// same run on both sides, another load.
std::vector<std::string> ComparisonWarnings(const std::vector<SideInput>& sides);

// What differs, storage first: mounts, hosts, kernels, versions, and every option of the plan that shapes what is
// measured.
std::vector<v1::ComparedDifference> SideDifferences(const std::vector<SideInput>& sides);

}  // namespace plimsoll
