# integration/drivers/steps/machine.ps1: each method, on the drive of the stand-ins.
BeforeAll {
  . "$PSScriptRoot/stand-ins.ps1"; New-Drive
  $env:ANSWER = 'case "${0##*/} $*" in diskpart*) sed -n "s/.*file=.C:\(.*\). max.*/\1/p" "$DRIVE/csi-proxy-machine/diskpart.txt" | tr "\\\\" / | while read -r f; do touch "$DRIVE$f"; done ;; *list-disk-ids*) echo "{\"diskIDs\":{\"1\":{\"page83\":\"p1\",\"serial_number\":\"s1\"}}}" ;; esac'
  $env:DRIVE = $drive; Add-Program "$drive/k" "csi-proxyctl.exe"; $global:set = @(); foreach ($none in "Mount-DiskImage ImagePath NoDriveLetter!", "Dismount-DiskImage ImagePath", "Remove-SmbGlobalMapping In< Force!") { Set-StandIn ($none -split " ")[0] ($none -replace "^\S+") }
  Set-StandIn "Get-DiskImage" "ImagePath" { [pscustomobject]@{ Attached = $true; Number = [int](Split-Path $p.ImagePath -LeafBase) } }
  Set-StandIn "Get-Disk" "Number" { foreach ($n in @(1, 2 | Where-Object { -not $p["Number"] -or $p["Number"] -eq $_ })) { [pscustomobject]@{ Number = $n; Location = "LUN $n"; Size = 5; PartitionStyle = "GPT"; IsOffline = $false; IsReadOnly = $false } } }
  Set-StandIn "Set-Disk" "Number IsReadOnly IsOffline" { $global:set += "$($p.Number) $($p.Keys)" }; Set-StandIn "Get-Partition" "DiskNumber DriveLetter" { [pscustomobject]@{ DiskNumber = 0; PartitionNumber = 2; Size = 9; GptType = "{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}" } }
  Set-StandIn "Get-Volume" "DriveLetter Partition" { [pscustomobject]@{ UniqueId = "\\?\Volume{1}\"; FileSystemType = "NTFS"; Size = 8 } }
  Set-StandIn "Get-SmbShare" "Name" { if (-not $p["Name"]) { [pscustomobject]@{ Name = "data"; Path = "C:\csi-proxy-machine\data" }, [pscustomobject]@{ Name = "C$"; Path = "C:\" } } }
  Set-StandIn "New-SmbShare" "Name Path FullAccess" { 1 }; Set-StandIn "Remove-SmbShare" "In< Force!" { $global:set += "removed $($p.In.Name)" }
  Set-StandIn "Get-SmbGlobalMapping" "" { [pscustomobject]@{ RemotePath = "\\WINNODE\Data"; Status = "Disconnected" } }; Set-StandIn "Get-LocalUser" "Name" { if ($p.Name -eq "old") { 1 } }
  Set-StandIn "New-LocalUser" "Name Password" { $global:set += "new $($p.Name)" }; Set-StandIn "Set-LocalUser" "Name Password" { $global:set += "set $($p.Name)" }
  function Invoke-Method([string]$Method, $Request = @{}) { [Console]::SetIn((New-Object IO.StringReader (ConvertTo-Json -Depth 5 $Request))); & "$checkout/integration/drivers/steps/machine.ps1" -Method $Method -Ctl "C:\k\csi-proxyctl.exe" | ConvertFrom-Json }
}
AfterAll { Remove-Drive }
Describe "machine.ps1" {
  It "does each method of the admin service" {
    (Invoke-Method "AttachDisk" @{ disk = @{ size_bytes = 1gb; read_only = $true; offline = $true } }).disk_number | Should -Be 1; $set | Should -Be "1 Number IsReadOnly", "1 Number IsOffline"
    $(Invoke-Method "AddShare" @{ share = "data" }; Invoke-Method "MakeDirectory" @{ path = "\\host\data\sub" }; Invoke-Method "WriteFile" @{ path = "\\host\data\sub\f"; size_bytes = 3 }) | Out-Null
    (Get-Item "$drive/csi-proxy-machine/data/sub/f").Length | Should -Be 3; foreach ($user in "HOST\old", "new") { Invoke-Method "SetSmbPassword" @{ user = $user; password = "p" } | Out-Null }
    $set[2, 3] | Should -Be "set old", "new new"; $node = (Invoke-Method "DumpState").node; $node.disk[1].page83 | Should -Be "p1"; $node.disk[1].partition[0].type | Should -Be "EFI_SYSTEM"
    $node.smb_server[0].share[0].file.path | Should -Match "sub"; $node.smb_mapping[0].broken | Should -BeTrue; New-Item -ItemType Directory "$drive/gone" | Out-Null; Invoke-Method "RemoveFolder" @{ path = "C:\gone" } | Out-Null; Test-Path "$drive/gone" | Should -BeFalse
    New-Item -ItemType SymbolicLink -Path "$drive/var/lib/kubelet/pods/link" -Target "$drive/k" -Force | Out-Null; Invoke-Method "Reset" | Out-Null; $set[-1] | Should -Be "removed data"
    @(Get-ChildItem "$drive/csi-proxy-machine", "$drive/var/lib/kubelet/pods") | Should -BeNullOrEmpty; Test-Path "$drive/k/csi-proxyctl.exe" | Should -BeTrue; { Invoke-Method "Fly" } | Should -Throw "a machine has no Fly"
  }
}
