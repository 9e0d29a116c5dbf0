# Stands for a node's commands, over the simulated node that the programs of node.sh serve, and for the seams of node-check.
. "$PSScriptRoot/stand-ins.ps1"

# Makes a drive with a release, and the node of a scenario.
function global:New-Node([string]$Scenario) {
  # By path, the virtual disks: the number, while the disk is attached, and the disk.
  $global:images, $global:others = @{}, @{}
  New-Drive
  Microsoft.PowerShell.Management\Remove-Item "$drive/Windows/System32/*"
  $global:release = "$drive/a release 2.0"
  foreach ($name in "csi-proxyctl.exe", "csi-proxy.exe", "csi-proxy-service.exe", "hostile.exe") { New-Item -ItemType Directory -Force -Path "$release/bin" | Out-Null; Copy-Item "$checkout/integration/powershell/node.sh" "$release/bin/$name" }
  foreach ($name in "diskpart.exe", "mountvol.exe", "icacls.exe") { Copy-Item "$checkout/integration/powershell/node.sh" "$drive/Windows/System32/$name" }
  New-Item -ItemType Directory -Path "$release/share/csi-proxy", "$drive/pipes", "$drive/var/lib/kubelet" | Out-Null
  Microsoft.PowerShell.Management\Copy-Item -Recurse "$checkout/service_installer/windows/node-check*" "$release/share/csi-proxy"
  Copy-Item "$checkout/server/host/doubts.md" "$release/share/csi-proxy/node-check"
  Set-Content "$drive/node.textproto" $Scenario
  $env:BUILD = if ($env:CSI_PROXY_BUILD) { $env:CSI_PROXY_BUILD } else { "$checkout/build/release" }
  $env:SCENARIO, $env:DRIVE, $env:CSI_PROXY_SOCKET_DIR = "$drive/node.textproto", $drive, "$drive/pipes"
  $global:services = @{ MSiSCSI = "Stopped"; LanmanServer = "Running"; defragsvc = "Running"; EventLog = "Running" }
}

function global:Get-ServicePid { if (Test-Path -LiteralPath "$drive/service.pid") { [int](Get-Content "$drive/service.pid") } else { 0 } }
# A process whose parent is gone may stay as a zombie.
function global:Test-Running([int]$Id) { [IO.File]::Exists("/proc/$Id/stat") -and [IO.File]::ReadAllText("/proc/$Id/stat") -match "\(csi-proxy\) [^Z]" }
function global:Test-Serving { (Test-Running (Get-ServicePid)) -and (Microsoft.PowerShell.Management\Test-Path -LiteralPath "$drive/pipes/csi-proxy-admin.sock") }
function global:Invoke-Real { $said = & "$env:BUILD/client/ctl/csi-proxyctl" @args 2>&1; if ($LASTEXITCODE -ne 0) { throw "$args`: $said" }; $said }
function global:Get-State { (Invoke-Real sim dump-state --output=json | ConvertFrom-Json).node }
# JSON leaves out empty lists.
function global:Get-Field($Object, [string]$Name) { if ($Object.PSObject.Properties[$Name]) { $Object.$Name } }
function global:Get-SimDisks { $node = Get-State; @(Get-Field $node "disk") + @(Get-Field $node "iscsi_portal" | ForEach-Object { Get-Field $_ "target" } | Where-Object { $_.connected } | ForEach-Object { Get-Field $_ "disk" }) | Where-Object { $_ } }
function global:Get-SimPartitions { foreach ($disk in Get-SimDisks) { foreach ($partition in @(Get-Field $disk "partition" | Where-Object { $_ })) { $partition | Add-Member -PassThru DiskNumber $disk.number } } }

# --- Files: those that calls of the service see are the simulated node's ---

