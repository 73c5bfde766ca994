#include "controller/render/live_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/report/main_operation.h"

namespace plimsoll {
namespace {

// A silence of this length is trouble.
constexpr int64_t kLongSilenceNs = 3 * kNsPerSecond;
constexpr size_t kTroublesInLine = 3;
constexpr size_t kLeastHostName = 6;
constexpr size_t kLeastBar = 8;
constexpr size_t kMostBar = 48;
// A longer time between the two ends of the chart shows little.
constexpr size_t kMostChartSeconds = 180;
constexpr char kGap[] = "  ";

std::string WholeSeconds(int64_t ns) {
  return absl::StrFormat("%d s", std::max<int64_t>(ns, 0) / kNsPerSecond);
}

// "12 of 30 s", "1 h 02 min of 8 h 00 min".
std::string PartOf(int64_t ns, int64_t whole_ns) {
  constexpr int64_t kLongNs = 600 * kNsPerSecond;
  if (whole_ns >= kLongNs) return absl::StrCat(TimeLeft(ns), " of ", TimeLeft(whole_ns));
  return absl::StrCat(std::max<int64_t>(ns, 0) / kNsPerSecond, " of ",
                      FormatFixed(static_cast<double>(whole_ns) / 1e9, whole_ns % kNsPerSecond == 0 ? 0 : 1), " s");
}

std::string LatencyText(uint64_t ns) {
  return ns == 0 ? std::string(kDash) : FormatLatency(static_cast<double>(ns), kNsPerMs);
}

std::string AgeText(int64_t ns) {
  if (ns <= 0) return kDash;
  if (ns < kNsPerSecond) return absl::StrFormat("%.1f ms", static_cast<double>(ns) / 1e6);
  return absl::StrFormat("%.1f s", static_cast<double>(ns) / 1e9);
}

bool IsInTrouble(const LiveHost& host) {
  return host.lost || host.silent_ns >= kLongSilenceNs || host.oldest_write_ns >= kLongInFlightNs;
}

// Width of a queue manager's name, in a column beside the age of its write.
constexpr size_t kShortName = 7;

// Whose write is the oldest one in flight.
std::string QmOf(const LiveHost& host) {
  return host.oldest_write_name.empty() ? absl::StrCat("qm", host.oldest_write_qm)
                                        : SanitizeForTerminal(host.oldest_write_name);
}

std::string TroubleOf(const LiveHost& host, uint32_t read_percent) {
  const std::string label = SanitizeForTerminal(host.label);
  if (host.lost) return absl::StrCat(label, " lost");
  if (host.oldest_write_ns >= kLongInFlightNs) {
    return InOneWriteText(absl::StrCat(label, "/", QmOf(host)), host.oldest_write_ns, read_percent);
  }
  return absl::StrCat(label, " silent for ", WholeSeconds(host.silent_ns));
}

std::string Troubles(const LiveSnapshot& now, uint32_t read_percent) {
  std::string text;
  size_t hosts = 0;
  for (const LiveHost& host : now.hosts) {
    if (IsInTrouble(host) && ++hosts <= kTroublesInLine) absl::StrAppend(&text, kGap, TroubleOf(host, read_percent));
  }
  if (hosts > kTroublesInLine) absl::StrAppend(&text, kGap, "and ", hosts - kTroublesInLine, " more hosts");
  return text;
}

// "  node1 down", in a placement.
std::string DownText(const LiveSnapshot& now) {
  return now.down_host.empty() ? "" : absl::StrCat(kGap, SanitizeForTerminal(now.down_host), " down");
}

// "step 1/2  4 KiB", "step 13, round 4  4 KiB", in a sweep "step 1/4  4 KiB  100 writes/s per QM".
std::string StepText(const LiveSnapshot& now) {
  return absl::StrCat("step ", FormatStepNumber(now.step, now.steps, now.round_steps, "/"), kGap,
                      FormatBlockSize(now.block_size_bytes), DownText(now), now.swept.empty() ? "" : kGap,
                      absl::StrJoin(now.swept, kGap));
}

std::string Figures(const LiveSnapshot& now, const LiveFigures& figures) {
  return absl::StrCat(now.response_times ? "response p50 " : "p50 ", LatencyText(figures.p50_ns), kGap, "p99 ",
                      LatencyText(figures.p99_ns), kGap, "max ", LatencyText(figures.max_ns));
}

const char* StateText(LiveState state) {
  return state == LiveState::kFailing ? "failing" : state == LiveState::kPassing ? "pass so far" : "undecided";
}

LiveStyle StyleOf(LiveState state) {
  return state == LiveState::kFailing   ? LiveStyle::kBad
         : state == LiveState::kPassing ? LiveStyle::kGood
                                        : LiveStyle::kUnsure;
}

std::string NamesText(const LiveStall& stall, size_t most) {
  const size_t shown = std::min(stall.names.size(), most);
  std::vector<std::string> names;
  for (size_t i = 0; i < shown; ++i) names.push_back(SanitizeForTerminal(stall.names[i]));
  std::string text = absl::StrJoin(names, ", ");
  if (stall.writers > shown) absl::StrAppend(&text, " and ", stall.writers - shown, " more");
  return text;
}

std::vector<std::string> LabelsOf(const LiveSnapshot& now) {
  std::vector<std::string> labels;
  for (const LiveHost& host : now.hosts) labels.push_back(SanitizeForTerminal(host.label));
  return labels;
}

// Lines of a given width; the hosts' names in them still differ where they are cut.
class Canvas {
 public:
  Canvas(size_t width, std::vector<std::string> names) : width_(width), names_(std::move(names)) {}

