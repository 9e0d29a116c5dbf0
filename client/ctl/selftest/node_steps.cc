// Steps on the rest of the node: pipes, services, firmware, shares, iSCSI.
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

// Returns the portal's fields. The port is optional, and so are the brackets of IPv6.
Fields Portal(const Attempt& attempt) {
  const std::string& text = attempt.options().iscsi_portal();
  const absl::StatusOr<HostPort> portal = HostPort::Parse("", text);
  if (!portal.ok()) return {{"target-portal.target-address", text}};
  return {{"target-portal.target-address", text.substr(0, text.rfind(':'))},
          {"target-portal.target-port", absl::StrCat(portal->port)}};
}

Fields Target(const Attempt& attempt) {
  Fields fields = Portal(attempt);
  fields.emplace_back("iqn", attempt.options().iscsi_iqn());
  return fields;
}

Undo Unmapping(const Attempt& attempt) {
  return {"the mapping of the share",
          "smb",
          "RemoveSmbGlobalMapping",
          {{"remote-path", attempt.options().smb_share()}}};
}

}  // namespace

std::string ExaminePipes(Attempt& attempt) {
  const Catalog& catalog = attempt.rpcs().catalog();
  Pipes& pipes = attempt.rpcs().pipes();
  std::vector<std::string> served, silent;
  int released = 0;
  for (const std::string& group : catalog.Groups()) {
    std::vector<std::string> versions;
    for (const std::string& version : catalog.Versions(group)) {
      ++released;
      if (!pipes.Exists(group, version)) continue;
      const PipeReport report = pipes.Examine(group, version);
      if (report.status.ok()) {
        versions.push_back(version);
      } else {
        silent.push_back(absl::StrCat(group, " ", version, " (", report.status.message(), ")"));
      }
    }
    if (!versions.empty()) {
      served.push_back(absl::StrCat(group, " ", absl::StrJoin(versions, " ")));
    }
  }
  attempt.Expect(silent.empty(), "pipes exist but do not answer: ", absl::StrJoin(silent, ", "));
  attempt.Expect(!served.empty(), "there are no pipes");
  return absl::StrCat("of ", released, " released: ", absl::StrJoin(served, ", "));
}

std::string QueryService(Attempt& attempt) {
  const std::string& name = attempt.options().service();
  const Answer service = attempt.Call("system", "GetService", {{"name", name}});
  const std::string status = service.Text("status");
  attempt.Expect(status != "UNKNOWN", "its state is UNKNOWN");
  attempt.ExpectRefused(absl::StatusCode::kNotFound, "system", "GetService",
                        {{"name", "csi-proxy-selftest-absent"}});
  return absl::StrCat(name, " (", service.Text("display_name"), "): ", service.Text("start_type"),
                      ", ", status);
}

std::string RestartService(Attempt& attempt) {
  const Fields service = {{"name", attempt.options().restart_service()}};
  const std::string before = attempt.Call("system", "GetService", service).Text("status");
  attempt.Expect(before == "RUNNING" || before == "STOPPED", "it is ", before,
                 ", and neither RUNNING nor STOPPED");
  const bool ran = before == "RUNNING";
  attempt.AddUndo({"service", "system", ran ? "StartService" : "StopService", service});
  for (const bool start : {!ran, ran}) {
    const char* const method = start ? "StartService" : "StopService";
    attempt.Twice("system", method, service);
    const std::string now = attempt.Call("system", "GetService", service).Text("status");
    attempt.Expect(now == (start ? "RUNNING" : "STOPPED"), "it is ", now, " after ", method);
  }
  attempt.RemoveUndo("service");
  return absl::StrCat(attempt.options().restart_service(), " is ", before, " as before");
}

std::string ReadBios(Attempt& attempt) {
  const std::string serial = attempt.Call("system", "GetBIOSSerialNumber").Text("serial_number");
  attempt.Expect(!serial.empty(), "the serial number is empty");
  return serial;
}

std::string MapShare(Attempt& attempt) {
  const Options& options = attempt.options();
  const std::string link = attempt.Path("share");
  const Fields mapping = {{"remote-path", options.smb_share()},
                          {"local-path", link},
                          {"username", options.smb_username()},
                          {"password", options.smb_password()}};
  attempt.AddUndo(Unmapping(attempt));
  attempt.AddUndo({"the link to the share", "filesystem", "Rmdir", {{"path", link}}});
  attempt.Twice("smb", "NewSmbGlobalMapping", mapping);
  attempt.Expect(attempt.IsSymlink(link), "IsSymlink returns false for the link to the share");
  attempt.Expect(attempt.Exists(link), "the link to the share does not exist");
  return absl::StrCat(link, " leads to ", options.smb_share());
}

