#include "controller/export/trace_places.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <functional>

#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Calls `visit` before the contents of every field `number` that has a length; it must read them to their end. Returns
// false where the message is not well formed.
bool EachOf(CodedInputStream& in, int number, const std::function<bool(uint32_t bytes)>& visit) {
  const uint32_t wanted = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  while (const uint32_t tag = in.ReadTag()) {
    uint32_t bytes = 0;
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    if (!in.ReadVarint32(&bytes)) return false;
    const CodedInputStream::Limit limit = in.PushLimit(static_cast<int>(bytes));
    if (!visit(bytes) || in.BytesUntilLimit() != 0) return false;
    in.PopLimit(limit);
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

std::vector<PayloadPart> FindTraceBlocks(const std::string& payload) {
  std::vector<PayloadPart> places;
  CodedInputStream in(reinterpret_cast<const uint8_t*>(payload.data()), static_cast<int>(payload.size()));
  const auto block = [&](uint32_t bytes) {
    places.push_back({static_cast<uint64_t>(in.CurrentPosition()), bytes});
    return in.Skip(static_cast<int>(bytes));
  };
  const auto frame = [&](uint32_t /*bytes*/) { return EachOf(in, v1::Frame::kTraceFieldNumber, block); };
  const auto frames = [&](uint32_t /*bytes*/) { return EachOf(in, v1::HostFrames::kFramesFieldNumber, frame); };
  EachOf(in, v1::JournalRecord::kFramesFieldNumber, frames);
  return places;
}

}  // namespace plimsoll
