<#
.SYNOPSIS
  The CSI Proxy step of a node bootstrap in the style of AKS: a service `csi-proxy` that nssm runs as
  a console program. With -Native the service runs csi-proxy itself from then on, without nssm.
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
  # A folder made below C:\ lets users add files: it gets an access list of its own.
  & (Join-Path $KubeDirectory "csi-proxy-service.exe") stop --name csi-proxy
  & (Join-Path $KubeDirectory "csi-proxy-service.exe") install --name csi-proxy --binary $program --replace-wrapper --repair-folders
  if ($LASTEXITCODE -ne 0) { throw "csi-proxy-service failed with exit code $LASTEXITCODE" }
  & (Join-Path $KubeDirectory "csi-proxy-service.exe") start --name csi-proxy
  if ($LASTEXITCODE -ne 0) { throw "csi-proxy-service failed with exit code $LASTEXITCODE" }
} else {
  $nssm = Join-Path $KubeDirectory "nssm.exe"
  & $nssm install csi-proxy $program
  & $nssm set csi-proxy AppDirectory $KubeDirectory
  & $nssm set csi-proxy AppRestartDelay 5000
  & $nssm set csi-proxy Description "CSI Proxy"
  & $nssm set csi-proxy Start SERVICE_AUTO_START
  & $nssm set csi-proxy AppStdout (Join-Path $KubeDirectory "csi-proxy.log")
  & $nssm set csi-proxy AppStderr (Join-Path $KubeDirectory "csi-proxy.err.log")
  # nssm stops a console program by Ctrl-C and waits; calls under way have 20 s.
  & $nssm set csi-proxy AppStopMethodConsole 25000
  & $nssm start csi-proxy
}
