#include "agent/writer/read_back.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/page_stamp.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr int kMostFindings = 10;

// What one page of a block holds.
struct HeldPage {
  // Up to kTorn it is something of this writer.
  enum class Kind : uint8_t {
    kExpected,  // the page of the last acknowledged write
    kWhole,     // another whole page
    kBefore,    // what was there before the step
    kTorn,      // a stamp over other bytes
    kForeign,   // a page of another writer or run
    kZeros,
    kUnstamped,
  };
  Kind kind = Kind::kUnstamped;
  // As it was read; empty where there is none.
  PageStamp stamp;
};

using Kind = HeldPage::Kind;

// How many of the first bytes are those of the piece.
uint64_t SameBytes(std::span<const std::byte> found, const LogContents::Piece& piece) {
  if (std::memcmp(found.data(), piece.bytes, piece.size_bytes) == 0) return piece.size_bytes;
  return static_cast<uint64_t>(std::mismatch(piece.bytes, piece.bytes + piece.size_bytes, found.begin()).first -
                               piece.bytes);
}

class LogCheck {
 public:
  LogCheck(const WrittenLog& log, ExtentReader& extents, const std::function<absl::Status(uint32_t)>& before_read)
      : log_(log),
        run_(log.runs.back()),
        layout_(log.LayoutOf(run_)),
        extents_(extents),
        before_read_(before_read),
        before_(log, log.runs.size() - 1) {
    if (!run_.open_write) return;
    const uint64_t sequence = log_.LastWriteTo(run_, run_.acknowledged % layout_.blocks_per_lap());
    if (sequence == 0) return;
    either_.emplace_back(log_, run_, sequence);
    either_.emplace_back(log_, run_, run_.acknowledged + 1);
  }

  absl::StatusOr<v1::WriterReadBack> Run();

 private:
  // A block of the run, made again.
  struct Made {
    Made(const WrittenLog& log, const WrittenRun& run, uint64_t sequence)
        : source(log.identity, std::array{run.block_bytes}) {
      source.StartEpoch(run.epoch, run.block_bytes, log.LayoutOf(run).blocks_per_lap());
      bytes = source.Repeat(sequence);
    }

    BlockSource source;
    const std::byte* bytes = nullptr;
  };
  // The block that is being checked.
  struct Block {
    uint64_t place = 0;
    BlockPlace at;
    // Number of the last acknowledged write; 0: the step has written nothing there.
    uint64_t sequence = 0;
    bool is_open = false;
    // Pages with room for a stamp, and those of them that hold something of this writer, and what was there before.
    uint64_t pages = 0;
    uint64_t own_pages = 0;
    uint64_t before_pages = 0;
    // Pages that belong to the write of the first one.
    uint64_t same_write_pages = 0;
    HeldPage first;
    // The first page that is not as expected.
    std::optional<HeldPage> wrong;
    uint64_t wrong_page = 0;
    // Where the step has written nothing: the first byte that is not as before, and the write that it should be of.
    std::optional<uint64_t> altered_byte;
    uint32_t before_epoch = 0;
    uint64_t before_sequence = 0;
  };

  absl::Status CheckExtent(uint32_t extent);
  // Checks blocks that lie one behind the other, and are read in one call if they are several.
  absl::Status CheckBlocks(uint64_t place, uint64_t blocks);
  absl::Status CheckBlock(uint64_t place);
  Block Begin(uint64_t place) const;
  // Takes the next bytes of the block, from `within` on.
  void Take(uint64_t within, std::span<const std::byte> bytes, Block& block);
  void TakePage(uint64_t page, std::span<const std::byte> bytes, Block& block);
  void TakeUnwritten(uint64_t within, std::span<const std::byte> bytes, Block& block);
  void End(const Block& block);

  // Whether each byte is that of the last acknowledged write to the open write's block, or that of the open write.
  bool IsOfEither(uint64_t within, std::span<const std::byte> bytes) const;
  HeldPage HeldBy(std::span<const std::byte> page, uint64_t number, const Block& block);
  // Whether all bytes of these that are known are what was there before the step.
  bool IsBefore(uint64_t within, std::span<const std::byte> bytes, const BlockPlace& at);
  bool IsOwn(const PageStamp& stamp) const;
  // Whether neither the run nor one before it has begun a write with such a stamp.
  bool NeverWritten(const PageStamp& stamp) const;
  std::string NameOf(uint32_t epoch, uint64_t sequence) const;
  // What a page with this number in its block holds, in words.
  std::string TextOf(const HeldPage& page, uint64_t number) const;
  void Add(const Block& block, uint64_t sequence, const std::string& text);
  void AddUnreadable(const Block& block, uint64_t blocks, const absl::Status& status);

