<#
.SYNOPSIS
  Shows on a real Windows node what cannot be shown without one, and writes a report to send back.
.DESCRIPTION
  Makes virtual disks of its own, attaches them, and installs the service unless one is installed or
  answers already; without csi-proxy-service.exe, or in a HostProcess container, csi-proxy.exe is started
  in console mode, where it has more privileges than the service. Runs `csi-proxyctl selftest` on such a disk, then looks at the node by
  Windows' own means: who may open the pipes, whether links lead out of the kubelet's directory,
  what Windows sees of a mount and of a link that the service made, disks in rare states, shares and
  an iSCSI target of this node itself, what the service control manager and the event log hold, and what
  a thousand calls cost the process. At the end the service is restarted, and killed, while clients
  hold its pipes; a service that was there before only if somebody agrees at the terminal or -Yes is given. With
  csi-node-sidecars.exe, that runs beside a stand-in for a driver, whose sockets are below the kubelet's directory as well.

  A node on which the Go release of csi-proxy is installed or answers is left alone, unless -StopGoRelease is given.

  Touches: the virtual disks, and the disk of -DiskNumber; a directory csi-proxy-node-check below the kubelet's, and the one of
  the selftest; a folder below C:\Windows\Temp; folders csi-proxy-node-check below %ProgramFiles%
  and %ProgramData% and the service csi-proxy-node-check, when it installs that; the start type of the service defragsvc, for one
  part; two local users and two shares csi-node-check-a and -b; with the role iSCSI Target Server, a target csi-node-check;
  with -Yes on Windows Server 2025, the SMB server's highest dialect, for one part. At the end, whatever happens, all of it is taken back.

  Ends with exit code 0 when no part failed. Parts that need what the node does not have are skipped, with the reason.

  Run it by Windows PowerShell as administrator, with the folder node-check beside it.

  Three files go into the folder of the report: REPORT.md, under 60 KB, to paste into an issue; report.json; report.txt, with
  tables; and the log of a service that was started here. In all of them host names, users, serial numbers, identifiers of
  disks and volumes, IQNs, SIDs and addresses are masked, the same value by the same mask, unless -NoRedact is given. Look through them before you send them all the same.

  report.json has these fields: schema (1); about, the node; version, of the programs; server, the program that answered;
  account; powershell; finished, in UTC; summary; parts, each with name, shows, result (OK, FAILED, SKIPPED), milliseconds, detail;
  selftest, as `csi-proxyctl selftest -o json` prints it, or null; facts, each with name and value; doubts, each with
  number, expected, did and settled ("yes", "otherwise than expected", "in part", "no").
.PARAMETER Directory
  The folder with csi-proxy.exe, csi-proxyctl.exe, csi-proxy-service.exe and csi-node-sidecars.exe. Without it they are looked for beside
  the script, in the bin of the release that the script is in, and in %ProgramFiles%\csi-proxy.
.PARAMETER KubeletPath
  The working directory of the service. Without it the -kubelet-path of the installed service, else C:\var\lib\kubelet.
.PARAMETER Report
  The folder of the report, which must not exist yet; by default node-check-report in the current folder.
.PARAMETER DiskNumber
  A new disk of the cloud, which must be raw and read as zero. It is partitioned, staged and unstaged, and raw again at the end.
.PARAMETER SizeMB
  The size of the virtual disk, which takes no more room than is used. At least 2048.
.PARAMETER Calls
  How many calls are made between the two looks at the memory of the process.
.PARAMETER Note
  What the report shall say of the node besides its Windows build, such as the cloud and the machine's type.
.PARAMETER SelftestFlags
  Further flags of `csi-proxyctl selftest`, for a share, an iSCSI target, or a service to restart.
  The password of the share is taken from the environment variable CSI_PROXY_SMB_PASSWORD.
.PARAMETER Yes
  Agrees to restart and kill an installed service, and to hold the SMB server to an older dialect for a moment.
.PARAMETER NoRestart
  Skips the parts that restart or kill an installed service.
.PARAMETER StopGoRelease
  Stops the service of the Go release, and starts it again at the end.
.PARAMETER Redact
  Masks what identifies the node and its users; on by default. -Redact:$false, or -NoRedact where PowerShell is started with -File, masks nothing.
.PARAMETER KubeletMounted
  Says that this runs in a HostProcess container into which the kubelet's directory is mounted.
