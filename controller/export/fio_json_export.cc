#include "controller/export/fio_json_export.h"

#include <ctime>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/export/fio_json_job.h"

namespace plimsoll {
namespace {

class FioJson {
 public:
  FioJson(const RunIndex& index, const WriteFilter& filter, Output& output)
      : index_(index), filter_(filter), output_(output) {
    for (const v1::StepReport& step : index.report().steps()) steps_[step.number() - 1] = &step;
  }

  absl::StatusOr<uint64_t> Write() {
    Begin();
    PLIMSOLL_RETURN_IF_ERROR(index_.ForEachFrame([this](uint32_t writer, const v1::Frame& frame) -> absl::Status {
      const bool warmup = !frame.closing() && frame.first_interval() < 0;
      if (warmup || (filter_.step && *filter_.step != frame.step())) return absl::OkStatus();
      if (frame.step() != step_) EndStep();
      step_ = frame.step();
      return latencies_[writer].Merge(frame.latency());
    }));
    EndStep();
    json_.EndArray();
    json_.EndObject();
    PLIMSOLL_RETURN_IF_ERROR(output_.Append(json_.Take()));
    return writes_;
  }

 private:
  void Begin() {
    const google::protobuf::Timestamp& begin = index_.report().run().begin();
    json_.BeginObject();
    json_.Key("fio version");
    json_.String(absl::StrCat("plimsoll-", index_.report().run().version()));
    json_.Key("timestamp");
    json_.Int(begin.seconds());
    json_.Key("timestamp_ms");
    json_.Int(begin.seconds() * 1000 + begin.nanos() / kNsPerMs);
    json_.Key("time");
    json_.String(FormatUtc(begin.seconds() * kNsPerSecond + begin.nanos()));
    json_.Key("jobs");
    json_.BeginArray();
  }

  // The jobs of the step whose frames have come.
  void EndStep() {
    const auto found = steps_.find(step_);
    if (!latencies_.empty() && found != steps_.end()) {
      const v1::StepReport& step = *found->second;
      Histogram all;
      for (const v1::ScopeReport& scope : step.scopes()) {
        if (scope.kind() == v1::SCOPE_KIND_QM) PutWriter(step, scope, all);
      }
      for (const v1::ScopeReport& scope : step.scopes()) {
        if (scope.kind() != v1::SCOPE_KIND_CLUSTER) continue;
        WriteFioJob({"All clients", "", step, scope, SeriesOf(step, scope), all}, json_);
      }
    }
    latencies_.clear();
  }

  void PutWriter(const v1::StepReport& step, const v1::ScopeReport& scope, Histogram& all) {
    const Histogram none;
    const Histogram* latency = &none;
    for (const auto& [place, histogram] : latencies_) {
      const IndexedWriter& writer = index_.writers()[place];
      if (writer.qm == scope.qm() && index_.hosts().at(writer.host).label == scope.host()) latency = &histogram;
    }
    WriteFioJob(
        {absl::StrCat(scope.host(), "/qm", scope.qm()), scope.host(), step, scope, SeriesOf(step, scope), *latency},
        json_);
    all.Merge(*latency);
    writes_ += scope.latency().count();
  }

  static const v1::SeriesReport* SeriesOf(const v1::StepReport& step, const v1::ScopeReport& scope) {
    for (const v1::SeriesReport& series : step.series()) {
      if (series.kind() == scope.kind() && series.host() == scope.host() && series.qm() == scope.qm()) return &series;
    }
    return nullptr;
  }

  const RunIndex& index_;
  const WriteFilter filter_;
  Output& output_;
  // By number, from 0.
  std::map<uint32_t, const v1::StepReport*> steps_;
  uint32_t step_ = 0;
  // Of the step whose frames come, by place of the writer.
  std::map<uint32_t, Histogram> latencies_;
  JsonWriter json_;
  uint64_t writes_ = 0;
};

}  // namespace

absl::StatusOr<uint64_t> ExportFioJson(const RunIndex& index, const WriteFilter& filter, Output& output) {
  return FioJson(index, filter, output).Write();
}

}  // namespace plimsoll