  const WrittenLog& log_;
  const WrittenRun& run_;
  const ExtentLayout layout_;
  ExtentReader& extents_;
  const std::function<absl::Status(uint32_t)>& before_read_;
  LogContents before_;
  // The last acknowledged write to the block of the open write, and the open write; empty where either is missing.
  std::list<Made> either_;
  v1::WriterReadBack result_;
};

absl::StatusOr<v1::WriterReadBack> LogCheck::Run() {
  result_.set_qm(log_.identity.qm);
  result_.set_acknowledged_writes(run_.acknowledged);
  result_.set_blocks(layout_.blocks_per_lap());
  result_.set_written_blocks(std::min(run_.acknowledged, layout_.blocks_per_lap()));
  result_.set_has_open_write(run_.open_write);
  for (uint32_t extent = 0; extent < layout_.num_files(); ++extent) PLIMSOLL_RETURN_IF_ERROR(CheckExtent(extent));
  return std::move(result_);
}

absl::Status LogCheck::CheckExtent(uint32_t extent) {
  const uint64_t first = extent * layout_.blocks_per_extent();
  const uint64_t end = first + layout_.blocks_per_extent();
  PLIMSOLL_RETURN_IF_ERROR(before_read_(extent));
  if (const absl::Status status = extents_.Open(extent); !status.ok()) {
    AddUnreadable(Begin(first), end - first, status);
    return absl::OkStatus();
  }
  const uint64_t at_once = std::max<uint64_t>(ExtentReader::kMostBytes / layout_.block_bytes(), 1);
  for (uint64_t place = first; place < end; place += at_once) {
    PLIMSOLL_RETURN_IF_ERROR(CheckBlocks(place, std::min(at_once, end - place)));
  }
  return absl::OkStatus();
}

absl::Status LogCheck::CheckBlocks(uint64_t place, uint64_t blocks) {
  const BlockPlace at = layout_.PlaceOf(place);
  const uint64_t block_bytes = layout_.block_bytes();
  if (blocks > 1) {
    PLIMSOLL_RETURN_IF_ERROR(before_read_(at.extent));
    if (const auto bytes = extents_.Read(at.offset_bytes, blocks * block_bytes); bytes.ok()) {
      for (uint64_t number = 0; number < blocks; ++number) {
        Block block = Begin(place + number);
        Take(0, bytes->subspan(number * block_bytes, block_bytes), block);
        End(block);
      }
      return absl::OkStatus();
    }
    // Each by itself, so that no block is called unreadable for another's sake.
  }
  for (uint64_t number = 0; number < blocks; ++number) PLIMSOLL_RETURN_IF_ERROR(CheckBlock(place + number));
  return absl::OkStatus();
}

absl::Status LogCheck::CheckBlock(uint64_t place) {
  Block block = Begin(place);
  for (uint64_t within = 0; within < layout_.block_bytes(); within += ExtentReader::kMostBytes) {
    PLIMSOLL_RETURN_IF_ERROR(before_read_(block.at.extent));
    const uint64_t size_bytes = std::min(ExtentReader::kMostBytes, layout_.block_bytes() - within);
    const auto bytes = extents_.Read(block.at.offset_bytes + within, size_bytes);
    if (!bytes.ok()) {
      AddUnreadable(block, 1, bytes.status());
      return absl::OkStatus();
    }
    Take(within, *bytes, block);
  }
  End(block);
  return absl::OkStatus();
}

LogCheck::Block LogCheck::Begin(uint64_t place) const {
  Block block;
  block.place = place;
  block.at = layout_.PlaceOf(place);
  block.sequence = log_.LastWriteTo(run_, place);
  block.is_open = run_.open_write && run_.acknowledged % layout_.blocks_per_lap() == place;
  return block;
}

void LogCheck::Take(uint64_t within, std::span<const std::byte> bytes, Block& block) {
  result_.set_read_bytes(result_.read_bytes() + bytes.size());
  if (block.sequence == 0 && !block.is_open) {
    TakeUnwritten(within, bytes, block);
    return;
  }
  // Parts of a block begin with a page.
  static_assert(ExtentReader::kMostBytes % kStampedPageBytes == 0);
  for (uint64_t at = 0; at < bytes.size(); at += kStampedPageBytes) {
    const std::span<const std::byte> page = bytes.subspan(at, std::min(kStampedPageBytes, bytes.size() - at));
    // The end of an odd block has no room for a stamp.
    if (page.size() >= kStampBytes) TakePage((within + at) / kStampedPageBytes, page, block);
  }
}

