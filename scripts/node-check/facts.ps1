# Part of node-check.ps1: facts that no documentation tells, for the readers of the report. Uses its $disk and $storage.

Add-Fact "disk in WMI" { Get-CimInstance -Namespace $storage MSFT_Disk -Filter "Number = $disk" | Format-List -Property "*" }
Add-Fact "partitions in WMI" { Get-CimInstance -Namespace $storage MSFT_Partition -Filter "DiskNumber = $disk" | Format-List -Property "*" }
Add-Fact "all disks" { Get-Disk | Format-List -Property "Number", "BusType", "Location", "UniqueIdFormat", "UniqueId", "SerialNumber" }
Add-Fact "iSCSI portals, and the service" {
  Get-Service -Name "MSiSCSI" | Format-List -Property "Status", "StartType"
  Get-CimInstance -Namespace $storage MSFT_iSCSITargetPortal | Format-List -Property "*"
}
Add-Fact "privileges of this session" { (Invoke-Program "whoami.exe" "/priv").Out }
Add-Fact "mitigations of the service's process" { Get-ProcessMitigation -Id (Get-ProxyProcess).Id | Out-String }
