#include <algorithm>
#include <string>
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

// Those that read what the process on `writer` writes: all other hosts; the same one where there is no other.
std::vector<size_t> ReadersOf(const CheckRun& run, size_t writer) {
  std::vector<size_t> readers;
  for (size_t host = 0; host < run.hosts(); ++host) {
    if (host != writer || run.hosts() == 1) readers.push_back(host);
  }
  return readers;
}

// "on alpha, beta" where a file system refused O_DIRECT.
void NoteWithoutDirect(CheckRun& run, const CheckedProcess& process, const v1::CheckAnswer& opened) {
  if (opened.code() == 0 && !opened.direct()) {
    run.Note(absl::StrCat(run.label(process.host), ": O_DIRECT is refused; written with O_DSYNC alone"));
  }
}

v1::CheckCommand StreamCommand(const CheckRun& run, std::vector<uint32_t> handles, uint32_t pages) {
  v1::CheckCommand command;
  v1::CheckStream& stream = *command.mutable_stream();
  for (const uint32_t handle : handles) stream.add_handles(handle);
  stream.set_pages(pages);
  stream.set_epoch(run.epoch());
  stream.set_limit_ns(kLongStreamNs);
  return command;
}

// Judges one page of a stream that was killed after it had acknowledged `acknowledged`: it must hold the last
// acknowledged sequence that went there; the one in flight may be there, or be torn.
void JudgeStreamPage(CheckRun& run, const CheckedProcess& reader, size_t writer, const v1::CheckPage& page,
                     uint32_t pages, uint64_t acknowledged) {
  // Sequence s goes to page (s - 1) % pages.
  const uint64_t in_flight = acknowledged + 1;
  const bool may_be_in_flight = (in_flight - 1) % pages == page.page();
  uint64_t expected = 0;
  if (acknowledged > page.page()) expected = page.page() + 1 + (acknowledged - 1 - page.page()) / pages * pages;
  if (page.state() == v1::CHECK_PAGE_STATE_EMPTY && expected == 0) return;
  const bool broken = page.state() == v1::CHECK_PAGE_STATE_TORN || page.state() == v1::CHECK_PAGE_STATE_FOREIGN;
  if (may_be_in_flight && broken) return;
  if (page.state() == v1::CHECK_PAGE_STATE_WHOLE && page.host() == writer && page.epoch() == run.epoch() &&
      page.written_page() == page.page()) {
    if (page.sequence() == expected && expected != 0) return;
    if (may_be_in_flight && page.sequence() == in_flight) return;
  }
  run.Fail(absl::StrCat("acknowledged write lost: ", run.label(reader.host), " read ", run.InWords(page), "; ",
                        run.label(writer), " had acknowledged sequence ", expected, " there before it was killed"));
}

bool NotTorn(const v1::CheckPage& page) {
  // Who reads beside a writer may see half of a write.
  return page.state() == v1::CHECK_PAGE_STATE_WHOLE || page.state() == v1::CHECK_PAGE_STATE_EMPTY;
}

// Every sight: file `first` was read before file `second`, and is written after it.
void JudgeOrder(CheckRun& run, const CheckedProcess& reader, size_t writer, const v1::CheckAnswer& watched) {
  if (watched.code() != 0) return;
  uint64_t newest = 0;
  for (const v1::CheckSight& sight : watched.sights()) {
    if (!NotTorn(sight.first()) || !NotTorn(sight.second())) continue;
    if (sight.first().sequence() > sight.second().sequence()) {
      run.Fail(absl::StrCat("order broken: ", run.label(reader.host), " read sequence ", sight.first().sequence(),
                            " of the second file, and then sequence ", sight.second().sequence(), " of the first; ",
                            run.label(writer), " writes the first file first"));
    }
    if (sight.first().sequence() < newest) {
      run.Fail(absl::StrCat("went back: ", run.label(reader.host), " read sequence ", newest, ", and later sequence ",
                            sight.first().sequence(), " of one file"));
    }
    newest = std::max(newest, sight.first().sequence());
  }
}

}  // namespace

