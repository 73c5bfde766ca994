#include "controller/analysis/metric_reading.h"

#include <algorithm>

namespace plimsoll {

Reading ReadingAt(const v1::ScopeReport& scope) {
  Reading reading;
  reading.kind = scope.kind();
  reading.host = scope.host();
  reading.qm = scope.qm();
  reading.storage = scope.storage();
  return reading;
}

Reading Without(Reading reading, const std::string& why) {
  reading.doubt = why;
  return reading;
}

void SetExact(double value, Reading& reading) {
  reading.value = reading.least = reading.most = value;
}

void Widen(double least, double most, const std::string& why, Reading& reading) {
  if (least >= reading.least && most <= reading.most) return;
  reading.least = std::min(reading.least, least);
  reading.most = std::max(reading.most, most);
  if (reading.doubt.empty()) reading.doubt = why;
}

}  // namespace plimsoll
