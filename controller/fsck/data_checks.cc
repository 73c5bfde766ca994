#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/fsck/checks.h"

namespace plimsoll {
namespace {

constexpr uint32_t kRounds = 8;
constexpr uint32_t kVisiblePages = 4;
constexpr uint32_t kStreamPages = 16;
constexpr int64_t kStreamNs = 500 * kNsPerMs;
// Where a stream's limit counts no more: it is killed before.
constexpr int64_t kLongStreamNs = 20 * kNsPerSecond;
// A stream that has acknowledged fewer proves little.
constexpr uint64_t kFewestWrites = 3;
constexpr uint32_t kReplacements = 50;
// An NFS client keeps what it knows of a directory for a minute at most, by default.
constexpr int64_t kNameCacheNs = 70 * kNsPerSecond;
constexpr int64_t kMostApartNs = kNsPerSecond;

// Hosts that read what the process on `writer` writes: all other hosts; the same one where there is no other.
std::vector<size_t> ReadersOf(const FsckCheck& check, size_t writer) {
  std::vector<size_t> readers;
  for (size_t host = 0; host < check.hosts(); ++host) {
    if (host != writer || check.hosts() == 1) readers.push_back(host);
  }
  return readers;
}

// "on alpha, beta" where a file system refused O_DIRECT.
void NoteWithoutDirect(FsckCheck& check, const CheckedProcess& process, const v1::CheckAnswer& opened) {
  if (opened.code() == 0 && !opened.direct()) {
    check.Note(absl::StrCat(check.label(process.host), ": O_DIRECT is refused; written with O_DSYNC alone"));
  }
}

v1::CheckCommand StreamCommand(const FsckCheck& check, const std::vector<uint32_t>& handles, uint32_t pages) {
  v1::CheckCommand command;
  v1::CheckStream& stream = *command.mutable_stream();
  for (const uint32_t handle : handles) stream.add_handles(handle);
  stream.set_pages(pages);
  stream.set_epoch(check.epoch());
  stream.set_limit_ns(kLongStreamNs);
  return command;
}

// Judges one page of a stream that was killed after it had acknowledged `acknowledged`: it must hold the last
// acknowledged sequence that went there; the one in flight may be there, or be torn.
void JudgeStreamPage(FsckCheck& check, const CheckedProcess& reader, size_t writer, const v1::CheckPage& page,
                     uint32_t pages, uint64_t acknowledged) {
  // Sequence s goes to page (s - 1) % pages.
  const uint64_t in_flight = acknowledged + 1;
  const bool may_be_in_flight = (in_flight - 1) % pages == page.page();
  uint64_t expected = 0;
  if (acknowledged > page.page()) expected = page.page() + 1 + (acknowledged - 1 - page.page()) / pages * pages;
  if (page.state() == v1::CHECK_PAGE_STATE_EMPTY && expected == 0) return;
  const bool broken = page.state() == v1::CHECK_PAGE_STATE_TORN || page.state() == v1::CHECK_PAGE_STATE_FOREIGN;
  if (may_be_in_flight && broken) return;
  if (page.state() == v1::CHECK_PAGE_STATE_WHOLE && page.host() == writer && page.epoch() == check.epoch() &&
      page.written_page() == page.page()) {
    if (page.sequence() == expected && expected != 0) return;
    if (may_be_in_flight && page.sequence() == in_flight) return;
  }
  check.Fail(absl::StrCat("acknowledged write lost: ", check.label(reader.host), " read ", check.InWords(page), "; ",
                          check.label(writer), " had acknowledged sequence ", expected, " there before it was killed"));
}

bool NotTorn(const v1::CheckPage& page) {
  // A read beside a writer may see half of a write.
  return page.state() == v1::CHECK_PAGE_STATE_WHOLE || page.state() == v1::CHECK_PAGE_STATE_EMPTY;
}

// Every sight: file `first` was read before file `second`, and is written after it.
void JudgeOrder(FsckCheck& check, const CheckedProcess& reader, size_t writer, const v1::CheckAnswer& watched) {
  if (watched.code() != 0) return;
  uint64_t newest = 0;
  for (const v1::CheckSight& sight : watched.sights()) {
    if (!NotTorn(sight.first()) || !NotTorn(sight.second())) continue;
    if (sight.first().sequence() > sight.second().sequence()) {
      check.Fail(absl::StrCat("order broken: ", check.label(reader.host), " read sequence ", sight.first().sequence(),
                              " of the second file, and then sequence ", sight.second().sequence(), " of the first; ",
                              check.label(writer), " writes the first file first"));
    }
    if (sight.first().sequence() < newest) {
      check.Fail(absl::StrCat("went back: ", check.label(reader.host), " read sequence ", newest,
                              ", and later sequence ", sight.first().sequence(), " of one file"));
    }
    newest = std::max(newest, sight.first().sequence());
  }
}

}  // namespace

void JudgeStream(FsckCheck& check, const CheckedProcess& reader, size_t writer, const v1::CheckAnswer& read,
                 uint32_t pages, uint64_t acknowledged) {
  if (read.code() != 0) return;
  for (const v1::CheckPage& page : read.pages()) JudgeStreamPage(check, reader, writer, page, pages, acknowledged);
}

void CheckDataConcurrentWrites(FsckCheck& check) {
  const std::vector<CheckedProcess> processes = check.StartAll();
  for (const CheckedProcess& process : processes) {
    NoteWithoutDirect(check, process, check.Open(process, 0, FsckCheck::How::kDirect));
  }
  const auto hosts = static_cast<uint32_t>(check.hosts());
  const uint32_t each = kFsckPages / hosts;
  std::vector<uint64_t> sent;
  for (const CheckedProcess& process : processes) {
    v1::CheckCommand command;
    v1::CheckWrite& write = *command.mutable_write();
    write.set_first(static_cast<uint32_t>(process.host));
    write.set_count(each);
    write.set_stride(hosts);
    write.set_epoch(check.epoch());
    write.set_sequence(1);
    write.set_rounds(kRounds);
    sent.push_back(check.Send(process, std::move(command)));
  }
  for (size_t i = 0; i < processes.size(); ++i) check.Await(processes[i], sent[i]);
  for (const CheckedProcess& process : processes) check.Close(process);
  for (const CheckedProcess& reader : processes) {
    check.Open(reader, 0, FsckCheck::How::kDirect);
    const v1::CheckAnswer read = check.Read(reader, 0, each * hosts);
    for (const v1::CheckPage& page : read.pages()) {
      v1::CheckAnswer one;
      *one.add_pages() = page;
      check.MustHold(reader, one, page.page() % hosts, kRounds, "after all hosts had written at once");
    }
  }
  check.Note(absl::StrCat(hosts, " hosts wrote ", each, " neighbouring pages each, ", kRounds,
                          " times over, at once; every host reads every page whole"));
}

void CheckDataVisibleAfterClose(FsckCheck& check) {
  for (size_t writer = 0; writer < check.hosts() && !check.over(); ++writer) {
    const CheckedProcess writing = check.Start(writer);
    std::vector<CheckedProcess> readers;
    for (const size_t host : ReadersOf(check, writer)) readers.push_back(check.Start(host));
    for (uint32_t round = 1; round <= kRounds && !check.over(); ++round) {
      const uint64_t sequence = writer * kRounds + round;
      check.Open(writing, 0, FsckCheck::How::kBuffered);
      check.Write(writing, sequence, 0, kVisiblePages);
      check.Close(writing);
      for (const CheckedProcess& reader : readers) {
        check.Open(reader, 0, FsckCheck::How::kBuffered);
        check.MustHold(reader, check.Read(reader, 0, kVisiblePages), writer, sequence,
                       "when it opened the file after the writer had closed it");
        check.Close(reader);
      }
    }
  }
  check.Note(
      absl::StrCat(kRounds, " times for each host: what it wrote and closed, every other host reads at its next open"));
}

void CheckDataVisibleAfterLockHandover(FsckCheck& check) {
  const std::vector<CheckedProcess> processes = check.StartAll();
  for (const CheckedProcess& process : processes) check.Open(process, 0, FsckCheck::How::kBuffered);
  uint64_t sequence = 0;
  for (uint32_t round = 0; round < kRounds && !check.over(); ++round) {
    for (const CheckedProcess& process : processes) {
      check.MustGet(process);
      if (sequence > 0) {
        const size_t before = (process.host + check.hosts() - 1) % check.hosts();
        check.MustHold(process, check.Read(process, 0, kVisiblePages), before, sequence,
                       "under the lock that the writer had given back");
      }
      check.Write(process, ++sequence, 0, kVisiblePages);
      check.Unlock(process);
    }
  }
  check.Note(
      absl::StrCat("the lock went round ", kRounds,
                   " times; each owner read what the one before it had written, with the file open all the while"));
}

void CheckDataRenameAtomic(FsckCheck& check) {
  for (size_t writer = 0; writer < check.hosts() && !check.over(); ++writer) {
    const CheckedProcess writing = check.Start(writer);
    const auto replace = [&](uint64_t sequence, uint32_t rounds) {
      v1::CheckCommand command;
      command.mutable_replace()->set_target(check.file());
      command.mutable_replace()->set_epoch(check.epoch());
      command.mutable_replace()->set_sequence(sequence);
      command.mutable_replace()->set_rounds(rounds);
      return command;
    };
    const auto look = [&](int64_t limit_ns) {
      v1::CheckCommand command;
      command.mutable_look()->set_host(check.label(writer));
      command.mutable_look()->set_file(check.file());
      command.mutable_look()->set_limit_ns(limit_ns);
      return command;
    };
    check.Ask(writing, replace(1, 1));
    std::vector<CheckedProcess> readers;
    std::vector<uint64_t> sent;
    for (const size_t host : ReadersOf(check, writer)) {
      readers.push_back(check.Start(host));
      sent.push_back(check.Send(readers.back(), look(kStreamNs)));
    }
    check.Ask(writing, replace(2, kReplacements - 1));
    for (size_t i = 0; i < readers.size(); ++i) {
      const v1::CheckAnswer looked = check.Await(readers[i], sent[i]);
      if (looked.missing() > 0) {
        check.Fail(absl::StrCat("not atomic: ", check.label(readers[i].host), " found no file under the name ",
                                looked.missing(), " times while ", check.label(writer), " renamed new ones over it"));
      }
      uint64_t newest = 0;
      for (const v1::CheckSight& sight : looked.sights()) {
        // Before the first replacement the name had a file without a page.
        const v1::CheckPage& page = sight.first();
        if (page.state() == v1::CHECK_PAGE_STATE_EMPTY && newest == 0) continue;
        if (page.state() != v1::CHECK_PAGE_STATE_WHOLE) {
          check.Fail(absl::StrCat("not atomic: ", check.label(readers[i].host), " read ", check.InWords(page),
                                  " of a file that was written before it got its name"));
        } else if (page.sequence() < newest) {
          check.Fail(absl::StrCat("went back: ", check.label(readers[i].host), " found file ", newest,
                                  " under the name, and later file ", page.sequence()));
        }
        newest = std::max(newest, page.sequence());
      }
      // What the client knows of the directory may be old for a while.
      for (const int64_t until_ns = check.field().NowNs() + kNameCacheNs; newest < kReplacements && !check.over();) {
        const v1::CheckAnswer last = check.Ask(readers[i], look(kNsPerMs));
        for (const v1::CheckSight& sight : last.sights()) newest = std::max(newest, sight.first().sequence());
        if (newest < kReplacements && check.field().NowNs() >= until_ns) {
          check.Fail(absl::StrCat(check.label(readers[i].host), " found file ", newest, " under the name ",
                                  FormatDuration(kNameCacheNs), " after ", check.label(writer), " had renamed file ",
                                  kReplacements, " to it"));
        }
      }
    }
    check.Kill(writing);
    for (const CheckedProcess& reader : readers) check.Kill(reader);
  }
  check.Note(absl::StrCat(kReplacements,
                          " replacements by each host: the others found one whole file under the name at every look"));
}

void CheckDataDsyncSurvivesWriterDeath(FsckCheck& check) {
  uint64_t total = 0;
  for (size_t writer = 0; writer < check.hosts() && !check.over(); ++writer) {
    const CheckedProcess writing = check.Start(writer);
    // A file of its own: the next writer does not write over it.
    NoteWithoutDirect(check, writing, check.Open(writing, writer, FsckCheck::How::kDirect));
    check.Send(writing, StreamCommand(check, {0}, kStreamPages), kLongStreamNs + FsckCheck::kCallNs);
    if (!check.over()) check.field().Pause(kStreamNs);
    const v1::CheckAnswer killed = check.Kill(writing);
    if (!check.over() && killed.acknowledged() < kFewestWrites) {
      check.Undecided(absl::StrCat(check.label(writer), " acknowledged only ", killed.acknowledged(), " writes in ",
                                   FormatDuration(kStreamNs)));
    }
    total += killed.acknowledged();
    for (size_t host = 0; host < check.hosts() && !check.over(); ++host) {
      const CheckedProcess reader = check.Start(host);
      check.Open(reader, writer, FsckCheck::How::kDirect);
      JudgeStream(check, reader, writer, check.Read(reader, 0, kStreamPages), kStreamPages, killed.acknowledged());
      check.Kill(reader);
    }
  }
  check.Note(absl::StrCat(FormatCount(total),
                          " writes were acknowledged before their writers were killed; the last one of ",
                          "each page is there, on every host"));
}

void CheckDataOrderTwoFiles(FsckCheck& check) {
  uint64_t total = 0;
  uint64_t looks = 0;
  for (size_t writer = 0; writer < check.hosts() && !check.over(); ++writer) {
    const CheckedProcess writing = check.Start(writer);
    check.Open(writing, writer, FsckCheck::How::kDirect, 0);
    NoteWithoutDirect(check, writing, check.Open(writing, writer, FsckCheck::How::kDirect, 1));
    std::vector<CheckedProcess> readers;
    std::vector<CheckedProcess> watchers;
    std::vector<uint64_t> sent;
    for (const size_t host : ReadersOf(check, writer)) {
      readers.push_back(check.Start(host));
      check.Open(readers.back(), writer, FsckCheck::How::kDirect, 0);
      // Without O_DIRECT a client may keep the pages of one file for longer than those of the other.
      if (check.Open(readers.back(), writer, FsckCheck::How::kDirect, 1).direct()) watchers.push_back(readers.back());
    }
    check.Send(writing, StreamCommand(check, {0, 1}, 1), kLongStreamNs + FsckCheck::kCallNs);
    if (watchers.empty() && !check.over()) check.field().Pause(kStreamNs);
    for (const CheckedProcess& reader : watchers) {
      v1::CheckCommand command;
      command.mutable_watch()->set_first(1);
      command.mutable_watch()->set_second(0);
      command.mutable_watch()->set_limit_ns(kStreamNs);
      sent.push_back(check.Send(reader, std::move(command)));
    }
    for (size_t i = 0; i < watchers.size(); ++i) {
      const v1::CheckAnswer watched = check.Await(watchers[i], sent[i]);
      looks += watched.acknowledged();
      JudgeOrder(check, watchers[i], writer, watched);
    }
    const v1::CheckAnswer killed = check.Kill(writing);
    if (!check.over() && killed.acknowledged() < kFewestWrites) {
      check.Undecided(absl::StrCat(check.label(writer), " acknowledged only ", killed.acknowledged(), " writes"));
    }
    total += killed.acknowledged();
    for (const CheckedProcess& reader : readers) {
      for (const uint32_t which : {0U, 1U}) {
        check.Close(reader, which);
        check.Open(reader, writer, FsckCheck::How::kDirect, which);
      }
      const v1::CheckAnswer second = check.Read(reader, 0, 1, 1);
      const v1::CheckAnswer first = check.Read(reader, 0, 1, 0);
      JudgeStream(check, reader, writer, second, 1, killed.acknowledged());
      JudgeStream(check, reader, writer, first, 1, killed.acknowledged());
      if (!check.over() && NotTorn(first.pages(0)) && NotTorn(second.pages(0)) &&
          second.pages(0).sequence() > first.pages(0).sequence()) {
        check.Fail(absl::StrCat("order broken: after ", check.label(writer), "'s writer was killed, ",
                                check.label(reader.host), " reads sequence ", second.pages(0).sequence(),
                                " of the second file and sequence ", first.pages(0).sequence(), " of the first"));
      }
      check.Kill(reader);
    }
  }
  check.Note(absl::StrCat(FormatCount(total), " pairs of writes, seen ", FormatCount(looks),
                          " times from other hosts: never the second without the first"));
}

void CheckDataDirectBufferedAgree(FsckCheck& check) {
  for (size_t writer = 0; writer < check.hosts() && !check.over(); ++writer) {
    const CheckedProcess writing = check.Start(writer);
    const v1::CheckAnswer direct = check.Open(writing, 0, FsckCheck::How::kDirect);
    if (direct.code() == 0 && !direct.direct()) {
      check.Unsupported(absl::StrCat(check.label(writer), ": the file system refuses O_DIRECT"));
    }
    const uint64_t sequence = 2 * writer + 1;
    check.Write(writing, sequence, 0, kVisiblePages);
    std::vector<CheckedProcess> readers;
    for (size_t host = 0; host < check.hosts(); ++host) {
      readers.push_back(check.Start(host));
      check.Open(readers.back(), 0, FsckCheck::How::kBuffered);
      check.MustHold(readers.back(), check.Read(readers.back(), 0, kVisiblePages), writer, sequence,
                     "through the page cache, after it was written with O_DIRECT");
      check.Close(readers.back());
    }
    check.Close(writing);
    check.Open(writing, 0, FsckCheck::How::kBuffered);
    v1::CheckCommand command;
    v1::CheckWrite& write = *command.mutable_write();
    write.set_count(kVisiblePages);
    write.set_epoch(check.epoch());
    write.set_sequence(sequence + 1);
    write.set_flush(true);
    check.Ask(writing, std::move(command));
    check.Close(writing);
    for (const CheckedProcess& reader : readers) {
      check.Open(reader, 0, FsckCheck::How::kDirect);
      check.MustHold(reader, check.Read(reader, 0, kVisiblePages), writer, sequence + 1,
                     "with O_DIRECT, after it was written through the page cache and flushed");
      check.Kill(reader);
    }
  }
  check.Note("what is written with O_DIRECT is read through the page cache, and the other way round, on every host");
}

void CheckTimeTimestamps(FsckCheck& check) {
  for (size_t writer = 0; writer < check.hosts() && !check.over(); ++writer) {
    const size_t other = (writer + 1) % check.hosts();
    const CheckedProcess writing = check.Start(writer);
    const CheckedProcess asking = check.Start(other);
    check.Open(writing, writer, FsckCheck::How::kDirect);
    const v1::CheckAnswer wrote = check.Write(writing, 1, 0, 1);
    check.Open(asking, writer, FsckCheck::How::kBuffered);
    v1::CheckCommand command;
    command.mutable_stat();
    const v1::CheckAnswer times = check.Ask(asking, std::move(command));
    if (check.over()) return;
    // The storage's clock less the host's: between these two.
    const int64_t highest_ns = times.modified_ns() - (wrote.wall_ns() - (wrote.ended_ns() - wrote.started_ns()));
    const int64_t lowest_ns = times.modified_ns() - wrote.wall_ns();
    check.Note(absl::StrFormat("%s: the file's time is %+.3f s to %+.3f s from the host's clock", check.label(writer),
                               static_cast<double>(lowest_ns) / kNsPerSecond,
                               static_cast<double>(highest_ns) / kNsPerSecond));
    if (lowest_ns > kMostApartNs || highest_ns < -kMostApartNs) {
      check.Fail(absl::StrFormat("the time of a file that %s wrote is %.3f s off that host's clock",
                                 check.label(writer),
                                 static_cast<double>(lowest_ns > 0 ? lowest_ns : highest_ns) / kNsPerSecond));
    }
    check.Kill(writing);
    check.Kill(asking);
  }
}

}  // namespace plimsoll