void JudgeStream(CheckRun& run, const CheckedProcess& reader, size_t writer, const v1::CheckAnswer& read,
                 uint32_t pages, uint64_t acknowledged) {
  if (read.code() != 0) return;
  for (const v1::CheckPage& page : read.pages()) JudgeStreamPage(run, reader, writer, page, pages, acknowledged);
}

void CheckDataConcurrentWrites(CheckRun& run) {
  const std::vector<CheckedProcess> processes = run.StartAll();
  for (const CheckedProcess& process : processes) {
    NoteWithoutDirect(run, process, run.Open(process, 0, CheckRun::How::kDirect));
  }
  const auto hosts = static_cast<uint32_t>(run.hosts());
  const uint32_t each = kCheckPages / hosts;
  std::vector<uint64_t> sent;
  for (const CheckedProcess& process : processes) {
    v1::CheckCommand command;
    v1::CheckWrite& write = *command.mutable_write();
    write.set_first(static_cast<uint32_t>(process.host));
    write.set_count(each);
    write.set_stride(hosts);
    write.set_epoch(run.epoch());
    write.set_sequence(1);
    write.set_rounds(kRounds);
    sent.push_back(run.Send(process, std::move(command)));
  }
  for (size_t i = 0; i < processes.size(); ++i) run.Await(processes[i], sent[i]);
  for (const CheckedProcess& process : processes) run.Close(process);
  for (const CheckedProcess& reader : processes) {
    run.Open(reader, 0, CheckRun::How::kDirect);
    const v1::CheckAnswer read = run.Read(reader, 0, each * hosts);
    for (const v1::CheckPage& page : read.pages()) {
      v1::CheckAnswer one;
      *one.add_pages() = page;
      run.MustHold(reader, one, page.page() % hosts, kRounds, "after all hosts had written at once");
    }
  }
  run.Note(absl::StrCat(hosts, " hosts wrote ", each, " neighbouring pages each, ", kRounds,
                        " times over, at once; every host reads every page whole"));
}

void CheckDataVisibleAfterClose(CheckRun& run) {
  for (size_t writer = 0; writer < run.hosts() && !run.over(); ++writer) {
    const CheckedProcess writing = run.Start(writer);
    std::vector<CheckedProcess> readers;
    for (const size_t host : ReadersOf(run, writer)) readers.push_back(run.Start(host));
    for (uint32_t round = 1; round <= kRounds && !run.over(); ++round) {
      const uint64_t sequence = writer * kRounds + round;
      run.Open(writing, 0, CheckRun::How::kBuffered);
      run.Write(writing, sequence, 0, kVisiblePages);
      run.Close(writing);
      for (const CheckedProcess& reader : readers) {
        run.Open(reader, 0, CheckRun::How::kBuffered);
        run.MustHold(reader, run.Read(reader, 0, kVisiblePages), writer, sequence,
                     "when it opened the file after the writer had closed it");
        run.Close(reader);
      }
    }
  }
  run.Note(
      absl::StrCat(kRounds, " times for each host: what it wrote and closed, every other host reads at its next open"));
}

void CheckDataVisibleAfterLockHandover(CheckRun& run) {
  const std::vector<CheckedProcess> processes = run.StartAll();
  for (const CheckedProcess& process : processes) run.Open(process, 0, CheckRun::How::kBuffered);
  uint64_t sequence = 0;
  for (uint32_t round = 0; round < kRounds && !run.over(); ++round) {
    for (const CheckedProcess& process : processes) {
      run.MustGet(process);
      if (sequence > 0) {
        const size_t before = (process.host + run.hosts() - 1) % run.hosts();
        run.MustHold(process, run.Read(process, 0, kVisiblePages), before, sequence,
                     "under the lock that the writer had given back");
      }
      run.Write(process, ++sequence, 0, kVisiblePages);
      run.Unlock(process);
    }
  }
  run.Note(
      absl::StrCat("the lock went round ", kRounds,
                   " times; each owner read what the one before it had written, with the file open all the while"));
}

