// What the agents that live in a test's own process share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/protocol.h"
#include "controller/fleet/agent_client.h"

namespace plimsoll::tests {

// The description of an agent with much space in each directory that it is asked for, all on one device.
inline v1::HostDescription DescriptionOf(const std::string& name, const v1::DescribeRequest& request,
                                         uint64_t device = 1) {
  v1::HostDescription description;
  description.set_protocol_version(kProtocolVersion);
  description.set_name(name);
  description.set_instance_id("instance of " + name);
  for (const std::string& path : request.directories()) {
    v1::DirectoryDescription& directory = *description.add_directories();
    directory.set_path(path);
    directory.set_free_bytes(uint64_t{1} << 40);
    directory.set_device(device);
  }
  return description;
}

// Answers at once, on the thread that calls: the listener only queues.
class DirectAgent : public AgentClient {
 protected:
  DirectAgent(const Clock& clock, AgentListener& listener) : clock_(clock), listener_(listener) {}

  // `fill` makes the answer in an empty message.
  template <typename Fill>
  void Answer(const Fill& fill) {
    v1::AgentMessage message;
    fill(message);
    Give(std::move(message));
  }
  virtual void Give(v1::AgentMessage message) { listener_.OnMessage(std::move(message)); }

  // `exchange` makes each of the probes.
  template <typename Exchange>
  void AnswerProbes(int count, const Exchange& exchange) {
    v1::ProbeBatch batch;
    for (int i = 0; i < count; ++i) exchange(*batch.add_probes());
    listener_.OnProbes(std::move(batch));
  }

  const Clock& clock_;
  AgentListener& listener_;
};

}  // namespace plimsoll::tests
