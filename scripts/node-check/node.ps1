# Part of node-check.ps1: virtual disks, and what is tried on links.
# Uses its $work, $base, $outside, $sentinel, $vhdx, $SizeMB and $disk, and keeps $images.

$images = New-Object System.Collections.ArrayList
$storage = "root/Microsoft/Windows/Storage"

# --- The virtual disk ---

function Invoke-DiskPart([string[]]$Lines) {
  $file = Join-Path $work "diskpart.txt"
  Set-Content -Path $file -Value $Lines -Encoding Oem
  $call = Invoke-Program "diskpart.exe" "/s", $file
  if ($call.Code -ne 0) { throw "diskpart: $($call.Out.Trim())" }
}

# Makes the disk and attaches it; returns by which means.
function New-TestDisk {
  if (Get-Command New-VHD -ErrorAction SilentlyContinue) {
    try {
      New-VHD -Path $vhdx -SizeBytes ($SizeMB * 1mb) -Dynamic | Out-Null
      Mount-VHD -Path $vhdx -NoDriveLetter
      return "New-VHD"
    } catch {
      # Hyper-V's module may be there without Hyper-V.
      Remove-Item -Path $vhdx -ErrorAction SilentlyContinue
    }
  }
  Invoke-DiskPart "create vdisk file=`"$vhdx`" maximum=$SizeMB type=expandable", "select vdisk file=`"$vhdx`"", "attach vdisk"
  "diskpart"
}

# The number of the disk that lies in our file: all that is done to a disk is done to this one.
function Find-TestDisk {
  for ($i = 0; $i -lt 60; $i++) {
    $image = Get-DiskImage -ImagePath $vhdx
    if ($image.Attached -and $null -ne $image.Number) {
      $found = Get-Disk -Number $image.Number
      Assert-That ($found.Size -eq $SizeMB * 1mb) "disk $($image.Number) is not of the size that was made"
      Assert-That ($found.PartitionStyle -eq "RAW") "disk $($image.Number) is not raw"
      return [int]$image.Number
    }
    Start-Sleep -Milliseconds 500
  }
  throw "the virtual disk does not show up"
}

function Remove-TestDisk {
  if (-not (Test-Path $vhdx)) { return }
  if ((Get-DiskImage -ImagePath $vhdx).Attached) {
    try {
      Dismount-DiskImage -ImagePath $vhdx | Out-Null
    } catch {
      Invoke-DiskPart "select vdisk file=`"$vhdx`"", "detach vdisk"
    }
  }
  Remove-Item -Path $vhdx -Force
}

# --- Further virtual disks, each for one part ---

# Makes one, attaches it and returns its number. Sectors are New-VHD's to choose.
function New-Image([string]$Name, [int]$Megabytes = 512, [hashtable]$Sectors = @{}) {
  $path = Join-Path $work "$Name.vhdx"
  [void]$images.Add($path)
  if ($means -eq "New-VHD") {
    New-VHD -Path $path -SizeBytes ($Megabytes * 1mb) -Dynamic @Sectors | Out-Null
  } else {
    Invoke-DiskPart "create vdisk file=`"$path`" maximum=$Megabytes type=expandable"
  }
  Mount-Image $path
}

function Mount-Image([string]$Path) {
  Mount-DiskImage -ImagePath $Path -NoDriveLetter | Out-Null
  for ($i = 0; $i -lt 60; $i++) {
    $image = Get-DiskImage -ImagePath $Path
    if ($image.Attached -and $null -ne $image.Number) { return [int]$image.Number }
    Start-Sleep -Milliseconds 500
  }
  throw "$Path does not show up as a disk"
}

function Dismount-Image([string]$Path) {
  if ((Test-Path $Path) -and (Get-DiskImage -ImagePath $Path).Attached) { Dismount-DiskImage -ImagePath $Path | Out-Null }
}

function Remove-Images {
  foreach ($path in $images) {
    Dismount-Image $path
    Remove-Item -Path $path -Force -ErrorAction SilentlyContinue
  }
}

# The MSFT_Disk of a number, as it is now.
function Get-CimDisk([int]$Number) { Get-CimInstance -Namespace $storage MSFT_Disk -Filter "Number = $Number" }

# The one volume of a disk, as the service has it.
function Get-VolumeOf([int]$Number) {
  $volumes = @((Get-Answer "volume", "list-volumes-on-disk", "--disk-number=$Number").volume_ids)
  Assert-That ($volumes.Count -eq 1) "there are $($volumes.Count) volumes on disk $Number"
  $volumes[0]
}

# One call mounts a disk at a directory of its own; one takes it back.
function Invoke-Stage([int]$Number, [string]$Name) {
  Get-Answer "storage", "stage-volume", "--disk.number=$Number", "--target-path=$base\$Name"
}

function Invoke-Unstage([string]$Name) { Get-Answer "storage", "unstage-volume", "--target-path=$base\$Name" }

# What diagnose finds of a kind.
function Find-Findings([string]$Kind) {
  $call = Invoke-Ctl "diagnose"
  Assert-That ($call.Out.StartsWith("{")) "diagnose said: $($call.Err.Trim())"
  @(($call.Out | ConvertFrom-Json).findings | Where-Object { $_.kind -eq $Kind })
}

# .NET removes links and mount points as such, where Remove-Item of 5.1 may follow them.
function Remove-Tree([string]$Path) {
  if (-not [System.IO.Directory]::Exists($Path)) { return }
  $attributes = [System.IO.File]::GetAttributes($Path)
  $isLink = ($attributes -band [System.IO.FileAttributes]::ReparsePoint) -ne 0
  [System.IO.Directory]::Delete($Path, -not $isLink)
}

# --- Volumes and links ---

function Get-TestVolume { Get-VolumeOf $disk }

function Assert-SentinelStays {
  Assert-That (Test-Path $sentinel) "the sentinel $sentinel outside is gone"
  $others = Get-ChildItem -Recurse -Force $outside | Where-Object { $_.Name -ne "inner" -and $_.Name -ne "sentinel.txt" }
  $names = @($others | ForEach-Object { $_.FullName })
  Assert-That ($names.Count -eq 0) "made outside: $($names -join ', ')"
}

# Every kind of call that takes a path, with one that a link of this kind leads out.
function Assert-NoEscape([string]$Kind) {
  $link = Join-Path $base "to-outside-$Kind"
  New-Item -ItemType $Kind -Path $link -Target $outside | Out-Null
  $inner = "$link\inner"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "path-exists", "--path=$inner"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "is-symlink", "--path=$inner"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "is-symlink", "--path=$link"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "mkdir", "--path=$inner\made"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "mkdir", "--path=$link\made"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "rmdir", "--path=$inner", "--force"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "rmdir-contents", "--path=$inner"
  Assert-Refused "FAILED_PRECONDITION" "filesystem", "rmdir-contents", "--path=$link"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "create-symlink", "--source-path=$base", "--target-path=$link\made"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "create-symlink", "--source-path=$inner", "--target-path=$base\made"
  Assert-Refused "PERMISSION_DENIED" "volume", "get-volume-id-from-target-path", "--target-path=$inner"
  Assert-Refused "PERMISSION_DENIED" "volume", "get-closest-volume-id-from-target-path", "--target-path=$inner"
  Assert-SentinelStays
  # The link itself may go, and alone.
  Get-Answer "filesystem", "rmdir", "--path=$link" | Out-Null
  Assert-That (-not (Test-Path $link)) "the link is still there"
  Assert-SentinelStays
}
