<#
.SYNOPSIS
  Shows on a real Windows node what cannot be shown without one, and writes a report to send back.
.DESCRIPTION
  Makes virtual disks, and installs the service unless one is installed or answers already; without csi-proxy-service.exe, or in a HostProcess
  container, csi-proxy.exe is started in console mode, where it has more privileges than the service. Runs `csi-proxyctl selftest` with such a
  disk, a share and an iSCSI target of this node itself, then compares with what Windows' own tools say of links, mounts, disks in rare states,
  the pipes, the service and its event log. An existing service is neither stopped nor restarted.

  Touches: the virtual disks, and the disk of -DiskNumber; a directory csi-proxy-node-check below the kubelet's, and the one of the selftest;
  a folder below C:\Windows\Temp; a folder csi-proxy-node-check below %ProgramFiles% and the service csi-proxy-node-check, when it installs
  that; the start type of the service defragsvc, during the selftest; a local user csi-node-check and a share csi-node-check$; with the role
  iSCSI Target Server, a target csi-node-check. At the end, even after an error, the script removes or restores all of these.

  A part ends with OK; FAILED, if Windows or the service behaved unexpectedly; ERROR, if the part could not finish, which says nothing about
  Windows; or SKIPPED, if the node lacks what the part needs. NOT REACHED lists the parts that an error outside of the parts kept from
  running. The exit code is 1 if a part FAILED; 3 if one ended with ERROR or was not reached; 4, without a report and before anything is
  made, if another release of csi-proxy is installed or answers; 2 if the script could not begin or not write its report.

  Run it by Windows PowerShell as administrator, with the folder node-check beside it. These files go into the folder of the report: REPORT.md,
  under 60 KB, to paste into an issue; report.json, with all facts (client/ctl/report/report.proto); the log of a service that was started
  here. Names, serial numbers, identifiers and addresses are masked in them, unless -NoRedact is given. Look through them all the same.