  void Add(LiveLine line) {
    size_t left = width_;
    LiveLine clipped;
    for (LiveSpan& span : line) {
      if (left == 0) break;
      if (DisplayWidth(span.text) > left) span.text = ShortenNamesIn(span.text, names_, left);
      left -= std::min(left, DisplayWidth(span.text));
      clipped.push_back(std::move(span));
    }
    lines_.push_back(std::move(clipped));
  }
  void Blank() { lines_.emplace_back(); }
  std::vector<LiveLine> Take(size_t height) {
    if (lines_.size() > height) lines_.resize(height);
    return std::move(lines_);
  }

 private:
  const size_t width_;
  const std::vector<std::string> names_;
  std::vector<LiveLine> lines_;
};

// How many lines each part gets.
struct Parts {
  size_t blanks = 1;
  size_t bar = 1;
  size_t outlook = 0;
  size_t chart = 0;
  size_t hosts = 0;
  size_t criteria = 0;
  size_t stalls = 0;
  size_t messages = 0;
  size_t footer = 1;
  bool all_row = false;

  size_t Total() const {
    const auto list = [this](size_t rows) { return rows == 0 ? 0 : blanks + 1 + rows; };
    return 1 + bar + outlook + list(chart) + (hosts == 0 ? 0 : list(hosts) + (all_row ? 1 : 0)) + list(criteria) +
           list(stalls) + (messages == 0 ? 0 : blanks + messages) + (footer == 0 ? 0 : blanks + footer);
  }
};

class LiveDrawing {
 public:
  LiveDrawing(const LiveView& view, size_t width, size_t height)
      : view_(view), now_(view.now), width_(width), height_(height), canvas_(width, LabelsOf(view.now)) {
    // Nothing of them is cut.
    for (const std::string& message : view.messages) {
      for (std::string& line : Wrap(SanitizeForTerminal(message), std::max<size_t>(width, 10))) {
        messages_.push_back(std::move(line));
      }
    }
  }

  std::vector<LiveLine> Draw();

 private:
  struct Column {
    const char* heading;
    size_t width;
    std::function<std::string(const LiveHost&)> cell;
  };

  Parts Divide() const;
  void AddHeader();
  void AddBar();
  void AddChart();
  std::vector<Column> Columns(size_t name) const;
  std::vector<LiveHost> WorstFirst() const;
  void AddHosts();
  void AddCriteria();
  void AddStalls();
  void AddMessages();

