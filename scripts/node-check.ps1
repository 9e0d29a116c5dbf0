<#
.SYNOPSIS
  Shows on a real Windows node what cannot be shown without one, and writes a report to send back.
.DESCRIPTION
  Makes a virtual disk of its own, attaches it, and installs the service unless one is installed or
  answers already; without csi-proxy-service.exe, csi-proxy.exe is started in console mode, where it
  has more privileges than the service. Runs `csi-proxyctl selftest` on that disk, then looks at the node by
  Windows' own means: who may open the pipes, whether links lead out of the kubelet's directory,
  what Windows sees of a mount and of a link that the service made, how a resize goes without the
  service that optimises drives, what the service control manager and the event log hold, and what
  a thousand calls cost the process. At the end the service is restarted, and killed, while clients
  hold its pipes. With csi-node-sidecars.exe, that runs beside a stand-in for a driver, whose sockets
  are below the kubelet's directory as well.

  Touches: the virtual disk; a directory csi-proxy-node-check below the kubelet's, and the one of
  the selftest; a folder below C:\Windows\Temp; folders csi-proxy-node-check below %ProgramFiles%
  and %ProgramData% and the service csi-proxy, when it installs that; the start type of the service defragsvc, for one
  part, after which it is put back. At the end, whatever happens, all of it is taken back: the disk
  is detached and deleted.

  Ends with exit code 0 when no part failed. Parts that need what the node does not have (an
  installed service, an SMB server) are skipped.

  Run it as administrator, with the folder node-check beside it.
.PARAMETER Directory
  The folder with csi-proxy.exe, csi-proxyctl.exe, csi-proxy-service.exe and csi-node-sidecars.exe.
.PARAMETER KubeletPath
  The working directory of the service, as its own -kubelet-path has it.
.PARAMETER Report
  Where the report goes: this path with .txt and .json, and the log of a service that was started
  here with .log.
.PARAMETER SizeMB
  The size of the virtual disk, which takes no more room than is used. At least 2048.
.PARAMETER Calls
  How many calls are made between the two looks at the memory of the process.
.PARAMETER Note
  What the report shall say of the node besides its Windows build.
.PARAMETER SelftestFlags
  Further flags of `csi-proxyctl selftest`, for a share, an iSCSI target, or a service to restart.
  The password of the share is taken from the environment variable CSI_PROXY_SMB_PASSWORD.
.EXAMPLE
  .\node-check.ps1 -Directory "$env:ProgramFiles\csi-proxy"
.EXAMPLE
  $env:CSI_PROXY_SMB_PASSWORD = Read-Host
  .\node-check.ps1 -Directory "$env:ProgramFiles\csi-proxy" -SelftestFlags '--smb-share=\\nas\test', '--smb-username=nas\test'
