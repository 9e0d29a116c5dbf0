# Part of node-check.ps1: compares disks with WMI, and tests rare states of disks, each state on its own virtual disk. Uses
# the script's $base, $work, $storage, $disk, $DiskNumber and $windows, and node.ps1.

Test-Part "wmi-agrees" "the service reports the same disk and volume as WMI" -Needs "stages", "disk-image" {
  $volume = (Invoke-Stage $disk "agrees").volume_id
  $known = Get-CimDisk $disk
  $size = (Get-Answer "disk", "get-disk-stats", "--disk-number=$disk").total_bytes
  $online = (Get-Answer "disk", "get-disk-state", "--disk-number=$disk").is_online
  $reserved = @(Get-Partition -DiskNumber $disk | Where-Object { $_.GptType -eq "{e3c9e316-0b5c-4db8-817d-f92df00215ae}" }).Count
  $volumes = @(Get-Volume | ForEach-Object { $_.UniqueId })
  Invoke-Unstage "agrees" | Out-Null
  Assert-That ([uint64]$size -eq $known.Size -and $online -ne $known.IsOffline) "size $size, online $online; in WMI $($known.Size), offline $($known.IsOffline)"
  Assert-That ($volumes -contains $volume) "volume $volume is none of WMI's: $($volumes -join ', ')"
  Assert-That ($reserved -eq 1) "$reserved reserved partitions"
}
Test-Part "bios-agrees" "the service reports the BIOS serial number of WMI" -Needs "answers" {
  $theirs = "$((Get-CimInstance Win32_BIOS).SerialNumber)".Trim()
  if ($theirs -eq "") { Skip-Part "the BIOS of this node has no serial number" }
  $bios = (Get-Answer "system", "get-bios-serial-number").serial_number
  Assert-That ($bios -eq $theirs) "BIOS serial number '$bios', in WMI '$theirs'"
}
Test-Part "disk-lists" "the service lists every disk of the node as WMI does" -Needs "answers" {
  $listed = @((Get-Answer "storage", "list-disks").disks)
  Add-Fact "storage list-disks" { $listed | ConvertTo-Json -Depth 4 }
  Add-Fact "disks in WMI" { Get-CimInstance -Namespace $storage MSFT_Disk | Format-List -Property "*" }
  $known = @(Get-CimInstance -Namespace $storage MSFT_Disk)
  Assert-That ($known.Count -eq $listed.Count) "$($listed.Count) disks, in WMI $($known.Count)"
  foreach ($theirs in $known) {
    $number = $theirs.Number
    $mine = @($listed | Where-Object { $_.number -eq $number })
    Assert-That ($mine.Count -eq 1) "disk $number is listed $($mine.Count) times"
    $mine = $mine[0]
    $service = "$($mine.path), $($mine.size_bytes) bytes, serial number '$($mine.serial_number)', boot $($mine.is_boot), system $($mine.is_system), offline $(-not $mine.is_online)"
    $wmi = "$($theirs.Path), $($theirs.Size) bytes, serial number '$("$($theirs.SerialNumber)".Trim())', boot $($theirs.IsBoot), system $($theirs.IsSystem), offline $($theirs.IsOffline)"
    Assert-That ($service -eq $wmi) "disk ${number}: $service; in WMI $wmi"
    # Shows Windows' text beside the values that the service parsed from it.
    "disk ${number}: bus type $($theirs.BusType), Location '$($theirs.Location)' read as Adapter $($mine.adapter) Bus $($mine.bus) Target $($mine.target) LUN $($mine.lun_id), page 83 $($mine.page83), namespace $($mine.nvme_namespace_id)"
  }
}
Test-Part "azure-nvme" "Azure's NVMe data disks have a LUN each" -Needs "answers" {
  $nvme = @(Get-CimInstance -Namespace $storage MSFT_Disk | Where-Object { "$($_.FriendlyName) $($_.Model)" -match "MSFT NVMe Accelerator" } | ForEach-Object { $_.Number })
  if ($nvme.Count -eq 0) { Skip-Part "the node has no disk of Azure's NVMe controller" }
  $luns = @((Get-Answer "storage", "list-disks").disks | Where-Object { $nvme -contains $_.number } | ForEach-Object { $_.lun_id })
  Assert-That (@($luns | Sort-Object -Unique).Count -eq $nvme.Count) "disks $($nvme -join ', ') have the LUNs $($luns -join ', ')"
  "disks $($nvme -join ', ') have the LUNs $($luns -join ', '); compare with the portal's"
}
Test-Part "fresh-disk" "a new disk of the cloud reads as zero, and is staged" -Needs "answers" {
  if ($DiskNumber -lt 0) { Skip-Part "-DiskNumber names no disk" }
  $known = Get-CimDisk $DiskNumber
  if ($null -eq $known -or $known.PartitionStyle -ne 0 -or $known.IsBoot -or $known.IsSystem) { throw "disk $DiskNumber is not raw: name another with -DiskNumber" }
  # StageVolume formats only a disk that reads as zero.
  $staged = Invoke-Stage $DiskNumber "fresh"
  try {
    Set-Content -Path "$base\fresh\file.txt" -Value "x"
    $unstaged = Invoke-Unstage "fresh"
    "bus type $($known.BusType), $($known.Size) bytes; staged by $($staged.steps -join ' '); unstaged by $($unstaged.steps -join ' ')"
  } finally { Set-Disk -Number $DiskNumber -IsOffline $false; Clear-Disk -Number $DiskNumber -RemoveData -RemoveOEM -Confirm:$false }
}
Test-Part "detach-while-mounted" "a disk that is detached while its volume is mounted leaves a mount that can be found and removed" -Needs "stages" {
  $number = New-Image "gone"
  Invoke-Stage $number "gone" | Out-Null
  Dismount-Image (Join-Path $work "gone.vhdx")
  $found = @(Find-Findings "dangling-mounts" | Where-Object { $_.where -like "*gone*" })
  $told = "diagnose found $($found.Count); unstaged by $((Invoke-Unstage "gone").steps -join ' ')"
  Assert-That ($found.Count -eq 1 -and -not (Test-Path "$base\gone")) "$told; directory there: $(Test-Path "$base\gone")"
  $told
}
Test-Part "offline-read-only" "PartitionDisk brings an offline, read-only disk online and makes it writable" -Needs "stages" {
  $number = New-Image "readonly"
  # Sets the flag while the disk is online, because an offline disk refuses it.
  if ((Get-CimDisk $number).IsOffline) { Set-Disk -Number $number -IsOffline $false }
  Set-Disk -Number $number -IsReadOnly $true
  Set-Disk -Number $number -IsOffline $true
  Get-Answer "disk", "partition-disk", "--disk-number=$number" | Out-Null
  Start-Sleep -Seconds 2
  $now = Get-CimDisk $number
  Assert-That (-not $now.IsReadOnly -and -not $now.IsOffline) "read-only $($now.IsReadOnly), offline $($now.IsOffline)"
  Get-VolumeOf $number | Out-Null
}
Test-Part "signature-collision" "the second of two copies of a disk is offline, and diagnose says why" -Needs "stages" {
  $original = Join-Path $work "original.vhdx"
  $copy = Join-Path $work "copy.vhdx"
  Invoke-Stage (New-Image "original") "original" | Out-Null
  Invoke-Unstage "original" | Out-Null
  Dismount-Image $original
  Copy-Item $original $copy
  [void]$images.Add($copy)
  Set-Disk -Number (Mount-Image $original) -IsOffline $false
  $known = Get-CimDisk (Mount-Image $copy)
  $found = @(Find-Findings "colliding-disks")
  $told = "the copy: offline $($known.IsOffline), reason $($known.OfflineReason); diagnose found $($found.Count)"
  Assert-That ($known.IsOffline -and $known.OfflineReason -eq 4 -and $found.Count -eq 1) $told
  $told
}
# Each form has its own disk: the part's name, the size in MiB, the bytes of a sector, the file system.
foreach ($form in @("mbr", 512, 512, "NTFS"), @("refs", 8192, 512, "ReFS"), @("sector-4kn", 512, 4096, "NTFS")) {
  Test-Part $form[0] "a disk of this form is partitioned, formatted, resized, staged and unstaged" -Needs "stages" {
    if ($form[0] -eq "refs" -and $windows.ProductType -eq 1) { Skip-Part "only servers format ReFS" }
    if ($form[2] -ne 512 -and -not (Get-Command New-VHD -ErrorAction SilentlyContinue)) { Skip-Part "such a disk needs New-VHD of the Hyper-V PowerShell module" }
    $number = New-Image $form[0] $form[1] $form[2]
    if ((Get-CimDisk $number).IsOffline) { Set-Disk -Number $number -IsOffline $false }
    if ($form[0] -eq "mbr") { Initialize-Disk -Number $number -PartitionStyle MBR }
    Get-Answer "disk", "partition-disk", "--disk-number=$number" | Out-Null
    $volume = Get-VolumeOf $number
    Get-Answer "storage", "format-volume", "--volume-id=$volume", "--file-system=$($form[3])", "--label=node-check" | Out-Null
    if ($form[3] -eq "NTFS") { Get-Answer "volume", "resize-volume", "--volume-id=$volume", "--size-bytes=0" | Out-Null }
    $health = Get-Answer "storage", "get-volume-health", "--volume-id=$volume"
    Invoke-Stage $number $form[0] | Out-Null
    Invoke-Unstage $form[0] | Out-Null
    $now = Get-CimDisk $number
    $told = "sectors of $($now.LogicalSectorSize), style $($now.PartitionStyle), $($health.file_system), abnormal $($health.abnormal) $($health.message)"
    Assert-That ($now.LogicalSectorSize -eq $form[2] -and $health.file_system -eq $form[3] -and -not $health.abnormal) $told
    Assert-That (($now.PartitionStyle -eq 1) -eq ($form[0] -eq "mbr")) $told
  }
}
Test-Part "four-stages" "four disks are staged at once, and unstaged at once" -Needs "stages" {
  $numbers = @(1..4 | ForEach-Object { New-Image "four-$_" })
  $stages = foreach ($i in 0..3) { , @("storage", "stage-volume", "--target-path=$base\four-$i", "--disk.number=$($numbers[$i])") }
  $unstages = foreach ($i in 0..3) { , @("storage", "unstage-volume", "--target-path=$base\four-$i") }
  foreach ($all in $stages, $unstages) {
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $calls = foreach ($words in $all) { Start-Child $ctl $words }
    foreach ($call in $calls) { $ended = Wait-Child $call 330; Assert-That ($ended.Code -eq 0) "$($all[0][1]): exit code $($ended.Code): $($ended.Err.Trim())" }
    "$($all[0][1]) $($watch.ElapsedMilliseconds) ms"
  }
}
