// One function per generated file. Each writes the model down and decides nothing.
#pragma once

#include <google/protobuf/io/printer.h>

#include "codegen/model.h"

namespace csi_proxy::codegen {

// csi_proxy/<group>/hub.{h,cc}: structs and the abstract service; audited.h, faulty.h.
void PrintHubHeader(const Group& group, pb::io::Printer& printer);
void PrintHubSource(const Group& group, pb::io::Printer& printer);
void PrintAuditedHeader(const Group& group, pb::io::Printer& printer);
void PrintFaultyHeader(const Group& group, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/api.h: the version's messages by name, and its interface.
void PrintApiHeader(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/convert.{h,cc}
void PrintConvertHeader(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintConvertSource(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/shim.{h,cc}: the interface over the hub's service, and
// as a table.
void PrintShimHeader(const Group& group, const Version& version, pb::io::Printer& printer);
void PrintShimSource(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/methods.h: the names of the rpcs.
void PrintMethodsHeader(const Group& group, const Version& version, pb::io::Printer& printer);

// csi_proxy/<group>/<version>/by_name.{h,cc} and round_trip.{h,cc}: the client's methods and the
// conversions for tools and tests that learn their names at run time.
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

// The C++ type of a scalar, a string or a byte string: `uint32_t`, `std::string`.
std::string ScalarType(const pb::FieldDescriptor& field);

// `file` (the source it comes from) and `group`.
Vars FileVars(const Group& group);
// Also `version`, `service` (as the rpc's path has it) and `pipe`.
Vars FileVars(const Group& group, const Version& version);
// `generated from ..., do not edit` and, in a header, the include guard.
void PrintBanner(const Vars& vars, bool is_header, pb::io::Printer& printer);
// Tells whether a hub's method leaves the node as it is.
bool Reads(const pb::MethodDescriptor& method);
// Tells whether a field of a hub's message is a secret.
bool HoldsSecrets(const pb::Descriptor& message);
// The same, of the message or one within it.
bool HoldsSecretsWithin(const pb::Descriptor& message);
// Runs `text` for each method with $method$, $request$, $response$ and the hub's names.
void ForEachMethod(const Version& version, const Vars& vars, const char* text,
                   pb::io::Printer& printer);
// Opens and closes the version's namespace.
void OpenNamespace(const Vars& vars, pb::io::Printer& printer);
void CloseNamespace(const Vars& vars, pb::io::Printer& printer);
// The comment above a descriptor, as `//` lines.
template <typename Descriptor>
void PrintComment(const Descriptor& descriptor, pb::io::Printer& printer);
void PrintCommentText(const pb::SourceLocation& location, pb::io::Printer& printer);

template <typename Descriptor>
void PrintComment(const Descriptor& descriptor, pb::io::Printer& printer) {
  pb::SourceLocation location;
  if (descriptor.GetSourceLocation(&location)) PrintCommentText(location, printer);
}

}  // namespace csi_proxy::codegen
