# Part of node-check.ps1: facts that no documentation tells, for the readers of the report. Uses its
# $disk.

$storage = "root/Microsoft/Windows/Storage"
Add-Fact "disk in WMI" { Get-CimInstance -Namespace $storage MSFT_Disk -Filter "Number = $disk" | Format-List -Property "*" }
Add-Fact "partitions in WMI" { Get-CimInstance -Namespace $storage MSFT_Partition -Filter "DiskNumber = $disk" | Format-List -Property "*" }
Add-Fact "all disks" { Get-Disk | Format-List -Property "Number", "BusType", "Location", "UniqueIdFormat", "UniqueId", "SerialNumber" }
Add-Fact "forms in which COM hands over values" {
  $server = (New-Object -ComObject WbemScripting.SWbemLocator).ConnectServer(".", "root\Microsoft\Windows\Storage")
  foreach ($query in "SELECT * FROM MSFT_Disk WHERE Number = $disk", "SELECT * FROM MSFT_Partition WHERE DiskNumber = $disk") {
    foreach ($property in @($server.ExecQuery($query))[0].Properties_) {
      $form = "null"
      if ($null -ne $property.Value) { $form = $property.Value.GetType().FullName }
      "$($property.Name): CIM type $($property.CIMType), array $($property.IsArray), $form"
    }
  }
}
Add-Fact "class of SMB mappings" {
  $class = Get-CimClass -Namespace "root/Microsoft/Windows/SMB" MSFT_SmbGlobalMapping
  foreach ($property in $class.CimClassProperties) { "$($property.Name): $($property.CimType) $($property.Flags)" }
  foreach ($method in $class.CimClassMethods) {
    $qualifiers = @($method.Qualifiers | ForEach-Object { $_.Name }) -join " "
    $parameters = @($method.Parameters | ForEach-Object { "$($_.Name) $($_.CimType)" }) -join ", "
    "$($method.Name) ($parameters) $qualifiers"
  }
}
Add-Fact "iSCSI portals, and the service" {
  Get-Service -Name "MSiSCSI" | Format-List -Property "Status", "StartType"
  Get-CimInstance -Namespace $storage MSFT_iSCSITargetPortal | Format-List -Property "*"
}
Add-Fact "privileges of this session" { (Invoke-Program "whoami.exe" "/priv").Out }
Add-Fact "mitigations of the service's process" { Get-ProcessMitigation -Id (Get-ProxyProcess).Id | Out-String }
Add-Fact "DLLs of the service that are not System32's" {
  $system = Join-Path $env:SystemRoot "System32"
  (Get-ProxyProcess).Modules | Where-Object { -not $_.FileName.StartsWith($system) } | ForEach-Object { $_.FileName }
}