void CheckDataRenameAtomic(CheckRun& run) {
  for (size_t writer = 0; writer < run.hosts() && !run.over(); ++writer) {
    const CheckedProcess writing = run.Start(writer);
    const auto replace = [&](uint64_t sequence, uint32_t rounds) {
      v1::CheckCommand command;
      command.mutable_replace()->set_target(run.file());
      command.mutable_replace()->set_epoch(run.epoch());
      command.mutable_replace()->set_sequence(sequence);
      command.mutable_replace()->set_rounds(rounds);
      return command;
    };
    const auto look = [&](int64_t limit_ns) {
      v1::CheckCommand command;
      command.mutable_look()->set_host(run.label(writer));
      command.mutable_look()->set_file(run.file());
      command.mutable_look()->set_limit_ns(limit_ns);
      return command;
    };
    run.Ask(writing, replace(1, 1));
    std::vector<CheckedProcess> readers;
    std::vector<uint64_t> sent;
    for (const size_t host : ReadersOf(run, writer)) {
      readers.push_back(run.Start(host));
      sent.push_back(run.Send(readers.back(), look(kStreamNs)));
    }
    run.Ask(writing, replace(2, kReplacements - 1));
    for (size_t i = 0; i < readers.size(); ++i) {
      const v1::CheckAnswer looked = run.Await(readers[i], sent[i]);
      if (looked.missing() > 0) {
        run.Fail(absl::StrCat("not atomic: ", run.label(readers[i].host), " found no file under the name ",
                              looked.missing(), " times while ", run.label(writer), " renamed new ones over it"));
      }
      uint64_t newest = 0;
      for (const v1::CheckSight& sight : looked.sights()) {
        // Before the first replacement the name had a file without a page.
        const v1::CheckPage& page = sight.first();
        if (page.state() == v1::CHECK_PAGE_STATE_EMPTY && newest == 0) continue;
        if (page.state() != v1::CHECK_PAGE_STATE_WHOLE) {
          run.Fail(absl::StrCat("not atomic: ", run.label(readers[i].host), " read ", run.InWords(page),
                                " of a file that was written before it got its name"));
        } else if (page.sequence() < newest) {
          run.Fail(absl::StrCat("went back: ", run.label(readers[i].host), " found file ", newest,
                                " under the name, and later file ", page.sequence()));
        }
        newest = std::max(newest, page.sequence());
      }
      // What the client knows of the directory may be old for a while.
      for (const int64_t until_ns = run.field().NowNs() + kNameCacheNs; newest < kReplacements && !run.over();) {
        const v1::CheckAnswer last = run.Ask(readers[i], look(kNsPerMs));
        for (const v1::CheckSight& sight : last.sights()) newest = std::max(newest, sight.first().sequence());
        if (newest < kReplacements && run.field().NowNs() >= until_ns) {
          run.Fail(absl::StrCat(run.label(readers[i].host), " found file ", newest, " under the name ",
                                FormatDuration(kNameCacheNs), " after ", run.label(writer), " had renamed file ",
                                kReplacements, " to it"));
        }
      }
    }
    run.Kill(writing);
    for (const CheckedProcess& reader : readers) run.Kill(reader);
  }
  run.Note(absl::StrCat(kReplacements,
                        " replacements by each host: the others found one whole file under the name at every look"));
}

