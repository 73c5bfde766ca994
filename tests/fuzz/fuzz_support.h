// What the fuzz targets share: their failures, and inputs that are lists of messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace plimsoll::fuzz {

// Ends the process with both texts on standard error: a finding.
[[noreturn]] void Fail(const std::string& what, const std::string& context = "");
inline void Require(bool holds, const char* what) {
  if (!holds) Fail(what);
}
// `context` is made only where something is wrong.
inline void Require(bool holds, const char* what, const std::function<std::string()>& context) {
  if (!holds) Fail(what, context());
}

// One message of an input, and a byte that says what the target does with it.
struct Item {
  uint8_t route = 0;
  std::string payload;
};

// An input is a row of: route (1 byte), length of the payload (2 bytes, little endian), payload. What is too short for
// its length ends where the input ends, so that any bytes are a list.
std::vector<Item> ReadItems(const uint8_t* data, size_t size);
std::string WriteItems(const std::vector<Item>& items);

// Makes an empty message of the kind that items of this route hold.
using Prototype = std::function<std::unique_ptr<google::protobuf::Message>(const Item& item)>;

// One change to a list that is not empty: an item is dropped, doubled, moved or routed elsewhere, or its message
// changes.
void MutateList(const Prototype& prototype, std::vector<Item>& items, std::mt19937& random);

// Keeps protobuf from telling of every bad input. At a target's first input.
void Silence();

// What LLVMFuzzerCustomMutator is for such inputs: drops, doubles, moves and routes items, changes a field somewhere in
// a message, or any bytes. Returns the new size.
size_t MutateItems(const Prototype& prototype, uint8_t* data, size_t size, size_t max_size, unsigned int seed);

// What LLVMFuzzerCustomCrossOver is: the beginning of one list and the end of the other.
size_t CrossItems(const uint8_t* one, size_t one_size, const uint8_t* other, size_t other_size, uint8_t* out,
                  size_t max_size, unsigned int seed);

// Changes one field, of the message or of one in it: to another value, to none, or to one that it had not.
void MutateMessage(google::protobuf::Message& message, std::mt19937& random);

// Numbers at which arithmetic goes wrong.
uint64_t OddNumber(std::mt19937& random);

}  // namespace plimsoll::fuzz

// libFuzzer's own; linked into every target.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
