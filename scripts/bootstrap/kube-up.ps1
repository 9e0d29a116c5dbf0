<#
.SYNOPSIS
  The CSI Proxy step of a node bootstrap in the style of kube-up and GKE: a service `csiproxy`, made
  by hand, that logs to a file and restarts 10 s after a failure.
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
  # Quoted for the service control manager, as either path may hold a space. Not by sc.exe: PowerShell
  # passes quotation marks to programs in one way up to 7.2 and in another from 7.3 on.
  New-Service -Name csiproxy -StartupType Automatic -BinaryPathName "`"$program`" -windows-service `"-log_file=$log`" -logtostderr=false" | Out-Null
  & sc.exe failure csiproxy reset= 0 actions= restart/10000
  & sc.exe failureflag csiproxy 1
}
Start-Service csiproxy
