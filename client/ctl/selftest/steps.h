// The table of the selftest's steps.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/selftest/attempt.h"

namespace csi_proxy::ctl::selftest {

struct Step {
  // The name in reports: `mount`.
  const char* name;
  const char* shows;
  // The rpcs that the step calls: `volume.MountVolume`. A group's health check is not listed.
  std::vector<std::string> rpcs;
  // Earlier steps that must have passed.
  std::vector<std::string> needs;
  // The step is skipped unless this flag is given: `smb-share`. Empty: it always runs.
  std::string only_with;
  // Runs the step and returns its result in a few words.
  std::string (*run)(Attempt& attempt);
};

const std::vector<Step>& Steps();

// The steps, by the file that defines them.

// storage_steps.cc
std::string FindDisk(Attempt& attempt);
std::string MakeSureDiskIsFree(Attempt& attempt);
std::string GoOfflineAndOnline(Attempt& attempt);
std::string Partition(Attempt& attempt);
std::string SeeUnformatted(Attempt& attempt);
std::string Format(Attempt& attempt);
std::string Mount(Attempt& attempt);
std::string WriteCache(Attempt& attempt);
std::string Resize(Attempt& attempt);
std::string Unmount(Attempt& attempt);
std::string Release(Attempt& attempt);
std::string AskForAbsent(Attempt& attempt);

// staging_steps.cc
std::string ListDisks(Attempt& attempt);
std::string Stage(Attempt& attempt);
std::string SeeStaged(Attempt& attempt);
std::string RefuseToFormat(Attempt& attempt);
std::string Unstage(Attempt& attempt);
std::string ProtectDisk(Attempt& attempt);

// path_steps.cc
std::string MakeWorkDirectory(Attempt& attempt);
std::string FindVolumeOfPath(Attempt& attempt);
std::string FindClosestVolume(Attempt& attempt);
std::string MakeLinks(Attempt& attempt);
std::string RemoveDirectories(Attempt& attempt);
std::string SendHostilePaths(Attempt& attempt);
std::string AskNotMounted(Attempt& attempt);

// node_steps.cc
std::string ExaminePipes(Attempt& attempt);
std::string QueryService(Attempt& attempt);
std::string RestartService(Attempt& attempt);
std::string ReadBios(Attempt& attempt);
std::string SeeMapping(Attempt& attempt);
std::string StageShare(Attempt& attempt);
std::string MapShare(Attempt& attempt);
std::string UnmapShare(Attempt& attempt);
std::string RefuseMappings(Attempt& attempt);
std::string AddPortal(Attempt& attempt);
std::string ConnectTarget(Attempt& attempt);
std::string RemovePortal(Attempt& attempt);

}  // namespace csi_proxy::ctl::selftest
