#include <algorithm>
#include <limits>

#include "tests/fuzz/fuzz_support.h"

namespace plimsoll::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

size_t Below(std::mt19937& random, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
}

// A number that resembles `before`, or an odd one.
uint64_t Changed(uint64_t before, std::mt19937& random) {
  switch (Below(random, 4)) {
    case 0:
      return before + 1 + Below(random, 16);
    case 1:
      return before - 1 - Below(random, 16);
    case 2:
      return before ^ (uint64_t{1} << Below(random, 64));
    default:
      return OddNumber(random);
  }
}

double ChangedDouble(double before, std::mt19937& random) {
  const double odd[] = {0,
                        -1,
                        1e-300,
                        1e300,
                        -1e300,
                        std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::quiet_NaN(),
                        before * 2,
                        before / 2,
                        before + 1};
  return odd[Below(random, std::size(odd))];
}

std::string ChangedText(const std::string& before, std::mt19937& random) {
  if (Below(random, 8) == 0) return std::string("\x1b[2J\xff\n\",../") + before;
  std::string text = before;
  text.resize(before.size() + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), before.size(), text.size()));
  return text;
}

void MutateSingle(Message& message, const FieldDescriptor& field, std::mt19937& random) {
  const Reflection& of = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return of.SetInt32(&message, &field,
                         static_cast<int32_t>(Changed(static_cast<uint64_t>(of.GetInt32(message, &field)), random)));
    case FieldDescriptor::CPPTYPE_INT64:
      return of.SetInt64(&message, &field,
                         static_cast<int64_t>(Changed(static_cast<uint64_t>(of.GetInt64(message, &field)), random)));
    case FieldDescriptor::CPPTYPE_UINT32:
      return of.SetUInt32(&message, &field, static_cast<uint32_t>(Changed(of.GetUInt32(message, &field), random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return of.SetUInt64(&message, &field, Changed(of.GetUInt64(message, &field), random));
    case FieldDescriptor::CPPTYPE_BOOL:
      return of.SetBool(&message, &field, !of.GetBool(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return of.SetDouble(&message, &field, ChangedDouble(of.GetDouble(message, &field), random));
    case FieldDescriptor::CPPTYPE_ENUM:
      return of.SetEnumValue(&message, &field, static_cast<int>(Below(random, 8)));
    case FieldDescriptor::CPPTYPE_STRING:
      return of.SetString(&message, &field, ChangedText(of.GetString(message, &field), random));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MutateMessage(*of.MutableMessage(&message, &field), random);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return;  // the protocol has none
  }
}

void AddOne(Message& message, const FieldDescriptor& field, std::mt19937& random) {
  const Reflection& of = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return of.AddUInt32(&message, &field, static_cast<uint32_t>(OddNumber(random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return of.AddUInt64(&message, &field, OddNumber(random));
    case FieldDescriptor::CPPTYPE_INT64:
      return of.AddInt64(&message, &field, static_cast<int64_t>(OddNumber(random)));
    case FieldDescriptor::CPPTYPE_STRING:
      return of.AddString(&message, &field, ChangedText("", random));
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const int size = of.FieldSize(message, &field);
      Message& added = *of.AddMessage(&message, &field);
      if (size > 0)
        added.CopyFrom(
            of.GetRepeatedMessage(message, &field, static_cast<int>(Below(random, static_cast<size_t>(size)))));
      return MutateMessage(added, random);
    }
    default:
      return;
  }
}

void MutateRepeated(Message& message, const FieldDescriptor& field, std::mt19937& random) {
  const Reflection& of = *message.GetReflection();
  const int size = of.FieldSize(message, &field);
  const size_t choice = Below(random, 6);
  if (size == 0 || choice == 0) return AddOne(message, field, random);
  const auto index = static_cast<int>(Below(random, static_cast<size_t>(size)));
  if (choice == 1) return of.RemoveLast(&message, &field);
  if (choice == 2) return of.SwapElements(&message, &field, index, size - 1);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return of.SetRepeatedUInt32(&message, &field, index,
                                  static_cast<uint32_t>(Changed(of.GetRepeatedUInt32(message, &field, index), random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return of.SetRepeatedUInt64(&message, &field, index,
                                  Changed(of.GetRepeatedUInt64(message, &field, index), random));
    case FieldDescriptor::CPPTYPE_STRING:
      return of.SetRepeatedString(&message, &field, index,
                                  ChangedText(of.GetRepeatedString(message, &field, index), random));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MutateMessage(*of.MutableRepeatedMessage(&message, &field, index), random);
    default:
      return;
  }
}

// Changes an item's message, where its payload is one.
bool MutatePayload(const Prototype& prototype, Item& item, std::mt19937& random) {
  const std::unique_ptr<Message> message = prototype(item);
  if (message == nullptr || !message->ParsePartialFromString(item.payload)) return false;
  for (size_t changes = 1 + Below(random, 3); changes > 0; --changes) MutateMessage(*message, random);
  item.payload = message->SerializePartialAsString();
  return true;
}

size_t Give(const std::vector<Item>& items, uint8_t* data, size_t max_size) {
  const std::string bytes = WriteItems(items);
  const size_t size = std::min(bytes.size(), max_size);
  std::copy_n(bytes.begin(), size, data);
  return size;
}

}  // namespace

void MutateList(const Prototype& prototype, std::vector<Item>& items, std::mt19937& random) {
  const size_t at = Below(random, items.size());
  switch (Below(random, 10)) {
    case 0:
      items.erase(items.begin() + static_cast<ptrdiff_t>(at));
      return;
    case 1: {
      const Item copy = items[at];
      items.insert(items.begin() + static_cast<ptrdiff_t>(Below(random, items.size() + 1)), copy);
      return;
    }
    case 2:
      std::swap(items[at], items[Below(random, items.size())]);
      return;
    case 3:
      items[at].route = static_cast<uint8_t>(OddNumber(random));
      return;
    case 4: {
      Item fresh{static_cast<uint8_t>(random()), ""};
      MutatePayload(prototype, fresh, random);
      items.insert(items.begin() + static_cast<ptrdiff_t>(at), std::move(fresh));
      return;
    }
    case 5:
      items[at].payload = ChangedText(items[at].payload, random);
      return;
    default:
      if (!MutatePayload(prototype, items[at], random)) items[at].payload = ChangedText(items[at].payload, random);
  }
}

size_t MutateItems(const Prototype& prototype, uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::mt19937 random(seed);
  std::vector<Item> items = ReadItems(data, size);
  if (items.empty() || Below(random, 16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  MutateList(prototype, items, random);
  return Give(items, data, max_size);
}

size_t CrossItems(const uint8_t* one, size_t one_size, const uint8_t* other, size_t other_size, uint8_t* out,
                  size_t max_size, unsigned int seed) {
  std::mt19937 random(seed);
  std::vector<Item> items = ReadItems(one, one_size);
  const std::vector<Item> more = ReadItems(other, other_size);
  items.resize(Below(random, items.size() + 1));
  items.insert(items.end(), more.begin() + static_cast<ptrdiff_t>(Below(random, more.size() + 1)), more.end());
  return Give(items, out, max_size);
}

void MutateMessage(Message& message, std::mt19937& random) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  if (type.field_count() == 0) return;
  const Reflection& of = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  of.ListFields(message, &set);
  // Mostly what is there: a field that is not set is often none that this message is about.
  const FieldDescriptor& field =
      !set.empty() && Below(random, 8) != 0
          ? *set[Below(random, set.size())]
          : *type.field(static_cast<int>(Below(random, static_cast<size_t>(type.field_count()))));
  if (Below(random, 32) == 0) return of.ClearField(&message, &field);
  if (field.is_repeated()) return MutateRepeated(message, field, random);
  MutateSingle(message, field, random);
}

uint64_t OddNumber(std::mt19937& random) {
  constexpr uint64_t kOdd[] = {0,
                               1,
                               2,
                               3,
                               255,
                               511,
                               4095,
                               4096,
                               65'536,
                               INT32_MAX,
                               UINT32_MAX,
                               uint64_t{1} << 40,
                               INT64_MAX,
                               INT64_MAX - 1,
                               uint64_t{1} << 63,
                               UINT64_MAX,
                               250'000'000,
                               1'000'000'000};
  return kOdd[Below(random, std::size(kOdd))];
}

}  // namespace plimsoll::fuzz
