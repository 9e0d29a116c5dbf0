# Stands for a node's commands, over the simulated node that the programs of node.sh serve, and for the seams of node-check.
. "$PSScriptRoot/stand-ins.ps1"
# Makes a drive with a release, and the node of a scenario: its virtual disks by path, with a number while attached; services; users, shares and targets.
function global:New-Node([string]$Scenario) {
  $global:images, $global:services, $global:others = @{}, @{ MSiSCSI = "Stopped"; LanmanServer = "Running"; defragsvc = "Running"; EventLog = "Running" }, @{}; New-Drive
  $global:release = "$drive/a release 2.0"; Add-Program "$release/bin" "csi-proxyctl.exe", "csi-proxy.exe", "csi-proxy-service.exe", "hostile.exe" "node.sh"
  Add-Program "$drive/Windows/System32" "diskpart.exe", "mountvol.exe", "icacls.exe" "node.sh"; New-Item -ItemType Directory -Path "$release/share/csi-proxy", "$drive/pipes", "$drive/var/lib/kubelet" | Out-Null
  Microsoft.PowerShell.Management\Copy-Item -Recurse "$checkout/service_installer/windows/node-check*" "$release/share/csi-proxy"; Copy-Item "$checkout/server/host/doubts.md" "$release/share/csi-proxy/node-check"; Set-Content "$drive/node.textproto" $Scenario
  $env:BUILD, $env:SCENARIO, $env:DRIVE, $env:CSI_PROXY_SOCKET_DIR = $env:CSI_PROXY_BUILD, "$drive/node.textproto", $drive, "$drive/pipes"
}
function global:Get-ServicePid { if (Microsoft.PowerShell.Management\Test-Path "$drive/service.pid") { [int](Get-Content "$drive/service.pid") } else { 0 } }
# Returns true if the process is a csi-proxy that runs. A zombie, which may stay if its parent is
# gone, does not count.
function global:Test-Running([int]$Id) { [IO.File]::Exists("/proc/$Id/stat") -and [IO.File]::ReadAllText("/proc/$Id/stat") -match "\(csi-proxy\) [^Z]" }
function global:Test-Serving { (Test-Running (Get-ServicePid)) -and (Microsoft.PowerShell.Management\Test-Path "$drive/pipes/csi-proxy-admin.sock") }
function global:Invoke-Real { $said = & "$env:BUILD/client/ctl/csi-proxyctl" @args 2>&1; if ($LASTEXITCODE -ne 0) { throw "$args`: $said" }; $said }
function global:Send-Json([string[]]$Call, $Request) { Invoke-Real @Call "--json=$(ConvertTo-Json -Depth 20 -Compress $Request)" --output=json | ConvertFrom-Json }
function global:Get-State { (Invoke-Real sim dump-state --output=json | ConvertFrom-Json).node }
function global:Get-Each($Objects, [string]$Name) { foreach ($object in $Objects) { if ($object.PSObject.Properties[$Name]) { $object.$Name } } }
function global:Get-SimDisks { $node = Get-State; Get-Each $node "disk"; Get-Each @(Get-Each @(Get-Each $node "iscsi_portal") "target" | Where-Object { $_.connected }) "disk" }
function global:Get-SimPartitions { foreach ($disk in Get-SimDisks) { Get-Each $disk "partition" | Add-Member -PassThru DiskNumber $disk.number } }
# --- Files: those that calls of the service see are the simulated node's ---
function global:Test-OnNode([string]$Path) { $Path -match '^C:\\(var\\lib\\kubelet|Windows\\Temp\\csi-proxy-node-check\\outside)' -and (Test-Serving) }
function global:Get-SimFiles { Get-Each @(Get-Each @(Get-SimPartitions) "volume" | Where-Object { $_.drive_letter -eq "C" }) "file" }
function global:Test-Path([string]$Path, [string]$LiteralPath, [string]$PathType = "Any") {
  if (Test-OnNode "$Path$LiteralPath") { return @(Get-SimFiles | Where-Object { "C:\$($_.path)" -eq "$Path$LiteralPath" }).Count -gt 0 }
  if ($Path -match "\*") { Microsoft.PowerShell.Management\Test-Path -Path $Path } else { Microsoft.PowerShell.Management\Test-Path -LiteralPath "$Path$LiteralPath" -PathType $PathType }
}
function global:New-Item([Parameter(Position = 0)][string[]]$Path, [string]$ItemType, [string]$Target, [switch]$Force) {
  foreach ($full in $Path) {
    if (-not (Test-OnNode $full)) { Microsoft.PowerShell.Management\New-Item -Path $full -ItemType $ItemType -Force:$Force }
    elseif ($ItemType -eq "Directory") { Invoke-Real sim make-directory "--path=$full" | Out-Null }
    else { Invoke-Real sim make-link "--path=$full" "--target=$Target" @(if ($ItemType -eq "Junction") { "--junction" }) | Out-Null }
  }
}
function global:Set-Content([Parameter(Position = 0)][string]$Path, [Parameter(Position = 1)]$Value, [string]$Encoding) { if (Test-OnNode $Path) { Invoke-Real sim write-file "--path=$Path" "--size-bytes=5" | Out-Null } else { Microsoft.PowerShell.Management\Set-Content -LiteralPath $Path -Value $Value } }
function global:Set-ItemProperty([string]$Path, [string]$Name, $Value) { Invoke-Real sim write-file "--path=$Path" "--size-bytes=5" "--read-only" | Out-Null }
function global:Get-ChildItem([Parameter(Position = 0)][string]$Path, [string]$LiteralPath, [switch]$Recurse, [switch]$Force) {
  if (-not (Test-OnNode "$Path$LiteralPath")) { return Microsoft.PowerShell.Management\Get-ChildItem -Path "$Path$LiteralPath" -Recurse:$Recurse -Force:$Force }
  Get-SimFiles | Where-Object { "C:\$($_.path)".StartsWith("$Path$LiteralPath\") } | ForEach-Object { [pscustomobject]@{ Name = $_.path -replace '^.*\\'; FullName = "C:\$($_.path)" } }
}
function global:Copy-Item([Parameter(Position = 0)][string]$Path, [Parameter(Position = 1)][string]$Destination, [switch]$Force) {
  Microsoft.PowerShell.Management\Copy-Item -Path $Path -Destination $Destination -Force:$Force; if ($global:images.ContainsKey($Path)) { $global:images[$Destination] = @{ copy = $Path; number = $null } }
}
function global:New-Cim([hashtable]$Values) { $Values.CimInstanceProperties = @($Values.Keys | Sort-Object | ForEach-Object { [pscustomobject]@{ Name = $_; CimType = $Values[$_].GetType().Name; Value = $Values[$_] } }); [pscustomobject]$Values }
Set-StandIn "Mount-DiskImage" "ImagePath NoDriveLetter!" {
  $image = $global:images[$p.ImagePath]; if ($null -eq $image) { $image = $global:images[$p.ImagePath] = @{ disk = @{ size_bytes = [long](Get-Content -Raw $p.ImagePath); serial_number = "SER$($global:images.Count)"; page83 = "60022480$($global:images.Count)" } } }
  $image.number = [int](Send-Json "sim", "attach-disk" $(if ($image.ContainsKey("copy")) { @{ copy_of = $global:images[$image.copy].number; choose_number = $true } } else { @{ disk = $image.disk; choose_number = $true } })).disk_number
}
Set-StandIn "Get-DiskImage" "ImagePath" { [pscustomobject]@{ Attached = $null -ne $global:images[$p.ImagePath].number; Number = $global:images[$p.ImagePath].number } }
Set-StandIn "Dismount-DiskImage" "ImagePath" { $image = $global:images[$p.ImagePath]; if (Test-Serving) { $image.disk = @(Get-SimDisks | Where-Object { $_.number -eq $image.number })[0]; Invoke-Real sim detach-disk "--disk-number=$($image.number)" | Out-Null }; $image.number = $null }
Set-StandIn "New-VHD" "Path SizeBytes Dynamic! LogicalSectorSizeBytes PhysicalSectorSizeBytes" { Set-Content $p.Path "x"; $global:images[$p.Path] = @{ disk = @{ size_bytes = $p.SizeBytes; sector_bytes = $p.LogicalSectorSizeBytes } } }
Set-StandIn "Set-Disk" "Number IsOffline IsReadOnly" {
  if ($p.ContainsKey("IsReadOnly")) { Invoke-Real storage set-disk-read-only "--disk-number=$($p.Number)" "--read-only=$("$($p.IsReadOnly)".ToLower())" | Out-Null }
  if ($p.ContainsKey("IsOffline")) { Invoke-Real disk set-disk-state "--disk-number=$($p.Number)" "--is-online=$("$(-not $p.IsOffline)".ToLower())" | Out-Null }
}
function global:Set-SimDisk([int]$Number, [string]$Style) {
  $disk = @(Get-SimDisks | Where-Object { $_.number -eq $Number })[0] | Select-Object -ExcludeProperty partition; $disk.style = $Style; Invoke-Real sim detach-disk "--disk-number=$Number" | Out-Null; Send-Json "sim", "attach-disk" @{ disk = $disk } | Out-Null
}
Set-StandIn "Clear-Disk" "Number RemoveData! RemoveOEM!" { Set-SimDisk $p.Number "RAW" }; Set-StandIn "Initialize-Disk" "Number PartitionStyle" { Set-SimDisk $p.Number $p.PartitionStyle }
Set-StandIn "Get-Partition" "DiskNumber" { Get-SimPartitions | Where-Object { $_.DiskNumber -eq $p.DiskNumber } | ForEach-Object { [pscustomobject]@{ GptType = if ($_.type -eq "MICROSOFT_RESERVED") { "{e3c9e316-0b5c-4db8-817d-f92df00215ae}" } } } }
Set-StandIn "Get-Volume" "" { Get-CimInstance MSFT_Volume }; Set-StandIn "Get-SmbGlobalMapping" "" { Get-CimInstance MSFT_SmbGlobalMapping }
Set-StandIn "Get-CimInstance" "ClassName Namespace Filter" {
  $node = if ($p.ClassName -match "^MSFT_(i|Smb)|BIOS") { Get-State }; $portals = Get-Each $node "iscsi_portal"
  switch ($p.ClassName) {
    "Win32_OperatingSystem" { [pscustomobject]@{ Caption = "Microsoft Windows Server 2022 Datacenter"; BuildNumber = "20348"; ProductType = 3 } }
    "Win32_BIOS" { [pscustomobject]@{ SerialNumber = $node.bios_serial_number } }
    "Win32_ComputerSystemProduct" { [pscustomobject]@{ UUID = "11111111-2222-3333-4444-555555555555"; IdentifyingNumber = "IDN-12345" } }
    "Win32_UserAccount" { [pscustomobject]@{ Name = "Administrator" }, [pscustomobject]@{ Name = "test" } }
    "Win32_Process" { if ($env:CONTAINER_SANDBOX_MOUNT_POINT) { 3, 4 | ForEach-Object { [pscustomobject]@{ SessionId = $_ } } } }
    "Win32_ComputerSystem" { [pscustomobject]@{ DomainRole = 2 } }
    "MSFT_Disk" {
      $listed = @((Invoke-Real storage list-disks --output=json | ConvertFrom-Json).disks)
      foreach ($disk in Get-SimDisks | Where-Object { $p["Filter"] -notlike "Number = *" -or $p.Filter -eq "Number = $($_.number)" }) {
        New-Cim @{ Number = [uint32]$disk.number; Path = "$(@($listed | Where-Object { $_.number -eq $disk.number })[0].path)"; Location = $disk.location; FriendlyName = if ($disk.bus_type -eq "BUS_NVME") { "MSFT NVMe Accelerator v1.0" } else { "Msft Virtual Disk" }
          Model = "Virtual Disk"; UniqueId = $disk.page83; Guid = ""; SerialNumber = $disk.serial_number; Size = [uint64]$disk.size_bytes; LogicalSectorSize = [uint32][Math]::Max(512, $disk.sector_bytes); BusType = [uint16]15
          PartitionStyle = [uint16]@{ RAW = 0; MBR = 1; GPT = 2 }[$disk.style]; IsOffline = $disk.offline; OfflineReason = [uint16]@{ OFFLINE_COLLISION = 4; OFFLINE_REDUNDANT_PATH = 2 }[$disk.offline_reason]
          IsReadOnly = $disk.read_only; IsSystem = $disk.is_system; IsBoot = $disk.is_boot }
      }
    }
    "MSFT_Partition" { Get-SimPartitions | ForEach-Object { New-Cim @{ UniqueId = "$($_.DiskNumber)-$($_.number)-part"; Guid = ""; Size = [uint64]$_.size_bytes } } }
    "MSFT_Volume" { Get-Each @(Get-SimPartitions) "volume" | ForEach-Object { New-Cim @{ UniqueId = $_.id } } }
    "MSFT_SmbGlobalMapping" { Get-Each $node "smb_mapping" | ForEach-Object { New-Cim @{ RemotePath = $_.remote_path; Status = [uint32]0 } } }
    "MSFT_iSCSITargetPortal" { $portals | Where-Object { $_.registered } | ForEach-Object { New-Cim @{ TargetPortalAddress = $_.address } } }
    "MSFT_iSCSITarget" { $portals | Where-Object { $_.registered } | ForEach-Object { New-Cim @{ NodeAddress = $_.target[0].iqn } } }
    "MSFT_iSCSISession" { $portals.target | Where-Object { $_.connected } | ForEach-Object { New-Cim @{ TargetNodeAddress = $_.iqn; AuthenticationType = "ONEWAYCHAP" } } }
    "MSFT_iSCSIConnection" { $portals | Where-Object { $_.target[0].connected } | ForEach-Object { New-Cim @{ TargetAddress = $_.address } } }
    default { throw "no class $($p.ClassName)" }
  }
}
Set-StandIn "Get-Service" "Name" {
  foreach ($name in $p.Name) {
    if ($name -eq "csi-proxy-node-check" -and (Test-Path "$drive/service")) { [pscustomobject]@{ Name = $name; Status = "Running"; StartType = "Automatic" } }
    elseif ($global:services[$name]) { [pscustomobject]@{ Name = $name; Status = $global:services[$name]; StartType = "Manual" } }
    elseif ($ErrorActionPreference -eq "Stop") { throw "Cannot find any service with service name '$name'." }
  }
}
Set-StandIn "Start-Service" "Name" { if ($p.Name -eq "csi-proxy-node-check") { & "$drive/Program Files/csi-proxy-node-check/csi-proxy-service.exe" start } else { $global:services[$p.Name] = "Running" } }; Set-StandIn "Stop-Service" "Name Force!" { $global:services[$p.Name] = "Stopped" }
Set-StandIn "Get-Process" "Name Id" {
  $id = if ($p.ContainsKey("Id")) { $p.Id } else { Get-ServicePid }; if ($id -ne $PID -and -not (Test-Running $id)) { return }; $path = if ($p.ContainsKey("Id")) { "$global:release\bin\csi-proxy.exe" } else { "C:\Program Files\csi-proxy-node-check\csi-proxy.exe" }
  [pscustomobject]@{ Id = $id; Path = $path; SessionId = 0; HandleCount = 100; PrivateMemorySize64 = 9mb; Modules = @($path, "C:\Windows\System32\ntdll.dll" | ForEach-Object { [pscustomobject]@{ FileName = $_ } }) }
}
foreach ($none in "Start-Sleep Seconds Milliseconds", "Set-Service Name StartupType", "Add-IscsiVirtualDiskTargetMapping TargetName Path", "Remove-IscsiVirtualDiskTargetMapping TargetName Path") { Set-StandIn ($none -split " ")[0] ($none -replace "^\S+") }
Set-StandIn "Get-WinEvent" "FilterHashtable MaxEvents" { [pscustomobject]@{ Message = "csi-proxy serves" } }
# Each of these objects is made with a name, found by the name, and removed.
foreach ($thing in "LocalUser", "SmbShare", "IscsiServerTarget") {
  $key = if ($thing -match "Iscsi") { "TargetName" } else { "Name" }; Set-StandIn "Get-$thing" $key ([scriptblock]::Create("if (`$global:others[`"$thing `$(`$p.$key)`"]) { [pscustomobject]@{ Name = `$p.$key } }"))
  Set-StandIn "Remove-$thing" "$(if ($thing -match "Iscsi") { $key } else { "In<" }) Force!" ([scriptblock]::Create("`$global:others.Remove(`"$thing `$(`$p.$(if ($thing -match "Iscsi") { $key } else { "In.Name" }))`")"))
}
Set-StandIn "New-LocalUser" "Name Password AccountNeverExpires! Description" {
  $global:others["LocalUser $($p.Name)"] = 1; Invoke-Real sim set-smb-password "--server=$env:COMPUTERNAME" "--user=$env:COMPUTERNAME\$($p.Name)" "--password=$((New-Object PSCredential("x", $p.Password)).GetNetworkCredential().Password)" | Out-Null
}
Set-StandIn "New-SmbShare" "Name Path FullAccess EncryptData" { $global:others["SmbShare $($p.Name)"] = 1; Invoke-Real sim add-share "--server=$env:COMPUTERNAME" "--share=$($p.Name)" }
Set-StandIn "New-IscsiServerTarget" "TargetName InitiatorIds" { $global:others["IscsiServerTarget $($p.TargetName)"] = 1; [pscustomobject]@{ TargetIqn = "iqn.1991-05.com.microsoft:winnode-csi-node-check-target" } }
Set-StandIn "Remove-SmbGlobalMapping" "In< Force!" { Invoke-Real smb remove-smb-global-mapping "--remote-path=$($p.In.RemotePath)" }
Set-StandIn "New-IscsiVirtualDisk" "Path SizeBytes" { Set-Content $p.Path "x" }; Set-StandIn "Remove-IscsiVirtualDisk" "Path" { Remove-Item $p.Path }; Set-StandIn "Resize-IscsiVirtualDisk" "Path SizeBytes" { Invoke-Real sim grow-disk --disk-number=14 "--size-bytes=$($p.SizeBytes)" | Out-Null }
# The next three logins are refused (0xEFFF000A).
Set-StandIn "Set-IscsiServerTarget" "TargetName EnableChap Chap" { Send-Json "sim", "inject-fault" @{ fault = @{ operation = "wmi.Invoke/MSFT_iSCSITarget.Connect"; times = 3; code = "INTERNAL"; error = @{ code = 0xEFFF000Al } } } | Out-Null }
Set-StandIn "Get-InitiatorPort" "ConnectionType" { [pscustomobject]@{ NodeAddress = "iqn.1991-05.com.microsoft:winnode" } }; Set-StandIn "Get-NetIPAddress" "AddressFamily" { [pscustomobject]@{ IPAddress = "10.0.0.9"; AddressState = "Preferred" } }
# --- The seams of node-check ---
Set-Seam "Get-Administrator" "" { "WINNODE\Administrator" }
Set-Seam "Get-RegistryValue" "Key Value" { @{ ImagePath = '"C:\Program Files\csi-proxy-node-check\csi-proxy.exe"'; ServiceSidType = 1; UBR = 2322; RequiredPrivileges = "SeManageVolumePrivilege", "SeRestorePrivilege"; FailureActions = [byte[]](@(0) * 20 + @(1, 0, 0, 0) * 2) }[$p.Value] }
Set-Seam "Open-Pipe" "Server Name Milliseconds" { if ($p.Name -ne "srvsvc") { throw "access is denied" }; New-Object System.IO.MemoryStream }; Set-Seam "Test-Pipe" "Name" { Test-Serving }; Set-Seam "Get-ProgramVersion" "Path" { "CSI Proxy 9.9.9" }; Set-Seam "Get-Rounds" "" { 5 }
Set-Seam "Open-File" "Path" { Set-Content $p.Path "x"; Send-Json "sim", "set-other-opens" @{ other_open = @(@{ path = $p.Path; access = @("READING") }) } | Out-Null; New-Object System.IO.MemoryStream }
