#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "controller/page/report_page.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/testing.h"
#include "tests/unit/page/report_builder.h"
#include "tests/unit/page/unpack.h"

namespace plimsoll {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using plimsoll::tests::MadeUp;
using plimsoll::tests::MakeReport;
using plimsoll::tests::Unpack;

Struct Parse(const std::string& json) {
  Struct parsed;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &parsed);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return parsed;
}

const Value& Member(const Struct& object, const std::string& name) {
  static const Value kNone;
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? kNone : found->second;
}

const Struct& Step(const Struct& data, int step) {
  return Member(data, "steps").list_value().values(step).struct_value();
}

// The packed series of a scope in a step's times; null where there is none.
const Struct* SeriesIn(const Struct& times, const std::string& kind, const std::string& host, int qm = 0) {
  for (const Value& value : Member(times, "series").list_value().values()) {
    const Struct& series = value.struct_value();
    if (Member(series, "kind").string_value() == kind && Member(series, "host").string_value() == host &&
        Member(series, "qm").number_value() == qm) {
      return &series;
    }
  }
  return nullptr;
}

// The series of a scope in the service times of the first step; null where there is none.
const Struct* Series(const Struct& data, const std::string& kind, const std::string& host = "", int qm = 0) {
  return SeriesIn(Step(data, 0), kind, host, qm);
}

// The packed times of an operation beside the main one in the first step, by its place in the report.
const Struct& OperationTimes(const Struct& data, int operation) {
  return Member(Step(data, 0), "operations").list_value().values(operation).struct_value();
}

// The kinds of the scopes whose distributions are packed with some times.
std::vector<std::string> DistributionKinds(const Struct& times) {
  std::vector<std::string> found;
  for (const Value& value : Member(times, "distributions").list_value().values()) {
    found.push_back(Member(value.struct_value(), "kind").string_value());
  }
  return found;
}

std::vector<double> Column(const Struct& series, const std::string& name) {
  return Unpack(Member(series, name).string_value());
}

template <typename Field>
std::vector<double> Doubles(const Field& field) {
  return {field.begin(), field.end()};
}

const v1::SeriesReport& Reported(const v1::Report& report, v1::ScopeKind kind, const std::string& host,
                                 uint32_t qm = 0) {
  const auto& all = report.steps(0).series();
  return *std::find_if(all.begin(), all.end(), [&](const v1::SeriesReport& series) {
    return series.kind() == kind && series.host() == host && series.qm() == qm;
  });
}

TEST(ReportPageData, GivesBackEverySecondExactly) {
  const v1::Report report = MakeReport({});
  const Struct data = Parse(ReportPageData(report));
  for (const v1::SeriesReport& series : report.steps(0).series()) {
    if (series.kind() == v1::SCOPE_KIND_STORAGE) continue;
    const Struct* packed = Series(data, EnumName(*v1::ScopeKind_descriptor(), series.kind()), series.host(),
                                  static_cast<int>(series.qm()));
    ASSERT_THAT(packed, NotNull()) << series.kind() << series.host() << series.qm();
    EXPECT_EQ(Column(*packed, "second"), Doubles(series.second()));
    EXPECT_EQ(Column(*packed, "writes"), Doubles(series.writes()));
    EXPECT_EQ(Column(*packed, "latency_sum_ns"), Doubles(series.latency_sum_ns()));
    EXPECT_EQ(Column(*packed, "latency_max_ns"), Doubles(series.latency_max_ns()));
    EXPECT_EQ(Column(*packed, "p50_ns"), Doubles(series.p50_ns()));
    EXPECT_EQ(Column(*packed, "p99_ns"), Doubles(series.p99_ns()));
    EXPECT_EQ(Column(*packed, "p99_9_ns"), Doubles(series.p99_9_ns()));
  }
}

