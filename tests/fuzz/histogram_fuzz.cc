// Any distribution from the wire is refused and changes nothing, or is one that comes back as it went.
#include <cstdint>
#include <cstdlib>

#include "common/histogram.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

std::string Bytes(const plimsoll::Histogram& histogram) {
  return histogram.ToProto().SerializeAsString();
}

void CheckFigures(const plimsoll::Histogram& histogram) {
  uint64_t before = 0;
  for (const double percent : {0.0, 50.0, 90.0, 99.9, 100.0}) {
    const uint64_t stated = histogram.PercentileNs(percent);
    Check(stated >= histogram.min_ns() && stated <= histogram.max_ns() && stated >= before);
    before = stated;
  }
  Check(before == histogram.max_ns());
  Check(histogram.CountAbove(histogram.max_ns()) == 0);
  Check(histogram.CountAbove(0) <= histogram.count());
  Check(histogram.clamped() <= histogram.count());
  // Doubles round in the sixteenth digit.
  Check(histogram.mean_ns() <= static_cast<double>(histogram.max_ns()) * (1 + 1e-12));
  Check(histogram.WeightedMeanNs() <= static_cast<double>(histogram.max_ns()) * (1 + 1e-9));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::v1::Distribution wire;
  if (!wire.ParseFromArray(data, static_cast<int>(size))) return 0;
  plimsoll::Histogram alone;
  plimsoll::Histogram joined;
  joined.Record(300'000);
  const std::string before = Bytes(joined);
  const bool ok = alone.Merge(wire).ok();
  Check(joined.Merge(wire).ok() == ok);
  if (!ok) {
    Check(alone.count() == 0 && Bytes(alone) == Bytes(plimsoll::Histogram()));
    Check(Bytes(joined) == before);
    return 0;
  }
  Check(alone.count() == wire.count());
  Check(alone.sum_ns() == plimsoll::SumNs(wire));
  CheckFigures(alone);
  CheckFigures(joined);
  // The two ways of merging give one result.
  plimsoll::Histogram again;
  again.Record(300'000);
  again.Merge(alone);
  Check(Bytes(again) == Bytes(joined));
  plimsoll::Histogram read;
  Check(read.Merge(alone.ToProto()).ok());
  Check(Bytes(read) == Bytes(alone));
  return 0;
}
