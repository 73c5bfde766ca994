// Formats to exact bytes, and the schemas that are made from messages.
//
// After a wanted change: PLIMSOLL_UPDATE_GOLDEN=1 build/dev/bin/report_golden_test (or compare_golden_test), then look
// at the differences.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "tests/json_schema.h"

namespace plimsoll::tests {

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Compares with the committed file (`name` is its path in the tree), or writes it where PLIMSOLL_UPDATE_GOLDEN is set.
inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(PLIMSOLL_SOURCE_DIR) + "/" + name;
  if (std::getenv("PLIMSOLL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    ASSERT_TRUE(file.good()) << path;
    return;
  }
  EXPECT_EQ(text, ReadAll(path)) << path;
}

// Compares the committed schema with that of a message, whose file and comments PLIMSOLL_DESCRIPTORS holds
// (plimsoll_golden_test in cmake/).
inline void ExpectGoldenSchema(const std::string& name, const std::string& message) {
  google::protobuf::FileDescriptorSet files;
  ASSERT_TRUE(files.ParseFromString(ReadAll(PLIMSOLL_DESCRIPTORS)));
  google::protobuf::DescriptorPool pool;
  const google::protobuf::FileDescriptor* file = nullptr;
  for (const google::protobuf::FileDescriptorProto& proto : files.file()) file = pool.BuildFile(proto);
  ASSERT_NE(file, nullptr);
  ExpectGolden(name, RenderSchema(*file->FindMessageTypeByName(message)));
}

}  // namespace plimsoll::tests