#>
#Requires -Version 5.1
[CmdletBinding()]
param(
  # The folder with csi-proxy.exe, csi-proxyctl.exe and csi-proxy-service.exe. By default the first of: the script's folder, the bin folder of
  # the release that contains the script, and %ProgramFiles%\csi-proxy.
  [string]$Directory = "",
  # The working directory of the service. By default the -kubelet-path of the installed service, or C:\var\lib\kubelet without one.
  [string]$KubeletPath = "",
  # The folder of the report, which must not exist yet.
  [string]$Report = "node-check-report",
  # A new disk of the cloud, which must be raw and read as zero. It is staged and unstaged, and raw again at the end.
  [int]$DiskNumber = -1,
  # Text about the node for the report, such as the cloud and the machine's type. The report has the Windows build anyway.
  [string]$Note = "",
  # Masks nothing.
  [switch]$NoRedact,
  # Says that this runs in a HostProcess container into which the kubelet's directory is mounted.
  [switch]$KubeletMounted,
  # Prints REPORT.md and report.json at the end, as `kubectl logs` then shows them.
  [switch]$Print
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = "Stop"
trap { Write-Host "error: $_"; exit 2 }

$library = Join-Path $PSScriptRoot "node-check"
foreach ($file in "harness", "node", "proxy") { . (Join-Path $library "$file.ps1") }
$account = Get-Administrator
# In a release's ZIP the script is in share\csi-proxy and the programs are in bin; an image has all at its root.
$places = if ($Directory -ne "") { $Directory, "$Directory\bin" } else { $PSScriptRoot, "$PSScriptRoot\bin", "$PSScriptRoot\..\..\bin", "$env:ProgramFiles\csi-proxy" }
$found = @($places | Where-Object { (Test-Path "$_\csi-proxyctl.exe") -and (Test-Path "$_\csi-proxy.exe") })
if ($found.Count -eq 0) { throw "csi-proxyctl.exe and csi-proxy.exe are in none of $($places -join ', '); name their folder with -Directory" }
$Directory = (Resolve-Path $found[0]).Path
$ctl, $proxy = "csi-proxyctl.exe", "csi-proxy.exe" | ForEach-Object { Join-Path $Directory $_ }
$list = Join-Path $library "doubts.md"
# In a checkout doubts.md is below server.
if (-not (Test-Path $list)) { $list = Join-Path $PSScriptRoot "..\..\server\host\doubts.md" }
$work = Join-Path $env:SystemRoot "Temp\csi-proxy-node-check"
$programs = Join-Path $env:ProgramFiles "csi-proxy-node-check"
$outside = Join-Path $work "outside"
$sentinel = Join-Path $outside "inner\sentinel.txt"
$pipe = "csi-proxy-volume-v1"
$disk, $server, $selftestFlags = -1, "none", @()
# Prints only names and outcomes of parts, because details are masked only when the report is made.
$showDetails = $false
$other = Find-OtherRelease
if ($other -ne "") { Write-Host "$other. Stop and remove it, or take another node: the check has made nothing"; exit 4 }
if ($KubeletPath -eq "" -and (Find-ServiceName) -ne "") { $KubeletPath = Get-ServiceFlag (Find-ServiceName) "kubelet-path" }
if ($KubeletPath -eq "") { $KubeletPath = "C:\var\lib\kubelet" }
$base = Join-Path $KubeletPath "csi-proxy-node-check"
foreach ($folder in $work, $base, $programs) { if (Test-Path $folder) { throw "$folder exists already; remove what an earlier run left there" } }
$Report = Get-NetPath $Report
if (Test-Path $Report) { throw "$Report exists already; name another folder with -Report" }
$windows = Get-CimInstance Win32_OperatingSystem
$revision = Get-RegistryValue "SOFTWARE\Microsoft\Windows NT\CurrentVersion" "UBR"
$about = (@("$($windows.Caption), build $($windows.BuildNumber).$revision", $Note) | Where-Object { $_ }) -join ", "

# Returns values of this node that csi-proxyctl must mask although they match no pattern.
function Get-Secrets {
  $queries = { @{ host = $env:COMPUTERNAME, [System.Net.Dns]::GetHostName(), $env:USERDNSDOMAIN } }, { @{ user = $env:USERNAME, $env:USERDOMAIN } },
  { @{ secret = $sharePassword, $chapSecret } },
  { @{ user = @(Get-ChildItem "$env:SystemDrive\Users" | ForEach-Object { $_.Name }) } },
  { @{ user = @(Get-CimInstance Win32_UserAccount -Filter "LocalAccount = TRUE" | ForEach-Object { $_.Name }) } },
  { @{ bios = @(Get-CimInstance Win32_BIOS | ForEach-Object { $_.SerialNumber }) + @(Get-CimInstance Win32_ComputerSystemProduct | ForEach-Object { $_.UUID, $_.IdentifyingNumber }) } },
  { @{ id = @(Get-CimInstance -Namespace $storage MSFT_Disk | ForEach-Object { $_.UniqueId, "$($_.Guid)".Trim("{}"), $_.SerialNumber }) } },
  { @{ id = @(Get-CimInstance -Namespace $storage MSFT_Partition | ForEach-Object { $_.UniqueId, "$($_.Guid)".Trim("{}") }) } },
  { @{ id = @((Get-Answer "storage", "list-disks").disks | ForEach-Object { $_.page83, $_.eui, $_.unique_id, $_.serial_number }) } }
  foreach ($query in $queries) {
    # Errors are ignored: without the class there is nothing to mask, and other parts report a service that does not answer.
    try { $values = & $query } catch { $values = @{} }
    foreach ($kind in $values.Keys) { foreach ($value in $values[$kind]) { [pscustomobject]@{ kind = $kind; value = "$value" } } }
  }
}

New-Item -ItemType Directory -Path $Report, (Split-Path $sentinel), $base | Out-Null
Set-Content -Path $sentinel -Value "stays"
# The parts of each file. An error outside of the parts ends its file alone, and the report lists the parts that were not reached.
$files = [ordered]@{
  start = "answers", "disk-image", "stages"
  network = "share-made", "iscsi-stopped", "target-made", "selftest", "wmi-types", "disk-grown", "iscsi-paths", "iscsi-chap"
  paths = "escape-junction", "escape-symlink", "reparse-race", "remove-keeps-target", "mount-seen"
  disks = "wmi-agrees", "bios-agrees", "disk-lists", "azure-nvme", "fresh-disk", "detach-while-mounted", "offline-read-only", "signature-collision",
  "mbr", "refs", "sector-4kn", "four-stages"
  service = "remote-client", "system-dlls", "service-settings", "event-log", "cost", "fallbacks", "offline-open-file", "long-path", "host-process", "kubelet-mounted"
}
$secrets = @(Get-Secrets)
try {
  foreach ($file in $files.Keys) { try { . (Join-Path $library "$file.ps1") } catch { Add-RunError $_ } }
} finally {
  Write-Host "undoing all changes"
  Add-Unreached ($files.Values | ForEach-Object { $_ })
  $secrets += @(Get-Secrets)
  $left = @()
  # A step is undefined if the script ended before it read the step's file.
  foreach ($step in "Remove-Shares", "Remove-Target", "Restore-Services", "Remove-Images", "Remove-Folders") {
    if (-not (Get-Command $step -ErrorAction SilentlyContinue)) { continue }
    try { & $step } catch { $left += "${step}: $($_.Exception.Message)" }
  }
  Test-Part "clean-up" "nothing is left behind" { if ($left.Count -gt 0) { throw "left behind: $(@(Find-Left) -join ', '); $($left -join '; ')" } }
  $whole = [pscustomobject]@{
    about = $about; version = (Invoke-Program $proxy "--version").Out.Trim(); server = $server; account = $account; ended_in = $ended
    powershell = "$($PSVersionTable.PSVersion)"; finished = (Get-Date).ToUniversalTime().ToString("o")
    parts = $parts; facts = $facts; secrets = $secrets
  }
  Write-Text (Join-Path $work "parts.json") (ConvertTo-Json -Depth 4 -InputObject $whole)
  Copy-Item $list (Join-Path $work "doubts.md")
  $flags = @("report", "--from=$work", "--to=$Report")
  if ($NoRedact) { $flags += "--no-redact" }
  Write-Host (Invoke-Checked $ctl $flags)
  if ($Print) { foreach ($file in "REPORT.md", "report.json") { "=== $file", (Get-Content -Raw -Encoding UTF8 (Join-Path $Report $file)) } }
  Remove-Tree $work
}
exit (Get-OutcomeCode)
