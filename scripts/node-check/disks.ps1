# Part of node-check.ps1: disks and volumes as the service and as Windows have them. Uses its $disk, $base, $storage,
# $DiskNumber, node.ps1 and native.cs.

Test-Part "disk-lists" "the service lists every disk of the node as WMI has it" {
  Assert-Passed "answers"
  $ids = (Get-Answer "disk", "list-disk-ids").diskIDs
  $locations = (Get-Answer "disk", "list-disk-locations").disk_locations
  $listed = @((Get-Answer "storage", "list-disks").disks)
  Add-Fact "disk list-disk-ids" { $ids | ConvertTo-Json -Depth 4 }
  Add-Fact "disk list-disk-locations" { $locations | ConvertTo-Json -Depth 4 }
  Add-Fact "storage list-disks" { $listed | ConvertTo-Json -Depth 4 }
  $known = @(Get-CimInstance -Namespace $storage MSFT_Disk)
  Assert-That ($known.Count -eq $listed.Count) "$($listed.Count) disks, in WMI $($known.Count)"
  foreach ($theirs in $known) {
    $number = $theirs.Number
    $mine = @($listed | Where-Object { $_.number -eq $number })
    Assert-That ($mine.Count -eq 1) "disk $number is listed $($mine.Count) times"
    $mine = $mine[0]
    Assert-That ($mine.path -eq $theirs.Path) "disk ${number}: path $($mine.path), in WMI $($theirs.Path)"
    Assert-That ([uint64]$mine.size_bytes -eq $theirs.Size) "disk ${number}: size $($mine.size_bytes), in WMI $($theirs.Size)"
    Assert-That ($mine.serial_number -eq "$($theirs.SerialNumber)".Trim()) "disk ${number}: serial number '$($mine.serial_number)', in WMI '$($theirs.SerialNumber)'"
    Assert-That ($mine.is_boot -eq $theirs.IsBoot -and $mine.is_system -eq $theirs.IsSystem) "disk ${number}: boot $($mine.is_boot), system $($mine.is_system)"
    Assert-That ($mine.is_online -ne $theirs.IsOffline) "disk ${number}: online $($mine.is_online)"
    # The text that the service reads, beside what it reads in it.
    $place = @("Adapter $($mine.adapter)", "Bus $($mine.bus)", "Target $($mine.target)", "LUN $($mine.lun_id)") -join " "
    "disk ${number}: bus type $($theirs.BusType), Location '$($theirs.Location)' read as '$place', page 83 $($mine.page83), namespace $($mine.nvme_namespace_id), error at Path without rights: $([NodeCheck.Native]::OpenError($theirs.Path))"
  }
}

Test-Part "azure-nvme" "Azure's NVMe data disks have a LUN each" {
  Assert-Passed "answers"
  $nvme = @(Get-CimInstance -Namespace $storage MSFT_Disk | Where-Object { "$($_.FriendlyName) $($_.Model)" -match "MSFT NVMe Accelerator" })
  if ($nvme.Count -eq 0) { Skip-Part "the node has no disk of Azure's NVMe controller" }
  $listed = @((Get-Answer "storage", "list-disks").disks)
  $luns = @()
  foreach ($one in $nvme) {
    $mine = @($listed | Where-Object { $_.number -eq $one.Number })[0]
    $luns += $mine.lun_id
    "disk $($one.Number): LUN $($mine.lun_id), namespace $($mine.nvme_namespace_id); compare with the portal's LUN"
  }
  Assert-That (@($luns | Sort-Object -Unique).Count -eq $luns.Count) "LUNs $($luns -join ', ')"
}

