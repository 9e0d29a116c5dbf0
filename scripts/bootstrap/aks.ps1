<#
.SYNOPSIS
  The CSI Proxy step of a node bootstrap in the style of AKS: a service `csi-proxy` that nssm runs as
  a console program. With -Native the service runs csi-proxy itself from then on, without nssm: the
  csi-proxy.exe beside this script, as csi-proxy-service.exe, which is there too, puts it into place.
.EXAMPLE
  .\aks.ps1
.EXAMPLE
  .\aks.ps1 -Native
#>
[CmdletBinding()]
param(
  [string]$KubeDirectory = "C:\k",
  [switch]$Native
)
$ErrorActionPreference = "Stop"

$program = Join-Path $KubeDirectory "csi-proxy.exe"
if ($Native) {
  # A folder made below C:\ lets users add files: it gets an access list of its own. Until then nothing
  # in it is run: the programs beside this script are put there.
  $service = Join-Path $PSScriptRoot "csi-proxy-service.exe"
  & $service stop --name csi-proxy
  & $service install --name csi-proxy --directory $KubeDirectory --replace-wrapper --repair-folders
  if ($LASTEXITCODE -ne 0) { throw "csi-proxy-service failed with exit code $LASTEXITCODE" }
  & $service start --name csi-proxy
  if ($LASTEXITCODE -ne 0) { throw "csi-proxy-service failed with exit code $LASTEXITCODE" }
} else {
  $nssm = Join-Path $KubeDirectory "nssm.exe"
  & $nssm install csi-proxy $program
  & $nssm set csi-proxy AppDirectory $KubeDirectory
  & $nssm set csi-proxy AppRestartDelay 5000
  & $nssm set csi-proxy Description "CSI Proxy"
  & $nssm set csi-proxy Start SERVICE_AUTO_START
  foreach ($stream in "Stdout", "Stderr") {
    $log = Join-Path $KubeDirectory $(if ($stream -eq "Stdout") { "csi-proxy.log" } else { "csi-proxy.err.log" })
    # Users may add files to the folder and read those there. nssm writes as SYSTEM: not to a file or a
    # link of theirs, nor what is for administrators into one that they may read.
    if (Test-Path $log) { Remove-Item -Force $log }
    New-Item -ItemType File -Path $log | Out-Null
    & icacls.exe $log /inheritance:r /grant "*S-1-5-18:F" "*S-1-5-32-544:F" | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "icacls failed with exit code $LASTEXITCODE" }
    & $nssm set csi-proxy "App$stream" $log
  }
  # nssm stops a console program by Ctrl-C and waits; calls under way have 20 s.
  & $nssm set csi-proxy AppStopMethodConsole 25000
  & $nssm start csi-proxy
}