  const LiveView& view_;
  const LiveSnapshot& now_;
  const size_t width_;
  const size_t height_;
  Canvas canvas_;
  Parts parts_;
  // Lines of the messages.
  std::vector<std::string> messages_;
};

Parts LiveDrawing::Divide() const {
  Parts parts;
  parts.all_row = now_.hosts.size() > 1;
  parts.hosts = now_.hosts.size();
  parts.criteria = view_.criteria.size();
  parts.stalls = std::min<size_t>(view_.stalls.size(), height_ >= 50 ? 12 : height_ >= 35 ? 8 : 5);
  parts.messages = std::min<size_t>(messages_.size(), height_ >= 35 ? 6 : 4);
  parts.outlook = view_.outlook.empty() ? 0 : 1;
  parts.chart = height_ >= 50 ? 6 : height_ >= 35 ? 4 : height_ >= 24 ? 2 : 1;
  const auto shrink = [&](size_t& part, size_t least) {
    while (parts.Total() > height_ && part > least) --part;
  };
  shrink(parts.footer, 0);
  shrink(parts.chart, 2);
  shrink(parts.hosts, 8);
  shrink(parts.stalls, 3);
  shrink(parts.chart, 1);
  shrink(parts.criteria, 4);
  shrink(parts.hosts, 6);
  shrink(parts.stalls, 2);
  shrink(parts.hosts, 4);
  shrink(parts.messages, 1);
  shrink(parts.stalls, 1);
  shrink(parts.blanks, 0);
  shrink(parts.criteria, 1);
  shrink(parts.hosts, 2);
  shrink(parts.chart, 0);
  shrink(parts.stalls, 0);
  shrink(parts.messages, 0);
  shrink(parts.criteria, 0);
  shrink(parts.outlook, 0);
  shrink(parts.bar, 0);
  shrink(parts.hosts, 0);
  return parts;
}

std::vector<LiveLine> LiveDrawing::Draw() {
  if (width_ == 0 || height_ == 0) return {};
  parts_ = Divide();
  AddHeader();
  if (parts_.bar > 0) AddBar();
  if (parts_.outlook > 0) canvas_.Add({{SanitizeForTerminal(view_.outlook), LiveStyle::kBold}});
  const auto part = [this](size_t rows, void (LiveDrawing::*add)()) {
    if (rows == 0) return;
    if (parts_.blanks > 0) canvas_.Blank();
    (this->*add)();
  };
  part(parts_.chart, &LiveDrawing::AddChart);
  part(parts_.hosts, &LiveDrawing::AddHosts);
  part(parts_.criteria, &LiveDrawing::AddCriteria);
  part(parts_.stalls, &LiveDrawing::AddStalls);
  part(parts_.messages, &LiveDrawing::AddMessages);
  if (parts_.footer > 0) {
    if (parts_.blanks > 0) canvas_.Blank();
    canvas_.Add(
        {{absl::StrCat(now_.time_name(), "s of the last whole second   Ctrl-C ends the run early"), LiveStyle::kDim}});
  }
  return canvas_.Take(height_);
}

void LiveDrawing::AddHeader() {
  LiveLine line;
  if (now_.step == 0) {
    line.push_back({view_.phase.empty() ? "waiting" : SanitizeForTerminal(view_.phase), LiveStyle::kBold});
    return canvas_.Add(std::move(line));
  }
  line.push_back({absl::StrCat("step ", FormatStepNumber(now_.step, now_.steps, now_.round_steps)), LiveStyle::kBold});
  line.push_back({absl::StrCat(kGap, FormatBlockSize(now_.block_size_bytes), DownText(now_)), LiveStyle::kBold});
  if (!view_.phase.empty()) {
    line.push_back({absl::StrCat(kGap, SanitizeForTerminal(view_.phase)), LiveStyle::kUnsure});
  } else if (now_.elapsed_ns < -now_.warmup_ns) {
    line.push_back({absl::StrCat(kGap, "starts in ", TimeLeft(-now_.warmup_ns - now_.elapsed_ns))});
  } else if (now_.elapsed_ns < 0) {
    line.push_back(
        {absl::StrCat(kGap, "warm-up ", PartOf(now_.elapsed_ns + now_.warmup_ns, now_.warmup_ns), " (not counted)"),
         LiveStyle::kUnsure});
  } else if (now_.elapsed_ns < now_.duration_ns) {
    line.push_back({now_.one_pass ? absl::StrCat(kGap, "measuring one pass, ", WholeSeconds(now_.elapsed_ns), " so far")
                                  : absl::StrCat(kGap, "measuring ", PartOf(now_.elapsed_ns, now_.duration_ns))});
  } else {
    line.push_back({absl::StrCat(kGap, "waiting for the last ", AnyOperation(view_.read_percent), "s")});
  }
  if (now_.repetitions > 1) {
    line.push_back({absl::StrCat(kGap, "repetition ", now_.repetition, " of ", now_.repetitions), LiveStyle::kDim});
  }
  canvas_.Add(std::move(line));
}

void LiveDrawing::AddBar() {
  const int64_t whole_ns = std::max<int64_t>(now_.warmup_ns + now_.duration_ns, 1);
  const int64_t done_ns = std::clamp<int64_t>(now_.elapsed_ns + now_.warmup_ns, 0, whole_ns);
  // When a pass ends is not known.
  const bool known = now_.step != 0 && !now_.one_pass;
  std::string text = known || now_.step == 0 ? "" : "step ends when each block was taken once";
  if (known) {
    text = absl::StrCat("step ends in ", TimeLeft(whole_ns - done_ns));
    if (now_.later_steps_ns > 0) {
      absl::StrAppend(&text, ", run ends in about ", TimeLeft(whole_ns - done_ns + now_.later_steps_ns));
    }
    if (!view_.outlook.empty()) absl::StrAppend(&text, ", ", BudgetText(view_.left_ns - done_ns));
  }
  LiveLine line;
  if (known && width_ >= DisplayWidth(text) + 2 + kLeastBar) {
    const size_t length = std::min(width_ - DisplayWidth(text) - 2, kMostBar);
    const auto full =
        static_cast<size_t>(static_cast<double>(length) * static_cast<double>(done_ns) / static_cast<double>(whole_ns));
    std::string filled;
    std::string open;
    for (size_t i = 0; i < length; ++i) (i < full ? filled : open) += i < full ? "█" : "░";
    line.push_back({filled, now_.elapsed_ns < 0 ? LiveStyle::kUnsure : LiveStyle::kGood});
    line.push_back({open, LiveStyle::kDim});
    line.push_back({kGap});
  }
  line.push_back({text});
  canvas_.Add(std::move(line));
}

void LiveDrawing::AddChart() {
  const std::string of_second = absl::StrCat(ReadsAndWrites(view_.read_percent) ? "write " : "", "p99 of each second");
  const size_t count = std::min({view_.seconds.size(), width_, kMostChartSeconds});
  if (count == 0) {
    canvas_.Add({{of_second, LiveStyle::kBold}, {": no second is complete yet", LiveStyle::kDim}});
    for (size_t row = 0; row < parts_.chart; ++row) canvas_.Blank();
    return;
  }
  const auto first = view_.seconds.end() - static_cast<std::ptrdiff_t>(count);
  uint64_t least_ns = UINT64_MAX;
  uint64_t most_ns = 0;
  for (auto second = first; second != view_.seconds.end(); ++second) {
    if (second->cluster.p99_ns == 0) continue;
    least_ns = std::min(least_ns, second->cluster.p99_ns);
    most_ns = std::max(most_ns, second->cluster.p99_ns);
  }
  LiveLine title = {{of_second, LiveStyle::kBold}};
  if (most_ns == 0) {
    title.push_back({view_.read_percent == kOnlyReads ? ": no reads" : ": no writes", LiveStyle::kBad});
  } else {
    title.push_back(
        {absl::StrCat(kGap, LatencyText(view_.seconds.back().cluster.p99_ns), " ms now", kGap, LatencyText(least_ns),
                      " to ", LatencyText(most_ns), " in ", count, " s (log scale)")});
  }
  canvas_.Add(std::move(title));
  // The scale spans a factor of four at least, so that what is steady looks steady.
  const double top = std::log2(static_cast<double>(std::max<uint64_t>(most_ns, 1)));
  const double span = std::max(2.0, top - std::log2(static_cast<double>(std::max<uint64_t>(least_ns, 1))));
  const auto level_of = [&](uint64_t p99_ns) {
    if (p99_ns == 0) return size_t{0};
    const double share = 1 - (top - std::log2(static_cast<double>(p99_ns))) / span;
    return 1 + static_cast<size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(8 * parts_.chart - 1));
  };
  static constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  for (size_t row = parts_.chart; row-- > 0;) {
    LiveLine line;
    for (auto second = first; second != view_.seconds.end(); ++second) {
      const size_t level = level_of(second->cluster.p99_ns);
      const size_t cell = level <= 8 * row ? 0 : std::min<size_t>(level - 8 * row, 8);
      // A dot: no write completed.
      const bool silent = row == 0 && second->cluster.writes == 0;
      const LiveStyle style = silent ? LiveStyle::kBad : second->warmup ? LiveStyle::kDim : LiveStyle::kPlain;
      if (line.empty() || line.back().style != style) line.push_back({"", style});
      line.back().text += silent ? "·" : kBlocks[cell];
    }
    canvas_.Add(std::move(line));
  }
}

std::vector<LiveDrawing::Column> LiveDrawing::Columns(size_t name) const {
  const auto figure = [](const auto& of) {
    return [of](const LiveHost& host) { return host.has_figures ? of(host.figures) : std::string(kDash); };
  };
  const bool mixed = ReadsAndWrites(view_.read_percent);
  const char* const oldest = view_.read_percent == 0 ? "oldest write" : mixed ? "oldest IO" : "oldest read";
  const std::vector<Column> all = {
      {mixed ? "writes/s" : "IO/s", 10, figure([](const LiveFigures& each) { return FormatRate(each.iops); })},
      {"MB/s", 10, figure([](const LiveFigures& each) { return FormatThroughput(each.mb_per_second); })},
      {"p50 ms", 9, figure([](const LiveFigures& each) { return LatencyText(each.p50_ns); })},
      {"p99 ms", 9, figure([](const LiveFigures& each) { return LatencyText(each.p99_ns); })},
      {"max ms", 9, figure([](const LiveFigures& each) { return LatencyText(each.max_ns); })},
      {oldest, 14, [](const LiveHost& host) {
         return host.lost                          ? std::string("lost")
                : host.silent_ns >= kLongSilenceNs ? absl::StrCat("silent ", WholeSeconds(host.silent_ns))
                : host.done                        ? std::string("done")
                : host.oldest_write_qm != 0 && host.oldest_write_ns >= kLongInFlightNs
                    ? absl::StrCat(Shorten(QmOf(host), kShortName), " ", AgeText(host.oldest_write_ns))
                    : AgeText(host.oldest_write_ns);
       }}};
  // What goes first where there is no room for all.
  static constexpr std::array<size_t, 6> kLeaveOut = {1, 2, 5, 4, 0, 3};
  std::vector<bool> left_out(all.size());
  size_t used = name;
  for (const Column& column : all) used += column.width;
  for (const size_t each : kLeaveOut) {
    if (used <= width_) break;
    left_out[each] = true;
    used -= all[each].width;
  }
  std::vector<Column> columns;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!left_out[i]) columns.push_back(all[i]);
  }
  return columns;
}