Test-Part "storage-return-codes" "a raw disk becomes GPT with a reserved partition, and its volume arrives" {
  Assert-Passed "answers"
  Assert-Passed "disk-image"
  $number = New-Image "codes"
  $cache = Get-CimOutcome { Invoke-CimMethod -Namespace $storage -ClassName MSFT_StorageSetting -MethodName UpdateHostStorageCache }
  $raw = Get-CimDisk $number
  if ($raw.IsOffline) { Set-Disk -Number $number -IsOffline $false }
  $initialized = Get-CimOutcome { Invoke-CimMethod -InputObject $raw -MethodName Initialize -Arguments @{ PartitionStyle = [uint16]2 } }
  $reserved = @(Get-CimInstance -Namespace $storage MSFT_Partition -Filter "DiskNumber = $number" |
      Where-Object { $_.GptType -eq "{e3c9e316-0b5c-4db8-817d-f92df00215ae}" })
  $wanted = @{ UseMaximumSize = $true; AssignDriveLetter = $false; GptType = "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}" }
  $watch = [System.Diagnostics.Stopwatch]::StartNew()
  $created = Get-CimOutcome { Invoke-CimMethod -InputObject $raw -MethodName CreatePartition -Arguments $wanted }
  $returned = $watch.ElapsedMilliseconds
  $volume = Get-VolumeOf $number
  $arrived = $watch.ElapsedMilliseconds
  $seen = "no"
  for ($i = 0; $i -lt 60 -and $seen -eq "no"; $i++) {
    if (@(Get-CimInstance -Namespace $storage MSFT_Volume | Where-Object { $_.UniqueId -eq $volume }).Count -eq 1) { $seen = "$($watch.ElapsedMilliseconds) ms" }
    else { Start-Sleep -Milliseconds 500 }
  }
  $told = "UpdateHostStorageCache $cache; Initialize $initialized, $($reserved.Count) reserved partitions; CreatePartition $created after $returned ms; volume listed after $arrived ms, in MSFT_Volume: $seen"
  Assert-That ($cache -match "^ReturnValue 0 ") $told
  Assert-That ($initialized -match "^ReturnValue 0 ") $told
  Assert-That ($created -match "^ReturnValue (0|42002) ") $told
  Assert-That ($reserved.Count -eq 1) $told
  $told
}

Test-Part "unformatted-error" "GetVolumeInformationW fails with 1005 for a volume without a file system" {
  Assert-Passed "storage-return-codes"
  $number = (Get-DiskImage -ImagePath (Join-Path $work "codes.vhdx")).Number
  $told = [NodeCheck.Native]::Volume((Get-VolumeOf $number))
  Assert-That ($told.Error -eq 1005) "error $($told.Error)"
  "error 1005"
}

