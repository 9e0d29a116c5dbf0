<#
.SYNOPSIS
  The CSI Proxy step of a node bootstrap in the style of kube-up and GKE: a service `csiproxy`, made
  by hand, that logs to a file and restarts 10 s after a failure.
#>
[CmdletBinding()]
param(
  [string]$NodeDirectory = "C:\etc\kubernetes\node\bin",
  [string]$LogsDirectory = "C:\etc\kubernetes\logs"
)
$ErrorActionPreference = "Stop"
# Windows PowerShell quotes 'D:\my dir\' as "D:\my dir\", whose last \" a program reads as a quotation mark.
$NodeDirectory, $LogsDirectory = $NodeDirectory, $LogsDirectory -replace '(?<=[^:\\])\\+$', ''

function Invoke-Checked {
  & $args[0] @($args[1..($args.Length - 1)]) | Out-Null
  if ($LASTEXITCODE -ne 0) { throw "$($args -join ' ') failed with exit code $LASTEXITCODE" }
}

$program = Join-Path $NodeDirectory "csi-proxy.exe"
$log = Join-Path $LogsDirectory "csi-proxy.log"
if (-not (Test-Path $LogsDirectory)) {
  # Below C:\ every user can read a new folder and add files to it, even one with the log's name. An
  # existing folder keeps its access list, because other programs use it too.
  New-Item -ItemType Directory -Path $LogsDirectory | Out-Null
  Invoke-Checked icacls.exe $LogsDirectory /inheritance:r /grant "*S-1-5-18:(OI)(CI)F" "*S-1-5-32-544:(OI)(CI)F"
  if (Get-ChildItem -Force $LogsDirectory) { throw "$LogsDirectory is new but contains files already: remove it and run again" }
}

if (-not (Get-Service csiproxy -ErrorAction SilentlyContinue)) {
  # The service control manager needs the quotes, because either path may contain a space. New-Service
  # instead of sc.exe, because PowerShell 7.3 changed how it passes quotation marks to programs.
  New-Service -Name csiproxy -StartupType Automatic -BinaryPathName "`"$program`" -windows-service `"-log_file=$log`" -logtostderr=false" | Out-Null
  Invoke-Checked sc.exe failure csiproxy reset= 0 actions= restart/10000
  Invoke-Checked sc.exe failureflag csiproxy 1
}
Start-Service csiproxy