TEST(ReportPageData, HoldsTheReportAsReportJsonHasIt) {
  MadeUp made_up;
  made_up.parts = true;
  made_up.read_percent = 25;
  v1::Report report = MakeReport(made_up);
  // Figures of the reads that the made-up report lacks without a target rate.
  v1::OperationScopeReport& reads = *report.mutable_steps(0)->mutable_operations(2)->mutable_scopes(0);
  *reads.mutable_response() = reads.latency();
  ASSERT_TRUE(reads.has_throughput());
  const Struct data = Parse(ReportPageData(report));
  for (v1::StepReport& step : *report.mutable_steps()) {
    step.clear_series();
    step.clear_distributions();
    step.clear_seconds();
    for (v1::OperationReport& part : *step.mutable_operations()) {
      part.clear_series();
      part.clear_distributions();
    }
    for (v1::HostLoadReport& load : *step.mutable_load()) {
      for (const char* name :
           {"offset_ns", "agent_cpu", "writer_cpu_wait", "disk_write_ms", "disk_busy", "nfs_round_trip_ms",
            "nfs_execute_ms", "nfs_retransmits", "disk_read_ms", "nfs_read_round_trip_ms", "nfs_read_execute_ms"}) {
        load.GetReflection()->ClearField(&load, load.GetDescriptor()->FindFieldByName(name));
      }
    }
  }
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(Parse(RenderJson(report)), Member(data, "report").struct_value())) << difference;
}

TEST(ReportPageData, HoldsEveryFieldOfTheReport) {
  v1::Report report = MakeReport({});
  const google::protobuf::Descriptor& type = *v1::Report::descriptor();
  const google::protobuf::Reflection& reflection = *report.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = type.field(i);
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated()) {
      reflection.MutableMessage(&report, field);
    } else if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING && field->is_repeated()) {
      reflection.AddString(&report, field, "a sentence");
    }
  }
  const Struct data = Parse(ReportPageData(report));
  const auto& fields = Member(data, "report").struct_value().fields();
  const Struct whole = Parse(RenderJson(report));
  for (const auto& [name, value] : whole.fields()) {
    // A drill's rounds are packed beside the report.
    EXPECT_EQ(fields.count(name) + (name == "ha" ? data.fields().count(name) : 0), 1U) << name;
  }
}

TEST(ReportPageData, ResponseTimesAreBesideTheServiceTimesInTheSameForm) {
  v1::Report report = MakeReport({});
  v1::StepReport& step = *report.mutable_steps(0);
  v1::ResponseReport& response = *step.mutable_response();
  *response.mutable_series() = step.series();
  *response.mutable_distributions() = step.distributions();
  *response.mutable_seconds() = step.seconds();
  *response.mutable_slowest() = step.slowest();
  for (v1::SeriesReport& series : *response.mutable_series()) {
    for (uint64_t& max_ns : *series.mutable_latency_max_ns()) max_ns += 1'000'000;
  }
  const Struct data = Parse(ReportPageData(report));
  const Struct& packed = Member(data, "steps").list_value().values(0).struct_value();
  const Struct& times = Member(packed, "response").struct_value();
  for (const char* name : {"series", "distributions", "seconds", "kept"}) {
    EXPECT_EQ(times.fields().count(name), packed.fields().count(name)) << name;
  }
  const Struct& first = Member(times, "series").list_value().values(0).struct_value();
  const Struct& service = Member(packed, "series").list_value().values(0).struct_value();
  EXPECT_EQ(Column(first, "latency_max_ns")[0], Column(service, "latency_max_ns")[0] + 1'000'000);
  const Struct& bare = Member(data, "report").struct_value();
  const Struct& shown = Member(bare, "steps").list_value().values(0).struct_value();
  EXPECT_EQ(Member(Member(shown, "response").struct_value(), "slowest").list_value().values_size(),
            step.slowest_size());
}

