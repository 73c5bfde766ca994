// What can be found to be wrong before anything is touched, and preparing the hosts of whatever is run: they make their
// directories, look for one another, and fill.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/run/pattern_sender.h"
#include "controller/run/session_driver.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Who holds an agent, from where: "run 7f3a21 of 127.0.0.1:4711".
std::string HolderInWords(const v1::SessionHolder& holder);

// What one host is about to write into one directory.
struct HostBytes {
  std::string directory;
  uint32_t writers = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
};
// By directory, in the order of DirsOf.
std::vector<HostBytes> BytesOf(const v1::LogWorkload& workload);

// The option that gave a workload its directory, for DirectoryInWords: that of its files, where they gave it; empty
// where the directories are several.
std::string DirectoryOption(const v1::LogWorkload& workload);

// A directory of a host: the host's index, and the directory's number in its description.
struct HostPlace {
  size_t host = 0;
  size_t directory = 0;
  bool operator==(const HostPlace&) const = default;
};

// Directories that lie on one storage, as far as is known.
struct SharedStorage {
  std::vector<size_t> hosts;  // indices, in order, each once
  std::vector<HostPlace> places;
  // Why they count as sharing it, for people; empty where there is one directory.
  std::string evidence;
  // Equal size and free space are the only evidence.
  bool guessed = false;
};

// Every directory of every host is in one group. Hosts share a storage where one of them sees the other's run directory
// (once they are made), or their directories have one of these in common: device and kernel; server and export; server
// and file system; world wide name of a disk; size and free space. No kind of file system is taken for shared, or for
// local: what is not known to be shared and is would be filled by more than it can hold, so that a doubt counts as
// sharing. Two file systems of one host that surely have space of their own, on two block devices (of one disk, too) or
// in memory, are not joined for their size or their disk; a directory of another host may join both, being on either.
//
// Sight decides nothing against a sign: hosts whose directories on one file system have different names do not see one
// another's run directories.
std::vector<SharedStorage> FindSharedStorage(const std::vector<std::unique_ptr<Host>>& hosts);

// Where the hosts of a storage together would fill it up to less than --min-free: a line for each such storage, kWrong.
// Among a host's directories in one group that have space of their own, the one that needs the most counts.
// Takes the free space from Host::placed where there is one, else from the description. Before anything is filled.
std::optional<Failure> CheckSpace(const std::vector<std::unique_ptr<Host>>& hosts,
                                  const std::vector<v1::LogWorkload>& workloads);

// The first kind of trouble found, with a line for each host that has it; none where the run may start. `workloads[i]`
// is what host i does, `block_sizes` the plan's. Agents that cannot be reached, are busy or of another version:
// kCannotRun; all else: kWrong.
std::optional<Failure> CheckHosts(const std::vector<std::unique_ptr<Host>>& hosts,
                                  const std::vector<v1::LogWorkload>& workloads,
                                  const std::vector<uint64_t>& block_sizes);

// How errors speak of a time that no list of steps makes: "has a search of at most 10m", and what lowers it. Empty:
// there is such a list.
struct TimeInWords {
  std::string asked;
  std::string lowered_by;
};

// Where the plan asks for more than an agent was started to allow, a line for each such host: kWrong. After CheckHosts.
std::optional<Failure> CheckCaps(const std::vector<std::unique_ptr<Host>>& hosts,
                                 const std::vector<v1::LogWorkload>& workloads, const std::vector<v1::LogStep>& steps,
                                 const TimeInWords& time = {});

// Things to know that stop nothing: caveats of file systems, a queue manager that the run would disturb.
std::vector<std::string> Warnings(const std::vector<std::unique_ptr<Host>>& hosts);

// Has every host make its directory, finds out which hosts share a storage, and, where the space suffices for all of
// them together, gives them the recording that they play, if there is one, and has them fill. Used by the course of the
// sessions, on the thread that drives; the course sets a host's phase to kReady when Prepared comes.
class Preparation {
 public:
  struct Options {
    Fleet* fleet = nullptr;
    SessionDriver* driver = nullptr;
    std::vector<v1::HostPlan> plans;         // by host
    std::vector<v1::LogWorkload> workloads;  // what each host fills
    PatternSource pattern = {};
    // Why preparing must end, beside an interrupt and the hosts' failures; an empty text: it need not. Empty: nothing
    // else ends it.
    std::function<std::string()> must_stop = {};
  };

  explicit Preparation(Options options) : options_(std::move(options)), fleet_(*options_.fleet) {}

  // Opens the sessions and takes them to kReady. What goes wrong, an interrupt included, is a failure: nothing was
  // measured.
  std::optional<Failure> Run();
  // The host answered Prepare or a look.
  void OnPlaced(Host& host, v1::Placed& placed);

 private:
  bool All(const std::function<bool(const Host&)>& condition) const;
  // Until every host has reached the phase, or preparing has failed.
  void Await(Host::Phase phase);
  // Each host looks for the directories of the others, which all are made.
  void LookAll();
  std::string MustStop() const { return options_.must_stop ? options_.must_stop() : ""; }
  std::optional<Failure> FailureSoFar() const;

  const Options options_;
  Fleet& fleet_;
  // Number of the look that is under way; 0: the answer to Prepare.
  uint32_t look_round_ = 0;
};

}  // namespace plimsoll
