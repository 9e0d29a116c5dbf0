<#
.SYNOPSIS
  Does on this machine what the admin service (server/simulator/admin.proto) does on a simulated node: plays the cloud, the file server and
  the kubelet, and tells how the node is.
.DESCRIPTION
  Reads the request from the standard input and writes the response to the standard output, both as JSON of the messages. Disks are virtual
  disks below C:\csi-proxy-machine, and so are the folders of shares. -Method Reset takes everything back. For a machine that is thrown away.
.PARAMETER Method
  The method of the admin service.
.PARAMETER Ctl
  csi-proxyctl.exe, which says what the service takes for a disk's page 83.
#>
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding()]
param([Parameter(Mandatory = $true)][string]$Method, [string]$Ctl = $env:CSI_PROXYCTL)
Set-StrictMode -Version 2.0
$ErrorActionPreference = "Stop"
$ProgressPreference = "SilentlyContinue"
[Console]::OutputEncoding = New-Object System.Text.UTF8Encoding($false)
$request = [Console]::In.ReadToEnd() | ConvertFrom-Json

$work = "C:\csi-proxy-machine"
$base = $work
$showDetails = $false
. (Join-Path $PSScriptRoot "..\..\..\service_installer\windows\node-check\harness.ps1")
. (Join-Path $PSScriptRoot "..\..\..\service_installer\windows\node-check\node.ps1")
$kubelet = "var\lib\kubelet"
New-Item -ItemType Directory -Force -Path $work | Out-Null

function Get-Field($Object, [string]$Name, $Otherwise) {
  if ($Object.PSObject.Properties.Name -contains $Name) { return $Object.$Name }
  $Otherwise
}

function Get-Images { Get-ChildItem "$work\*.vhdx" | Sort-Object { [int]$_.BaseName } }

# --- Disks ---

function Get-Lun([string]$Location) { if ($Location -match "LUN (\d+)$") { $Matches[1] } else { "none" } }

# Attaches disks until one has a LUN that no other disk has, because Azure's driver compares only the LUN.
function Add-Disk($Asked) {
  for ($i = 0; $i -lt 8; $i++) {
    $disk = Get-Disk -Number (New-Image "$(@(Get-Images).Count + 1)" ([int64]$Asked.size_bytes / 1mb))
    $lun = Get-Lun $disk.Location
    $same = @(Get-Disk | Where-Object { $_.Number -ne $disk.Number -and (Get-Lun $_.Location) -eq $lun })
    if ($same.Count -eq 0) { break }
  }
  if ($same.Count -ne 0) { throw "no virtual disk has a LUN of its own" }
  if (Get-Field $Asked "read_only" $false) { Set-Disk -Number $disk.Number -IsReadOnly $true }
  if (Get-Field $Asked "offline" $false) { Set-Disk -Number $disk.Number -IsOffline $true }
  [int]$disk.Number
}

# Lists the entries below a folder as files of C:, without following links and mounted folders.
function Get-Entries([string]$Folder) {
  foreach ($entry in Get-ChildItem -Force $Folder -ErrorAction SilentlyContinue) {
    $known = @{ path = $entry.FullName.Substring(3) }
    if (-not $entry.PSIsContainer) { $known.kind = "FILE" }
    if ($entry.LinkType -eq "SymbolicLink") {
      $known.kind = "LINK"
      $known.target = @($entry.Target)[0] -replace "^UNC\\", "\\"
    } elseif (($entry.Attributes -band [System.IO.FileAttributes]::ReparsePoint) -ne 0) {
      $known.mounted_volume_id = (Invoke-Program "mountvol.exe" $entry.FullName, "/L").Out.Trim()
    }
    $known
    if ($entry.PSIsContainer -and $known.Count -eq 1) { Get-Entries $entry.FullName }
  }
}

function Get-Partitions($Disk) {
  foreach ($partition in Get-Partition -DiskNumber $Disk.Number -ErrorAction SilentlyContinue) {
    $known = @{ number = $partition.PartitionNumber; size_bytes = $partition.Size }
    if ($partition.GptType -eq "{e3c9e316-0b5c-4db8-817d-f92df00215ae}") { $known.type = "MICROSOFT_RESERVED" }
    if ($partition.GptType -eq "{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}") { $known.type = "EFI_SYSTEM" }
    $volume = Get-Volume -Partition $partition -ErrorAction SilentlyContinue
    if ($null -ne $volume) {
      $known.volume = @{ id = $volume.UniqueId; file_system = "$($volume.FileSystemType)" -replace "Unknown", "" }
      # The size of the file system.
      if ($volume.Size -gt 0) { $known.size_bytes = $volume.Size }
      $names = @(& cmd.exe /c "dir /a /b $($volume.UniqueId) 2>nul")
      $known.volume.file = @($names | ForEach-Object { @{ path = $_; kind = "FILE" } })
    }
    $known
  }
}