TEST(ReportPageData, PartsOfTheWritesAreBesideThemWithoutPercentilesAndBytes) {
  MadeUp made_up;
  made_up.parts = true;
  made_up.storages = 2;
  const v1::Report report = MakeReport(made_up);
  const Struct data = Parse(ReportPageData(report));
  const v1::StepReport& step = report.steps(0);
  ASSERT_EQ(Member(Step(data, 0), "operations").list_value().values_size(), step.operations_size());
  for (int at = 0; at < step.operations_size(); ++at) {
    const v1::OperationReport& part = step.operations(at);
    const Struct& packed = OperationTimes(data, at);
    EXPECT_EQ(Member(packed, "kept").string_value(), "all");
    EXPECT_EQ(Member(packed, "distributions_left_out").number_value(), 0);
    const auto& all = Member(packed, "series").list_value();
    // Cluster, storages and hosts.
    ASSERT_EQ(all.values_size(), 6);
    ASSERT_EQ(part.series_size(), 6);
    for (int number = 0; number < part.series_size(); ++number) {
      const v1::SeriesReport& series = part.series(number);
      const Struct& shown = all.values(number).struct_value();
      EXPECT_EQ(Member(shown, "kind").string_value(), EnumName(*v1::ScopeKind_descriptor(), series.kind()));
      EXPECT_EQ(Member(shown, "host").string_value(), series.host());
      EXPECT_EQ(Column(shown, "second"), Doubles(series.second()));
      EXPECT_EQ(Column(shown, "writes"), Doubles(series.writes()));
      EXPECT_EQ(Column(shown, "latency_sum_ns"), Doubles(series.latency_sum_ns()));
      EXPECT_EQ(Column(shown, "latency_max_ns"), Doubles(series.latency_max_ns()));
      for (const char* name : {"bytes", "p50_ns", "p99_ns", "p99_9_ns"}) EXPECT_EQ(shown.fields().count(name), 0U);
    }
    const auto& distributions = Member(packed, "distributions").list_value();
    ASSERT_EQ(distributions.values_size(), part.distributions_size());
    for (int number = 0; number < part.distributions_size(); ++number) {
      const Struct& shown = distributions.values(number).struct_value();
      EXPECT_EQ(Column(shown, "from_ns"), Doubles(part.distributions(number).from_ns()));
      EXPECT_EQ(Column(shown, "count"), Doubles(part.distributions(number).count()));
    }
  }
}

TEST(ReportPageData, ReadsBesideTheWritesHaveTheirBytesButNoPercentiles) {
  MadeUp made_up;
  made_up.read_percent = 25;
  made_up.storages = 2;
  v1::Report report = MakeReport(made_up);
  const auto packed = [&report](int number) {
    const Struct data = Parse(ReportPageData(report));
    return Member(OperationTimes(data, 0), "series").list_value().values(number).struct_value();
  };
  const v1::OperationReport& reads = report.steps(0).operations(0);
  // Cluster, storages and hosts.
  ASSERT_EQ(reads.series_size(), 6);
  // Bytes follow from the count, unless blocks have several sizes.
  EXPECT_EQ(packed(0).fields().count("bytes"), 0U);
  report.mutable_steps(0)->set_block_size_bytes(0);
  for (int number = 0; number < reads.series_size(); ++number) {
    const v1::SeriesReport& series = reads.series(number);
    const Struct shown = packed(number);
    EXPECT_EQ(Member(shown, "host").string_value(), series.host());
    EXPECT_EQ(Column(shown, "writes"), Doubles(series.writes()));
    EXPECT_EQ(Column(shown, "bytes"), Doubles(series.bytes()));
    EXPECT_EQ(Column(shown, "latency_sum_ns"), Doubles(series.latency_sum_ns()));
    EXPECT_EQ(Column(shown, "latency_max_ns"), Doubles(series.latency_max_ns()));
    for (const char* name : {"p50_ns", "p99_ns", "p99_9_ns"}) EXPECT_EQ(shown.fields().count(name), 0U);
  }
}

TEST(ReportPageData, WithoutPartsOfTheWritesHasNoPlaceForThem) {
  const Struct data = Parse(ReportPageData(MakeReport({})));
  EXPECT_EQ(Member(Step(data, 0), "operations").kind_case(), Value::KIND_NOT_SET);
}

