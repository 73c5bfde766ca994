#include "controller/drill/drill_instances.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "controller/render/json.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {
namespace {

std::string EndText(const v1::HaEnded& ended) {
  if (!ended.message().empty()) return ended.message();
  if (ended.signal() != 0) return absl::StrCat("signal ", ended.signal());
  return EnumName(*v1::HaEnded::Reason_descriptor(), ended.reason());
}

}  // namespace

template <typename T>
DrillInstances::Instance* DrillInstances::Add(uint32_t qm, size_t host, T* (v1::HaCommand::*kind)()) {
  const uint32_t number = static_cast<uint32_t>(instances_.size()) + 1;
  Instance& instance = instances_[number];
  instance.number = number;
  instance.qm = qm;
  instance.host = host;
  v1::HaCommand order;
  T& add = *(order.*kind)();
  add.set_instance(number);
  add.set_qm(qm);
  Order(host, std::move(order));
  return &instance;
}

template <typename T>
void DrillInstances::Send(const Instance& instance, T* (v1::HaCommand::*kind)()) {
  v1::HaCommand order;
  (order.*kind)()->set_instance(instance.number);
  Order(instance.host, std::move(order));
}

DrillInstances::Instance* DrillInstances::Start(uint32_t qm, size_t host) {
  return Add(qm, host, &v1::HaCommand::mutable_start);
}

DrillInstances::Instance* DrillInstances::Scan(uint32_t qm, size_t host) {
  return Add(qm, host, &v1::HaCommand::mutable_scan);
}

void DrillInstances::End(const Instance& instance) {
  Send(instance, &v1::HaCommand::mutable_end);
}

void DrillInstances::Kill(const Instance& instance) {
  Send(instance, &v1::HaCommand::mutable_kill);
}

void DrillInstances::Hang(const Instance& instance) {
  Send(instance, &v1::HaCommand::mutable_hang);
}

void DrillInstances::Resume(const Instance& instance) {
  Send(instance, &v1::HaCommand::mutable_resume);
}

void DrillInstances::Finish(size_t host) {
  v1::HaCommand order;
  order.mutable_finish();
  Order(host, std::move(order));
}

void DrillInstances::Order(size_t host, v1::HaCommand order) {
  if (!IsThere(host)) return;
  v1::Command command;
  *command.mutable_ha() = std::move(order);
  command.set_id(driver_.next_command_id());
  // In the journal first: nothing can come of an order before the moment that it has there.
  v1::JournalRecord record;
  record.mutable_host_command()->set_host(static_cast<uint32_t>(host));
  *record.mutable_host_command()->mutable_command() = command;
  log_.Append(std::move(record));
  if (command.ha().has_start()) starts_[{host, command.id()}] = command.ha().start().instance();
  if (command.ha().has_scan()) starts_[{host, command.id()}] = command.ha().scan().instance();
  driver_.SendCommand(fleet_.host(host), std::move(command));
}

void DrillInstances::OnEvents(const Host& host, const v1::HaEvents& events) {
  const auto find = [&](uint32_t number) -> Instance* {
    const auto found = instances_.find(number);
    return found == instances_.end() || found->second.host != host.index ? nullptr : &found->second;
  };
  for (const v1::HaLedgerEntry& entry : events.ledger()) {
    Instance* instance = find(entry.instance());
    if (instance != nullptr && !entry.recovered()) instance->last_write = host.last_message;
  }
  for (const v1::HaEvent& event : events.events()) {
    Instance* instance = find(event.instance());
    if (instance == nullptr) continue;
    if (event.has_lock_granted()) {
      instance->waits = instance->waits || event.lock_granted().lock() == v1::HA_LOCK_STANDBY;
      instance->granted = instance->granted || event.lock_granted().lock() == v1::HA_LOCK_ACTIVE;
    } else if (event.has_first_write()) {
      instance->writes = true;
      instance->last_write = host.last_message;
    } else if (event.has_ended()) {
      instance->ended = true;
      instance->end_text = EndText(event.ended());
    }
  }
}

void DrillInstances::OnRefused(const Host& host, const v1::CommandDone& done) {
  const auto start = starts_.find({host.index, done.id()});
  if (start == starts_.end()) return;
  Instance& instance = instances_.at(start->second);
  instance.ended = true;
  instance.end_text = done.message();
}

void DrillInstances::OnSessionOver(const Host& host) {
  for (auto& [number, instance] : instances_) {
    if (instance.host != host.index || instance.ended) continue;
    instance.ended = true;
    instance.end_text = "its host was unreachable";
  }
}

bool DrillInstances::AnyOn(size_t host) const {
  return std::any_of(instances_.begin(), instances_.end(),
                     [host](const auto& one) { return one.second.host == host && !one.second.ended; });
}

bool DrillInstances::AllOver() const {
  return std::all_of(instances_.begin(), instances_.end(),
                     [this](const auto& one) { return one.second.ended || !IsThere(one.second.host); });
}

std::string DrillInstances::NameOf(const Instance& instance) const {
  return absl::StrCat("instance ", instance.number, " of qm", instance.qm, " on ", fleet_.host(instance.host).label);
}

}  // namespace plimsoll
