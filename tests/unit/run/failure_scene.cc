#include "tests/unit/run/failure_scene.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/mutex.h"
#include "controller/analysis/analyzer.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/run_command.h"
#include "controller/journal/results.h"

namespace plimsoll::tests {
namespace {

// Each way through alpha's link where a start has to lie far ahead.
constexpr int64_t kFarNs = 150 * kNsPerMs;
constexpr int64_t kHeldWriteNs = 250 * kNsPerMs;
// Writes that fill the extents, and then some that are measured.
constexpr uint64_t kHangingWrite = 3 + 20;
constexpr int64_t kBetaAheadNs = 100'000 * kNsPerSecond;

// Whatever lies below it has no room. One scene at a time; the journal's thread looks, too.
class FullDirectory {
 public:
  static void Set(const std::string& path) {
    MutexLock lock(mutex);
    Path() = path;
  }
  static std::string Get() {
    MutexLock lock(mutex);
    return Path();
  }

 private:
  static std::string& Path() {
    static std::string path;
    return path;
  }
  static inline Mutex mutex;
};

bool IsOnFullDisk(int fd) {
  const std::string full = FullDirectory::Get();
  if (full.empty()) return false;
  std::array<char, 4096> path{};
  const ssize_t size = readlink(absl::StrCat("/proc/self/fd/", fd).c_str(), path.data(), path.size());
  return size > 0 && absl::StartsWith(std::string(path.data(), static_cast<size_t>(size)), full + "/");
}

// Keeps what agents log.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogSink(std::shared_ptr<std::vector<std::string>> lines) : lines_(std::move(lines)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    lines_->emplace_back(message.payload.data(), message.payload.size());
  }
  void flush_() override {}

  const std::shared_ptr<std::vector<std::string>> lines_;
};

int ErrorAfterHang(const std::string& fault) {
  if (fault == "write-enospc") return ENOSPC;
  if (fault == "write-edquot") return EDQUOT;
  if (fault == "write-eio") return EIO;
  if (fault == "write-estale") return ESTALE;
  if (fault == "write-erofs") return EROFS;
  return 0;
}

}  // namespace

// The production code's calls of write(2) come here (see CMakeLists.txt).
extern "C" ssize_t __real_write(int fd, const void* data, size_t size);   // NOLINT(bugprone-reserved-identifier)
extern "C" ssize_t __wrap_write(int fd, const void* data, size_t size) {  // NOLINT(bugprone-reserved-identifier)
  if (!IsOnFullDisk(fd)) return __real_write(fd, data, size);
  errno = ENOSPC;
  return -1;
}

FailureScene::FailureScene(const FailureRow& row, const Course& course)
    : row_(row),
      course_(course),
      alpha_(world_, {.name = "alpha",
                      .ahead_ns = 0,
                      .delay_ns = row.state == "armed" ? kFarNs : SimulatedAgent::Options().delay_ns}),
      beta_(world_, {.name = "beta", .ahead_ns = kBetaAheadNs, .delay_ns = SimulatedAgent::Options().delay_ns}),
      logger_before_(spdlog::default_logger()),
      progress_(open_memstream(&progress_text_, &progress_size_)) {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("scene", std::make_shared<LogSink>(log_)));
  for (SimulatedAgent* agent : {&alpha_, &beta_}) agent->session_clock().SetLateness(course.sessions_late_ns);
  beta_.link().SetRate(SimulatedLink::kToController, row.narrow_bytes_per_s);
  HoldState();
}

FailureScene::~FailureScene() {
  FullDirectory::Set("");
  world_.Watch([] {});
  for (SimulatedAgent* agent : {&alpha_, &beta_}) agent->Bury();
  world_.RunUntil(world_.Now() + 3'600 * kNsPerSecond, [this] {
    for (SimulatedAgent* agent : {&alpha_, &beta_}) {
      if (!agent->over() && agent->state() != "idle") return false;
    }
    return true;
  });
  spdlog::set_default_logger(logger_before_);
  std::fclose(progress_);
  free(progress_text_);  // NOLINT(cppcoreguidelines-no-malloc): as open_memstream has it
}

void FailureScene::HoldState() {
  if (row_.state == "preparing") beta_.storage().Delay(2, kHeldWriteNs);
  if (row_.state == "ready") alpha_.storage().Delay(0, kHeldWriteNs);
  if (row_.state == "draining") beta_.storage().HangWrite(kHangingWrite, ErrorAfterHang(row_.fault));
}

