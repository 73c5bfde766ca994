#include "agent/watch/watched_files.h"

#include <fcntl.h>

#include <algorithm>

namespace plimsoll {
namespace {

// How often /proc is read for a descriptor that stays unknown: not at each of its writes.
constexpr int64_t kLookAgainNs = 100'000'000;

// Whether the call may return a new descriptor.
bool MakesDescriptor(CallEffect effect) {
  return effect == CallEffect::kOpen || effect == CallEffect::kDuplicate || effect == CallEffect::kDuplicateTo ||
         effect == CallEffect::kFcntl;
}

// Whether a record up to `until_ns` may have changed which file the descriptor belongs to.
bool ChangesBefore(std::span<const PerfRecord> upcoming, uint32_t pid, int fd, int64_t until_ns) {
  for (const PerfRecord& record : upcoming) {
    if (record.time_ns > until_ns) return false;
    if (record.kind == PerfRecord::Kind::kGapBegin) return true;
    if (record.pid != pid) continue;
    const CallDescription* const call = DescribeCall(record.number);
    if (call == nullptr) continue;
    if (record.kind == PerfRecord::Kind::kSyscallEnter && MayEnd(*call, record.args, fd)) return true;
    const bool makes = record.kind == PerfRecord::Kind::kSyscallExit && MakesDescriptor(call->effect);
    if (makes && record.result == fd) return true;
  }
  return false;
}

int DescriptorArg(const std::array<uint64_t, 6>& args) {
  return static_cast<int>(static_cast<uint32_t>(args[0]));
}

}  // namespace

void WatchedFiles::AddProcess(uint32_t pid, const std::map<int, DescriptorFile>& descriptors, int64_t from_ns) {
  for (const auto& [fd, file] : descriptors) {
    descriptors_[{pid, fd}] = {std::make_shared<OpenFile>(OpenFile{true, file, 0}), from_ns};
  }
}

void WatchedFiles::RemoveProcess(uint32_t pid) {
  std::erase_if(descriptors_, [pid](const auto& entry) { return entry.first.first == pid; });
}

void WatchedFiles::LookAt(std::span<const PerfRecord> records) {
  for (const PerfRecord& record : records) {
    if (record.kind == PerfRecord::Kind::kSyscallExit && record.result >= 0) LookAtOpened(record);
  }
}

void WatchedFiles::LookAtOpened(const PerfRecord& record) {
  const CallDescription* const call = DescribeCall(record.number);
  if (call == nullptr || !MakesDescriptor(call->effect)) return;
  // A copy shows the file of one that was opened and closed at once. fcntl's command is not known here.
  Looked looked;
  looked.file = look_(record.pid, static_cast<int>(record.result));
  looked.end_ns = now_();
  looked_[{record.tid, record.time_ns}] = std::move(looked);
}

int64_t WatchedFiles::NeededUntil(const PerfRecord& record) const {
  if (record.kind != PerfRecord::Kind::kSyscallExit) return 0;
  const auto looked = looked_.find({record.tid, record.time_ns});
  return looked == looked_.end() ? 0 : looked->second.end_ns;
}

void WatchedFiles::Forget(const PerfRecord& record) {
  if (record.kind == PerfRecord::Kind::kSyscallExit) looked_.erase({record.tid, record.time_ns});
}

FileAccess WatchedFiles::Take(const CompletedCall& call, std::span<const PerfRecord> upcoming) {
  const CallDescription* const description = DescribeCall(call.number);
  if (description == nullptr) return {};
  switch (description->effect) {
    case CallEffect::kWrite:
    case CallEffect::kWriteAt:
    case CallEffect::kSync:
      return TakeAccess(*description, call, upcoming);
    case CallEffect::kClose:
    case CallEffect::kCloseRange:
      TakeEnd(*description, call);
      return {};
    case CallEffect::kSeek:
      if (const auto found = descriptors_.find({call.pid, DescriptorArg(call.args)});
          found != descriptors_.end() && call.result >= 0 && !Appends(*found->second.file)) {
        found->second.file->file.position = static_cast<uint64_t>(call.result);
      }
      return {};
    case CallEffect::kSubmit:
    case CallEffect::kMakeRing:
      return {};
    default:
      break;
  }
  const std::optional<int> fd = NewDescriptor(*description, call);
  if (!fd) return {};
  if (description->effect == CallEffect::kOpen) {
    TakeOpen(*description, call, *fd, upcoming);
    return {};
  }
  const int from = DescriptorArg(call.args);
  // dup2 of a descriptor to itself changes nothing.
  if (from == *fd) return {};
  const auto source = descriptors_.find({call.pid, from});
  std::shared_ptr<OpenFile> open = source != descriptors_.end() ? source->second.file : std::make_shared<OpenFile>();
  const auto looked = looked_.extract({call.tid, call.end_ns});
  if (!open->known && looked && looked.mapped().file &&
      !ChangesBefore(upcoming, call.pid, *fd, looked.mapped().end_ns)) {
    Learn(*looked.mapped().file, *open);
  }
  descriptors_[{call.pid, *fd}] = {std::move(open), call.end_ns};
  return {};
}

void WatchedFiles::Learn(const DescriptorFile& file, OpenFile& open) {
  // The position that was followed is that of this moment; /proc's is a later one.
  const std::optional<uint64_t> position = open.file.position;
  open = {true, file, 0};
  if (position && file.position) open.file.position = position;
}

void WatchedFiles::TakeOpen(const CallDescription& description, const CompletedCall& call, int fd,
                            std::span<const PerfRecord> upcoming) {
  const auto looked = looked_.extract({call.tid, call.end_ns});
  // Read from /proc later than this.
  if (const auto known = descriptors_.find({call.pid, fd});
      known != descriptors_.end() && known->second.since_ns > call.end_ns) {
    return;
  }
  auto open = std::make_shared<OpenFile>();
  if (looked && looked.mapped().file && !ChangesBefore(upcoming, call.pid, fd, looked.mapped().end_ns)) {
    *open = {true, *looked.mapped().file, 0};
  } else if (const auto named = look_up_name_(call.pid, call.args[description.name_argument])) {
    *open = {true, *named, 0};
  }
  // What /proc showed may be after some writes.
  if (!open->known || open->file.position) open->file.position = 0;
  descriptors_[{call.pid, fd}] = {std::move(open), call.end_ns};
}

void WatchedFiles::TakeEnd(const CallDescription& description, const CompletedCall& call) {
  // The descriptor ends within the call: one that came to be meanwhile is another one.
  const auto ends = [&](const Key& key, const Descriptor& descriptor) {
    return key.first == call.pid && MayEnd(description, call.args, key.second) && descriptor.since_ns <= call.start_ns;
  };
  if (description.effect == CallEffect::kClose) {
    const auto found = descriptors_.find({call.pid, DescriptorArg(call.args)});
    if (found != descriptors_.end() && ends(found->first, found->second)) descriptors_.erase(found);
    return;
  }
  std::erase_if(descriptors_, [&](const auto& entry) { return ends(entry.first, entry.second); });
}

FileAccess WatchedFiles::TakeAccess(const CallDescription& description, const CompletedCall& call,
                                    std::span<const PerfRecord> upcoming) {
  const int fd = DescriptorArg(call.args);
  FileAccess access;
  // One that is not in the table came to be in a way that is not followed, such as over a socket.
  Descriptor& descriptor =
      descriptors_.try_emplace({call.pid, fd}, Descriptor{std::make_shared<OpenFile>(), call.start_ns}).first->second;
  const std::shared_ptr<OpenFile>& open = descriptor.file;
  if (const int64_t now_ns = now_(); !open->known && now_ns - open->looked_ns >= kLookAgainNs) {
    const std::optional<DescriptorFile> file = look_(call.pid, fd);
    open->looked_ns = now_ns;
    if (file && !ChangesBefore(upcoming, call.pid, fd, now_())) Learn(*file, *open);
  }
  const std::optional<uint64_t> position = open->file.position;
  const bool at_position = description.effect == CallEffect::kWrite || WritesAtPosition(call);
  const bool moves = at_position && call.result > 0;
  if (moves && position) *open->file.position += static_cast<uint64_t>(call.result);
  if (!open->known) {
    // A write that was refused (EBADF) changed no file.
    access.outcome = call.result < 0 ? FileAccess::Outcome::kOther : FileAccess::Outcome::kUnknown;
    return access;
  }
  if (!open->file.log) return access;
  access.outcome = FileAccess::Outcome::kLog;
  access.path = open->file.path;
  access.extent = open->file.extent;
  if (at_position) {
    access.offset_bytes = position;
  } else if (description.effect == CallEffect::kWriteAt && !Appends(*open) && !AppendsByFlag(call)) {
    access.offset_bytes = OffsetOf(call);
  }
  return access;
}

FileAccess WatchedFiles::At(const OpenCall& call) const {
  FileAccess access;
  const CallDescription* const description = DescribeCall(call.number);
  if (description == nullptr || !Writes(description->effect)) return access;
  const auto found = descriptors_.find({call.pid, DescriptorArg(call.args)});
  if (found == descriptors_.end() || !found->second.file->file.log) return access;
  access.outcome = FileAccess::Outcome::kLog;
  access.path = found->second.file->file.path;
  access.extent = found->second.file->file.extent;
  return access;
}

}  // namespace plimsoll
