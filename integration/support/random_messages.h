// Messages with anything in them that their version can say.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <string>

namespace csi_proxy::integration {

// Tells whether the texts of a field are decimal numbers of 32 bits; anything else is refused.
bool IsDecimal(const google::protobuf::FieldDescriptor& field);

// The same ones for the same seed.
class RandomMessages {
 public:
  explicit RandomMessages(uint32_t seed) : random_(seed) {}
  virtual ~RandomMessages() = default;

  // Fills every field but those that have no place in the hub.
  void Fill(google::protobuf::Message* message);

 protected:
  // Returns a value for a text field, in UTF-8.
  virtual std::string Text(const google::protobuf::FieldDescriptor& field);
  virtual uint32_t Number32();

  uint64_t Random() { return random_(); }

 private:
  void Set(google::protobuf::Message* message, const google::protobuf::FieldDescriptor* field);
  void FillEntry(google::protobuf::Message* entry);

  std::mt19937_64 random_;
};

}  // namespace csi_proxy::integration