function global:Test-OnNode([string]$Path) { $Path -match '^C:\\(var\\lib\\kubelet|Windows\\Temp\\csi-proxy-node-check\\outside)' -and (Test-Serving) }
function global:Get-SimFiles { Get-SimPartitions | ForEach-Object { Get-Field $_ "volume" } | Where-Object { $_.drive_letter -eq "C" } | ForEach-Object { $_.file } }
function global:Test-Path([string]$Path, [string]$LiteralPath, [string]$PathType = "Any") {
  $full = "$Path$LiteralPath"
  if ($full -match "\*") { return Microsoft.PowerShell.Management\Test-Path -Path $full }
  if (Test-OnNode $full) { return @(Get-SimFiles | Where-Object { "C:\$($_.path)" -eq $full }).Count -gt 0 }
  Microsoft.PowerShell.Management\Test-Path -LiteralPath $full -PathType $PathType
}
function global:New-Item([Parameter(Position = 0)][string[]]$Path, [string]$ItemType, [string]$Target, [switch]$Force) {
  foreach ($full in $Path) {
    if (-not (Test-OnNode $full)) { Microsoft.PowerShell.Management\New-Item -Path $full -ItemType $ItemType -Force:$Force }
    elseif ($ItemType -eq "Directory") { Invoke-Real sim make-directory "--path=$full" | Out-Null }
    else { Invoke-Real sim make-link "--path=$full" "--target=$Target" @(if ($ItemType -eq "Junction") { "--junction" }) | Out-Null }
  }
}
function global:Set-Content([Parameter(Position = 0)][string]$Path, [Parameter(Position = 1)]$Value, [string]$Encoding) {
  if (Test-OnNode $Path) { Invoke-Real sim write-file "--path=$Path" "--size-bytes=5" | Out-Null } else { Microsoft.PowerShell.Management\Set-Content -LiteralPath $Path -Value $Value }
}
function global:Set-ItemProperty([string]$Path, [string]$Name, $Value) { Invoke-Real sim write-file "--path=$Path" "--size-bytes=5" "--read-only" | Out-Null }
function global:Get-ChildItem([Parameter(Position = 0)][string]$Path, [string]$LiteralPath, [switch]$Recurse, [switch]$Force) {
  $full = "$Path$LiteralPath"
  if (-not (Test-OnNode $full)) { return Microsoft.PowerShell.Management\Get-ChildItem -Path $full -Recurse:$Recurse -Force:$Force }
  Get-SimFiles | Where-Object { "C:\$($_.path)".StartsWith("$full\") } | ForEach-Object { [pscustomobject]@{ Name = $_.path -replace '^.*\\'; FullName = "C:\$($_.path)" } }
}
function global:Copy-Item([Parameter(Position = 0)][string]$Path, [Parameter(Position = 1)][string]$Destination, [switch]$Force) {
  Microsoft.PowerShell.Management\Copy-Item -Path $Path -Destination $Destination -Force:$Force
  if ($global:images.ContainsKey($Path)) { $global:images[$Destination] = @{ copy = $Path; number = $null } }
}

# --- Disks ---

function global:New-Cim([hashtable]$Values) {
  $types = @{ String = "String"; UInt32 = "UInt32"; UInt64 = "UInt64"; Boolean = "Boolean"; UInt16 = "UInt16" }
  $Values.CimInstanceProperties = @($Values.Keys | Sort-Object | ForEach-Object { [pscustomobject]@{ Name = $_; CimType = $types["$($Values[$_].GetType().Name)"]; Value = $Values[$_] } })
  [pscustomobject]$Values
}
Set-StandIn "Mount-DiskImage" "ImagePath NoDriveLetter!" {
  param($p)
  $image = $global:images[$p.ImagePath]
  if ($null -eq $image) { $image = $global:images[$p.ImagePath] = @{ disk = @{ size_bytes = [long](Get-Content -Raw $p.ImagePath); serial_number = "SER$($global:images.Count)"; page83 = "60022480$($global:images.Count)" } } }
  $request = if ($image.ContainsKey("copy")) { @{ copy_of = $global:images[$image.copy].number; choose_number = $true } } else { @{ disk = $image.disk; choose_number = $true } }
  $image.number = [int](Invoke-Real sim attach-disk "--json=$(ConvertTo-Json -Depth 20 -Compress $request)" --output=json | ConvertFrom-Json).disk_number
}
Set-StandIn "Get-DiskImage" "ImagePath" { param($p) [pscustomobject]@{ Attached = $null -ne $global:images[$p.ImagePath].number; Number = $global:images[$p.ImagePath].number } }
Set-StandIn "Dismount-DiskImage" "ImagePath" {
  param($p)
  $image = $global:images[$p.ImagePath]
  if (Test-Serving) {
    $image.disk = @(Get-SimDisks | Where-Object { $_.number -eq $image.number })[0]
    Invoke-Real sim detach-disk "--disk-number=$($image.number)" | Out-Null
  }
  $image.number = $null
}
Set-StandIn "New-VHD" "Path SizeBytes Dynamic! LogicalSectorSizeBytes PhysicalSectorSizeBytes" { param($p) Set-Content $p.Path "x"; $global:images[$p.Path] = @{ disk = @{ size_bytes = $p.SizeBytes; sector_bytes = $p.LogicalSectorSizeBytes } } }
Set-StandIn "Set-Disk" "Number IsOffline IsReadOnly" {
  param($p)
  if ($p.ContainsKey("IsReadOnly")) { Invoke-Real storage set-disk-read-only "--disk-number=$($p.Number)" "--read-only=$("$($p.IsReadOnly)".ToLower())" | Out-Null }
  if ($p.ContainsKey("IsOffline")) { Invoke-Real disk set-disk-state "--disk-number=$($p.Number)" "--is-online=$("$(-not $p.IsOffline)".ToLower())" | Out-Null }
}
function global:Set-SimDisk([int]$Number, [string]$Style) {
  $disk = @(Get-SimDisks | Where-Object { $_.number -eq $Number })[0] | Select-Object -ExcludeProperty partition
  $disk.style = $Style
  Invoke-Real sim detach-disk "--disk-number=$Number" | Out-Null
  Invoke-Real sim attach-disk "--json=$(ConvertTo-Json -Depth 20 -Compress @{ disk = $disk })" | Out-Null
}
Set-StandIn "Clear-Disk" "Number RemoveData! RemoveOEM!" { param($p) Set-SimDisk $p.Number "RAW" }
Set-StandIn "Initialize-Disk" "Number PartitionStyle" { param($p) Set-SimDisk $p.Number $p.PartitionStyle }
Set-StandIn "Get-Partition" "DiskNumber" { param($p) Get-SimPartitions | Where-Object { $_.DiskNumber -eq $p.DiskNumber } | ForEach-Object { [pscustomobject]@{ GptType = if ($_.type -eq "MICROSOFT_RESERVED") { "{e3c9e316-0b5c-4db8-817d-f92df00215ae}" } else { "" } } } }
Set-StandIn "Get-Volume" "" { Get-CimInstance MSFT_Volume }
Set-StandIn "Get-CimClass" "ClassName Namespace" { [pscustomobject]@{ CimClassProperties = @([pscustomobject]@{ Name = "OfClass"; CimType = "UInt16" }) } }
Set-StandIn "Get-CimInstance" "ClassName Namespace Filter" {
  param($p)
  switch ($p.ClassName) {
    "Win32_OperatingSystem" { [pscustomobject]@{ Caption = "Microsoft Windows Server 2022 Datacenter"; BuildNumber = "20348"; ProductType = 3 } }
    "Win32_BIOS" { [pscustomobject]@{ SerialNumber = (Get-State).bios_serial_number } }
    "Win32_ComputerSystemProduct" { [pscustomobject]@{ UUID = "11111111-2222-3333-4444-555555555555"; IdentifyingNumber = "IDN-12345" } }
    "Win32_UserAccount" { [pscustomobject]@{ Name = "Administrator" }, [pscustomobject]@{ Name = "test" } }
    "Win32_Process" { if ($env:CONTAINER_SANDBOX_MOUNT_POINT) { 3, 4 | ForEach-Object { [pscustomobject]@{ SessionId = $_ } } } }
    "Win32_ComputerSystem" { [pscustomobject]@{ DomainRole = 2 } }
    "MSFT_Disk" {
      $listed = @((Invoke-Real storage list-disks --output=json | ConvertFrom-Json).disks)
      foreach ($disk in Get-SimDisks) {
        if ($p.ContainsKey("Filter") -and $p.Filter -like "Number = *" -and $p.Filter -ne "Number = $($disk.number)") { continue }
        New-Cim @{ Number = [uint32]$disk.number; Path = "$(@($listed | Where-Object { $_.number -eq $disk.number })[0].path)"; Location = $disk.location; FriendlyName = if ($disk.bus_type -eq "BUS_NVME") { "MSFT NVMe Accelerator v1.0" } else { "Msft Virtual Disk" }; Model = "Virtual Disk"
          UniqueId = $disk.page83; Guid = ""; SerialNumber = $disk.serial_number; Size = [uint64]$disk.size_bytes; LogicalSectorSize = [uint32][Math]::Max(512, $disk.sector_bytes); BusType = [uint16]15
          PartitionStyle = [uint16]@{ RAW = 0; MBR = 1; GPT = 2 }[$disk.style]; IsOffline = $disk.offline; OfflineReason = [uint16]@{ OFFLINE_COLLISION = 4; OFFLINE_REDUNDANT_PATH = 2 }[$disk.offline_reason]
          IsReadOnly = $disk.read_only; IsSystem = $disk.is_system; IsBoot = $disk.is_boot }
      }
    }
    "MSFT_Partition" { Get-SimPartitions | ForEach-Object { New-Cim @{ UniqueId = "$($_.DiskNumber)-$($_.number)-part"; Guid = ""; Size = [uint64]$_.size_bytes } } }
    "MSFT_Volume" { Get-SimPartitions | ForEach-Object { Get-Field $_ "volume" } | Where-Object { $_ } | ForEach-Object { New-Cim @{ UniqueId = $_.id } } }
    "MSFT_SmbGlobalMapping" { Get-Field (Get-State) "smb_mapping" | Where-Object { $_ } | ForEach-Object { New-Cim @{ RemotePath = $_.remote_path; Status = [uint32]0 } } }
    "MSFT_iSCSITargetPortal" { Get-Field (Get-State) "iscsi_portal" | Where-Object { $_.registered } | ForEach-Object { New-Cim @{ TargetPortalAddress = $_.address } } }
    "MSFT_iSCSITarget" { Get-Field (Get-State) "iscsi_portal" | Where-Object { $_.registered } | ForEach-Object { New-Cim @{ NodeAddress = $_.target[0].iqn } } }
    "MSFT_iSCSISession" { Get-Field (Get-State) "iscsi_portal" | ForEach-Object { $_.target } | Where-Object { $_.connected } | ForEach-Object { New-Cim @{ TargetNodeAddress = $_.iqn; AuthenticationType = "ONEWAYCHAP" } } }
    "MSFT_iSCSIConnection" { Get-Field (Get-State) "iscsi_portal" | Where-Object { $_.target[0].connected } | ForEach-Object { New-Cim @{ TargetAddress = $_.address } } }
    default { throw "no class $($p.ClassName)" }
  }
}

# --- Services, processes, users, shares, targets ---

Set-StandIn "Get-Service" "Name" {
  param($p)
  foreach ($name in $p.Name) {
    if ($name -eq "csi-proxy-node-check" -and (Microsoft.PowerShell.Management\Test-Path "$drive/service")) { [pscustomobject]@{ Name = $name; Status = "Running"; StartType = "Automatic" } }
    elseif ($global:services[$name]) { [pscustomobject]@{ Name = $name; Status = $global:services[$name]; StartType = "Manual" } }
    elseif ($ErrorActionPreference -eq "Stop") { throw "Cannot find any service with service name '$name'." }
  }
}
Set-StandIn "Start-Service" "Name" { param($p) if ($p.Name -eq "csi-proxy-node-check") { & "$drive/Program Files/csi-proxy-node-check/csi-proxy-service.exe" start } else { $global:services[$p.Name] = "Running" } }
Set-StandIn "Stop-Service" "Name Force!" { param($p) $global:services[$p.Name] = "Stopped" }
Set-StandIn "Set-Service" "Name StartupType"
Set-StandIn "Get-Process" "Name Id" {
  param($p)
  $id = if ($p.ContainsKey("Id")) { $p.Id } else { Get-ServicePid }
  if ($id -ne $PID -and -not (Test-Running $id)) { return }
  $path = if ($p.ContainsKey("Id")) { "$release\bin\csi-proxy.exe" } else { "C:\Program Files\csi-proxy-node-check\csi-proxy.exe" }
  [pscustomobject]@{ Id = $id; Path = $path; SessionId = 0; HandleCount = 100; PrivateMemorySize64 = 9mb; Modules = @([pscustomobject]@{ FileName = $path }, [pscustomobject]@{ FileName = "C:\Windows\System32\ntdll.dll" }) }
}
Set-StandIn "Start-Sleep" "Seconds Milliseconds"
Set-StandIn "Get-WinEvent" "FilterHashtable MaxEvents" { [pscustomobject]@{ Message = "csi-proxy serves" } }
Set-StandIn "Get-LocalUser" "Name" { param($p) if ($global:others["user $($p.Name)"]) { [pscustomobject]@{ Name = $p.Name } } }
Set-StandIn "New-LocalUser" "Name Password AccountNeverExpires! Description" {
  param($p)
  $global:others["user $($p.Name)"] = 1
  $secret = (New-Object PSCredential("x", $p.Password)).GetNetworkCredential().Password
  Invoke-Real sim set-smb-password "--server=$env:COMPUTERNAME" "--user=$env:COMPUTERNAME\$($p.Name)" "--password=$secret" | Out-Null
}
Set-StandIn "Remove-LocalUser" "In<" { param($p) $global:others.Remove("user $($p.In.Name)") }
Set-StandIn "Get-SmbShare" "Name" { param($p) if ($global:others["share $($p.Name)"]) { [pscustomobject]@{ Name = $p.Name } } }
Set-StandIn "New-SmbShare" "Name Path FullAccess EncryptData" { param($p) $global:others["share $($p.Name)"] = 1; Invoke-Real sim add-share "--server=$env:COMPUTERNAME" "--share=$($p.Name)" }
Set-StandIn "Remove-SmbShare" "In< Force!" { param($p) $global:others.Remove("share $($p.In.Name)") }
Set-StandIn "Get-SmbGlobalMapping" "" { Get-CimInstance MSFT_SmbGlobalMapping }
Set-StandIn "Remove-SmbGlobalMapping" "In< Force!" { param($p) Invoke-Real smb remove-smb-global-mapping "--remote-path=$($p.In.RemotePath)" }
Set-StandIn "New-IscsiVirtualDisk" "Path SizeBytes" { param($p) Set-Content $p.Path "x" }
Set-StandIn "Remove-IscsiVirtualDisk" "Path" { param($p) Microsoft.PowerShell.Management\Remove-Item $p.Path }
Set-StandIn "Resize-IscsiVirtualDisk" "Path SizeBytes" { param($p) Invoke-Real sim grow-disk --disk-number=14 "--size-bytes=$($p.SizeBytes)" | Out-Null }
Set-StandIn "New-IscsiServerTarget" "TargetName InitiatorIds" { param($p) $global:others[$p.TargetName] = 1; [pscustomobject]@{ TargetIqn = "iqn.1991-05.com.microsoft:winnode-csi-node-check-target" } }
Set-StandIn "Get-IscsiServerTarget" "TargetName" { param($p) if ($global:others[$p.TargetName]) { $p.TargetName } }
Set-StandIn "Remove-IscsiServerTarget" "TargetName" { param($p) $global:others.Remove($p.TargetName) }
Set-StandIn "Set-IscsiServerTarget" "TargetName EnableChap Chap" { Invoke-Real sim inject-fault '--json={"fault":{"operation":"wmi.Invoke/MSFT_iSCSITarget.Connect","times":3,"code":"INTERNAL","error":{"code":4026466314}}}' | Out-Null }
Set-StandIn "Add-IscsiVirtualDiskTargetMapping" "TargetName Path"
Set-StandIn "Remove-IscsiVirtualDiskTargetMapping" "TargetName Path"
Set-StandIn "Get-InitiatorPort" "ConnectionType" { [pscustomobject]@{ NodeAddress = "iqn.1991-05.com.microsoft:winnode" } }
Set-StandIn "Get-NetIPAddress" "AddressFamily" { [pscustomobject]@{ IPAddress = "10.0.0.9"; AddressState = "Preferred" } }

# --- The seams of node-check ---

Set-Seam "Get-Administrator" "" { "WINNODE\Administrator" }
Set-Seam "Get-RegistryValue" "Key Value" {
  param($p)
  $own = @{ ImagePath = '"C:\Program Files\csi-proxy-node-check\csi-proxy.exe" -windows-service'; ServiceSidType = 1; UBR = 2322; RequiredPrivileges = "SeManageVolumePrivilege", "SeRestorePrivilege"; FailureActions = [byte[]](@(0) * 20 + @(1, 0, 0, 0) * 2) }
  $own[$p.Value]
}
Set-Seam "Open-Pipe" "Server Name Milliseconds" { param($p) if ($p.Name -ne "srvsvc") { throw "access is denied" }; New-Object System.IO.MemoryStream }
Set-Seam "Test-Pipe" "Name" { param($p) Test-Serving }
Set-Seam "Get-ProgramVersion" "Path" { "CSI Proxy 9.9.9" }
Set-Seam "Get-Rounds" "" { 5 }
Set-Seam "Open-File" "Path" { param($p) Set-Content $p.Path "x"; Invoke-Real sim set-other-opens "--json=$(ConvertTo-Json -Depth 4 @{ other_open = @(@{ path = $p.Path; access = @("READING") }) })" | Out-Null; New-Object System.IO.MemoryStream }
