#include "controller/analysis/host_facts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "google/protobuf/util/message_differencer.h"
#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

TEST(CopySharedFields, CopiesValuesOfEveryKind) {
  v1::TestPlan plan;
  plan.set_name("text");
  plan.set_max_slew_ppm(0.5);
  plan.set_keep_files(true);
  plan.set_lease_ns(-1);
  plan.set_repeat(2);
  plan.set_on_host_loss(v1::HOST_LOSS_POLICY_ABORT);
  plan.mutable_workload()->set_dir("/mnt");
  plan.add_hosts()->set_address("node1");
  plan.add_block_size_bytes(4096);
  plan.add_block_size_bytes(8192);
  plan.add_criteria("p99<10ms");
  v1::TestPlan copy;
  copy.add_block_size_bytes(1);
  CopySharedFields(plan, copy);
  EXPECT_TRUE(MessageDifferencer::Equals(copy, plan)) << copy.DebugString();
  v1::DirectoryDescription directory;
  directory.set_error_code(-5);
  directory.set_device(7);
  directory.add_block_layers()->set_kind(v1::BlockLayer::KIND_DISK);
  directory.add_exports("*(rw)");
  v1::DirectoryDescription same;
  CopySharedFields(directory, same);
  EXPECT_TRUE(MessageDifferencer::Equals(same, directory)) << same.DebugString();
}

TEST(CopySharedFields, LeavesTheOtherFields) {
  v1::MountReport mount;
  mount.set_direct(true);
  v1::DirectoryDescription directory;
  directory.set_path("/mnt");
  directory.set_fs_type("ext4");
  CopySharedFields(directory, mount);
  EXPECT_TRUE(mount.direct());
  EXPECT_EQ(mount.fs_type(), "ext4");
}

// What a report has of an agent's fact under its name has its type, too: else it would stay empty.
TEST(CopySharedFields, FieldsOfOneNameHaveOneType) {
  const std::set<std::pair<const Descriptor*, const Descriptor*>> copied = {
      {v1::HostDescription::descriptor(), v1::HostReport::descriptor()},
      {v1::DirectoryDescription::descriptor(), v1::MountReport::descriptor()},
      {v1::Prepared::descriptor(), v1::MountReport::descriptor()},
      {v1::PreparedDirectory::descriptor(), v1::MountReport::descriptor()},
      {v1::HostReport::descriptor(), v1::AcceptHost::descriptor()},
      {v1::MountReport::descriptor(), v1::AcceptHost::descriptor()},
      {v1::HostDescription::descriptor(), v1::AcceptHost::descriptor()},
      {v1::DirectoryDescription::descriptor(), v1::AcceptHost::descriptor()},
      {v1::HostDescription::descriptor(), v1::CheckHost::descriptor()},
      {v1::DirectoryDescription::descriptor(), v1::CheckHost::descriptor()},
  };
  for (const auto& [from, to] : copied) {
    for (int i = 0; i < to->field_count(); ++i) {
      const FieldDescriptor& target = *to->field(i);
      const FieldDescriptor* const source = from->FindFieldByName(target.name());
      if (source == nullptr) continue;
      EXPECT_EQ(source->type(), target.type()) << source->full_name() << ", " << target.full_name();
      EXPECT_EQ(source->is_repeated(), target.is_repeated()) << source->full_name() << ", " << target.full_name();
      EXPECT_EQ(source->enum_type(), target.enum_type()) << source->full_name() << ", " << target.full_name();
      EXPECT_EQ(source->message_type(), target.message_type()) << source->full_name() << ", " << target.full_name();
    }
  }
}

}  // namespace
}  // namespace plimsoll