TEST(ReportPageData, ThinsReadsAndPartsOfTheWritesWithThemAndKeepsTheirExtremes) {
  MadeUp made_up;
  made_up.parts = true;
  made_up.read_percent = 50;
  made_up.seconds = 900;
  v1::Report report = MakeReport(made_up);
  // The longest sync, in a second in which no write is the longest.
  for (v1::SeriesReport& series : *report.mutable_steps(0)->mutable_operations(1)->mutable_series()) {
    if (series.host().empty() || series.host() == "beta") series.set_latency_max_ns(333, 9'000'000'000);
  }
  for (v1::SeriesReport& series : *report.mutable_steps(0)->mutable_operations(2)->mutable_series()) {
    if (series.host().empty()) series.set_writes(444, 1);
  }
  PageLimits limits;
  // Cluster and hosts, of the writes, of each part and of the reads.
  limits.wide_rows = 4 * 4 * 200;
  const Struct data = Parse(ReportPageData(report, limits));
  EXPECT_LE(Column(*Series(data, "cluster"), "second").size(), 210U);
  for (const int operation : {0, 1, 2}) {
    const Struct& times = OperationTimes(data, operation);
    EXPECT_EQ(Member(times, "kept").string_value(), "each");
    const std::vector<double> seconds = Column(*SeriesIn(times, "cluster", ""), "second");
    EXPECT_LE(seconds.size(), 210U);
    EXPECT_GE(seconds.size(), 32U);
    for (const char* host : {"alpha", "beta", "gamma"}) {
      EXPECT_EQ(Column(*SeriesIn(times, "host", host), "second"), seconds);
    }
  }
  const std::vector<double> longest = Column(*SeriesIn(OperationTimes(data, 1), "cluster", ""), "latency_max_ns");
  EXPECT_EQ(*std::max_element(longest.begin(), longest.end()), 9e9);
  const std::vector<double> reads = Column(*SeriesIn(OperationTimes(data, 2), "cluster", ""), "writes");
  EXPECT_EQ(*std::min_element(reads.begin(), reads.end()), 1);
}

TEST(ReportPageData, HasTheRowsOfTheConfiguration) {
  const v1::Report report = MakeReport({});
  const Struct data = Parse(ReportPageData(report));
  const auto& rows = Member(data, "configuration").list_value().values();
  const std::vector<ConfigurationRow> expected = ConfigurationRows(report);
  ASSERT_EQ(static_cast<size_t>(rows.size()), expected.size());
  for (int i = 0; i < rows.size(); ++i) {
    const auto text = [&](int part) { return rows[i].list_value().values(part).string_value(); };
    const ConfigurationRow& row = expected[static_cast<size_t>(i)];
    EXPECT_THAT((std::array{text(0), text(1), text(2)}), ElementsAre(row.label, row.option, row.value));
  }
}

TEST(ReportPageData, HasThePointsOfMqsLogOnce) {
  v1::Report report = MakeReport({});
  report.mutable_plan()->mutable_mq_log()->add_write_size_bytes(4'096);
  report.mutable_mq_log()->add_write_size_bytes(4'096);
  const Struct data = Parse(ReportPageData(report));
  const Struct& shown = Member(data, "report").struct_value();
  EXPECT_EQ(Member(Member(shown, "mq_log").struct_value(), "write_size_bytes").list_value().values_size(), 1);
  EXPECT_FALSE(Member(Member(shown, "plan").struct_value(), "mq_log").has_struct_value());
}

TEST(ReportPageData, LeavesOutSeriesThatWouldBeThoseOfALargerScope) {
  MadeUp made_up;
  made_up.qms = 1;
  const Struct data = Parse(ReportPageData(MakeReport(made_up)));
  EXPECT_THAT(Series(data, "qm", "alpha", 1), IsNull());
  EXPECT_THAT(Series(data, "storage"), IsNull());
  EXPECT_THAT(Series(data, "host", "alpha"), NotNull());
  made_up.storages = 2;
  made_up.qms = 2;
  const Struct more = Parse(ReportPageData(MakeReport(made_up)));
  EXPECT_THAT(Series(more, "qm", "alpha", 1), NotNull());
  EXPECT_THAT(Series(more, "storage"), NotNull());
}

TEST(ReportPageData, ThinsQueueManagersAloneAndKeepsTheirExtremes) {
  MadeUp made_up;
  made_up.seconds = 900;
  const v1::Report report = MakeReport(made_up);
  PageLimits limits;
  limits.qm_rows = 6 * 200;
  const Struct data = Parse(ReportPageData(report, limits));
  EXPECT_EQ(Column(*Series(data, "host", "beta"), "second").size(), 900U);
  const Struct& thinned = *Series(data, "qm", "beta", 2);
  EXPECT_EQ(Member(thinned, "of").number_value(), 900);
  const v1::SeriesReport& whole = Reported(report, v1::SCOPE_KIND_QM, "beta", 2);
  const std::vector<double> writes = Column(thinned, "writes");
  const std::vector<double> longest = Column(thinned, "latency_max_ns");
  const std::vector<double> seconds = Column(thinned, "second");
  EXPECT_LE(seconds.size(), 202U);
  EXPECT_GE(seconds.size(), 50U);
  EXPECT_EQ(*std::max_element(longest.begin(), longest.end()),
            static_cast<double>(*std::max_element(whole.latency_max_ns().begin(), whole.latency_max_ns().end())));
  EXPECT_EQ(*std::min_element(writes.begin(), writes.end()),
            static_cast<double>(*std::min_element(whole.writes().begin(), whole.writes().end())));
  EXPECT_EQ(*std::max_element(writes.begin(), writes.end()),
            static_cast<double>(*std::max_element(whole.writes().begin(), whole.writes().end())));
  for (size_t row = 0; row < seconds.size(); ++row) {
    EXPECT_EQ(writes[row], static_cast<double>(whole.writes(static_cast<int>(seconds[row]))));
  }
}

TEST(ReportPageData, ThinsHostsOfAVeryLongRunToTheSameSeconds) {
  MadeUp made_up;
  made_up.seconds = 900;
  const v1::Report report = MakeReport(made_up);
  PageLimits limits;
  limits.wide_rows = 4 * 200;
  const Struct data = Parse(ReportPageData(report, limits));
  const std::vector<double> cluster = Column(*Series(data, "cluster"), "second");
  EXPECT_LE(cluster.size(), 202U);
  for (const char* host : {"alpha", "beta", "gamma"}) EXPECT_EQ(Column(*Series(data, "host", host), "second"), cluster);
  const std::vector<double> longest = Column(*Series(data, "cluster"), "latency_max_ns");
  const v1::SeriesReport& whole = Reported(report, v1::SCOPE_KIND_CLUSTER, "");
  EXPECT_EQ(*std::max_element(longest.begin(), longest.end()),
            static_cast<double>(*std::max_element(whole.latency_max_ns().begin(), whole.latency_max_ns().end())));
}

TEST(ReportPageData, KeepsTheExtremesOfEachHostAmongTheCommonSeconds) {
  MadeUp made_up;
  made_up.seconds = 900;
  made_up.storages = 2;
  v1::Report report = MakeReport(made_up);
  // One write of gamma, much longer than its others, in a second in which alpha has a longer one; and a dip of beta's
  // that the others make up for.
  for (v1::SeriesReport& series : *report.mutable_steps(0)->mutable_series()) {
    if (series.kind() == v1::SCOPE_KIND_CLUSTER || series.host() == "alpha") series.set_latency_max_ns(500, 30'000'000);
    if (series.host() == "gamma") {
      for (uint64_t& value : *series.mutable_latency_max_ns()) value = std::min<uint64_t>(value, 20'000'000);
      series.set_latency_max_ns(500, 25'000'000);
    }
    if (series.host() == "beta") series.set_writes(700, 1);
  }
  PageLimits limits;
  limits.wide_rows = 6 * 200;
  const Struct data = Parse(ReportPageData(report, limits));
  EXPECT_EQ(Member(Step(data, 0), "kept").string_value(), "each");
  const std::vector<double> seconds = Column(*Series(data, "cluster"), "second");
  EXPECT_LE(seconds.size(), 210U);
  for (const char* host : {"alpha", "beta", "gamma"}) {
    const Struct& thinned = *Series(data, "host", host);
    EXPECT_EQ(Column(thinned, "second"), seconds) << host;
    const v1::SeriesReport& whole = Reported(report, v1::SCOPE_KIND_HOST, host);
    const std::vector<double> writes = Column(thinned, "writes");
    const std::vector<double> longest = Column(thinned, "latency_max_ns");
    EXPECT_EQ(*std::max_element(longest.begin(), longest.end()),
              static_cast<double>(*std::max_element(whole.latency_max_ns().begin(), whole.latency_max_ns().end())))
        << host;
    EXPECT_EQ(*std::min_element(writes.begin(), writes.end()),
              static_cast<double>(*std::min_element(whole.writes().begin(), whole.writes().end())))
        << host;
    EXPECT_EQ(*std::max_element(writes.begin(), writes.end()),
              static_cast<double>(*std::max_element(whole.writes().begin(), whole.writes().end())))
        << host;
  }
}

TEST(ReportPageData, OfTooManyHostsKeepsThoseWithTheLongestWrites) {
  MadeUp made_up;
  made_up.hosts.clear();
  for (int host = 0; host < 40; ++host) made_up.hosts.push_back("node" + std::to_string(host));
  made_up.qms = 1;
  made_up.seconds = 300;
  v1::Report report = MakeReport(made_up);
  for (v1::SeriesReport& series : *report.mutable_steps(0)->mutable_series()) {
    if (series.host() == "node17") series.set_latency_max_ns(123, 9'000'000'000);
  }
  PageLimits limits;
  limits.wide_rows = 41 * 30;
  const Struct data = Parse(ReportPageData(report, limits));
  EXPECT_EQ(Member(Step(data, 0), "kept").string_value(), "longest");
  const std::vector<double> seconds = Column(*Series(data, "host", "node17"), "second");
  EXPECT_LE(seconds.size(), 50U);
  EXPECT_EQ(std::count(seconds.begin(), seconds.end(), 123), 1);
}

TEST(ReportPageData, LeavesOutDistributionsThatHaveNoRoomTheHostsFirst) {
  const v1::Report report = MakeReport({});
  PageLimits limits;
  int cluster = 0;
  for (const v1::DistributionReport& one : report.steps(0).distributions()) {
    if (one.kind() == v1::SCOPE_KIND_CLUSTER) cluster = one.from_ns_size();
  }
  ASSERT_GT(cluster, 0);
  const auto left_out = [&](int buckets) {
    limits.distribution_buckets = buckets;
    return Member(Step(Parse(ReportPageData(report, limits)), 0), "distributions_left_out").number_value();
  };
  EXPECT_EQ(left_out(300'000), 0);
  EXPECT_EQ(left_out(cluster), report.steps(0).distributions_size() - 1);
  const Struct data = Parse(ReportPageData(report, limits));
  const auto& kept = Member(Step(data, 0), "distributions").list_value();
  ASSERT_EQ(kept.values_size(), 1);
  EXPECT_EQ(Member(kept.values(0).struct_value(), "kind").string_value(), "cluster");
}

TEST(ReportPageData, LeavesOutDistributionsOfPartsBeforeThoseOfTheWritesInTheSameScopes) {
  MadeUp made_up;
  made_up.parts = true;
  const v1::Report report = MakeReport(made_up);
  PageLimits limits;
  for (const v1::DistributionReport& one : report.steps(0).distributions()) {
    if (one.kind() == v1::SCOPE_KIND_CLUSTER) limits.distribution_buckets = one.from_ns_size();
  }
  // There is room for the cluster's distributions of the writes and of the first part.
  limits.distribution_buckets *= 2;
  const Struct data = Parse(ReportPageData(report, limits));
  EXPECT_THAT(DistributionKinds(Step(data, 0)), ElementsAre("cluster"));
  EXPECT_THAT(DistributionKinds(OperationTimes(data, 0)), ElementsAre("cluster"));
  EXPECT_THAT(DistributionKinds(OperationTimes(data, 1)), IsEmpty());
  EXPECT_EQ(Member(OperationTimes(data, 1), "distributions_left_out").number_value(),
            report.steps(0).operations(1).distributions_size());
  // Distributions of reads come before those of parts, too.
  made_up.read_percent = 50;
  const Struct mixed = Parse(ReportPageData(MakeReport(made_up), limits));
  EXPECT_THAT(DistributionKinds(Step(mixed, 0)), ElementsAre("cluster"));
  EXPECT_THAT(DistributionKinds(OperationTimes(mixed, 0)), IsEmpty());
  EXPECT_THAT(DistributionKinds(OperationTimes(mixed, 2)), ElementsAre("cluster"));
}

TEST(ReportPageData, KeepsIrregularRowsWithTheirNewNumbers) {
  MadeUp made_up;
  made_up.seconds = 900;
  v1::Report report = MakeReport(made_up);
  for (v1::SeriesReport& series : *report.mutable_steps(0)->mutable_series()) {
    v1::IrregularRow& row = *series.add_irregular();
    row.set_row(450);
    row.set_length_ns(3'000'000'000);
    row.set_coalesced(true);
  }
  PageLimits limits;
  limits.qm_rows = 6 * 100;
  limits.wide_rows = 4 * 100;
  const Struct data = Parse(ReportPageData(report, limits));
  for (const Struct* series : {Series(data, "qm", "beta", 2), Series(data, "host", "beta"), Series(data, "cluster")}) {
    ASSERT_EQ(Member(*series, "irregular").list_value().values_size(), 1);
    const Struct& irregular = Member(*series, "irregular").list_value().values(0).struct_value();
    const auto row = static_cast<size_t>(Member(irregular, "row").number_value());
    EXPECT_LT(row, 200U);
    EXPECT_EQ(Column(*series, "second")[row], 450);
    EXPECT_TRUE(Member(irregular, "coalesced").bool_value());
  }
}

TEST(ReportPageData, ReportsBytesOnlyWhereBlocksAndWritesDoNot) {
  v1::Report report = MakeReport({});
  EXPECT_EQ(Member(*Series(Parse(ReportPageData(report)), "cluster"), "bytes").kind_case(), Value::KIND_NOT_SET);
  for (v1::SeriesReport& series : *report.mutable_steps(0)->mutable_series()) series.set_bytes(7, 12'345);
  const Struct data = Parse(ReportPageData(report));
  EXPECT_EQ(Column(*Series(data, "cluster"), "bytes")[7], 12'345);
}

TEST(ReportPageData, HoldsDistributionsAndSeconds) {
  const v1::Report report = MakeReport({});
  const Struct data = Parse(ReportPageData(report));
  const auto& distributions = Member(Step(data, 0), "distributions").list_value();
  ASSERT_EQ(distributions.values_size(), report.steps(0).distributions_size());
  for (int at = 0; at < distributions.values_size(); ++at) {
    const Struct& packed = distributions.values(at).struct_value();
    EXPECT_EQ(Column(packed, "from_ns"), Doubles(report.steps(0).distributions(at).from_ns()));
    EXPECT_EQ(Column(packed, "count"), Doubles(report.steps(0).distributions(at).count()));
  }
  const Struct& seconds = Member(Step(data, 0), "seconds").struct_value();
  EXPECT_EQ(Column(seconds, "bucket"), Doubles(report.steps(0).seconds().bucket()));
  EXPECT_EQ(Column(seconds, "count"), Doubles(report.steps(0).seconds().count()));
  PageLimits limits;
  limits.second_buckets = 10;
  EXPECT_EQ(Member(Step(Parse(ReportPageData(report, limits)), 0), "seconds").kind_case(), Value::KIND_NOT_SET);
}

TEST(ReportPageData, HoldsLoadInSmallSteps) {
  v1::Report report = MakeReport({});
  v1::HostLoadReport& load = *report.mutable_steps(0)->mutable_load(0);
  load.Clear();
  load.set_host("alpha");
  for (const int64_t offset_ns : {1'000'400'000, 2'000'600'000}) load.add_offset_ns(offset_ns);
  for (const double percent : {12.344, 12.346}) load.add_agent_cpu(percent);
  load.add_disk_write_ms(0.4126);
  load.add_disk_write_ms(std::numeric_limits<double>::quiet_NaN());
  for (const double read_ms : {0.0814, 0.2}) load.add_disk_read_ms(read_ms);
  const Struct data = Parse(ReportPageData(report));
  const Struct& packed = Member(Step(data, 0), "load").list_value().values(0).struct_value();
  EXPECT_THAT(Column(packed, "offset_ms"), ElementsAre(1'000, 2'001));
  EXPECT_THAT(Column(packed, "agent_cpu"), ElementsAre(1'234, 1'235));
  EXPECT_THAT(Column(packed, "disk_write_us"), ElementsAre(413, 0));
  EXPECT_THAT(Column(packed, "disk_read_us"), ElementsAre(81, 200));
  EXPECT_THAT(Member(packed, "nfs_execute_us").kind_case(), Eq(Value::KIND_NOT_SET));
}

TEST(ReportPageData, SurvivesColumnsOfDifferentLengths) {
  v1::Report report = MakeReport({});
  for (v1::SeriesReport& series : *report.mutable_steps(0)->mutable_series()) {
    series.clear_p99_9_ns();
    series.mutable_writes()->RemoveLast();
    series.add_irregular()->set_row(4'000'000'000);
  }
  report.mutable_steps(0)->mutable_seconds()->clear_count();
  report.mutable_steps(0)->mutable_distributions(0)->clear_count();
  const Struct data = Parse(ReportPageData(report));
  EXPECT_EQ(Column(*Series(data, "cluster"), "p99_9_ns"), std::vector<double>(60, 0));
  EXPECT_EQ(Column(*Series(data, "cluster"), "writes").back(), 0);
}

TEST(RenderReportPage, OfAnHourWithSixteenHostsIsBelowFiveMegabytes) {
  const std::string html = RenderReportPage(tests::HourReport());
  EXPECT_LT(html.size(), 5'000'000U);
  RecordProperty("bytes", std::to_string(html.size()));
}

TEST(RenderReportPage, OfAnHourWithSixteenHostsTheirReadsAndThePartsOfTheirWritesIsBelowFiveMegabytes) {
  MadeUp made_up;
  made_up.hosts.clear();
  for (int host = 1; host <= 16; ++host) made_up.hosts.push_back("node" + std::to_string(host));
  made_up.qms = 4;
  made_up.seconds = 3'600;
  made_up.parts = true;
  made_up.read_percent = 50;
  EXPECT_LT(RenderReportPage(MakeReport(made_up)).size(), 5'000'000U);
}

TEST(RenderReportPage, IsTheSameForTheSameReport) {
  EXPECT_EQ(RenderReportPage(MakeReport({})), RenderReportPage(MakeReport({})));
}

TEST(RenderReportPage, HoldsNoMarkupFromHostsOrPlans) {
  const std::string html = RenderReportPage(tests::HostileReport());
  EXPECT_THAT(html, Not(HasSubstr("<script>window.broken")));
  EXPECT_THAT(html, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(html, Not(HasSubstr("<style>body{display:none}")));
  EXPECT_THAT(html, HasSubstr("\\u003cscript\\u003ewindow.broken=1\\u003c/script\\u003e"));
}

TEST(RenderReportPage, OfNothingIsAPage) {
  EXPECT_THAT(RenderReportPage({}), HasSubstr("<title>"));
  EXPECT_THAT(RenderReportPage(tests::CutOffReport()),
              HasSubstr("<title>INCONCLUSIVE run Acceptance of the new storage"));
}

}  // namespace
}  // namespace plimsoll
