#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <string>

namespace csi_proxy::integration {

// Returns true if the texts of a field must be decimal numbers of 32 bits.
bool IsDecimal(const google::protobuf::FieldDescriptor& field);

// Fills messages with random values that are valid in their version. A seed always gives the same
// values.
class RandomMessages {
 public:
  explicit RandomMessages(uint32_t seed) : random_(seed) {}
  virtual ~RandomMessages() = default;

  // Fills every field except those that the hub drops.
  void Fill(google::protobuf::Message* message);

 protected:
  // Returns UTF-8 text for a field.
  virtual std::string Text(const google::protobuf::FieldDescriptor& field);
  virtual uint32_t Number32();

  uint64_t Random() { return random_(); }

 private:
  void Set(google::protobuf::Message* message, const google::protobuf::FieldDescriptor* field);
  void FillEntry(google::protobuf::Message* entry);

  std::mt19937_64 random_;
};

}  // namespace csi_proxy::integration