std::string SeeMapping(Attempt& attempt) {
  const std::string link = attempt.Path("share");
  for (const Answer& mapping : attempt.Call("storage", "ListSmbMappings").Each("mappings")) {
    for (const std::string& path : mapping.Texts("links")) {
      if (!EqualNames(path, link)) continue;
      const std::string status = mapping.Text("status");
      attempt.Expect(status == "OK", "the mapping is ", status);
      return absl::StrCat(mapping.Text("remote_path"), " is ", status);
    }
  }
  attempt.Expect(false, "no mapping is listed for the link");
  return "";
}

std::string UnmapShare(Attempt& attempt) {
  attempt.Finish("the link to the share");
  attempt.Finish("the mapping of the share");
  attempt.ExpectRefused(absl::StatusCode::kNotFound, "smb", "RemoveSmbGlobalMapping",
                        Unmapping(attempt).fields);
  return "";
}

std::string RefuseMappings(Attempt& attempt) {
  const Options& options = attempt.options();
  const std::string& share = options.smb_share();
  const std::string absent =
      absl::StrCat(share.substr(0, share.find('\\', 2)), "\\csi-proxy-selftest-absent");
  const auto mapping = [](const std::string& path, const std::string& user,
                          const std::string& password) {
    return Fields{{"remote-path", path}, {"username", user}, {"password", password}};
  };
  attempt.AddUndo(Unmapping(attempt));
  attempt.ExpectRefused(
      absl::StatusCode::kFailedPrecondition, "smb", "NewSmbGlobalMapping",
      mapping(share, options.smb_username(), "csi-proxy-selftest: not the password"));
  attempt.ExpectRefused(absl::StatusCode::kNotFound, "smb", "NewSmbGlobalMapping",
                        mapping(absent, options.smb_username(), options.smb_password()));
  attempt.Call("smb", "NewSmbGlobalMapping",
               mapping(share, options.smb_username(), options.smb_password()));
  // No page says whether Windows looks for the share or for another user's session (error 1219)
  // first.
  const absl::Status second =
      attempt
          .Try("smb", "NewSmbGlobalMapping",
               mapping(absent, absl::StrCat(options.smb_username(), "-selftest"),
                       options.smb_password()))
          .status();
  attempt.Expect(!second.ok(), "a second user has mapped a share that does not exist");
  attempt.Finish("the mapping of the share");
  return absl::StrCat("a second user: ", second.message());
}

std::string AddPortal(Attempt& attempt) {
  const Fields portal = Portal(attempt);
  // Asks before it adds the portal, because a portal that existed must stay registered.
  const absl::Status before = attempt.Try("iscsi", "DiscoverTargetPortal", portal).status();
  attempt.Expect(before.ok() || absl::IsNotFound(before),
                 "iscsi.DiscoverTargetPortal: ", before.message());
  attempt.state().knew_portal = before.ok();
  if (!before.ok()) attempt.AddUndo({"the portal", "iscsi", "RemoveTargetPortal", portal});
  attempt.Twice("iscsi", "AddTargetPortal", portal);
  const int portals = attempt.Call("iscsi", "ListTargetPortals").Size("target_portals");
  attempt.Expect(portals > 0, "no portal is listed");
  const std::vector<std::string> iqns =
      attempt.Call("iscsi", "DiscoverTargetPortal", portal).Texts("iqns");
  attempt.Expect(!iqns.empty(), "the portal offers no target");
  return absl::StrCat(attempt.state().knew_portal ? "was registered before; " : "",
                      absl::StrJoin(iqns, ", "));
}

std::string ConnectTarget(Attempt& attempt) {
  const Fields target = Target(attempt);
  const int before = attempt.Call("iscsi", "GetTargetDisks", target).Size("disk_ids");
  // A target with disks has a session, which must stay. A session without disks may be ended.
  if (before > 0) return absl::StrCat("was connected before and is left so, disks: ", before);
  attempt.AddUndo({"the target", "iscsi", "DisconnectTarget", target});
  attempt.Twice("iscsi", "ConnectTarget", target);
  int disks = 0;
  const SteadyTime give_up = SteadyTime::Now() + kDiskArrival;
  while (attempt.ok()) {
    disks = attempt.Call("iscsi", "GetTargetDisks", target).Size("disk_ids");
    if (disks > 0 || SteadyTime::Now() > give_up) break;
    absl::SleepFor(kPoll);
  }
  attempt.Expect(disks > 0, "the target brings no disk");
  attempt.Twice("iscsi", "DisconnectTarget", target);
  attempt.RemoveUndo("the target");
  return absl::StrCat(disks, " disks");
}

std::string RemovePortal(Attempt& attempt) {
  if (attempt.state().knew_portal) return "was registered before and is left so";
  attempt.Finish("the portal");
  attempt.ExpectRefused(absl::StatusCode::kNotFound, "iscsi", "RemoveTargetPortal",
                        Portal(attempt));
  return "";
}

}  // namespace csi_proxy::ctl::selftest
