# Part of node-check.ps1: makes virtual disks and calls the service. Uses the script's $work and $base, and defines $images.

$images = New-Object System.Collections.ArrayList
$storage = "root/Microsoft/Windows/Storage"

# Returns the number of calls of a part that looks for rare faults.
function Get-Rounds { 1000 }

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
  } else { New-VHD -Path $path -SizeBytes ($Megabytes * 1mb) -Dynamic -LogicalSectorSizeBytes $Sector -PhysicalSectorSizeBytes $Sector | Out-Null }
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

function Dismount-Image([string]$Path) { if ((Test-Path $Path) -and (Get-DiskImage -ImagePath $Path).Attached) { Dismount-DiskImage -ImagePath $Path | Out-Null } }
function Remove-Images { foreach ($path in $images) { Dismount-Image $path; Remove-Item -Path $path -Force -ErrorAction SilentlyContinue } }
function Remove-Folders { Remove-Tree $base }

# Returns the names of what the script has made and not removed.
function Find-Left {
  foreach ($path in @($base, $programs) + $images) { if (Test-Path $path) { $path } }
  $queries = @{
    "service $ownName" = { Get-Service -Name $ownName }; 'share csi-node-check$' = { Get-SmbShare -Name 'csi-node-check$' }
    "user csi-node-check" = { Get-LocalUser -Name "csi-node-check" }; "target csi-node-check" = { Get-IscsiServerTarget -TargetName "csi-node-check" }
  }
  foreach ($name in $queries.Keys) { try { if (& $queries[$name]) { $name } } catch { } }
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

function Open-File([string]$Path) { [System.IO.File]::Open((Get-NetPath $Path), "Create", "ReadWrite", "None") }
function Clear-Tree([string]$Path) { foreach ($entry in Get-ChildItem -Force -LiteralPath $Path) { Remove-Tree $entry.FullName } }

# Removes a tree, entry by entry, and no target of a link or mount: Remove-Item of PowerShell 5.1 may follow them, and at a junction
# Directory.Delete of the .NET Framework stops with an error (https://github.com/dotnet/runtime/issues/86249).
function Remove-Tree([string]$Path) {
  $entry = Get-Item -Force -LiteralPath $Path -ErrorAction SilentlyContinue
  if ($null -eq $entry) { return }
  $isLink = ($entry.Attributes -band [System.IO.FileAttributes]::ReparsePoint) -ne 0
  if ($isLink) { Invoke-Program "mountvol.exe" $Path, "/D" | Out-Null }
  if ($entry.PSIsContainer) {
    if (-not $isLink) { Clear-Tree $Path }
    [System.IO.Directory]::Delete((Get-NetPath $Path))
  } else { if (-not $isLink) { $entry.Attributes = "Normal" }; [System.IO.File]::Delete((Get-NetPath $Path)) }
}