.PARAMETER Print
  Prints REPORT.md and report.json at the end, as `kubectl logs` then shows them.
.EXAMPLE
  .\node-check.ps1 -Note "Azure, Standard_D4s_v5"
.EXAMPLE
  $env:CSI_PROXY_SMB_PASSWORD = Read-Host
  .\node-check.ps1 -SelftestFlags '--smb-share=\\nas\test', '--smb-username=nas\test'
#>
#Requires -Version 5.1
[CmdletBinding()]
param(
  [string]$Directory = "",
  [string]$KubeletPath = "",
  [string]$Report = (Join-Path (Get-Location).ProviderPath "node-check-report"),
  [int]$DiskNumber = -1,
  [ValidateRange(2048, 1048576)][int]$SizeMB = 2048,
  [ValidateRange(1, 1000000)][int]$Calls = 1000,
  [string]$Note = "",
  [string[]]$SelftestFlags = @(),
  [switch]$Yes,
  [switch]$NoRestart,
  [switch]$StopGoRelease,
  [switch]$Redact = $true,
  [switch]$NoRedact,
  [switch]$KubeletMounted,
  [switch]$Print
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = "Stop"

$library = Join-Path $PSScriptRoot "node-check"
Add-Type -Path (Join-Path $library "report.cs")
$masks = New-Object NodeCheck.Redactor($Redact -and -not $NoRedact)
. (Join-Path $library "harness.ps1")
. (Join-Path $library "report.ps1")

if ($PSVersionTable.PSEdition -ne "Desktop") { throw "run this by Windows PowerShell: powershell.exe -File $PSCommandPath" }
$identity = [System.Security.Principal.WindowsIdentity]::GetCurrent()
$administrator = New-Object System.Security.Principal.WindowsPrincipal($identity)
if (-not $administrator.IsInRole([System.Security.Principal.WindowsBuiltInRole]::Administrator)) { throw "run this as administrator" }
$places = [NodeCheck.Programs]::Places($Directory, $PSScriptRoot, (Join-Path $env:ProgramFiles "csi-proxy"))
$Directory = [NodeCheck.Programs]::Find($places, [string[]]@("csi-proxyctl.exe", "csi-proxy.exe"))
$ctl = Join-Path $Directory "csi-proxyctl.exe"
$proxy = Join-Path $Directory "csi-proxy.exe"
$work = Join-Path $env:SystemRoot "Temp\csi-proxy-node-check"
$programs = Join-Path $env:ProgramFiles "csi-proxy-node-check"
$logs = Join-Path $env:ProgramData "csi-proxy-node-check"
$outside = Join-Path $work "outside"
$sentinel = Join-Path $outside "inner\sentinel.txt"
$vhdx = Join-Path $work "disk.vhdx"
$pipe = "csi-proxy-volume-v1"
$disk = -1
$means = ""
$selftest = $null
$list = Join-Path $library "doubts.md"
# In a checkout the list stands where it is written.
if (-not (Test-Path $list)) { $list = Join-Path $PSScriptRoot "..\server\host\doubts.md" }
$doubts = [NodeCheck.Doubt]::Read([System.IO.File]::ReadAllLines($list))
Add-Type -Path (Join-Path $library "native.cs") -ReferencedAssemblies "System.Core"
. (Join-Path $library "proxy.ps1")
. (Join-Path $library "node.ps1")
if ($KubeletPath -eq "") {
  $name = Find-ServiceName
  if ($name -ne "") { $KubeletPath = [NodeCheck.Service]::Flag((Get-ServiceValue $name "ImagePath"), "kubelet-path") }
  if ($KubeletPath -eq "") { $KubeletPath = "C:\var\lib\kubelet" }
}
$base = Join-Path $KubeletPath "csi-proxy-node-check"
foreach ($folder in $work, $base, $programs, $logs) {
  if (Test-Path $folder) { throw "$folder is there already; remove what an earlier run left" }
}
if (Test-Path $Report) { throw "$Report is there already; name another folder by -Report" }
New-Item -ItemType Directory -Path $Report | Out-Null
Add-Secrets
$windows = Get-CimInstance Win32_OperatingSystem
$revision = (Get-ItemProperty "HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion").UBR
$about = "$($windows.Caption), build $($windows.BuildNumber).$revision"
if ($Note -ne "") { $about = "$about, $Note" }
Write-Host $about

try {
  New-Item -ItemType Directory -Path (Split-Path $sentinel) | Out-Null
  Set-Content -Path $sentinel -Value "stays"
  New-Item -ItemType Directory -Path $base | Out-Null

  Test-Part "go-release" "no other release of csi-proxy is in the way" { Step-AsideGoRelease }
  if ($parts[0].result -ne "OK") { throw $masks.Apply($parts[0].detail) }

  Test-Part "disk-image" "a virtual disk is attached" {
    $script:means = New-TestDisk
    $script:disk = Find-TestDisk
    "disk $disk by $means"
  }

  Test-Part "answers" "the service answers on its pipes" { Start-Proxy }

  Test-Part "selftest" "csi-proxyctl selftest passes" {
    Assert-Passed "disk-image"
    Assert-Passed "answers"
    $flags = "--disk=$disk", "--work-dir=$KubeletPath\csi-proxy-selftest", "--note=$about"
    $call = Invoke-Ctl (@("selftest") + $flags + $SelftestFlags)
    if ($call.Out.StartsWith("{")) { $script:selftest = $call.Out | ConvertFrom-Json }
    if ($null -eq $selftest) { throw "exit code $($call.Code): $($call.Err.Trim())" }
    $bad = @($selftest.steps | Where-Object { $_.result -eq "FAILED" } | ForEach-Object { "$($_.name): $($_.detail)" })
    Assert-That ($call.Code -eq 0) "exit code $($call.Code); $($bad -join '; ')"
    "$($selftest.passed) passed, $($selftest.not_asked) not asked for"
  }

  Test-Part "wmi-agrees" "what the service says of the disk and the BIOS is what WMI says" {
    Assert-Step "partition"
    $known = Get-Disk -Number $disk
    $size = (Get-Answer "disk", "get-disk-stats", "--disk-number=$disk").total_bytes
    Assert-That ([uint64]$size -eq $known.Size) "size $size, in WMI $($known.Size)"
    $serial = (Get-Answer "disk", "list-disk-ids").diskIDs."$disk".serial_number
    Assert-That ($serial -eq "$($known.SerialNumber)".Trim()) "serial number '$serial', in WMI '$($known.SerialNumber)'"
    $online = (Get-Answer "disk", "get-disk-state", "--disk-number=$disk").is_online
    Assert-That ($online -ne $known.IsOffline) "online $online, in WMI offline $($known.IsOffline)"
    $bios = (Get-Answer "system", "get-bios-serial-number").serial_number
    $theirs = (Get-CimInstance Win32_BIOS).SerialNumber
    Assert-That ($bios -eq "$theirs".Trim()) "BIOS serial number '$bios', in WMI '$theirs'"
    $volumes = @(Get-Volume | ForEach-Object { $_.UniqueId })
    $volume = Get-TestVolume
    Assert-That ($volumes -contains $volume) "volume $volume is none of WMI's: $($volumes -join ', ')"
    "size $size, serial number '$serial', BIOS '$bios', $volume"
  }

  foreach ($file in "pipes", "paths", "disks", "images", "shares", "service", "sockets", "facts", "iscsi") {
    . (Join-Path $library "$file.ps1")
  }
} finally {
  Write-Host "taking everything back"
  $left = @()
  $steps = @()
  # Their files may not have been read yet.
  foreach ($command in "Remove-Shares", "Remove-Target") {
    if (Get-Command $command -ErrorAction SilentlyContinue) { $steps += (Get-Item "function:$command").ScriptBlock }
  }
  $steps += {
    if ($started -and -not $process.HasExited) {
      $process.Kill()
      $process.WaitForExit()
    }
  }, { Uninstall-Proxy }, { Restore-Services }, { Remove-Tree $base }, { Remove-Images }, { Remove-TestDisk }, {
    Copy-Masked "$work\csi-proxy.log" (Join-Path $Report "csi-proxy.log")
    Remove-Tree $work
  }
  foreach ($step in $steps) {
    try { & $step } catch { $left += $_.Exception.Message }
  }
  Test-Part "clean-up" "nothing is left behind" { Assert-That ($left.Count -eq 0) ($left -join "; ") }
  $failed = Write-Report $Report $about (Invoke-Program $proxy "--version").Out.Trim()
  if ($Print) {
    foreach ($file in "REPORT.md", "report.json") { "=== $file", [System.IO.File]::ReadAllText((Join-Path $Report $file)) }
    "=== end"
  }
}
if ($failed -gt 0) { exit 1 }
