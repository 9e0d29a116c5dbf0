<#
.SYNOPSIS
  The CSI Proxy step of a node bootstrap in the style of AKS: a service `csi-proxy` that nssm runs as
  a console program. With -Native the service runs csi-proxy itself, without nssm: csi-proxy-service.exe
  installs csi-proxy.exe, both from this script's folder.
#>
[CmdletBinding()]
param(
  [string]$KubeDirectory = "C:\k",
  [switch]$Native
)
$ErrorActionPreference = "Stop"
# Windows PowerShell quotes 'D:\my dir\' as "D:\my dir\", whose last \" a program reads as a quotation mark.
$KubeDirectory = $KubeDirectory -replace '(?<=[^:\\])\\+$', ''

function Invoke-Checked {
  & $args[0] @($args[1..($args.Length - 1)])
  if ($LASTEXITCODE -ne 0) { throw "$($args -join ' ') failed with exit code $LASTEXITCODE" }
}

# Returns true for a file, and no link, that SYSTEM or Administrators own and only they have access to.
function Test-SafeFile([string]$Path) {
  if (-not (Test-Path -PathType Leaf $Path) -or (Get-Item -Force $Path).LinkType) { return $false }
  (Get-Acl $Path).Sddl -match '^O:(SY|BA)G:[^(]*D:PA?I?(\(A;;FA;;;(SY|BA)\)){2}$'
}

if ($Native) {
  # Users can add files to a folder made below C:\, so the installer gives the folder its own access list.
  # Until then only programs beside this script run.
  $service = Join-Path $PSScriptRoot "csi-proxy-service.exe"
  if (Get-Service csi-proxy -ErrorAction SilentlyContinue) { Invoke-Checked $service stop --name csi-proxy }
  Invoke-Checked $service install --name csi-proxy --directory $KubeDirectory --replace-wrapper --repair-folders
  Invoke-Checked $service start --name csi-proxy
} else {
  $nssm = Join-Path $KubeDirectory "nssm.exe"
  if (-not (Get-Service csi-proxy -ErrorAction SilentlyContinue)) { Invoke-Checked $nssm install csi-proxy (Join-Path $KubeDirectory "csi-proxy.exe") }
  # nssm stops a console program by Ctrl-C and waits 25 s, longer than the 20 s that running calls get.
  $settings = [ordered]@{ AppDirectory = $KubeDirectory; AppRestartDelay = 5000; AppStopMethodConsole = 25000; Description = "CSI Proxy"; Start = "SERVICE_AUTO_START" }
  foreach ($stream in "Stdout", "Stderr") {
    $log = Join-Path $KubeDirectory $(if ($stream -eq "Stdout") { "csi-proxy.log" } else { "csi-proxy.err.log" })
    # nssm writes the logs as SYSTEM, and users can add files to the folder. So the script replaces a
    # file or link that a user may have made by a file that only administrators can read. Such a file
    # stays, because nssm has it open.
    if (-not (Test-SafeFile $log)) {
      if (Test-Path $log) { Remove-Item -Force $log }
      New-Item -ItemType File -Path $log | Out-Null
      Invoke-Checked icacls.exe $log /inheritance:r /grant "*S-1-5-18:F" "*S-1-5-32-544:F" | Out-Null
    }
    $settings["App$stream"] = $log
  }
  foreach ($name in $settings.Keys) { Invoke-Checked $nssm set csi-proxy $name $settings[$name] }
  if ((Get-Service csi-proxy).Status -ne "Running") { Invoke-Checked $nssm start csi-proxy }
}
