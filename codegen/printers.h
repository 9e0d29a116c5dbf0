// One function per generated file. A function only prints the model and must not make decisions.
#pragma once

#include <google/protobuf/io/printer.h>

#include "codegen/model.h"

namespace csi_proxy::codegen {

// hub.{h,cc}, audited.h and faulty.h of csi_proxy/<group>/: structs and the abstract service.
void PrintHubHeader(const Group& group, pb::io::Printer& printer);
void PrintHubSource(const Group& group, pb::io::Printer& printer);
void PrintAuditedHeader(const Group& group, pb::io::Printer& printer);
void PrintFaultyHeader(const Group& group, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/api.h: the version's messages by name, and its interface.
void PrintApiHeader(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/convert.{h,cc}
void PrintConvertHeader(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintConvertSource(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/shim.{h,cc}: the version's Api over the hub's service, and kServed.
void PrintShimHeader(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintShimSource(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/methods.h: the names of the rpcs.
void PrintMethodsHeader(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/by_name.{h,cc} and round_trip.{h,cc}: the client's methods and the
// conversions, for tools and tests that use names at run time.
void PrintByNameHeader(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintByNameSource(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintRoundTripHeader(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintRoundTripSource(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/served_versions.{h,cc}: all versions of the group.
void PrintServedVersionsHeader(const Group& group, pb::io::Printer& printer);
void PrintServedVersionsSource(const Group& group, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/client.{h,cc} and remote.{h,cc}
void PrintClientHeader(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintClientSource(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintRemoteHeader(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintRemoteSource(const Group& group, const Version& version, pb::io::Printer& printer);

// Shared by the printers.
using Vars = std::map<std::string, std::string>;

// Returns the C++ type of a scalar, string or bytes: `uint32_t`, `std::string`.
std::string ScalarType(const pb::FieldDescriptor& field);

// Returns the variables `file` (the source), `group` and `hub` (the name of the hub's service).
Vars FileVars(const Group& group);
// Returns the variables `file`, `group`, `hub`, `version`, `service` (its name in the rpc's path)
// and `pipe`.
Vars FileVars(const Group& group, const Version& version);
// Prints `generated from ..., do not edit` and, in a header, the include guard.
void PrintBanner(const Vars& vars, bool is_header, pb::io::Printer& printer);
// Returns true if a hub's method does not change the node.
bool Reads(const pb::MethodDescriptor& method);
// Returns true if a field of a hub's message is a secret.
bool HoldsSecrets(const pb::Descriptor& message);
// Returns true if the message, or one within it, contains a secret.
bool HoldsSecretsWithin(const pb::Descriptor& message);
// Prints `text` for each method with $method$, $request$, $response$ and the hub's names.
void ForEachMethod(const Version& version, const Vars& vars, const char* text,
                   pb::io::Printer& printer);
// Print the begin and the end of the version's namespace.
void OpenNamespace(const Vars& vars, pb::io::Printer& printer);
void CloseNamespace(const Vars& vars, pb::io::Printer& printer);
// Prints a comment as `//` lines. Does not print an empty comment.
void PrintComment(const std::string& comment, pb::io::Printer& printer);

// Returns the comment above a declaration, or else the one after it; "" without a comment.
template <typename Descriptor>
std::string CommentOf(const Descriptor& descriptor) {
  pb::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return "";
  return location.leading_comments.empty() ? location.trailing_comments : location.leading_comments;
}

}  // namespace csi_proxy::codegen
