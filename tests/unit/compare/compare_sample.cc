// Prints the report.json of a made-up run: compare_sample SLOWER SEED [KEY=VALUE]...
//
//   SLOWER   factor of all latencies, such as 1.2
//   phi=0.3  autocorrelation of its seconds; seconds=60; sizes=4096,16384; host=NAME; name=TITLE; kernel=TEXT
//
// For the browser tests, and to look at; what it shows was never measured.
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "controller/render/json.h"
#include "tests/unit/compare/simulated_reports.h"

namespace plimsoll {
namespace {

int Main(double slower, uint64_t seed, std::map<std::string, std::string> more) {
  tests::SimulatedLaw law;
  law.latency_ns *= slower;
  law.writes /= slower;
  law.phi = 0.3;
  if (more.count("phi") > 0) law.phi = std::strtod(more["phi"].c_str(), nullptr);
  if (more.count("seconds") > 0) law.seconds = std::strtoull(more["seconds"].c_str(), nullptr, 10);
  std::vector<uint64_t> sizes;
  for (const std::string& size : std::vector<std::string>(absl::StrSplit(more["sizes"], ',', absl::SkipEmpty()))) {
    sizes.push_back(std::strtoull(size.c_str(), nullptr, 10));
  }
  std::mt19937_64 random(seed);
  v1::Report report = tests::SimulateReport(law, sizes.empty() ? std::vector<uint64_t>{4'096} : sizes, random);
  report.mutable_run()->set_name(more["name"]);
  if (more.count("host") > 0) report.mutable_hosts(0)->set_label(more["host"]);
  if (more.count("kernel") > 0) report.mutable_hosts(0)->set_kernel(more["kernel"]);
  std::cout << RenderJson(report) << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  double slower = 0;
  uint64_t seed = 0;
  if (argc < 3 || !absl::SimpleAtod(argv[1], &slower) || !(slower > 0) || !absl::SimpleAtoi(argv[2], &seed)) {
    std::cerr << "usage: compare_sample SLOWER SEED [KEY=VALUE]...\n";
    return 2;
  }
  std::map<std::string, std::string> more;
  for (int i = 3; i < argc; ++i)
    more.insert(std::pair<std::string, std::string>(absl::StrSplit(argv[i], absl::MaxSplits('=', 1))));
  return plimsoll::Main(slower, seed, std::move(more));
}
