<#
.SYNOPSIS
  Installs, or upgrades, CSI Proxy on a Windows node and starts it.
.DESCRIPTION
  Runs the csi-proxy-service.exe beside it, which copies csi-proxy.exe and itself into their folder.
  May be run again: a newer program replaces the old one, and the old one is restored if the new one
  does not serve. An upgrade stops and starts a running service. If settings have changed, the service
  is restarted after its running calls; with -NoRestart the script only reports that it must be.

  Only administrators may be able to change the folders of program and log. Other folders are refused,
  or get an access list of their own with -RepairFolders.
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
# Windows PowerShell quotes 'D:\my dir\' as "D:\my dir\", whose last \" a program reads as a quotation mark.
$Directory, $KubeletPath = $Directory, $KubeletPath -replace '(?<=[^:\\])\\+$', ''

function Invoke-Checked {
  # Flattens lists among the arguments.
  $rest = @($args[1..($args.Length - 1)] | ForEach-Object { $_ })
  & $args[0] $rest
  if ($LASTEXITCODE -ne 0) { throw "$($args[0]) failed with exit code $LASTEXITCODE" }
}

# Runs the installer only from this script's folder, because another user may have put a program of this
# name into $Directory. The installer checks that folder before it copies anything there.
$service = Join-Path $PSScriptRoot "csi-proxy-service.exe"
$repair = @()
if ($RepairFolders) { $repair = @("--repair-folders") }
# Quoted, because PowerShell removes an unquoted -- and does not expand $LogFile in -log_file=$LogFile.
# The installer makes the log's folder, for administrators only.
$said = Invoke-Checked $service install --directory $Directory $repair "--" "-kubelet-path=$KubeletPath" "-logtostderr=false" "-log_file=$LogFile"
$said
if ($said -match "until it is restarted" -and -not $NoRestart) { Invoke-Checked $service stop }
Invoke-Checked $service start
Invoke-Checked $service status
