<#
.SYNOPSIS
  Installs, or upgrades, CSI Proxy on a Windows node and starts it.
.DESCRIPTION
  Copies csi-proxy.exe and csi-proxy-service.exe from the folder of this script to a folder of their
  own and leaves the rest to csi-proxy-service.exe. May be run again: what is right is left alone, a
  newer program replaces the old one, and if it does not serve the old one comes back.
.EXAMPLE
  .\install.ps1
.EXAMPLE
  .\install.ps1 -KubeletPath D:\kubelet -LogFile C:\var\log\csi-proxy.log
#>
[CmdletBinding()]
param(
  [string]$Directory = "$env:ProgramFiles\csi-proxy",
  [string]$KubeletPath = "C:\var\lib\kubelet",
  [string]$LogFile = "C:\var\log\csi-proxy\csi-proxy.log"
)
$ErrorActionPreference = "Stop"

function Invoke-Checked {
  & $args[0] $args[1..($args.Length - 1)]
  if ($LASTEXITCODE -ne 0) { throw "$($args[0]) failed with exit code $LASTEXITCODE" }
}

New-Item -ItemType Directory -Force -Path $Directory | Out-Null
New-Item -ItemType Directory -Force -Path (Split-Path $LogFile) | Out-Null
$service = Join-Path $Directory "csi-proxy-service.exe"
$program = Join-Path $Directory "csi-proxy.exe"
Copy-Item -Force (Join-Path $PSScriptRoot "csi-proxy-service.exe") $service

if (Test-Path $program) {
  # Stops, swaps, starts, sees that the pipes answer, and goes back if they do not.
  Invoke-Checked $service upgrade --binary (Join-Path $PSScriptRoot "csi-proxy.exe")
} else {
  Copy-Item (Join-Path $PSScriptRoot "csi-proxy.exe") $program
}
# In quotes: PowerShell takes an unquoted -- for its own, and leaves $LogFile in -log_file=$LogFile as it is.
Invoke-Checked $service install --binary $program "--" "-kubelet-path=$KubeletPath" "-logtostderr=false" "-log_file=$LogFile"
Invoke-Checked $service start
Invoke-Checked $service status