Test-Part "mount-held-directory" "a volume is mounted at a directory that is held open, and by long and verbatim paths" {
  Assert-Passed "unformatted-error"
  $number = (Get-DiskImage -ImagePath (Join-Path $work "codes.vhdx")).Number
  $volume = Get-VolumeOf $number
  Get-Answer "volume", "format-volume", "--volume-id=$volume" | Out-Null
  $plain = Join-Path $base "held"
  $long = Join-Path $base ("long\" + ("0123456789" * 20) + "\" + ("0123456789" * 10))
  Get-Answer "filesystem", "mkdir", "--path=$plain" | Out-Null
  Get-Answer "filesystem", "mkdir", "--path=$long" | Out-Null
  $own = [NodeCheck.Native]::PathNames((Get-Answer "volume", "get-closest-volume-id-from-target-path", "--target-path=$base").volume_id)
  $told = @()
  $failed = 0
  foreach ($path in $plain, "\\?\$plain", "\\?\$long") {
    $hold = [NodeCheck.Native]::Hold($path)
    try {
      $mounted = [NodeCheck.Native]::Mount("$path\", $volume)
      $ended = "not tried"
      if ($mounted -eq 0) { $ended = [NodeCheck.Native]::Unmount("$path\") }
    } finally {
      $hold.Dispose()
    }
    if ($ended -ne 0) {
      $failed++
      if ($mounted -eq 0) { [NodeCheck.Native]::Unmount("$path\") | Out-Null }
    }
    $told += "$($path.Substring(0, 4))... of $($path.Length) characters, held: set $mounted, delete $ended"
  }
  Get-Answer "filesystem", "rmdir", "--path=$base\long", "--force" | Out-Null
  Get-Answer "filesystem", "rmdir", "--path=$plain" | Out-Null
  Assert-That ($failed -eq 0) ($told -join "; ")
  "$($told -join '; '); the kubelet's directory is on $($own -join ' ')"
}

Test-Part "disk-attributes" "a handle without rights reads a disk's attributes, and 40 is the Version that clears the read-only flag" {
  Assert-Passed "unformatted-error"
  $number = (Get-DiskImage -ImagePath (Join-Path $work "codes.vhdx")).Number
  $told = @()
  foreach ($version in 40, 16) {
    Set-Disk -Number $number -IsReadOnly $true
    $before = [NodeCheck.Native]::DiskAttributes($number)
    $failure = [NodeCheck.Native]::ClearReadOnly($number, $version)
    $after = [NodeCheck.Native]::DiskAttributes($number)
    $told += "Version ${version}: error $failure, attributes $before -> $after"
  }
  Set-Disk -Number $number -IsReadOnly $false
  $volume = Get-VolumeOf $number
  $told += "a volume's device opens without rights with error $([NodeCheck.Native]::OpenError($volume.TrimEnd('\')))"
  Assert-That ($told[0] -match "error 0, attributes 2 -> 0" -and $told[2] -match "error 0$") ($told -join "; ")
  $told -join "; "
}

Test-Part "variant-forms" "lists of strings come as arrays, and numbers of 64 bits as text" {
  Assert-Passed "disk-image"
  $server = (New-Object -ComObject WbemScripting.SWbemLocator).ConnectServer(".", "root\Microsoft\Windows\Storage")
  $forms = @{}
  foreach ($query in "SELECT * FROM MSFT_Disk", "SELECT * FROM MSFT_Partition") {
    foreach ($found in @($server.ExecQuery($query))) {
      foreach ($property in $found.Properties_) {
        if ($null -eq $property.Value) { continue }
        $forms["$($property.Name): CIM type $($property.CIMType), array $($property.IsArray), $($property.Value.GetType().FullName)"] = $property
      }
    }
  }
  Add-Fact "forms in which COM hands over values" { @($forms.Keys) | Sort-Object }
  $lists = @($forms.Keys | Where-Object { $_ -match "^AccessPaths: .* array True" })
  Assert-That ($lists.Count -eq 1 -and $lists[0] -match "\[\]$") "AccessPaths: $($lists -join ', ')"
  $sizes = @($forms.Keys | Where-Object { $_ -match "^Size: " })
  Assert-That ($sizes.Count -eq 1 -and $sizes[0] -match "System.String$") "Size: $($sizes -join ', ')"
  "$($lists[0]); $($sizes[0])"
}

Test-Part "fresh-disk" "a new disk of the cloud and a new partition on it read as zero, and it is staged" {
  Assert-Passed "answers"
  if ($DiskNumber -lt 0) { Skip-Part "-DiskNumber names no disk" }
  $known = Get-CimDisk $DiskNumber
  Assert-That ($null -ne $known) "there is no disk $DiskNumber"
  Assert-That ($known.PartitionStyle -eq 0 -and $known.NumberOfPartitions -eq 0) "disk $DiskNumber is not raw, and is left alone"
  Assert-That (-not ($known.IsBoot -or $known.IsSystem)) "Windows runs on disk $DiskNumber"
  $mib = 1048576
  $read = { param($at) [NodeCheck.Native]::FirstByte($DiskNumber, $at, $mib) }
  Get-Answer "disk", "set-disk-state", "--disk-number=$DiskNumber", "--is-online=true" | Out-Null
  foreach ($at in 0, $mib, ($known.Size - $known.Size % $mib - $mib)) {
    $found = & $read $at
    Assert-That ($found -lt 0) "disk $DiskNumber is not blank, and is left alone: byte $found is not zero"
  }
  try {
    Get-Answer "disk", "partition-disk", "--disk-number=$DiskNumber" | Out-Null
    $partition = @(Get-Partition -DiskNumber $DiskNumber | Where-Object { $_.Type -eq "Basic" -or $_.GptType -eq "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}" })[0]
    foreach ($at in $partition.Offset, ($partition.Offset + $mib), ($partition.Offset + $partition.Size - $mib)) {
      $found = & $read $at
      Assert-That ($found -lt 0) "byte $found of the new partition at $($partition.Offset) is not zero"
    }
    $staged = Invoke-Stage $DiskNumber "fresh"
    Set-Content -Path "$base\fresh\file.txt" -Value "x"
    $unstaged = Invoke-Unstage "fresh"
    "bus type $($known.BusType), $($known.Size) bytes; staged by $($staged.steps -join ' '); unstaged by $($unstaged.steps -join ' ')"
  } finally {
    Set-Disk -Number $DiskNumber -IsOffline $false
    Clear-Disk -Number $DiskNumber -RemoveData -RemoveOEM -Confirm:$false
  }
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