function Get-Disks {
  $page83 = (Get-Answer "disk", "list-disk-ids").diskIDs
  $c = @{ id = (Get-Volume -DriveLetter C).UniqueId; file_system = "NTFS"; drive_letter = "C" }
  $c.file = @(Get-Entries "C:\$kubelet")
  @{ number = [int](Get-Partition -DriveLetter C).DiskNumber; style = "GPT"; partition = @(@{ volume = $c }) }
  foreach ($file in Get-Images) {
    $image = Get-DiskImage -ImagePath $file.FullName
    if (-not $image.Attached) { continue }
    $disk = Get-Disk -Number $image.Number
    $remembered = "$($file.FullName).json"
    # An offline disk cannot be read, so its partitions are reported as last seen. Staging it again shows
    # whether its data remained.
    if ($disk.IsOffline -and (Test-Path $remembered)) {
      $partitions = @(Get-Content $remembered -Raw | ConvertFrom-Json | ForEach-Object { $_ })
    } else {
      $partitions = @(Get-Partitions $disk)
      ConvertTo-Json -Depth 8 -InputObject $partitions | Set-Content $remembered
    }
    $ids = Get-Field $page83 "$($disk.Number)" ([pscustomobject]@{})
    @{
      number = [int]$disk.Number; size_bytes = $disk.Size; location = "$($disk.Location)"; style = "$($disk.PartitionStyle)"
      offline = [bool]$disk.IsOffline; read_only = [bool]$disk.IsReadOnly; partition = $partitions
      page83 = "$(Get-Field $ids "page83" '')"; serial_number = "$(Get-Field $ids "serial_number" '')"
    }
  }
}

# --- Shares ---

# Maps the path of a share to this machine, which is the file server.
function Get-Local([string]$Path) {
  if ($Path -notmatch '^\\\\[^\\]+\\([^\\]+)(.*)$') { return $Path }
  "$work\$($Matches[1])$($Matches[2])"
}

function Add-Share([string]$Name) {
  New-Item -ItemType Directory -Force -Path "$work\$Name" | Out-Null
  if ($null -eq (Get-SmbShare -Name $Name -ErrorAction SilentlyContinue)) {
    New-SmbShare -Name $Name -Path "$work\$Name" -FullAccess "Everyone" | Out-Null
    Invoke-Checked "icacls.exe" "$work\$Name", "/grant", "*S-1-1-0:(OI)(CI)F" | Out-Null
  }
}

function Set-Account([string]$User, [string]$Password) {
  $name = @($User -split "\\")[-1]
  $secret = ConvertTo-SecureString $Password -AsPlainText -Force
  if (Get-LocalUser -Name $name -ErrorAction SilentlyContinue) { Set-LocalUser -Name $name -Password $secret } else { New-LocalUser -Name $name -Password $secret | Out-Null }
}

function Get-Servers {
  $made = @(Get-SmbShare | Where-Object { $_.Path -like "$work\*" } | ForEach-Object {
      $root = $_.Path
      @{ name = $_.Name; file = @(Get-ChildItem -Recurse $root | ForEach-Object { @{ path = $_.FullName.Substring($root.Length + 1) } }) }
    })
  if ($made.Count -gt 0) { @{ name = $env:COMPUTERNAME; share = $made } }
}

function Get-Mappings {
  foreach ($mapping in Get-SmbGlobalMapping -ErrorAction SilentlyContinue) {
    @{ remote_path = $mapping.RemotePath.ToLower(); broken = "$($mapping.Status)" -ne "OK" }
  }
}

function Reset-Machine {
  Get-SmbGlobalMapping -ErrorAction SilentlyContinue | Remove-SmbGlobalMapping -Force
  Get-SmbShare | Where-Object { $_.Path -like "$work\*" } | Remove-SmbShare -Force
  foreach ($folder in "C:\$kubelet\plugins", "C:\$kubelet\pods") {
    New-Item -ItemType Directory -Force -Path $folder | Out-Null
    Clear-Tree $folder
  }
  foreach ($file in Get-Images) { Dismount-Image $file.FullName }
  Clear-Tree $work
}

$response = @{}
switch ($Method) {
  "Reset" { Reset-Machine }
  "AttachDisk" { $response.disk_number = Add-Disk $request.disk }
  "MakeDirectory" { New-Item -ItemType Directory -Force -Path (Get-Local $request.path) | Out-Null }
  "WriteFile" { [System.IO.File]::WriteAllBytes((Get-NetPath (Get-Local $request.path)), (New-Object byte[] ([int]$request.size_bytes))) }
  "RemoveFolder" { [System.IO.Directory]::Delete((Get-NetPath $request.path)) }
  "AddShare" { Add-Share $request.share }
  "SetSmbPassword" { Set-Account $request.user $request.password }
  "DumpState" { $response.node = @{ disk = @(Get-Disks); smb_server = @(Get-Servers); smb_mapping = @(Get-Mappings) } }
  default { throw "a machine has no $Method" }
}
ConvertTo-Json -Depth 10 -Compress -InputObject $response
