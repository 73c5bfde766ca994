#include "tests/fuzz/fuzz_support.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace plimsoll::fuzz {
namespace {

constexpr size_t kHeaderBytes = 3;
constexpr size_t kMostItems = 200;

}  // namespace

void Fail(const std::string& what, const std::string& context) {
  std::fprintf(stderr, "%s\n%s\n", what.c_str(), context.c_str());
  std::abort();
}

void Silence() {
  static const bool once = [] {
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  static_cast<void>(once);
}

std::vector<Item> ReadItems(const uint8_t* data, size_t size) {
  std::vector<Item> items;
  for (size_t at = 0; at + kHeaderBytes <= size && items.size() < kMostItems;) {
    Item& item = items.emplace_back();
    item.route = data[at];
    const size_t length = size_t{data[at + 1]} | size_t{data[at + 2]} << 8;
    at += kHeaderBytes;
    const size_t there = std::min(length, size - at);
    item.payload.assign(reinterpret_cast<const char*>(data) + at, there);
    at += there;
  }
  return items;
}

std::string WriteItems(const std::vector<Item>& items) {
  std::string bytes;
  for (const Item& item : items) {
    const size_t length = std::min<size_t>(item.payload.size(), UINT16_MAX);
    bytes.push_back(static_cast<char>(item.route));
    bytes.push_back(static_cast<char>(length & 0xff));
    bytes.push_back(static_cast<char>(length >> 8));
    bytes.append(item.payload, 0, length);
  }
  return bytes;
}

}  // namespace plimsoll::fuzz