void LogCheck::TakePage(uint64_t page, std::span<const std::byte> bytes, Block& block) {
  const HeldPage held = HeldBy(bytes, page, block);
  if (block.is_open && either_.empty()) {
    // Over what the step did not write, the write that failed can have left everything but this.
    const bool impossible = held.kind == Kind::kForeign || (held.kind == Kind::kWhole && NeverWritten(held.stamp));
    if (impossible && !block.wrong) {
      block.wrong = held;
      block.wrong_page = page;
    }
    return;
  }
  const bool as_it_should =
      held.kind == Kind::kExpected || (block.is_open && IsOfEither(page * kStampedPageBytes, bytes));
  if (block.pages++ == 0) block.first = held;
  if (!as_it_should && !block.wrong) {
    block.wrong = held;
    block.wrong_page = page;
  }
  if (held.kind == Kind::kBefore) ++block.before_pages;
  if (held.kind <= Kind::kTorn || as_it_should) ++block.own_pages;
  const bool same_write = held.kind == Kind::kWhole && block.first.kind == Kind::kWhole &&
                          held.stamp.epoch == block.first.stamp.epoch &&
                          held.stamp.sequence == block.first.stamp.sequence && held.stamp.page == page;
  if (same_write) ++block.same_write_pages;
}

void LogCheck::TakeUnwritten(uint64_t within, std::span<const std::byte> bytes, Block& block) {
  for (uint64_t at = 0; at < bytes.size() && !block.altered_byte;) {
    const LogContents::Piece piece =
        before_.At(block.at.extent, block.at.offset_bytes + within + at, bytes.size() - at);
    const uint64_t same = piece.bytes == nullptr ? piece.size_bytes : SameBytes(bytes.subspan(at), piece);
    if (same < piece.size_bytes) {
      block.altered_byte = within + at + same;
      block.before_epoch = piece.epoch;
      block.before_sequence = piece.sequence;
      const uint64_t page_at = (at + same) / kStampedPageBytes * kStampedPageBytes;
      block.wrong_page = (within + page_at) / kStampedPageBytes;
      block.wrong =
          HeldBy(bytes.subspan(page_at, std::min(kStampedPageBytes, bytes.size() - page_at)), block.wrong_page, block);
    }
    at += piece.size_bytes;
  }
}

void LogCheck::End(const Block& block) {
  if (!block.wrong) return;
  const std::string held = TextOf(*block.wrong, block.wrong_page);
  if (block.altered_byte) {
    result_.set_altered(result_.altered() + 1);
    return Add(block, block.before_epoch == 0 ? 0 : block.before_sequence,
               absl::StrCat("altered: its byte ", *block.altered_byte, " is not that of ",
                            NameOf(block.before_epoch, block.before_sequence), "; the page there holds ", held));
  }
  const uint64_t pages = (layout_.block_bytes() + kStampedPageBytes - 1) / kStampedPageBytes;
  const std::string page = pages == 1 ? "" : absl::StrCat("page ", block.wrong_page + 1, " of ", pages, " ");
  const bool one_write = block.before_pages == block.pages || block.same_write_pages == block.pages;
  if (block.own_pages == 0) {
    result_.set_foreign(result_.foreign() + 1);
    Add(block, block.sequence, absl::StrCat("foreign: ", page, "holds ", held));
  } else if (!one_write) {
    result_.set_torn(result_.torn() + 1);
    Add(block, block.sequence, absl::StrCat("torn: ", page, "holds ", held));
  } else if (block.wrong->kind == Kind::kWhole && NeverWritten(block.wrong->stamp)) {
    result_.set_foreign(result_.foreign() + 1);
    Add(block, block.sequence, absl::StrCat("foreign: holds ", held));
  } else {
    result_.set_lost(result_.lost() + 1);
    Add(block, block.sequence, absl::StrCat("lost: holds ", held));
  }
}

bool LogCheck::IsOfEither(uint64_t within, std::span<const std::byte> bytes) const {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto same = [&](const Made& made) { return made.bytes[within + i] == bytes[i]; };
    if (std::ranges::none_of(either_, same)) return false;
  }
  return true;
}