bool FailureScene::IsInState() {
  if (row_.state == "preparing") return beta_.storage().writes() >= 4;
  // The controller has begun to look at the clocks when it tells of what was filled.
  if (row_.state == "ready") return absl::StartsWith(beta_.state(), "ready") && IsWritten("preparing  ");
  // The controller knows that all are armed when it tells of the step.
  if (row_.state == "armed") return absl::StartsWith(beta_.state(), "armed") && IsWritten("step 1/");
  // There is something of both to report.
  if (row_.state == "running") {
    return absl::StartsWith(beta_.state(), "running") && world_.Now() - *running_since_ >= kNsPerSecond;
  }
  if (row_.state == "draining")
    return beta_.storage().hangs() && absl::StartsWith(beta_.state(), "draining") &&
           absl::StartsWith(alpha_.state(), "ready");
  throw std::invalid_argument(row_.state + " is a state that no scene can be brought into");
}

void FailureScene::Watch() {
  if (!prepared_ && absl::StartsWith(alpha_.state(), "ready") && absl::StartsWith(beta_.state(), "ready")) {
    prepared_ = world_.Now();
  }
  if (!running_since_ && absl::StartsWith(beta_.state(), "running")) running_since_ = world_.Now();
  if (!in_state_ && IsInState()) {
    in_state_ = true;
    After(course_.later_ns, [this] {
      injected_ = world_.Now();
      inject_(*this);
    });
  }
  for (size_t i = 0; i < whens_.size(); ++i) {
    if (!whens_[i].first()) continue;
    const std::function<void()> action = std::move(whens_[i].second);
    whens_.erase(whens_.begin() + static_cast<std::ptrdiff_t>(i--));
    action();
  }
}

void FailureScene::Play(const Fault& inject) {
  inject_ = inject;
  world_.Watch([this] { Watch(); });
  std::ostringstream out;
  std::ostringstream err;
  CLI::App app("A run in a simulated world", "plimsoll");
  CommandLine line{{out, err}};
  RunSurroundings around;
  around.clock = &world_;
  around.progress = progress_;
  around.catches_signals = false;
  around.make_client = [this](const std::string& address, AgentListener& listener) {
    return (absl::StartsWith(address, "alpha") ? alpha_ : beta_).MakeClient(listener);
  };
  AddRunCommand(app, line, around);
  std::vector<std::string> arguments = {"run",   "--hosts", "alpha,beta", "--dir", "/simulated/plimsoll",
                                        "--out", out_,      "--full"};
  arguments.insert(arguments.end(), row_.arguments.begin(), row_.arguments.end());
  try {
    code_ = ParseAndRun(app, arguments, line);
  } catch (const VirtualProcessKilled&) {
    code_.reset();
  }
  ended_ = world_.Now();
  beta_last_message_ = beta_.last_sent_received();
  beta_last_received_ = beta_.last_message();
  alpha_last_message_ = alpha_.last_sent_received();
  beta_progressed_ = beta_.last_progress();
  results_ = err.str() + out.str();
}

void FailureScene::LetBetaGo() {
  if (row_.state != "ready") LetGo();
}

void FailureScene::LetGo() {
  let_go_ = world_.Now();
  alpha_.storage().LetGo();
  beta_.storage().LetGo();
}

void FailureScene::ResumeController() {
  resumed_ = world_.Now();
  alpha_.DelayReading(course_.reads_alpha_ns, course_.gap_ns);
  beta_.DelayReading(course_.reads_beta_ns, course_.gap_ns);
  world_.own_process().Resume();
}

void FailureScene::FillResultsDisk() {
  FullDirectory::Set(out_);
}

std::string FailureScene::printed() const {
  std::fflush(progress_);
  return absl::StrCat(std::string(progress_text_, progress_size_), results_);
}

std::string FailureScene::log_of(const SimulatedAgent& agent) const {
  std::string text;
  for (const std::string& line : *log_) {
    if (absl::StrContains(line, agent.peer())) absl::StrAppend(&text, line, "\n");
  }
  return text;
}

v1::Report FailureScene::JournalReport(std::string* damage) const {
  Analyzer analyzer;
  const absl::StatusOr<std::string> wrong = ReadWholeRecords(
      out_ + "/journal", [&](const v1::JournalRecord& record, const RawRecord& /*raw*/) { analyzer.Add(record); });
  if (damage != nullptr) *damage = wrong.ok() ? *wrong : std::string(wrong.status().message());
  return analyzer.Finish();
}

std::string FailureScene::File(const std::string& name) const {
  std::ifstream file(absl::StrCat(out_, "/", name));
  return {std::istreambuf_iterator<char>(file), {}};
}

bool FailureScene::Exists(const std::string& name) const {
  return std::filesystem::exists(std::filesystem::path(out_) / name);
}

}  // namespace plimsoll::tests