#>
#Requires -Version 5.1
#Requires -PSEdition Desktop
#Requires -RunAsAdministrator
[CmdletBinding()]
param(
  [string]$Directory = $PSScriptRoot,
  [string]$KubeletPath = "C:\var\lib\kubelet",
  [string]$Report = (Join-Path (Get-Location) "node-check-$env:COMPUTERNAME"),
  [ValidateRange(2048, 1048576)][int]$SizeMB = 2048,
  [ValidateRange(1, 1000000)][int]$Calls = 1000,
  [string]$Note = "",
  [string[]]$SelftestFlags = @()
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = "Stop"

$ctl = Join-Path $Directory "csi-proxyctl.exe"
$proxy = Join-Path $Directory "csi-proxy.exe"
$work = Join-Path $env:SystemRoot "Temp\csi-proxy-node-check"
$base = Join-Path $KubeletPath "csi-proxy-node-check"
$programs = Join-Path $env:ProgramFiles "csi-proxy-node-check"
$logs = Join-Path $env:ProgramData "csi-proxy-node-check"
$outside = Join-Path $work "outside"
$sentinel = Join-Path $outside "inner\sentinel.txt"
$vhdx = Join-Path $work "disk.vhdx"
$pipe = "csi-proxy-volume-v1"
$disk = -1
$selftest = $null
. (Join-Path $PSScriptRoot "node-check\harness.ps1")
. (Join-Path $PSScriptRoot "node-check\node.ps1")

foreach ($program in $ctl, $proxy) {
  if (-not (Test-Path $program)) { throw "there is no $program; name the folder by -Directory" }
}
foreach ($folder in $work, $base, $programs, $logs) {
  if (Test-Path $folder) { throw "$folder is there already; remove what an earlier run left" }
}
$windows = Get-CimInstance Win32_OperatingSystem
$revision = (Get-ItemProperty "HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion").UBR
$about = "$($windows.Caption), build $($windows.BuildNumber).$revision"
if ($Note -ne "") { $about = "$about, $Note" }
Write-Host $about

try {
  New-Item -ItemType Directory -Path (Split-Path $sentinel) | Out-Null
  Set-Content -Path $sentinel -Value "stays"
  New-Item -ItemType Directory -Path $base | Out-Null

  Test-Part "disk-image" "a virtual disk is attached" {
    $means = New-TestDisk
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

  . (Join-Path $PSScriptRoot "node-check\pipes.ps1")

  Test-Part "escape-junction" "no call leaves the kubelet's directory by a junction" {
    Assert-Passed "answers"
    Assert-NoEscape "Junction"
  }
  Test-Part "escape-symlink" "no call leaves the kubelet's directory by a symbolic link" {
    Assert-Passed "answers"
    Assert-NoEscape "SymbolicLink"
  }

  Test-Part "escape-race" "a directory that becomes a junction and back while calls go through it lets none out" {
    Assert-Passed "answers"
    $swapped = Join-Path $base "swapped"
    $attacker = Start-Job -ArgumentList $swapped, $outside -ScriptBlock {
      param($swapped, $outside)
      $end = (Get-Date).AddSeconds(60)
      while ((Get-Date) -lt $end) {
        try {
          [System.IO.Directory]::CreateDirectory("$swapped\inner") | Out-Null
          [System.IO.Directory]::Delete($swapped, $true)
        } catch { }
        try {
          New-Item -ItemType Junction -Path $swapped -Target $outside | Out-Null
          [System.IO.Directory]::Delete($swapped)
        } catch { }
      }
    }
    $outcomes = @{}
    try {
      $end = (Get-Date).AddSeconds(30)
      while ((Get-Date) -lt $end) {
        $call = Invoke-Ctl "filesystem", "rmdir", "--path=$swapped\inner", "--force"
        $outcome = "done"
        if ($call.Code -ne 0) { $outcome = ($call.Err -split ":")[1].Trim() }
        $outcomes[$outcome] = 1 + [int]$outcomes[$outcome]
      }
    } finally {
      Stop-Job -Job $attacker
      Remove-Job -Job $attacker -Force
      Remove-Tree $swapped
    }
    Assert-SentinelStays
    @($outcomes.Keys | ForEach-Object { "$_ $($outcomes[$_])" }) -join ", "
  }

  Test-Part "reparse-race" "an empty directory that becomes a junction and back, without being removed, lets none out" {
    Assert-Passed "answers"
    Assert-Step "partition"
    $hostile = Join-Path $Directory "hostile.exe"
    if (-not (Test-Path $hostile)) { Skip-Part "there is no $hostile (integration/service/hostile/README.md)" }
    $raced = Join-Path $base "raced"
    try {
      $flags = "-reparse", "100000", "-raced", $raced, "-outside", "$work\raced", "-volume", (Get-TestVolume)
      $race = Invoke-Program $hostile $flags 7200
    } finally {
      Remove-Tree $raced
    }
    Assert-That ($race.Code -eq 0) "exit code $($race.Code): $($race.Out) $($race.Err)"
    $race.Out
  }

  Test-Part "remove-keeps-target" "a directory goes with links in it, whose targets stay" {
    Assert-Passed "answers"
    $tree = Join-Path $base "tree"
    New-Item -ItemType Directory -Path "$tree\deep" | Out-Null
    New-Item -ItemType Junction -Path "$tree\deep\junction" -Target $outside | Out-Null
    New-Item -ItemType SymbolicLink -Path "$tree\symlink" -Target $outside | Out-Null
    Set-Content -Path "$tree\deep\read-only.txt" -Value "goes"
    Set-ItemProperty -Path "$tree\deep\read-only.txt" -Name IsReadOnly -Value $true
    Get-Answer "filesystem", "rmdir", "--path=$tree", "--force" | Out-Null
    Assert-That (-not (Test-Path $tree)) "$tree is still there"
    Assert-SentinelStays
  }

  Test-Part "link-target" "Windows reads the link that the service makes as one to its source" {
    Assert-Passed "answers"
    $source = Join-Path $base "source"
    $link = Join-Path $base "link"
    Get-Answer "filesystem", "mkdir", "--path=$source" | Out-Null
    Get-Answer "filesystem", "create-symlink", "--source-path=$source", "--target-path=$link" | Out-Null
    $item = Get-Item $link
    Assert-That ($item.LinkType -eq "SymbolicLink") "it is a $($item.LinkType)"
    $target = @($item.Target)[0]
    Assert-That ($target -eq $source) "its target is $target"
    Set-Content -Path "$link\through.txt" -Value "x"
    Assert-That (Test-Path "$source\through.txt") "a file made through the link is not where it leads"
    (Invoke-Program "fsutil.exe" "reparsepoint", "query", $link).Out.Trim()
  }

  Test-Part "mount-seen" "Windows sees the mount while it is there, and files go through it to the volume" {
    Assert-Step "format"
    $volume = Get-TestVolume
    $mount = Join-Path $base "mount"
    Get-Answer "filesystem", "mkdir", "--path=$mount" | Out-Null
    Get-Answer "volume", "mount-volume", "--volume-id=$volume", "--target-path=$mount" | Out-Null
    $seen = (Invoke-Program "mountvol.exe" $mount, "/L").Out.Trim()
    Assert-That ($seen -eq $volume) "mountvol says $seen"
    Set-Content -Path "$mount\file.txt" -Value "on the volume"
    Get-Answer "volume", "unmount-volume", "--volume-id=$volume", "--target-path=$mount" | Out-Null
    $after = (Invoke-Program "mountvol.exe" $mount, "/L").Out.Trim()
    Assert-That ($after -notmatch "Volume\{") "mountvol still says $after"
    Assert-That (@(Get-ChildItem -Force $mount).Count -eq 0) "the file is in the directory, not on the volume"
    Get-Answer "filesystem", "rmdir", "--path=$mount" | Out-Null
    $volume
  }

  Test-Part "resize-without-defragsvc" "a volume grows while the service that optimises drives is disabled" {
    Assert-Passed "disk-image"
    Assert-Passed "answers"
    $optimiser = Get-Service -Name "defragsvc" -ErrorAction SilentlyContinue
    if ($null -eq $optimiser) { Skip-Part "there is no service defragsvc" }
    $startType = $optimiser.StartType
    $ran = $optimiser.Status -eq "Running"
    $now = Get-Disk -Number $disk
    if ($now.IsOffline) { Set-Disk -Number $disk -IsOffline $false }
    if ($now.PartitionStyle -ne "RAW") { Clear-Disk -Number $disk -RemoveData -RemoveOEM -Confirm:$false }
    Initialize-Disk -Number $disk -PartitionStyle GPT
    $partition = New-Partition -DiskNumber $disk -Size 1gb
    Format-Volume -Partition $partition -FileSystem NTFS -Confirm:$false | Out-Null
    $place = @{ DiskNumber = $disk; PartitionNumber = $partition.PartitionNumber }
    $volume = Get-TestVolume
    try {
      Stop-Service -Name "defragsvc" -Force
      Set-Service -Name "defragsvc" -StartupType Disabled
      Add-Fact "Get-PartitionSupportedSize with defragsvc disabled" { Get-PartitionSupportedSize @place | Format-List }
      Get-Answer "volume", "resize-volume", "--volume-id=$volume", "--size-bytes=0" | Out-Null
    } finally {
      Set-Service -Name "defragsvc" -StartupType $startType
      if ($ran) { Start-Service -Name "defragsvc" }
    }
    Update-HostStorageCache
    $size = (Get-Partition @place).Size
    $theirs = "unknown"
    try { $theirs = (Get-PartitionSupportedSize @place).SizeMax } catch { }
    $stats = (Get-Answer "volume", "get-volume-stats", "--volume-id=$volume").total_bytes
    Assert-That ($size -gt ($SizeMB - 128) * 1mb) "the partition has $size bytes"
    Assert-That ([Math]::Abs([int64]$stats - [int64]$size) -lt 16mb) "the file system has $stats bytes, the partition $size"
    "the partition has $size bytes; the most, as Get-PartitionSupportedSize has it: $theirs"
  }

  Test-Part "service-settings" "the service restarts after failures, has a SID, and keeps few privileges" {
    $name = Find-ServiceName
    if ($name -eq "") { Skip-Part "no service csi-proxy or csiproxy is installed" }
    $said = @{}
    foreach ($query in "qc", "qfailure", "qfailureflag", "qsidtype", "qprivs", "sdshow") {
      $said[$query] = (Invoke-Program "sc.exe" $query, $name).Out.Trim()
      Add-Fact "sc.exe $query $name" { $said[$query] }
    }
    Assert-That ($said["qfailure"] -match "RESTART") "no restart after a failure"
    Assert-That ($said["qsidtype"] -match "RESTRICTED") "no service SID"
    Assert-That ($said["qprivs"] -match "SeManageVolumePrivilege") "its privileges are not limited to those it needs"
    Assert-That ($said["qprivs"] -notmatch "SeDebugPrivilege|SeTcbPrivilege") "it keeps privileges that it does not need"
    $name
  }

  Test-Part "event-log" "the service has written to the event log" {
    if ((Find-ServiceName) -eq "") { Skip-Part "no service is installed, and console mode writes nothing there" }
    $filter = @{ LogName = "Application"; ProviderName = "csi-proxy" }
    $entries = @(Get-WinEvent -FilterHashtable $filter -MaxEvents 20)
    Add-Fact "event log" { $entries | Format-Table -Wrap -Property "TimeCreated", "LevelDisplayName", "Id", "Message" }
    Assert-That ("$($entries[0].Message)" -match "csi-proxy|stopp|serve|start") "its text cannot be read: '$($entries[0].Message)'"
    "$($entries.Count) entries, the last: $($entries[0].Message)"
  }

  Test-Part "cost" "after many calls the process has neither grown nor kept handles" {
    Assert-Passed "answers"
    $reads = @(
      @("disk", "list-disk-ids"),
      @("disk", "list-disk-locations"),
      @("system", "get-bios-serial-number"),
      @("system", "get-service", "--name=EventLog"),
      @("filesystem", "path-exists", "--path=$base"),
      @("volume", "get-closest-volume-id-from-target-path", "--target-path=$base")
    )
    # Objects that are made once, at the first calls, do not count as growth.
    for ($i = 0; $i -lt 60; $i++) { Get-Answer $reads[$i % $reads.Count] | Out-Null }
    $before = Get-ProxyProcess
    $handles = $before.HandleCount
    $bytes = $before.PrivateMemorySize64
    for ($i = 0; $i -lt $Calls; $i++) { Get-Answer $reads[$i % $reads.Count] | Out-Null }
    # Until the connections of clients that have gone are closed.
    Start-Sleep -Seconds 5
    $after = Get-ProxyProcess
    $grown = "$Calls calls: handles $handles -> $($after.HandleCount), private bytes $bytes -> $($after.PrivateMemorySize64)"
    Assert-That ($after.HandleCount - $handles -lt 50) $grown
    Assert-That ($after.PrivateMemorySize64 - $bytes -lt 16mb) $grown
    $grown
  }

  Test-Part "abandoned-clients" "after a stop and a crash all pipes answer again, though clients that never close them have them open" {
    Assert-Passed "answers"
    $before = Get-AnsweringPipes
    $abandoned = @()
    try {
      foreach ($how in "stop", "crash", "stop") {
        for ($i = 0; $i -lt 10; $i++) { $abandoned += Open-Abandoned }
        Restart-Proxy $how
        Wait-Answering $before $how
      }
    } finally {
      foreach ($client in $abandoned) { $client.Dispose() }
    }
    "$before pipes, $($abandoned.Count) clients"
  }

  . (Join-Path $PSScriptRoot "node-check\sockets.ps1")
  . (Join-Path $PSScriptRoot "node-check\facts.ps1")
} finally {
  Write-Host "taking everything back"
  $left = @()
  $steps = {
    if ($started -and -not $process.HasExited) {
      $process.Kill()
      $process.WaitForExit()
    }
  }, { Uninstall-Proxy }, { Remove-Tree $base }, { Remove-TestDisk }, {
    if (Test-Path "$work\csi-proxy.log") { Copy-Item "$work\csi-proxy.log" "$Report.log" }
    Remove-Tree $work
  }
  foreach ($step in $steps) {
    try { & $step } catch { $left += $_.Exception.Message }
  }
  Test-Part "clean-up" "nothing is left behind" { Assert-That ($left.Count -eq 0) ($left -join "; ") }
  $failed = Write-Report $Report $about (Invoke-Program $proxy "--version").Out.Trim()
}
if ($failed -gt 0) { exit 1 }