std::vector<LiveHost> LiveDrawing::WorstFirst() const {
  std::vector<LiveHost> hosts = now_.hosts;
  // Hosts that make no progress first, the longest first; then by p99.
  const auto key = [](const LiveHost& host) {
    const bool trouble = IsInTrouble(host);
    return std::tuple(!trouble, host.lost, trouble ? -std::max(host.oldest_write_ns, host.silent_ns) : 0,
                      -static_cast<int64_t>(std::min<uint64_t>(host.figures.p99_ns, INT64_MAX)),
                      -static_cast<int64_t>(std::min<uint64_t>(host.figures.max_ns, INT64_MAX)));
  };
  StableSort(hosts, [&key](const LiveHost& a, const LiveHost& b) { return key(a) < key(b); });
  return hosts;
}

void LiveDrawing::AddHosts() {
  const std::vector<LiveHost> hosts = WorstFirst();
  const size_t shown = hosts.size() <= parts_.hosts ? hosts.size() : parts_.hosts - 1;
  const std::string all_name = hosts.size() == 2 ? "both hosts" : absl::StrCat("all ", hosts.size(), " hosts");
  std::vector<std::string> names;
  size_t widest = std::max(DisplayWidth(all_name), size_t{8});
  for (size_t i = 0; i < shown; ++i) {
    names.push_back(SanitizeForTerminal(hosts[i].label));
    widest = std::max(widest, DisplayWidth(names.back()));
  }
  // Names get what the figures leave, and 24 columns at least where the width allows.
  constexpr size_t kFigures = 61;
  const size_t room = width_ > kFigures + kLeastHostName ? width_ - kFigures : std::max(width_ / 3, kLeastHostName);
  const size_t name = std::min(widest, room);
  names = ShortenNames(names, name);
  const std::vector<Column> columns = Columns(name);
  LiveLine heading = {{PadRight(Shorten(hosts.size() == 1 ? "host" : "worst first", name), name), LiveStyle::kBold}};
  for (const Column& column : columns) heading.push_back({PadLeft(column.heading, column.width), LiveStyle::kBold});
  canvas_.Add(std::move(heading));
  const auto add = [&](const LiveHost& host, const std::string& text, LiveStyle style) {
    LiveLine line = {{PadRight(Shorten(text, name), name), style}};
    for (const Column& column : columns) line.push_back({PadLeft(column.cell(host), column.width), style});
    canvas_.Add(std::move(line));
  };
  if (parts_.all_row) {
    LiveHost all;
    if (!view_.seconds.empty()) {
      all.has_figures = true;
      all.figures = view_.seconds.back().cluster;
    }
    for (const LiveHost& host : hosts) all.oldest_write_ns = std::max(all.oldest_write_ns, host.oldest_write_ns);
    add(all, all_name, LiveStyle::kBold);
  }
  for (size_t i = 0; i < shown; ++i)
    add(hosts[i], names[i], IsInTrouble(hosts[i]) ? LiveStyle::kBad : LiveStyle::kPlain);
  if (shown < hosts.size()) {
    canvas_.Add({{absl::StrCat("and ", hosts.size() - shown, shown == 0 ? " hosts" : " more hosts"), LiveStyle::kDim}});
  }
}

