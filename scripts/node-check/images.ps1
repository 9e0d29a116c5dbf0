# Part of node-check.ps1: disks in states that are rare, each a virtual one of its own. Uses its $base, $work, $means,
# $storage, node.ps1 and native.cs.

Test-Part "after-unstage" "a disk goes offline while its volume is mounted, and is not mounted there when it is back" {
  Assert-Passed "answers"
  Assert-Passed "disk-image"
  $number = New-Image "unstaged"
  $staged = Invoke-Stage $number "unstaged"
  $volume = $staged.volume_id
  $mounted = [NodeCheck.Native]::PathNames($volume)
  $unstaged = Invoke-Unstage "unstaged"
  $steps = $unstaged.steps -join " "
  Get-Answer "disk", "set-disk-state", "--disk-number=$number", "--is-online=true" | Out-Null
  $names = [NodeCheck.Native]::PathNames($volume)
  $paths = @(Get-Partition -DiskNumber $number | ForEach-Object { $_.AccessPaths } | Where-Object { $_ -and $_ -notmatch "Volume\{" })
  $told = "mounted at $($mounted -join ' '); unstaged by $steps; back at $($names -join ' '), AccessPaths $($paths -join ' ')"
  Assert-That ($steps -match "TAKEN_OFFLINE.* UNMOUNTED") $told
  Assert-That ($mounted -contains "$base\unstaged\") $told
  Assert-That (@($names).Count -eq 0 -and $paths.Count -eq 0) $told
  $told
}

Test-Part "offline-open-file" "Windows keeps a disk online while a file on it is open, and says so" {
  Assert-Passed "after-unstage"
  $number = New-Image "open"
  Invoke-Stage $number "open" | Out-Null
  $file = [System.IO.File]::Open("$base\open\file.txt", "Create", "ReadWrite", "None")
  try {
    $windows = Get-CimOutcome { Invoke-CimMethod -InputObject (Get-CimDisk $number) -MethodName Offline }
    $offline = (Get-CimDisk $number).IsOffline
    if ($offline) { Set-Disk -Number $number -IsOffline $false }
    $call = Invoke-Ctl "disk", "set-disk-state", "--disk-number=$number", "--is-online=false"
    $service = $call.Err.Trim()
    if ((Get-CimDisk $number).IsOffline) { Set-Disk -Number $number -IsOffline $false }
  } finally {
    $file.Dispose()
    Invoke-Unstage "open" | Out-Null
  }
  $told = "Offline: $windows, offline then: $offline; the service: '$service'"
  Assert-That ($windows -match "^ReturnValue 6 " -and -not $offline) $told
  $told
}

Test-Part "detach-while-mounted" "a disk that is detached while its volume is mounted leaves a mount that can be found and removed" {
  Assert-Passed "after-unstage"
  $number = New-Image "gone"
  $volume = (Invoke-Stage $number "gone").volume_id
  Dismount-Image (Join-Path $work "gone.vhdx")
  $question = [NodeCheck.Native]::Volume($volume).Error
  $device = [NodeCheck.Native]::OpenError($volume.TrimEnd("\"))
  $found = @(Find-Findings "dangling-mounts" | Where-Object { $_.where -like "*gone*" })
  $unstaged = Invoke-Unstage "gone"
  $told = "GetVolumeInformationW fails with $question, opening the device with $device; diagnose found $($found.Count); unstaged by $($unstaged.steps -join ' ')"
  Assert-That (@(2, 3, 21, 55, 433, 1167) -contains $question) $told
  Assert-That ($found.Count -eq 1) $told
  Assert-That (-not (Test-Path "$base\gone")) "$told; the directory is still there"
  $told
}

Test-Part "offline-read-only" "PartitionDisk brings an offline, read-only disk online and makes it writable" {
  Assert-Passed "after-unstage"
  $number = New-Image "readonly"
  Set-Disk -Number $number -IsReadOnly $true
  Set-Disk -Number $number -IsOffline $true
  $before = [NodeCheck.Native]::DiskAttributes($number)
  Get-Answer "disk", "partition-disk", "--disk-number=$number" | Out-Null
  Start-Sleep -Seconds 2
  $after = [NodeCheck.Native]::DiskAttributes($number)
  Assert-That ($after -eq 0) "attributes $before -> $after"
  Get-VolumeOf $number | Out-Null
  "attributes $before -> $after"
}

Test-Part "read-only-volume" "a file system that was mounted while its disk was read-only stays so until it is mounted anew" {
  Assert-Passed "after-unstage"
  $number = New-Image "writable"
  $volume = (Invoke-Stage $number "writable").volume_id
  Invoke-Unstage "writable" | Out-Null
  Set-Disk -Number $number -IsReadOnly $true
  Set-Disk -Number $number -IsOffline $false
  $first = [NodeCheck.Native]::Volume($volume)
  $cleared = [NodeCheck.Native]::ClearReadOnly($number, 40)
  $second = [NodeCheck.Native]::Volume($volume)
  Get-Answer "storage", "set-disk-read-only", "--disk-number=$number", "--read-only=false" | Out-Null
  $third = [NodeCheck.Native]::Volume($volume)
  $told = "read-only disk: read-only $($first.ReadOnly), error $($first.Error); flag cleared (error $cleared): $($second.ReadOnly); mounted anew by the service: $($third.ReadOnly)"
  Assert-That ($first.ReadOnly -and $second.ReadOnly -and -not $third.ReadOnly) $told
  $told
}

Test-Part "signature-collision" "the second of two copies of a disk is offline, and diagnose says why" {
  Assert-Passed "after-unstage"
  $number = New-Image "original"
  Invoke-Stage $number "original" | Out-Null
  Invoke-Unstage "original" | Out-Null
  $original = Join-Path $work "original.vhdx"
  $copy = Join-Path $work "copy.vhdx"
  Dismount-Image $original
  Copy-Item $original $copy
  [void]$images.Add($copy)
  $number = Mount-Image $original
  Set-Disk -Number $number -IsOffline $false
  $second = Mount-Image $copy
  $known = Get-CimDisk $second
  $found = @(Find-Findings "colliding-disks")
  $told = "the copy: offline $($known.IsOffline), reason $($known.OfflineReason); diagnose found $($found.Count)"
  Assert-That ($known.IsOffline -and $known.OfflineReason -eq 4) $told
  Assert-That ($found.Count -eq 1) $told
  $told
}

Test-Part "mbr" "an MBR disk is partitioned, formatted and resized" {
  Assert-Passed "after-unstage"
  $number = New-Image "mbr"
  if ((Get-CimDisk $number).IsOffline) { Set-Disk -Number $number -IsOffline $false }
  Initialize-Disk -Number $number -PartitionStyle MBR
  Get-Answer "disk", "partition-disk", "--disk-number=$number" | Out-Null
  $volume = Get-VolumeOf $number
  Get-Answer "volume", "format-volume", "--volume-id=$volume" | Out-Null
  Get-Answer "volume", "resize-volume", "--volume-id=$volume", "--size-bytes=0" | Out-Null
  $partition = @(Get-Partition -DiskNumber $number)
  $told = "$($partition.Count) partitions, MbrType $($partition[0].MbrType), $($partition[0].Size) bytes"
  Assert-That ($partition.Count -eq 1 -and $partition[0].MbrType -eq 7) $told
  $told
}

Test-Part "refs" "a volume becomes ReFS, and its health is told" {
  Assert-Passed "after-unstage"
  if ($windows.ProductType -eq 1) { Skip-Part "only servers format ReFS" }
  $number = New-Image "refs" 8192
  Get-Answer "disk", "partition-disk", "--disk-number=$number" | Out-Null
  $volume = Get-VolumeOf $number
  Get-Answer "storage", "format-volume", "--volume-id=$volume", "--file-system=ReFS" | Out-Null
  $health = Get-Answer "storage", "get-volume-health", "--volume-id=$volume"
  $told = "file system $($health.file_system), dirty $($health.is_dirty), abnormal $($health.abnormal): $($health.message)"
  Assert-That ($health.file_system -eq "ReFS" -and -not $health.abnormal) $told
  $told
}

Test-Part "sector-4kn" "a disk with sectors of 4096 bytes is staged and unstaged" {
  Assert-Passed "after-unstage"
  if ($means -ne "New-VHD") { Skip-Part "only New-VHD of Hyper-V's module makes such a disk" }
  $number = New-Image "sectors" 512 @{ LogicalSectorSizeBytes = 4096; PhysicalSectorSizeBytes = 4096 }
  $sector = (Get-CimDisk $number).LogicalSectorSize
  $staged = Invoke-Stage $number "sectors"
  Set-Content -Path "$base\sectors\file.txt" -Value "x"
  Get-Answer "volume", "resize-volume", "--volume-id=$($staged.volume_id)", "--size-bytes=0" | Out-Null
  $unstaged = Invoke-Unstage "sectors"
  $told = "sectors of $sector, staged by $($staged.steps -join ' '), unstaged by $($unstaged.steps -join ' ')"
  Assert-That ($sector -eq 4096) $told
  $told
}

Test-Part "four-stages" "four disks are staged at once, and unstaged at once" {
  Assert-Passed "after-unstage"
  $numbers = @(1..4 | ForEach-Object { New-Image "four-$_" })
  $times = @()
  foreach ($how in "stage", "unstage") {
    $watch = [System.Diagnostics.Stopwatch]::StartNew()
    $calls = @()
    for ($i = 0; $i -lt 4; $i++) {
      $flags = @("storage", "unstage-volume", "--target-path=$base\four-$i")
      if ($how -eq "stage") { $flags = @("storage", "stage-volume", "--target-path=$base\four-$i", "--disk.number=$($numbers[$i])") }
      $calls += [System.Diagnostics.Process]::Start((New-StartInfo $ctl $flags))
    }
    foreach ($call in $calls) {
      Assert-That ($call.WaitForExit(330000)) "a call to $how has not ended"
      Assert-That ($call.ExitCode -eq 0) "a call to $how ended with exit code $($call.ExitCode)"
    }
    $times += "$how $($watch.ElapsedMilliseconds) ms"
    if ($how -eq "stage") { 0..3 | ForEach-Object { Set-Content -Path "$base\four-$_\file.txt" -Value "x" } }
  }
  $times -join ", "
}
