#include "controller/export/exported_places.h"

#include <algorithm>
#include <map>

#include "common/field_rules.h"
#include "common/file_regions.h"
#include "common/protocol.h"

namespace plimsoll {
namespace {

constexpr uint64_t kOperationsOfHundred = 100;

// Whether the plan is one that an agent accepts: a damaged journal may hold any numbers.
bool IsUsual(const IndexedHost& host) {
  const v1::LogWorkload& workload = host.workload();
  return workload.qm() >= 1 && workload.qm() <= LargestOfWorkload(v1::LogWorkload::kQmFieldNumber) &&
         static_cast<size_t>(workload.files_size()) <= kMaxFiles && host.work.hosts() <= kMaxRunHosts;
}

// The used files and their sizes; empty if these are not known.
std::vector<NamedFile> FilesOf(const IndexedHost& host) {
  const v1::LogWorkload& workload = host.workload();
  const std::vector<std::string> names = UsedFiles(workload);
  const bool reported = !names.empty() && host.file_bytes.size() == names.size();
  if (!reported && !workload.has_file_size_bytes()) return {};
  std::vector<NamedFile> files;
  for (size_t i = 0; i < names.size(); ++i) {
    files.push_back({names[i], reported ? host.file_bytes[i] : workload.file_size_bytes()});
  }
  return files;
}

// The parts of the files that the host's threads use; empty if they are not known.
std::vector<FileRegion> RegionsOf(const IndexedHost& host) {
  const v1::LogWorkload& workload = host.workload();
  if (!UsesFiles(workload) || host.largest_block_bytes == 0) return {};
  const std::vector<NamedFile> files = FilesOf(host);
  if (files.empty()) return {};
  FileDivision division{.threads = workload.qm(), .block_bytes = host.largest_block_bytes};
  if (workload.share() == v1::FILE_SHARE_RANGES) {
    division.hosts = std::max(host.work.hosts(), 1U);
    division.host_index = host.number;
    if (division.host_index >= division.hosts) return {};
  }
  return DivideFiles(files, division).value_or(std::vector<FileRegion>());
}

// The file of a thread, from 1.
const std::string& FileOfThread(const v1::LogWorkload& workload, uint32_t thread) {
  const uint64_t file = uint64_t{thread - 1} * CountUsedFiles(workload) / workload.qm();
  return workload.files(static_cast<int>(file));
}

}  // namespace

ExportedPlaces::ExportedPlaces(const RunIndex& index) : index_(index), writers_(index.writers().size()) {
  std::map<uint32_t, std::vector<FileRegion>> regions;
  for (const auto& [number, host] : index.hosts()) {
    if (IsUsual(host)) regions[number] = RegionsOf(host);
  }
  for (size_t place = 0; place < writers_.size(); ++place) {
    const IndexedWriter& indexed = index.writers()[place];
    const auto known = regions.find(indexed.host);
    if (known == regions.end()) continue;
    const v1::LogWorkload& workload = index.hosts().at(indexed.host).workload();
    Writer& writer = writers_[place];
    if (indexed.qm < 1 || indexed.qm > workload.qm()) continue;
    if (!UsesFiles(workload)) {
      writer.extent_bytes = workload.file_size_bytes();
      writer.extents = workload.num_files();
      continue;
    }
    writer.file = FileOfThread(workload, indexed.qm);
    if (known->second.empty()) continue;
    const FileRegion& region = known->second[indexed.qm - 1];
    writer.offset_bytes = region.offset_bytes;
    writer.extent_bytes = region.size_bytes;
  }
}

std::optional<uint64_t> ExportedPlaces::OffsetOf(const ExportedWrite& operation) {
  Order& order = OrderOf(operation.writer, operation.step);
  if (operation.seq == 0 || order.blocks == 0) return std::nullopt;
  const uint64_t number = NumberOf(operation.read, operation.seq - 1, order);
  uint64_t block = number % order.blocks;
  if (order.access && order.access->random()) {
    block = order.access->OrderOf(number / order.blocks, order.blocks).At(block);
  }
  const Writer& writer = writers_[operation.writer];
  return writer.offset_bytes + block / order.blocks_per_extent * writer.extent_bytes +
         block % order.blocks_per_extent * order.block_bytes;
}

bool ExportedPlaces::KnowsAll(uint32_t writer, const WriteFilter& filter) {
  const IndexedWriter& indexed = index_.writers()[writer];
  for (const BlockList* const list : {&indexed.blocks, &indexed.read_blocks}) {
    BlockList::Reader reader(*list);
    for (TraceBlock block; reader.Next(block);) {
      if (!filter.Takes(block)) continue;
      if (block.first_seq == 0 || OrderOf(writer, block.step).blocks == 0) return false;
    }
  }
  return true;
}

ExportedPlaces::Order& ExportedPlaces::OrderOf(uint32_t writer, uint32_t step) {
  Order& order = writers_[writer].order;
  if (order.step == step) return order;
  order = Order();
  order.step = step;
  const IndexedWriter& indexed = index_.writers()[writer];
  const uint64_t extent_bytes = writers_[writer].extent_bytes;
  order.block_bytes = index_.BlockBytesOf(indexed, step);
  if (order.block_bytes == 0 || order.block_bytes > extent_bytes) return order;
  order.blocks_per_extent = extent_bytes / order.block_bytes;
  if (__builtin_mul_overflow(order.blocks_per_extent, writers_[writer].extents, &order.blocks) ||
      order.blocks > RandomOrder::kMostNumbers) {
    order.blocks = 0;
  }
  const v1::LogStep& spec = index_.steps().at(step).step;
  order.read_percent = std::min(spec.read_percent(), kOnlyReads);
  const bool mixed = order.read_percent > 0 && order.read_percent < kOnlyReads;
  if (!spec.random_order() && !mixed) return order;
  const IndexedHost& host = index_.hosts().at(indexed.host);
  const bool of_search = spec.purpose() != v1::STEP_PURPOSE_UNSPECIFIED;
  order.access.emplace(spec.random_order(), order.read_percent, ReadOperationOf(spec).value_or(kMainOperation),
                       Access::Key{SeedOfStep(host.work.seed(), step, of_search), host.number, indexed.qm});
  return order;
}

uint64_t ExportedPlaces::NumberOf(bool read, uint64_t of_kind, Order& order) {
  const uint64_t per_hundred = read ? order.read_percent : kOperationsOfHundred - order.read_percent;
  if (!order.access || per_hundred == 0 || per_hundred == kOperationsOfHundred) return of_kind;
  Hundred& hundred = order.hundreds[read ? 1 : 0];
  if (const uint64_t wanted = of_kind / per_hundred; hundred.number != wanted) {
    hundred.number = wanted;
    hundred.operations.clear();
    for (uint64_t i = 0; i < kOperationsOfHundred; ++i) {
      const uint64_t number = wanted * kOperationsOfHundred + i;
      if (order.access->Reads(number) == read) hundred.operations.push_back(number);
    }
  }
  return hundred.operations[of_kind % per_hundred];
}

}  // namespace plimsoll
