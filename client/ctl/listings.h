// Lists as a person at a terminal needs them, and the names in them.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/ctl/rpcs.h"

namespace csi_proxy::ctl {

struct Column {
  const char* head;
  // Its text in a row; may hold control characters.
  std::string (*text)(const Answer& row);
};

// A response that lists messages.
struct Listing {
  const char* response;  // the type's name
  const char* list;      // its field
  // The columns that a person needs. Empty: all.
  std::vector<Column> columns;
  // By which calls name a row.
  std::string (*name)(const Answer& row);
};
absl::Span<const Listing> Listings();

// The response with the columns that a person needs; as ToTable() when all are needed, or when its
// version has other fields.
std::string ToShortTable(const pb::Message& response);

// Tells whether responses of the type list objects that have names.
bool HasNames(const pb::Descriptor& response);
// A line for each name in a response of such a type: what stands in a list of texts, a map's keys.
std::string ToNames(const pb::Message& response);

}  // namespace csi_proxy::ctl
