<#
.SYNOPSIS
  The CSI Proxy step of a node bootstrap in the style of kube-up and GKE: a service `csiproxy`, made
  with sc.exe, that logs to a file and restarts 10 s after a failure.
.EXAMPLE
  .\kube-up.ps1 -NodeDirectory C:\etc\kubernetes\node\bin -LogsDirectory C:\etc\kubernetes\logs
#>
[CmdletBinding()]
param(
  [string]$NodeDirectory = "C:\etc\kubernetes\node\bin",
  [string]$LogsDirectory = "C:\etc\kubernetes\logs"
)
$ErrorActionPreference = "Stop"

$program = Join-Path $NodeDirectory "csi-proxy.exe"
$log = Join-Path $LogsDirectory "csi-proxy.log"
New-Item -ItemType Directory -Force -Path $LogsDirectory | Out-Null

if (-not (Get-Service csiproxy -ErrorAction SilentlyContinue)) {
  # Quoted for sc.exe and again for the service control manager: the path may hold a space.
  & sc.exe create csiproxy start= auto binPath= "\`"$program\`" -windows-service -log_file=$log -logtostderr=false"
  if ($LASTEXITCODE -ne 0) { throw "sc.exe create failed with exit code $LASTEXITCODE" }
  & sc.exe failure csiproxy reset= 0 actions= restart/10000
  & sc.exe failureflag csiproxy 1
}
Start-Service csiproxy