HeldPage LogCheck::HeldBy(std::span<const std::byte> page, uint64_t number, const Block& block) {
  HeldPage held;
  const StampState state = ReadStamp(page, held.stamp);
  if (state == StampState::kWhole && IsOwn(held.stamp)) {
    const bool expected =
        held.stamp.epoch == run_.epoch && held.stamp.sequence == block.sequence && held.stamp.page == number;
    held.kind = expected ? Kind::kExpected : Kind::kWhole;
    if (expected) return held;
  } else if (state != StampState::kForeign) {
    held.kind = IsOwn(held.stamp) ? Kind::kTorn : Kind::kForeign;
  } else if (std::ranges::all_of(page, [](std::byte byte) { return byte == std::byte{0}; })) {
    held.kind = Kind::kZeros;
  }
  // Blocks of another size, and the pieces of the filling, have their stamps elsewhere.
  if (IsBefore(number * kStampedPageBytes, page, block.at)) held.kind = Kind::kBefore;
  return held;
}

bool LogCheck::IsBefore(uint64_t within, std::span<const std::byte> bytes, const BlockPlace& at) {
  bool known = false;
  for (uint64_t offset = 0; offset < bytes.size();) {
    const LogContents::Piece piece = before_.At(at.extent, at.offset_bytes + within + offset, bytes.size() - offset);
    if (piece.bytes != nullptr) {
      known = true;
      if (SameBytes(bytes.subspan(offset), piece) < piece.size_bytes) return false;
    }
    offset += piece.size_bytes;
  }
  return known;
}

bool LogCheck::IsOwn(const PageStamp& stamp) const {
  return stamp.run_token == log_.identity.run_token && stamp.host_index == log_.identity.host_index &&
         stamp.qm == log_.identity.qm;
}

bool LogCheck::NeverWritten(const PageStamp& stamp) const {
  const uint64_t last = run_.acknowledged + (run_.open_write ? 1 : 0);
  return stamp.epoch > run_.epoch || (stamp.epoch == run_.epoch && stamp.sequence > last);
}

std::string LogCheck::NameOf(uint32_t epoch, uint64_t sequence) const {
  if (epoch == 0) return "what preparing wrote";
  const char* const step = epoch == run_.epoch ? "this" : epoch < run_.epoch ? "an earlier" : "a later";
  return absl::StrCat("write ", sequence, " of ", step, " step");
}

std::string LogCheck::TextOf(const HeldPage& page, uint64_t number) const {
  const PageStamp& stamp = page.stamp;
  switch (page.kind) {
    case Kind::kExpected:
    case Kind::kWhole:
      return absl::StrCat(stamp.page == number ? "" : absl::StrCat("page ", stamp.page + 1, " of "),
                          NameOf(stamp.epoch, stamp.sequence), NeverWritten(stamp) ? ", which was never written" : "");
    case Kind::kBefore:
      if (IsOwn(stamp)) return NameOf(stamp.epoch, stamp.sequence);
      return "what was there before the step";
    case Kind::kTorn:
      return absl::StrCat("the stamp of ", NameOf(stamp.epoch, stamp.sequence), " over other bytes");
    case Kind::kForeign:
      if (stamp.run_token != log_.identity.run_token) return "a page of another run";
      return absl::StrCat("a page of qm", stamp.qm,
                          stamp.host_index == log_.identity.host_index ? "" : " of another host");
    case Kind::kZeros:
      return "zeros";
    default:
      return "bytes without a stamp";
  }
}

void LogCheck::Add(const Block& block, uint64_t sequence, const std::string& text) {
  if (result_.findings_size() >= kMostFindings) return;
  v1::ReadBackFinding& finding = *result_.add_findings();
  finding.set_path(extents_.PathOf(block.at.extent));
  finding.set_offset_bytes(block.at.offset_bytes);
  finding.set_expected_sequence(sequence);
  finding.set_text(text);
}

void LogCheck::AddUnreadable(const Block& block, uint64_t blocks, const absl::Status& status) {
  result_.set_unreadable(result_.unreadable() + blocks);
  Add(block, block.sequence,
      absl::StrCat("unreadable", blocks == 1 ? "" : absl::StrCat(", as all ", blocks, " blocks of the extent"), ": ",
                   std::string(status.message())));
}

}  // namespace

absl::StatusOr<v1::WriterReadBack> ReadLogBack(const WrittenLog& log, ExtentReader& extents,
                                               const std::function<absl::Status(uint32_t)>& before_read) {
  try {
    return LogCheck(log, extents, before_read).Run();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory to read back the log of qm", log.identity.qm));
  }
}

}  // namespace plimsoll
