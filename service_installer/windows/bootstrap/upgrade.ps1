<#
.SYNOPSIS
  Replaces the csi-proxy that a node's image or agent has installed, on EKS or by Rancher's wins, with this
  one.
.DESCRIPTION
  Finds the service that runs csi-proxy.exe, whatever its name, and has the csi-proxy-service.exe beside this
  script swap that program for the csi-proxy.exe beside this script. The service keeps its name, folder and flags.
  If the new program does not serve, the old one comes back, and the script fails. It may be run again.
.EXAMPLE
  .\upgrade.ps1 -ServiceName csiproxy
#>
[CmdletBinding()]
param(
  [string]$ServiceName,
  # Lets only administrators change the service's folder. Without it, a folder that others may change is refused.
  [switch]$RepairFolders
)
$ErrorActionPreference = "Stop"

$program = Join-Path $PSScriptRoot "csi-proxy.exe"
$service = Join-Path $PSScriptRoot "csi-proxy-service.exe"
# The path may be in quotation marks, and flags may follow. A service that runs nssm does not match: see aks.ps1.
$pattern = '(?i)^"?([^"]*[\\/]csi-proxy\.exe)("|\s|$)'
$running = @(Get-CimInstance Win32_Service | Where-Object { $_.PathName -match $pattern })
if ($running.Count -eq 0) { throw "no service runs csi-proxy.exe: run install.ps1 instead" }
$found = @($running | Where-Object { -not $ServiceName -or $_.Name -eq $ServiceName })
if ($found.Count -eq 0) { throw "service $ServiceName does not run csi-proxy.exe; these do: $($running.Name -join ', ')" }
if ($found.Count -gt 1) { throw "several services run csi-proxy.exe: name one with -ServiceName: $($found.Name -join ', ')" }
$name = $found[0].Name
$present = [regex]::Match($found[0].PathName, $pattern).Groups[1].Value

# After an interrupted upgrade, the program may be missing, or be one that never worked.
$interrupted = Test-Path -LiteralPath "$present.upgrading"
if (-not $interrupted -and (Get-FileHash $present).Hash -eq (Get-FileHash $program).Hash) {
  "service $name runs this csi-proxy already"
} else {
  # `if` returns a list of one word as the word, which @more would take apart letter by letter.
  $more = @(if ($RepairFolders) { "--repair-folders" })
  & $service upgrade --name $name --binary $program @more
  if ($LASTEXITCODE -ne 0) { throw "csi-proxy-service failed with exit code $LASTEXITCODE" }
}
& $service status --name $name
if ($LASTEXITCODE -ne 0) { throw "csi-proxy-service failed with exit code $LASTEXITCODE" }
