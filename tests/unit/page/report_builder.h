// Makes reports as the analysis would, without a run: of any size, with every part, or with hostile text in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

// What a made-up run is like. The same options make the same report on every machine.
struct MadeUp {
  std::string name = "Acceptance of the new storage";
  std::vector<std::string> hosts = {"alpha", "beta", "gamma"};
  int qms = 2;
  int seconds = 60;
  std::vector<uint64_t> block_sizes = {4096};
  int storages = 1;
  // Stalls, slowest writes, trend, load, distributions: what is not in every report.
  bool details = true;
  // The parts of each write, as a run with --sync fdatasync measures them.
  bool parts = false;
  // TestPlan.read_percent. At 100, the report's figures are about reads where they are about writes otherwise.
  uint32_t read_percent = 0;
};

v1::Report MakeReport(const MadeUp& made_up);

// Sixteen hosts with four queue managers each, measured for one hour.
v1::Report HourReport();

// Three hosts, measured for two hours with the parts of their writes, so that frames were folded by age: rows are
// minutes, and the cluster has seconds as well.
v1::Report MinutesReport();

// An HA drill of so many rounds with two queue managers: round 4 lost writes, round 5 proves nothing, the gap of round
// 7 is the longest; those of 4 and 7 have pictures.
v1::Report DrillReport(uint32_t rounds = 12, const std::string& first_host = "alpha");

// Names, titles, mounts and notes that would be scripts, or break the page, if they were not text.
v1::Report HostileReport();

// A run that was cut off before its first step, and one that left nothing at all.
v1::Report CutOffReport();

}  // namespace plimsoll::tests