void LiveDrawing::AddCriteria() {
  const std::vector<LiveCriterion>& criteria = view_.criteria;
  std::array<size_t, 3> counts = {};
  std::vector<const LiveCriterion*> order;
  for (const LiveCriterion& each : criteria) {
    ++counts[static_cast<size_t>(each.state)];
    order.push_back(&each);
  }
  canvas_.Add(
      {{"criteria", LiveStyle::kBold},
       {absl::StrCat(kGap, counts[2], " failing", kGap, counts[0], " undecided", kGap, counts[1], " pass so far")}});
  // All criteria are counted above.
  const size_t shown = std::min(criteria.size(), parts_.criteria);
  if (shown < criteria.size()) {
    StableSort(order, [](const LiveCriterion* a, const LiveCriterion* b) {
      const auto rank = [](LiveState state) {
        return state == LiveState::kFailing ? 0 : state == LiveState::kUndecided ? 1 : 2;
      };
      return rank(a->state) < rank(b->state);
    });
  }
  size_t name = 0;
  size_t value = 0;
  for (size_t i = 0; i < shown; ++i) {
    name = std::max(name, DisplayWidth(SanitizeForTerminal(order[i]->text)));
    value = std::max(value, DisplayWidth(order[i]->value));
  }
  name = std::min(name, std::max<size_t>(width_ / 3, kLeastHostName));
  for (size_t i = 0; i < shown; ++i) {
    const LiveCriterion& each = *order[i];
    canvas_.Add({{absl::StrCat(kGap, PadRight(Shorten(SanitizeForTerminal(each.text), name), name), kGap)},
                 {PadRight(StateText(each.state), 11), StyleOf(each.state)},
                 {absl::StrCat(kGap, PadLeft(each.value, value), kGap)},
                 {SanitizeForTerminal(each.place)}});
  }
}

