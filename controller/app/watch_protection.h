// A live queue manager whose log writes are watched while a run loads the storage below them.
#pragma once

#include <sstream>
#include <thread>

#include "controller/app/protection.h"

namespace plimsoll {

// A watch of the queue manager, whose results are in a directory of their own. Its sessions are held beside those of
// the run.
class WatchProtection final : public Protection {
 public:
  // Begins to watch.
  explicit WatchProtection(Options options);
  ~WatchProtection() override;

  RunBeside ForRun() const override { return {"", "", beside_.run_id, beside_.own_key}; }

 private:
  class Seconds;

  void Run();

  const Options options_;
  RunBeside beside_;
  EventQueue events_;
  std::ostringstream report_;
  std::ostringstream errors_;
  PartEnd end_;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace plimsoll
