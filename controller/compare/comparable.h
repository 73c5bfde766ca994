// Whether runs can be compared at all, and their configuration differences: where they wrote, from which hosts, with
// which options.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plimsoll/v1/compare.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

struct RunInput {
  // As the command line names it.
  std::string source;
  v1::Report report;
  // The report's latencies are response times (UseResponseTimes).
  bool response_times = false;
};

// Runs of the same thing; at least one.
struct SideInput {
  std::vector<RunInput> runs;
  // What to call it; empty: by its letter.
  std::string name;
};

// "A", "B", ..., "Z", "AA", ...
std::string SideLabel(size_t index);
// The side's name, or its letter where it has none.
std::string SideLabel(const std::vector<SideInput>& sides, size_t index);
// "A3", "san 3": a run of several, numbered from 1.
std::string RunLabel(const std::string& side, size_t number);

// Options of the plan that sides may differ in, by their names on the command line without the dashes.
using StatedDifferences = std::set<std::string>;

// "sync,rate" as options. INVALID_ARGUMENT for a name that is not an option of a plan.
absl::StatusOr<StatedDifferences> ParseDiffers(const std::string& names);

// FAILED_PRECONDITION with the reason where figures of the sides, or of the runs within a side, do not measure the same
// thing: no block size in common, reads against writes, another share of reads or order of blocks, writes made durable
// in different ways, O_DIRECT in effect or not, open against closed loop. What follows from a stated difference may
// differ between sides, not within one. No stated difference allows reads against writes.
absl::Status CheckComparable(const std::vector<SideInput>& sides, const StatedDifferences& stated = {});

// FAILED_PRECONDITION if a run issued recorded writes as they are (--playback writes): it is never judged, so that no
// figure can be gated.
absl::Status CheckJudged(const std::vector<SideInput>& sides);

// Block sizes that every run measured, in ascending order.
std::vector<uint64_t> CommonBlockSizes(const std::vector<SideInput>& sides);

// Returns the operations, besides the main one, that every run measured at that block size, in the order of the first.
std::vector<std::string> CommonOperations(const std::vector<SideInput>& sides, uint64_t block_size_bytes);

// Sentences about runs that are incomplete or inconclusive, or whose figures are uncertain although a criterion failed.
std::vector<std::string> RunTroubles(const std::vector<SideInput>& sides);

// Why a difference between the first side and this one at that block size may not come from the storage: in a step of
// either, a host had a load generator that may be CPU-bound, or was lost. "" where nothing suggests it.
std::string DifferenceDoubt(const std::vector<SideInput>& sides, size_t side, uint64_t block_size_bytes);

// Sentences about what keeps the figures from being taken at their face: runs that are incomplete or inconclusive, the
// same run on both sides, another load, a load generator that may be CPU-bound. None of what follows from a stated
// difference.
std::vector<std::string> ComparisonWarnings(const std::vector<SideInput>& sides, const StatedDifferences& stated = {});

// What differs, storage first: mounts, hosts, kernels, versions, and every option of the plan that shapes what is
// measured.
std::vector<v1::ComparedDifference> SideDifferences(const std::vector<SideInput>& sides);

}  // namespace plimsoll