void LiveDrawing::AddStalls() {
  canvas_.Add({{"stalls", LiveStyle::kBold}, {absl::StrCat(kGap, view_.stalls_so_far, " so far in this step")}});
  // The newest first.
  size_t shown = 0;
  for (auto stall = view_.stalls.rbegin(); stall != view_.stalls.rend() && shown < parts_.stalls; ++stall, ++shown) {
    const double begin_s = static_cast<double>(stall->begin_ns) / 1e9;
    const double length_s = static_cast<double>(stall->end_ns - stall->begin_ns) / 1e9;
    canvas_.Add({{absl::StrCat("  at ", PadLeft(FormatFixed(begin_s, 1), 8), " s ",
                               PadLeft(FormatFixed(length_s, 3), 9), " s")},
                 {stall->open ? " so far  " : "         ", stall->open ? LiveStyle::kBad : LiveStyle::kPlain},
                 {stall->hosts > 1 ? absl::StrCat(stall->hosts, " hosts: ") : std::string()},
                 {NamesText(*stall, stall->names.size())}});
  }
}

void LiveDrawing::AddMessages() {
  for (size_t i = messages_.size() - parts_.messages; i < messages_.size(); ++i)
    canvas_.Add({{messages_[i], LiveStyle::kUnsure}});
}

}  // namespace

