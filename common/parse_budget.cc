#include "common/parse_budget.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;

// As deep as protobuf's own parser goes.
constexpr int kMaxDepth = 100;
// A pointer to an element, what the allocator adds, and a string beside its characters.
constexpr uint64_t kElementBytes = 24;
constexpr uint64_t kStringBytes = 40;
// A number of a packed field, or one that is unknown.
constexpr uint64_t kNumberBytes = 16;

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kDelimited = 2;
constexpr uint32_t kFixed32 = 5;

class CostEstimate {
 public:
  explicit CostEstimate(uint64_t budget) : budget_(budget) {}

  // False where the budget is used up, or the bytes end in the middle.
  bool Add(const Descriptor& type, std::string_view bytes, int depth) {
    if (depth > kMaxDepth || !Spend(SizeOf(type))) return false;
    CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
    while (const uint32_t tag = input.ReadTag()) {
      uint64_t ignored = 0;
      uint32_t ignored32 = 0;
      switch (tag & 7U) {
        case kVarint:
          if (!input.ReadVarint64(&ignored) || !Spend(kNumberBytes)) return false;
          break;
        case kFixed64:
          if (!input.ReadLittleEndian64(&ignored) || !Spend(kNumberBytes)) return false;
          break;
        case kFixed32:
          if (!input.ReadLittleEndian32(&ignored32) || !Spend(kNumberBytes)) return false;
          break;
        case kDelimited: {
          uint32_t length = 0;
          const auto at = [&] { return static_cast<uint32_t>(input.CurrentPosition()); };
          if (!input.ReadVarint32(&length) || length > bytes.size() - at()) return false;
          if (!AddDelimited(type.FindFieldByNumber(static_cast<int>(tag >> 3)), bytes.substr(at(), length), depth) ||
              !input.Skip(static_cast<int>(length))) {
            return false;
          }
          break;
        }
        default:
          return false;  // groups: nothing of ours has them
      }
    }
    return true;
  }

  bool exceeded() const { return exceeded_; }

 private:
  bool AddDelimited(const FieldDescriptor* field, std::string_view bytes, int depth) {
    if (field == nullptr || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      return Spend(kElementBytes + kStringBytes + bytes.size());
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return Spend(kElementBytes) && Add(*field->message_type(), bytes, depth + 1);
    }
    // Packed numbers: each takes a byte at least, and eight in memory, twice that while the array grows.
    return Spend(kNumberBytes * bytes.size());
  }

  bool Spend(uint64_t bytes) {
    exceeded_ = exceeded_ || bytes > budget_;
    if (!exceeded_) budget_ -= bytes;
    return !exceeded_;
  }

  uint64_t SizeOf(const Descriptor& type) {
    const auto [known, added] = sizes_.emplace(&type, 0);
    if (added) {
      known->second = google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->SpaceUsedLong();
    }
    return known->second;
  }

  uint64_t budget_;
  bool exceeded_ = false;
  std::map<const Descriptor*, uint64_t> sizes_;
};

}  // namespace

absl::Status CheckParseBudget(const Descriptor& type, std::string_view bytes, uint64_t budget) {
  CostEstimate estimate(budget);
  if (estimate.Add(type, bytes, 0) || !estimate.exceeded()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a message of ", bytes.size(), " bytes would take more than ", budget >> 20, " MiB of memory"));
}

}  // namespace plimsoll
