# Part of node-check.ps1: makes virtual disks and calls the service. Uses the script's $work and $base, and defines $images.

$images = New-Object System.Collections.ArrayList
$storage = "root/Microsoft/Windows/Storage"

function Invoke-DiskPart([string[]]$Lines) {
  $file = Join-Path $work "diskpart.txt"
  Set-Content -Path $file -Value $Lines -Encoding Oem
  Invoke-Checked "diskpart.exe" "/s", $file | Out-Null
}

# Makes a virtual disk, attaches it and returns its number. The parts change only such disks and the disk -DiskNumber.
function New-Image([string]$Name, [int]$Megabytes = 512, [int]$Sector = 512) {
  $path = Join-Path $work "$Name.vhdx"
  [void]$images.Add($path)
  if ($Sector -eq 512) {
    Invoke-DiskPart "create vdisk file=`"$path`" maximum=$Megabytes type=expandable"
  } else {
    New-VHD -Path $path -SizeBytes ($Megabytes * 1mb) -Dynamic -LogicalSectorSizeBytes $Sector -PhysicalSectorSizeBytes $Sector | Out-Null
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
  throw "$Path does not appear as a disk"
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

# Returns the current MSFT_Disk of a number.
function Get-CimDisk([int]$Number) { Get-CimInstance -Namespace $storage MSFT_Disk -Filter "Number = $Number" }

# Returns the id of a disk's only volume, from the service.
function Get-VolumeOf([int]$Number) {
  $volumes = @((Get-Answer "volume", "list-volumes-on-disk", "--disk-number=$Number").volume_ids)
  Assert-That ($volumes.Count -eq 1) "there are $($volumes.Count) volumes on disk $Number"
  $volumes[0]
}

# Stages a disk at the directory $Name below $base. Invoke-Unstage undoes it.
function Invoke-Stage([int]$Number, [string]$Name) { Get-Answer "storage", "stage-volume", "--disk.number=$Number", "--target-path=$base\$Name" }

function Invoke-Unstage([string]$Name) { Get-Answer "storage", "unstage-volume", "--target-path=$base\$Name" }

# Returns the findings of diagnose that have this kind.
function Find-Findings([string]$Kind) {
  $call = Invoke-Ctl "diagnose"
  if (-not $call.Out.StartsWith("{")) { throw "csi-proxyctl diagnose: $($call.Err.Trim())" }
  @(($call.Out | ConvertFrom-Json).findings | Where-Object { $_.kind -eq $Kind })
}

# Removes a tree by .NET, because Remove-Item of PowerShell 5.1 may follow links and mount points.
function Remove-Tree([string]$Path) {
  if (-not [System.IO.Directory]::Exists($Path)) { return }
  $isLink = ([System.IO.File]::GetAttributes($Path) -band [System.IO.FileAttributes]::ReparsePoint) -ne 0
  [System.IO.Directory]::Delete($Path, -not $isLink)
}