std::string BudgetText(int64_t left_ns) {
  return absl::StrCat(TimeLeft(left_ns), " of the budget left");
}

std::string EncodeLine(const LiveLine& line, bool color) {
  // By style.
  static constexpr std::array<const char*, 6> kCodes = {"", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[31m"};
  std::string text;
  for (const LiveSpan& span : line) {
    const char* const code = kCodes[static_cast<size_t>(span.style)];
    if (!color || *code == '\0') {
      text += span.text;
    } else {
      absl::StrAppend(&text, code, span.text, "\033[0m");
    }
  }
  return text;
}

std::string InOneWriteText(const std::string& writer, int64_t age_ns, uint32_t read_percent) {
  return absl::StrCat(writer, " in one ", AnyOperation(read_percent), " for ", WholeSeconds(age_ns));
}

std::vector<LiveLine> DrawLive(const LiveView& view, size_t width, size_t height) {
  return LiveDrawing(view, width, height).Draw();
}

std::string SecondLine(const LiveSnapshot& now, const LiveSecond& second, uint32_t read_percent) {
  const LiveFigures& all = second.cluster;
  const auto length = [](int64_t ns) {
    return ns % kNsPerSecond == 0 ? WholeSeconds(ns) : absl::StrFormat("%.1f s", static_cast<double>(ns) / 1e9);
  };
  const std::string whole = now.one_pass ? "" : "/" + length(second.warmup ? now.warmup_ns : now.duration_ns);
  std::string line = absl::StrCat(StepText(now), kGap, second.warmup ? "warm-up " : "", length(second.end_ns), whole,
                                  kGap, FormatRate(all.iops), ReadsAndWrites(read_percent) ? " writes/s" : " IO/s",
                                  kGap, FormatThroughput(all.mb_per_second), " MB/s", kGap, Figures(now, all), " ms");
  if (!second.worst_host.empty()) {
    absl::StrAppend(&line, kGap, "worst ", ShortenNamesIn(SanitizeForTerminal(second.worst_host), LabelsOf(now), 24),
                    ": p99 ", LatencyText(second.worst.p99_ns), " max ", LatencyText(second.worst.max_ns));
  }
  return absl::StrCat(line, Troubles(now, read_percent));
}

std::string WaitingLine(const LiveSnapshot& now, uint32_t read_percent) {
  if (now.step == 0) return absl::StrCat("waiting", Troubles(now, read_percent));
  const int64_t passed_ns = now.elapsed_ns + now.warmup_ns;
  const std::string where =
      passed_ns < 0  ? absl::StrCat("starts in ", TimeLeft(-passed_ns))
      : now.one_pass ? WholeSeconds(now.elapsed_ns)
      : now.elapsed_ns < 0
          ? absl::StrCat("warm-up ", WholeSeconds(passed_ns), "/", WholeSeconds(now.warmup_ns))
          : absl::StrCat(WholeSeconds(std::min(now.elapsed_ns, now.duration_ns)), "/", WholeSeconds(now.duration_ns));
  return absl::StrCat(StepText(now), kGap, where, kGap, "no figures", Troubles(now, read_percent));
}

std::string StallLine(const LiveStall& stall) {
  constexpr size_t kNamesInLine = 4;
  return absl::StrCat(
      "stall at ", FormatFixed(static_cast<double>(stall.begin_ns) / 1e9, 1), " s for ",
      FormatFixed(static_cast<double>(stall.end_ns - stall.begin_ns) / 1e9, 3), " s", stall.open ? " so far: " : ": ",
      stall.hosts > 1 ? absl::StrCat(stall.hosts, " hosts, ") : std::string(), NamesText(stall, kNamesInLine));
}

}  // namespace plimsoll
