#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/output.h"

namespace csi_proxy::ctl {
namespace {

using Field = pb::FieldDescriptor;

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

// Returns what identifies a disk across nodes. Clouds put their volume's id in one of the fields.
std::string DiskIdentity(const Answer& disk) {
  const std::string serial_number = disk.Text("serial_number");
  return OrDash(serial_number.empty() ? disk.Text("page83") : serial_number);
}

std::string DiskUse(const Answer& disk) {
  if (disk.Flag("is_boot")) return "Windows";
  return disk.Flag("is_system") ? "boot loader" : "-";
}

std::string DiskState(const Answer& disk) {
  const std::string reason = disk.Text("offline_reason");
  return absl::StrCat(
      disk.Flag("is_online") ? "online" : "offline",
      disk.Flag("is_online") || reason.empty() ? "" : absl::StrCat(" (", reason, ")"),
      disk.Flag("is_read_only") ? ", read-only" : "");
}

std::string MountKindText(const Answer& mount) {
  const std::string kind = mount.Text("kind");
  return kind == "MOUNTED_VOLUME" ? "volume" : absl::AsciiStrToLower(kind);
}

std::string PortalName(const Answer& portal) {
  const std::string address = portal.Text("target_address");
  const bool has_colons = absl::StrContains(address, ':');
  return absl::StrCat(has_colons ? "[" : "", address, has_colons ? "]:" : ":",
                      portal.Number("target_port"));
}

const Listing* Find(const pb::Descriptor& response) {
  const absl::Span<const Listing> listings = Listings();
  const auto found = std::find_if(listings.begin(), listings.end(), [&](const Listing& listing) {
    return response.name() == listing.response && response.FindFieldByName(listing.list) != nullptr;
  });
  return found == listings.end() ? nullptr : &*found;
}

// Returns the only field of a response if that is a list of strings or a map, otherwise null.
const Field* WholeList(const pb::Descriptor& response) {
  if (response.field_count() != 1) return nullptr;
  const Field* const field = response.field(0);
  const bool has_texts = field->is_repeated() && field->cpp_type() == Field::CPPTYPE_STRING;
  return has_texts || field->is_map() ? field : nullptr;
}

// Wraps a message. The answer must not outlive `message`.
Answer Borrow(const pb::Message& message, std::string* missing) {
  return Answer(std::shared_ptr<const pb::Message>(std::shared_ptr<void>(), &message), missing);
}

}  // namespace

// Columns with long texts are last, so that the other columns stay on the screen.
absl::Span<const Listing> Listings() {
  static const std::vector<Listing>* const kListings = new std::vector<Listing>{
      {.response = "ListDisksResponse",
       .list = "disks",
       .columns = {{"DISK", [](const Answer& disk) { return absl::StrCat(disk.Number("number")); }},
                   {"BUS", [](const Answer& disk) { return OrDash(disk.Text("bus_type")); }},
                   {"SIZE", [](const Answer& disk) { return SizeText(disk.Number("size_bytes")); }},
                   {"STYLE", [](const Answer& disk) { return disk.Text("partition_style"); }},
                   {"USE", &DiskUse},
                   {"STATE", &DiskState},
                   {"SERIAL OR PAGE 83", &DiskIdentity}},
       .name = [](const Answer& disk) { return absl::StrCat(disk.Number("number")); }},
      {.response = "ListMountsResponse",
       .list = "mounts",
       .columns = {{"STATE",
                    [](const Answer& mount) { return absl::AsciiStrToLower(mount.Text("state")); }},
                   {"KIND", &MountKindText},
                   {"PATH", [](const Answer& mount) { return mount.Text("path"); }},
                   {"TARGET", [](const Answer& mount) { return OrDash(mount.Text("target")); }}},
       .name = [](const Answer& mount) { return mount.Text("path"); }},
      {.response = "ListSmbMappingsResponse",
       .list = "mappings",
       .columns = {{"STATUS", [](const Answer& mapping) { return OrDash(mapping.Text("status")); }},
                   {"LINKS",
                    [](const Answer& mapping) { return absl::StrCat(mapping.Size("links")); }},
                   {"SHARE", [](const Answer& mapping) { return mapping.Text("remote_path"); }}},
       .name = [](const Answer& mapping) { return mapping.Text("remote_path"); }},
      {.response = "ListTargetPortalsResponse",
       .list = "target_portals",
       .columns = {},
       .name = &PortalName},
  };
  return *kListings;
}

std::string ToShortTable(const pb::Message& response) {
  const Listing* const listing = Find(*response.GetDescriptor());
  if (listing == nullptr || listing->columns.empty()) return ToTable(response);
  std::string missing;
  const Answer answer = Borrow(response, &missing);
  std::vector<std::vector<std::string>> rows(1);
  for (const Column& column : listing->columns) rows[0].push_back(column.head);
  for (const Answer& row : answer.Each(listing->list)) {
    rows.emplace_back();
    for (const Column& column : listing->columns)
      rows.back().push_back(Printable(column.text(row)));
  }
  if (!missing.empty()) return ToTable(response);
  std::string text = rows.size() == 1 ? absl::StrCat(listing->list, "  (none)\n") : Align(rows);
  const bool can_be_cut = response.GetDescriptor()->FindFieldByName("incomplete") != nullptr;
  if (can_be_cut && answer.Flag("incomplete")) {
    absl::StrAppend(&text, "incomplete: the service did not check all directories\n");
  }
  return text;
}

bool HasNames(const pb::Descriptor& response) {
  return Find(response) != nullptr || WholeList(response) != nullptr;
}

std::string ToNames(const pb::Message& response) {
  std::vector<std::vector<std::string>> names;
  const pb::Descriptor& type = *response.GetDescriptor();
  const pb::Reflection& reflection = *response.GetReflection();
  if (const Listing* const listing = Find(type)) {
    std::string missing;
    const Answer answer = Borrow(response, &missing);
    for (const Answer& row : answer.Each(listing->list)) {
      names.push_back({Printable(listing->name(row))});
    }
  } else if (const Field* const field = WholeList(type)) {
    for (int i = 0; i < reflection.FieldSize(response, field); ++i) {
      if (!field->is_map()) {
        names.push_back({ValueText(response, field, i)});
        continue;
      }
      const pb::Message& entry = reflection.GetRepeatedMessage(response, field, i);
      names.push_back({ValueText(entry, field->message_type()->map_key(), -1)});
    }
    if (field->is_map()) SortByKey(&names);
  }
  return Align(names);
}

}  // namespace csi_proxy::ctl