void CheckDataDsyncSurvivesWriterDeath(CheckRun& run) {
  uint64_t total = 0;
  for (size_t writer = 0; writer < run.hosts() && !run.over(); ++writer) {
    const CheckedProcess writing = run.Start(writer);
    // Of its own: the next writer does not write over it.
    NoteWithoutDirect(run, writing, run.Open(writing, writer, CheckRun::How::kDirect));
    run.Send(writing, StreamCommand(run, {0}, kStreamPages), kLongStreamNs + CheckRun::kCallNs);
    if (!run.over()) run.field().Pause(kStreamNs);
    const v1::CheckAnswer killed = run.Kill(writing);
    if (!run.over() && killed.acknowledged() < kFewestWrites) {
      run.Undecided(absl::StrCat(run.label(writer), " acknowledged only ", killed.acknowledged(), " writes in ",
                                 FormatDuration(kStreamNs)));
    }
    total += killed.acknowledged();
    for (size_t host = 0; host < run.hosts() && !run.over(); ++host) {
      const CheckedProcess reader = run.Start(host);
      run.Open(reader, writer, CheckRun::How::kDirect);
      JudgeStream(run, reader, writer, run.Read(reader, 0, kStreamPages), kStreamPages, killed.acknowledged());
      run.Kill(reader);
    }
  }
  run.Note(absl::StrCat(FormatCount(total),
                        " writes were acknowledged before their writers were killed; the last one of ",
                        "each page is there, on every host"));
}

void CheckDataOrderTwoFiles(CheckRun& run) {
  uint64_t total = 0;
  uint64_t looks = 0;
  for (size_t writer = 0; writer < run.hosts() && !run.over(); ++writer) {
    const CheckedProcess writing = run.Start(writer);
    run.Open(writing, writer, CheckRun::How::kDirect, 0);
    NoteWithoutDirect(run, writing, run.Open(writing, writer, CheckRun::How::kDirect, 1));
    std::vector<CheckedProcess> readers;
    std::vector<CheckedProcess> watchers;
    std::vector<uint64_t> sent;
    for (const size_t host : ReadersOf(run, writer)) {
      readers.push_back(run.Start(host));
      run.Open(readers.back(), writer, CheckRun::How::kDirect, 0);
      // Without O_DIRECT a client may keep the pages of one file for longer than those of the other.
      if (run.Open(readers.back(), writer, CheckRun::How::kDirect, 1).direct()) watchers.push_back(readers.back());
    }
    run.Send(writing, StreamCommand(run, {0, 1}, 1), kLongStreamNs + CheckRun::kCallNs);
    if (watchers.empty() && !run.over()) run.field().Pause(kStreamNs);
    for (const CheckedProcess& reader : watchers) {
      v1::CheckCommand command;
      command.mutable_watch()->set_first(1);
      command.mutable_watch()->set_second(0);
      command.mutable_watch()->set_limit_ns(kStreamNs);
      sent.push_back(run.Send(reader, std::move(command)));
    }
    for (size_t i = 0; i < watchers.size(); ++i) {
      const v1::CheckAnswer watched = run.Await(watchers[i], sent[i]);
      looks += watched.acknowledged();
      JudgeOrder(run, watchers[i], writer, watched);
    }
    const v1::CheckAnswer killed = run.Kill(writing);
    if (!run.over() && killed.acknowledged() < kFewestWrites) {
      run.Undecided(absl::StrCat(run.label(writer), " acknowledged only ", killed.acknowledged(), " writes"));
    }
    total += killed.acknowledged();
    for (const CheckedProcess& reader : readers) {
      for (const uint32_t which : {0U, 1U}) {
        run.Close(reader, which);
        run.Open(reader, writer, CheckRun::How::kDirect, which);
      }
      const v1::CheckAnswer second = run.Read(reader, 0, 1, 1);
      const v1::CheckAnswer first = run.Read(reader, 0, 1, 0);
      JudgeStream(run, reader, writer, second, 1, killed.acknowledged());
      JudgeStream(run, reader, writer, first, 1, killed.acknowledged());
      if (!run.over() && NotTorn(first.pages(0)) && NotTorn(second.pages(0)) &&
          second.pages(0).sequence() > first.pages(0).sequence()) {
        run.Fail(absl::StrCat("order broken: after ", run.label(writer), "'s writer was killed, ",
                              run.label(reader.host), " reads sequence ", second.pages(0).sequence(),
                              " of the second file and sequence ", first.pages(0).sequence(), " of the first"));
      }
      run.Kill(reader);
    }
  }
  run.Note(absl::StrCat(FormatCount(total), " pairs of writes, seen ", FormatCount(looks),
                        " times from other hosts: never the second without the first"));
}

