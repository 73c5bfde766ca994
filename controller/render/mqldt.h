// What mqldt (IBM MQ Log Disk Tester, https://github.com/ibm-messaging/mqldt) prints, and the CSV that it writes: lines
// and columns are those of its revision 8677517.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The options of an mqldt run, as its user spelled them where they are text.
struct MqldtOptions {
  std::string block_sizes;  // "16K,32K"
  std::string dir = ".";
  std::string file_prefix = "mqldt_testfile";
  uint32_t num_files = 8;
  uint64_t file_size_bytes = 1'638'400;
  uint32_t duration_s = 10;
  uint32_t qm = 1;
  uint64_t delay_us = 0;
  std::optional<uint32_t> alignment_bytes;
  uint32_t background_threads = 0;
  std::string csv_file;
};

// The options as mqldt lists them before it starts, a blank line at the end.
std::string RenderMqldtOptions(const MqldtOptions& options);

// The figures of one block size. Numbers are grouped as the process' locale does it (LC_NUMERIC), as mqldt's are. With
// several queue managers the lines are those of `--qm`: the bandwidth over a second is that of a single one.
std::string RenderMqldtStep(const v1::StepReport& step, uint32_t qm);

// The columns of mqldt's CSV, the titles first, one row a step. With several queue managers a line that names their
// number comes before the titles, and two titles differ.
std::string RenderMqldtCsv(const v1::Report& report, uint32_t qm = 1);

}  // namespace plimsoll
