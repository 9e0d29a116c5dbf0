<#
.SYNOPSIS
  The CSI Proxy step of a node bootstrap in the style of AKS: a service `csi-proxy` that nssm runs as
  a console program. With -Native the service runs csi-proxy itself from then on, without nssm: the
  csi-proxy.exe beside this script, as csi-proxy-service.exe, which is there too, puts it into place.
#>
[CmdletBinding()]
param(
  [string]$KubeDirectory = "C:\k",
  [switch]$Native
)
$ErrorActionPreference = "Stop"

function Invoke-Checked {
  & $args[0] @($args[1..($args.Length - 1)])
  if ($LASTEXITCODE -ne 0) { throw "$($args -join ' ') failed with exit code $LASTEXITCODE" }
}

if ($Native) {
  # A folder made below C:\ lets users add files: it gets an access list of its own. Until then nothing
  # in it is run: the programs beside this script are put there.
  $service = Join-Path $PSScriptRoot "csi-proxy-service.exe"
  if (Get-Service csi-proxy -ErrorAction SilentlyContinue) { Invoke-Checked $service stop --name csi-proxy }
  Invoke-Checked $service install --name csi-proxy --directory $KubeDirectory --replace-wrapper --repair-folders
  Invoke-Checked $service start --name csi-proxy
} else {
  $nssm = Join-Path $KubeDirectory "nssm.exe"
  if (-not (Get-Service csi-proxy -ErrorAction SilentlyContinue)) { Invoke-Checked $nssm install csi-proxy (Join-Path $KubeDirectory "csi-proxy.exe") }
  # nssm stops a console program by Ctrl-C and waits; calls under way have 20 s.
  $settings = [ordered]@{ AppDirectory = $KubeDirectory; AppRestartDelay = 5000; AppStopMethodConsole = 25000; Description = "CSI Proxy"; Start = "SERVICE_AUTO_START" }
  foreach ($stream in "Stdout", "Stderr") {
    $log = Join-Path $KubeDirectory $(if ($stream -eq "Stdout") { "csi-proxy.log" } else { "csi-proxy.err.log" })
    # Users may add files to the folder and read those there. nssm writes as SYSTEM: not to a file or a
    # link of theirs, nor what is for administrators into one that they may read.
    if (Test-Path $log) { Remove-Item -Force $log }
    New-Item -ItemType File -Path $log | Out-Null
    Invoke-Checked icacls.exe $log /inheritance:r /grant "*S-1-5-18:F" "*S-1-5-32-544:F" | Out-Null
    $settings["App$stream"] = $log
  }
  foreach ($name in $settings.Keys) { Invoke-Checked $nssm set csi-proxy $name $settings[$name] }
  if ((Get-Service csi-proxy).Status -ne "Running") { Invoke-Checked $nssm start csi-proxy }
}
