// Short tables of lists for people at a terminal, and the names of the listed objects.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/ctl/rpcs.h"

namespace csi_proxy::ctl {

struct Column {
  const char* head;
  // Returns the text for a row; may contain control characters.
  std::string (*text)(const Answer& row);
};

// A response that lists messages.
struct Listing {
  const char* response;  // The name of the message type.
  const char* list;      // The name of its field.
  // The columns of the short table. Empty: all.
  std::vector<Column> columns;
  // Returns the name by which calls refer to the row's object.
  std::string (*name)(const Answer& row);
};
absl::Span<const Listing> Listings();

// Returns a response as a short table. Returns ToTable() if all columns are shown, or if the
// response's version has other fields.
std::string ToShortTable(const pb::Message& response);

// Returns true if responses of the type list objects with names.
bool HasNames(const pb::Descriptor& response);
// Returns a line for each name in a response: the strings of a list, or the keys of a map.
// REQUIRES: HasNames() of its type.
std::string ToNames(const pb::Message& response);

}  // namespace csi_proxy::ctl
