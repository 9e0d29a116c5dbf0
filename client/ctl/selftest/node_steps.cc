// Steps on the rest of the node: pipes, services, firmware, shares, iSCSI.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/ctl/selftest/selftest.h"
#include "csi_proxy/steady_time.h"
#include "server/http/host_port.h"
#include "server/names/windows_path.h"

namespace csi_proxy::ctl::selftest {
namespace {

// The time in which the disks of a newly connected target must appear.
constexpr absl::Duration kDiskArrival = absl::Seconds(30);
constexpr absl::Duration kPoll = absl::Milliseconds(250);

using enum absl::StatusCode;

}  // namespace

// Accepts a portal without a port, and an IPv6 address without brackets.
Fields Attempt::OfPortal() const {
  const std::string& text = options_.iscsi_portal();
  const absl::StatusOr<HostPort> portal = HostPort::Parse("", text);
  if (!portal.ok()) return {{"target-portal.target-address", text}};
  return {{"target-portal.target-address", text.substr(0, text.rfind(':'))},
          {"target-portal.target-port", absl::StrCat(portal->port)}};
}

Fields Attempt::OfTarget() const {
  Fields fields = OfPortal();
  fields.emplace_back("iqn", options_.iscsi_iqn());
  return fields;
}

std::string Attempt::ExaminePipes() {
  std::map<std::string, std::string> served;  // The versions, by group.
  std::vector<std::string> silent;
  const auto released = rpcs_.catalog().Pipes();
  for (const auto& [group, version] : released) {
    if (!rpcs_.pipes().Exists(group, version)) continue;
    const absl::Status status = rpcs_.pipes().Examine(group, version).status;
    if (status.ok()) {
      absl::StrAppend(&served[group], " ", version);
    } else {
      silent.push_back(absl::StrCat(group, " ", version, " (", status.message(), ")"));
    }
  }
  Expect(silent.empty(), "pipes exist but do not answer: ", absl::StrJoin(silent, ", "));
  Expect(!served.empty(), "there are no pipes");
  return absl::StrCat("of ", released.size(),
                      " released: ", absl::StrJoin(served, ", ", absl::PairFormatter("")));
}

std::string Attempt::QueryService() {
  const std::string& name = options_.service();
  const Answer service = Call("system.GetService", {{"name", name}});
  const std::string status = service.Text("status");
  Expect(status != "UNKNOWN", "its state is UNKNOWN");
  ExpectRefused(kNotFound, "system.GetService", {{"name", "csi-proxy-selftest-absent"}});
  return absl::StrCat(name, " (", service.Text("display_name"), "): ", service.Text("start_type"),
                      ", ", status);
}

std::string Attempt::RestartService() {
  const std::string& service = options_.restart_service();
  const std::string before = StatusOf(service);
  Expect(before == "RUNNING" || before == "STOPPED", "it is ", before,
         ", and neither RUNNING nor STOPPED");
  const bool ran = before == "RUNNING";
  const auto change = [&](bool start) {
    return Undo{
        "service", start ? "system.StartService" : "system.StopService", {{"name", service}}};
  };
  AddUndo(change(ran));
  for (const bool start : {!ran, ran}) {
    Twice(change(start).rpc, change(start).fields);
    const std::string now = StatusOf(service);
    Expect(now == (start ? "RUNNING" : "STOPPED"), "it is ", now, " after ",
           start ? "StartService" : "StopService");
  }
  RemoveUndo("service");
  return absl::StrCat(service, " is ", before, " as before");
}

std::string Attempt::ReadBios() {
  const std::string serial = Call("system.GetBIOSSerialNumber").Text("serial_number");
  Expect(!serial.empty(), "the serial number is empty");
  return serial;
}

std::string Attempt::MapShare() {
  const std::string link = Path("share");
  const Fields mapping = {{"remote-path", options_.smb_share()},
                          {"local-path", link},
                          {"username", options_.smb_username()},
                          {"password", options_.smb_password()}};
  AddUndo(Unmapping());
  AddUndo({"the link to the share", "filesystem.Rmdir", {{"path", link}}});
  Twice("smb.NewSmbGlobalMapping", mapping);
  Expect(IsSymlink(link), "IsSymlink returns false for the link to the share");
  Expect(Exists(link), "the link to the share does not exist");
  return absl::StrCat(link, " leads to ", options_.smb_share());
}

std::string Attempt::SeeMapping() {
  const std::string link = Path("share");
  for (const Answer& mapping : Call("storage.ListSmbMappings").Each("mappings")) {
    for (const std::string& path : mapping.Texts("links")) {
      if (!EqualNames(path, link)) continue;
      const std::string status = mapping.Text("status");
      Expect(status == "OK", "the mapping is ", status);
      return absl::StrCat(mapping.Text("remote_path"), " is ", status);
    }
  }
  Expect(false, "no mapping is listed for the link");
  return "";
}

std::string Attempt::UnmapShare() {
  Finish("the link to the share");
  Finish("the mapping of the share");
  ExpectRefused(kNotFound, "smb.RemoveSmbGlobalMapping", Unmapping().fields);
  return "";
}

std::string Attempt::RefuseMappings() {
  constexpr char kNew[] = "smb.NewSmbGlobalMapping";
  const std::string& share = options_.smb_share();
  const std::string& password = options_.smb_password();
  const absl::StatusOr<UncPath> path = UncPath::Parse("--smb-share", share);
  Expect(path.ok(), path.status().message());
  if (!ok()) return "";
  const std::string absent = absl::StrCat("\\\\", path->host(), "\\csi-proxy-selftest-absent");
  const auto mapping = [&](const std::string& remote, const char* more_user,
                           const std::string& with_password) -> Fields {
    return {{"remote-path", remote},
            {"username", absl::StrCat(options_.smb_username(), more_user)},
            {"password", with_password}};
  };
  AddUndo(Unmapping());
  ExpectRefused(kFailedPrecondition, kNew,
                mapping(share, "", "csi-proxy-selftest: not the password"));
  ExpectRefused(kNotFound, kNew, mapping(absent, "", password));
  Call(kNew, mapping(share, "", password));
  // Any error is accepted, because no page says whether Windows first looks for the share or for
  // another user's session (error 1219).
  const absl::Status second = Try(kNew, mapping(absent, "-selftest", password)).status();
  Expect(!second.ok(), "a second user has mapped a share that does not exist");
  Finish("the mapping of the share");
  return absl::StrCat("a second user: ", second.message());
}

std::string Attempt::AddPortal() {
  const Fields portal = OfPortal();
  // Asks before it adds the portal, because a portal that existed must stay registered.
  const absl::Status before = Try("iscsi.DiscoverTargetPortal", portal).status();
  Expect(before.ok() || absl::IsNotFound(before), "iscsi.DiscoverTargetPortal: ", before.message());
  state_.knew_portal = before.ok();
  if (!before.ok()) AddUndo({"the portal", "iscsi.RemoveTargetPortal", portal});
  Twice("iscsi.AddTargetPortal", portal);
  Expect(Call("iscsi.ListTargetPortals").Size("target_portals") > 0, "no portal is listed");
  const std::vector<std::string> iqns = Call("iscsi.DiscoverTargetPortal", portal).Texts("iqns");
  Expect(!iqns.empty(), "the portal offers no target");
  return absl::StrCat(state_.knew_portal ? "was registered before; " : "",
                      absl::StrJoin(iqns, ", "));
}

std::string Attempt::ConnectTarget() {
  const Fields target = OfTarget();
  const int before = Call("iscsi.GetTargetDisks", target).Size("disk_ids");
  // A target with disks has a session, which must stay. A session without disks may be ended.
  if (before > 0) return absl::StrCat("was connected before and is left so, disks: ", before);
  AddUndo({"the target", "iscsi.DisconnectTarget", target});
  Twice("iscsi.ConnectTarget", target);
  int disks = 0;
  const SteadyTime give_up = SteadyTime::Now() + kDiskArrival;
  while (ok()) {
    disks = Call("iscsi.GetTargetDisks", target).Size("disk_ids");
    if (disks > 0 || SteadyTime::Now() > give_up) break;
    absl::SleepFor(kPoll);
  }
  Expect(disks > 0, "the target brings no disk");
  Twice("iscsi.DisconnectTarget", target);
  RemoveUndo("the target");
  return absl::StrCat(disks, " disks");
}

std::string Attempt::RemovePortal() {
  if (state_.knew_portal) return "was registered before and is left so";
  Finish("the portal");
  ExpectRefused(kNotFound, "iscsi.RemoveTargetPortal", OfPortal());
  return "";
}

}  // namespace csi_proxy::ctl::selftest
