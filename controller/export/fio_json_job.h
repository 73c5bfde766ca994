// One job of fio's json+.
#pragma once

#include <cstdint>
#include <string>

#include "common/histogram.h"
#include "controller/render/json_writer.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// What a job is made from. Nothing is owned.
struct FioJob {
  std::string name;
  // The host's label; empty for all hosts.
  std::string host;
  const v1::StepReport& step;
  const v1::ScopeReport& scope;
  // Its per-second figures; null: not known.
  const v1::SeriesReport* series = nullptr;
  const Histogram& latency;
};

// Writes the job as one object.
void WriteFioJob(const FioJob& job, JsonWriter& json);

}  // namespace plimsoll
