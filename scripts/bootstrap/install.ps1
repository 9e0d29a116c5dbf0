<#
.SYNOPSIS
  Installs, or upgrades, CSI Proxy on a Windows node and starts it.
.DESCRIPTION
  Has the csi-proxy-service.exe beside it put csi-proxy.exe and itself into a folder of their own.
  May be run again: what is right is left alone, a newer program replaces the old one, and if it
  does not serve the old one comes back. Upgrades of a running service stop and start it. When settings
  have changed the service is restarted, after the calls under way; with -NoRestart it is only said
  that it has to be.

  Only administrators may be able to change the folders of program and log: others are refused, or
  with -RepairFolders get an access list of their own.
#>
[CmdletBinding()]
param(
  [string]$Directory = "$env:ProgramFiles\csi-proxy",
  [string]$KubeletPath = "C:\var\lib\kubelet",
  [string]$LogFile = "$env:ProgramData\csi-proxy\logs\csi-proxy.log",
  [switch]$RepairFolders,
  [switch]$NoRestart
)
$ErrorActionPreference = "Stop"

function Invoke-Checked {
  # Lists among the arguments become single ones.
  $rest = @($args[1..($args.Length - 1)] | ForEach-Object { $_ })
  & $args[0] $rest
  if ($LASTEXITCODE -ne 0) { throw "$($args[0]) failed with exit code $LASTEXITCODE" }
}

# From where this script is, and from nowhere else: others may have put a program of this name into
# $Directory. The installer looks at that folder before it puts anything there.
$service = Join-Path $PSScriptRoot "csi-proxy-service.exe"
$repair = @()
if ($RepairFolders) { $repair = @("--repair-folders") }
# In quotes: PowerShell takes an unquoted -- for its own, and leaves $LogFile in -log_file=$LogFile as it is.
# The folder of the log is made by it, for administrators only.
$said = Invoke-Checked $service install --directory $Directory $repair "--" "-kubelet-path=$KubeletPath" "-logtostderr=false" "-log_file=$LogFile"
$said
if ($said -match "until it is restarted" -and -not $NoRestart) { Invoke-Checked $service stop }
Invoke-Checked $service start
Invoke-Checked $service status
