#include "agent/watch/watched_files.h"

#include <fcntl.h>

#include <algorithm>

namespace plimsoll {
namespace {

// Whether a record up to `until_ns` may have changed which file the descriptor belongs to.
bool ChangesBefore(std::span<const PerfRecord> upcoming, uint32_t pid, int fd, int64_t until_ns) {
  for (const PerfRecord& record : upcoming) {
    if (record.time_ns > until_ns) return false;
    if (record.kind == PerfRecord::Kind::kGapBegin) return true;
    if (record.pid != pid) continue;
    const CallDescription* const call = DescribeCall(record.number);
    if (call == nullptr) continue;
    if (record.kind == PerfRecord::Kind::kSyscallEnter && MayEnd(*call, record.args, fd)) return true;
    const bool makes = call->effect == CallEffect::kOpen || call->effect == CallEffect::kDuplicate ||
                       call->effect == CallEffect::kDuplicateTo || call->effect == CallEffect::kFcntl;
    if (record.kind == PerfRecord::Kind::kSyscallExit && makes && record.result == fd) return true;
  }
  return false;
}

int DescriptorArg(const std::array<uint64_t, 6>& args) {
  return static_cast<int>(static_cast<uint32_t>(args[0]));
}

}  // namespace

void WatchedFiles::AddProcess(uint32_t pid, const std::map<int, DescriptorFile>& descriptors, int64_t from_ns) {
  for (const auto& [fd, file] : descriptors) {
    descriptors_[{pid, fd}] = {std::make_shared<OpenFile>(OpenFile{file}), from_ns};
  }
}

void WatchedFiles::RemoveProcess(uint32_t pid) {
  std::erase_if(descriptors_, [pid](const auto& entry) { return entry.first.first == pid; });
}

void WatchedFiles::LookAt(std::span<const PerfRecord> records) {
  // A call's entry may come after its return: they may lie in two rings.
  for (const PerfRecord& record : records) {
    const CallDescription* const call =
        record.kind == PerfRecord::Kind::kSyscallEnter ? DescribeCall(record.number) : nullptr;
    if (call == nullptr || call->effect != CallEffect::kOpen) continue;
    names_[record.tid] = record.args[call->name_argument];
  }
  for (const PerfRecord& record : records) {
    if (record.kind == PerfRecord::Kind::kSyscallExit && record.result >= 0) LookAtOpened(record);
  }
}

void WatchedFiles::LookAtOpened(const PerfRecord& record) {
  const CallDescription* const call = DescribeCall(record.number);
  if (call == nullptr || call->effect != CallEffect::kOpen) return;
  Looked looked;
  looked.file = look_(record.pid, static_cast<int>(record.result));
  looked.end_ns = now_();
  const auto name = names_.find(record.tid);
  looked.names_other = !looked.file && name != names_.end() && names_other_(record.pid, name->second);
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
          found != descriptors_.end() && found->second.file && call.result >= 0) {
        found->second.file->file.position = static_cast<uint64_t>(call.result);
      }
      return {};
    case CallEffect::kSubmit:
      return {};
    default:
      break;
  }
  const std::optional<int> fd = NewDescriptor(*description, call);
  if (!fd) return {};
  if (description->effect == CallEffect::kOpen) {
    TakeOpen(call, *fd, upcoming);
    return {};
  }
  const int from = DescriptorArg(call.args);
  // dup2 of a descriptor to itself changes nothing.
  if (from == *fd) return {};
  const auto source = descriptors_.find({call.pid, from});
  if (source == descriptors_.end()) {
    descriptors_.erase({call.pid, *fd});
  } else {
    descriptors_[{call.pid, *fd}] = {source->second.file, call.end_ns};
  }
  return {};
}

void WatchedFiles::TakeOpen(const CompletedCall& call, int fd, std::span<const PerfRecord> upcoming) {
  const auto looked = looked_.extract({call.tid, call.end_ns});
  // Read from /proc later than this.
  if (const auto known = descriptors_.find({call.pid, fd});
      known != descriptors_.end() && known->second.since_ns > call.end_ns) {
    return;
  }
  Descriptor descriptor{nullptr, call.end_ns};
  if (looked && looked.mapped().names_other) {
    descriptor.file = std::make_shared<OpenFile>();
  } else if (looked && looked.mapped().file && !ChangesBefore(upcoming, call.pid, fd, looked.mapped().end_ns)) {
    descriptor.file = std::make_shared<OpenFile>(OpenFile{*looked.mapped().file});
    // What /proc showed may be after some writes.
    if (descriptor.file->file.position) descriptor.file->file.position = 0;
  }
  descriptors_[{call.pid, fd}] = std::move(descriptor);
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
  auto found = descriptors_.find({call.pid, fd});
  if (found == descriptors_.end()) {
    // It came to be in a way that is not followed, such as over a socket.
    const std::optional<DescriptorFile> file = look_(call.pid, fd);
    Descriptor descriptor{nullptr, call.start_ns};
    if (file && !ChangesBefore(upcoming, call.pid, fd, now_())) {
      descriptor.file = std::make_shared<OpenFile>(OpenFile{*file});
    }
    found = descriptors_.emplace(Key{call.pid, fd}, std::move(descriptor)).first;
  }
  const std::shared_ptr<OpenFile>& open = found->second.file;
  if (!open) {
    // A write that was refused (EBADF) changed no file.
    access.outcome = call.result < 0 ? FileAccess::Outcome::kOther : FileAccess::Outcome::kUnknown;
    return access;
  }
  if (!open->file.log) return access;
  access.outcome = FileAccess::Outcome::kLog;
  access.path = open->file.path;
  access.extent = open->file.extent;
  if (description.effect == CallEffect::kWriteAt) {
    access.offset_bytes = OffsetOf(call);
  } else if (description.effect == CallEffect::kWrite) {
    access.offset_bytes = open->file.position;
    if (open->file.position && call.result > 0) *open->file.position += static_cast<uint64_t>(call.result);
  }
  return access;
}

FileAccess WatchedFiles::At(const OpenCall& call) const {
  FileAccess access;
  const CallDescription* const description = DescribeCall(call.number);
  if (description == nullptr || !Writes(description->effect)) return access;
  const auto found = descriptors_.find({call.pid, DescriptorArg(call.args)});
  if (found == descriptors_.end() || !found->second.file || !found->second.file->file.log) return access;
  access.outcome = FileAccess::Outcome::kLog;
  access.path = found->second.file->file.path;
  access.extent = found->second.file->file.extent;
  return access;
}

}  // namespace plimsoll