void CheckDataDirectBufferedAgree(CheckRun& run) {
  for (size_t writer = 0; writer < run.hosts() && !run.over(); ++writer) {
    const CheckedProcess writing = run.Start(writer);
    const v1::CheckAnswer direct = run.Open(writing, 0, CheckRun::How::kDirect);
    if (direct.code() == 0 && !direct.direct()) {
      run.Unsupported(absl::StrCat(run.label(writer), ": the file system refuses O_DIRECT"));
    }
    const uint64_t sequence = 2 * writer + 1;
    run.Write(writing, sequence, 0, kVisiblePages);
    std::vector<CheckedProcess> readers;
    for (size_t host = 0; host < run.hosts(); ++host) {
      readers.push_back(run.Start(host));
      run.Open(readers.back(), 0, CheckRun::How::kBuffered);
      run.MustHold(readers.back(), run.Read(readers.back(), 0, kVisiblePages), writer, sequence,
                   "through the page cache, after it was written with O_DIRECT");
      run.Close(readers.back());
    }
    run.Close(writing);
    run.Open(writing, 0, CheckRun::How::kBuffered);
    v1::CheckCommand command;
    v1::CheckWrite& write = *command.mutable_write();
    write.set_count(kVisiblePages);
    write.set_epoch(run.epoch());
    write.set_sequence(sequence + 1);
    write.set_flush(true);
    run.Ask(writing, std::move(command));
    run.Close(writing);
    for (const CheckedProcess& reader : readers) {
      run.Open(reader, 0, CheckRun::How::kDirect);
      run.MustHold(reader, run.Read(reader, 0, kVisiblePages), writer, sequence + 1,
                   "with O_DIRECT, after it was written through the page cache and flushed");
      run.Kill(reader);
    }
  }
  run.Note("what is written with O_DIRECT is read through the page cache, and the other way round, on every host");
}

void CheckTimeTimestamps(CheckRun& run) {
  for (size_t writer = 0; writer < run.hosts() && !run.over(); ++writer) {
    const size_t other = (writer + 1) % run.hosts();
    const CheckedProcess writing = run.Start(writer);
    const CheckedProcess asking = run.Start(other);
    run.Open(writing, writer, CheckRun::How::kDirect);
    const v1::CheckAnswer wrote = run.Write(writing, 1, 0, 1);
    run.Open(asking, writer, CheckRun::How::kBuffered);
    v1::CheckCommand command;
    command.mutable_stat();
    const v1::CheckAnswer times = run.Ask(asking, std::move(command));
    if (run.over()) return;
    // The storage's clock less the host's: between these two.
    const int64_t highest_ns = times.modified_ns() - (wrote.wall_ns() - (wrote.ended_ns() - wrote.started_ns()));
    const int64_t lowest_ns = times.modified_ns() - wrote.wall_ns();
    run.Note(absl::StrFormat("%s: the file's time is %+.3f s to %+.3f s from the host's clock", run.label(writer),
                             static_cast<double>(lowest_ns) / kNsPerSecond,
                             static_cast<double>(highest_ns) / kNsPerSecond));
    if (lowest_ns > kMostApartNs || highest_ns < -kMostApartNs) {
      run.Fail(absl::StrFormat("the time of a file that %s wrote is %.3f s off that host's clock", run.label(writer),
                               static_cast<double>(lowest_ns > 0 ? lowest_ns : highest_ns) / kNsPerSecond));
    }
    run.Kill(writing);
    run.Kill(asking);
  }
}

}  // namespace plimsoll
