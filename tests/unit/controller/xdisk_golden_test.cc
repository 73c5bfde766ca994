// Each form of xdisk's output, to exact bytes: tests/golden/xdisk_*.txt.
#include <gtest/gtest.h>

#include <string>

#include "controller/xdisk/xdisk_figures.h"
#include "controller/xdisk/xdisk_options.h"
#include "controller/xdisk/xdisk_output.h"
#include "tests/golden_files.h"

namespace plimsoll {
namespace {

// -R -r50 -t30 -b4k -OD -f /backup/F...: the guide's second sample.
XdiskOptions HalfReads() {
  XdiskOptions options;
  options.random = true;
  options.read_percent = 50;
  options.duration_s = 30;
  options.flags = "D";
  options.files = {"/backup/F000"};
  options.files_text = "/backup/F...";
  return options;
}

// The first line of figures of that sample.
XdiskFigures HalfReadsFigures() {
  XdiskFigures figures;
  figures.reads = {65'820, 2'194, 141e3, 10.6e6, 182e3, 177e3, {}};
  figures.writes = {65'820, 2'194, 203e3, 14.1e6, 267e3, 256e3, {}};
  // 99.5 % from 128 us on, and a few of several milliseconds.
  figures.reads.buckets[8] = 65'491;
  figures.reads.buckets[9] = 180;
  figures.reads.buckets[10] = 100;
  figures.reads.buckets[14] = 49;
  figures.writes.buckets[8] = 57'100;
  figures.writes.buckets[9] = 8'700;
  figures.writes.buckets[14] = 20;
  figures.devices = {"sda", 2'194.4, 2'194.4 * 4'096, 0.25, 0, 0, 87.3};
  return figures;
}

// Figures of four hosts, each with a quarter of the sample's rate.
XdiskResult FourHosts() {
  XdiskResult result;
  result.all = HalfReadsFigures();
  result.all.devices = {};
  for (const char* const host : {"host1", "host2", "host3", "host4"}) {
    XdiskFigures& own = result.hosts.emplace_back(HalfReadsFigures());
    own.host = host;
    own.reads.per_second /= 4;
    own.writes.per_second /= 4;
    own.devices.writes_per_second /= 4;
    own.devices.bytes_per_second /= 4;
    result.all.devices.Add(own.devices);
  }
  return result;
}

XdiskResult OneHost() {
  XdiskResult result;
  result.all = HalfReadsFigures();
  result.hosts = {result.all};
  return result;
}

std::string Page(const XdiskOptions& options, const XdiskResult& result) {
  return RenderXdiskHeader(options) + RenderXdiskResult(options, result);
}

TEST(XdiskGolden, InfoBlockHeaderAndFigures) {
  const XdiskOptions options = HalfReads();
  tests::ExpectGolden("tests/golden/xdisk_mixed.txt",
                      RenderXdiskInfo(options, "2016.09.08-08:13:58") + Page(options, OneHost()));
}

TEST(XdiskGolden, CreatedFiles) {
  XdiskOptions options = HalfReads();
  options.random = false;
  options.one_pass = true;
  options.create_bytes = 10 << 20U;
  options.block_size_bytes = 64 << 10U;
  options.read_percent = 0;
  XdiskResult result;
  result.all.writes = {160, 2'238, 361e3, 736e3, 414e3, 410e3, {}};
  tests::ExpectGolden("tests/golden/xdisk_create.txt",
                      RenderXdiskInfo(options, "2016.09.08-08:13:21") + Page(options, result));
}

TEST(XdiskGolden, FourHostsAndTheirLines) {
  XdiskOptions options = HalfReads();
  options.processes = 4;
  options.files = {"/data/F000", "/data/F001", "/data/F002", "/data/F003"};
  options.files_text = "/data/F...";
  options.host_names = {"host1", "host2", "host3", "host4"};
  options.warmup_s = 60;
  options.read_percent = 80;
  options.flags = "SD";
  tests::ExpectGolden("tests/golden/xdisk_hosts.txt",
                      RenderXdiskInfo(options, "2026.01.02-03:04:05") + Page(options, FourHosts()));
}

TEST(XdiskGolden, FourHostsForASpreadsheet) {
  XdiskOptions options = HalfReads();
  options.processes = 4;
  options.summary = true;
  options.quiet = true;
  tests::ExpectGolden("tests/golden/xdisk_hosts_summary.txt", Page(options, FourHosts()));
}

TEST(XdiskGolden, Distributions) {
  XdiskOptions options = HalfReads();
  options.shows_reads = true;
  options.shows_writes = true;
  std::string text = Page(options, OneHost());
  options.shows_writes = false;
  text += Page(options, OneHost());
  options.shows_reads = false;
  options.shows_writes = true;
  text += Page(options, FourHosts());
  tests::ExpectGolden("tests/golden/xdisk_distributions.txt", text);
}

TEST(XdiskGolden, DistributionsForASpreadsheet) {
  XdiskOptions options = HalfReads();
  options.summary = true;
  options.shows_reads = true;
  options.shows_writes = true;
  std::string text = Page(options, OneHost());
  options.shows_reads = false;
  text += Page(options, OneHost());
  tests::ExpectGolden("tests/golden/xdisk_distributions_summary.txt", text);
}

TEST(XdiskGolden, Devices) {
  XdiskOptions options = HalfReads();
  options.shows_devices = true;
  std::string text = Page(options, FourHosts());
  options.shows_reads = true;
  text += Page(options, OneHost());
  options.summary = true;
  XdiskResult unknown = OneHost();
  unknown.all.devices = {};
  text += Page(options, unknown);
  tests::ExpectGolden("tests/golden/xdisk_devices.txt", text);
}

TEST(XdiskGolden, DevicesThatRead) {
  XdiskOptions options = HalfReads();
  options.shows_devices = true;
  options.shows_device_reads = true;
  XdiskResult result = OneHost();
  result.all.devices.reads = XdiskDeviceReads{2'193.6, 2'193.6 * 4'096, 0.125};
  std::string text = Page(options, result);
  // The agent does not report them.
  result.all.devices.reads.reset();
  text += Page(options, result);
  options.summary = true;
  result.all.devices = {};
  text += Page(options, result);
  tests::ExpectGolden("tests/golden/xdisk_device_reads.txt", text);
}

TEST(XdiskGolden, Locales) {
  // The guide's sample of -l de_DE, and the other ones.
  XdiskOptions options = HalfReads();
  options.block_size_bytes = 8 << 10U;
  options.flags = "";
  options.summary = true;
  XdiskResult result;
  result.all.reads = {2'606'290, 260'629, 1e3, 106e3, 1e3, 5e3, {}};
  result.all.writes = {2'606'290, 260'629, 1e3, 148e3, 1e3, 5e3, {}};
  std::string text;
  for (const char* const locale : {"de_DE", "en_US", ""}) {
    options.locale = locale;
    text += Page(options, result);
  }
  tests::ExpectGolden("tests/golden/xdisk_locales.txt", text);
}

}  // namespace
}  // namespace plimsoll
