# Part of node-check.ps1: makes a share and an iSCSI target on this node for the selftest. Uses the script's $work, $base,
# $storage and $selftestFlags, and defines $iqn.

$shareName = "csi-node-check$"
$share = "\\$env:COMPUTERNAME\$shareName"
$shareUser = "csi-node-check"
$sharePassword, $iqn, $initiatorBegun = "", "", $false
$portal = "--target-portal.target-address=127.0.0.1"
$targetName = "csi-node-check"
$targetDisk = Join-Path $work "target.vhdx"
$chapSecret = [System.Guid]::NewGuid().ToString("N").Substring(0, 14)

# Writes the secret to a file that only administrators can read. Returns the flag that names the file.
function Write-Secret([string]$Flag, [string]$Secret) {
  [System.IO.File]::WriteAllText((Get-NetPath (Join-Path $work "secret.txt")), $Secret)
  "--$Flag-file=$(Join-Path $work "secret.txt")"
}

function Remove-Shares {
  if ($sharePassword -eq "") { return }
  Get-SmbGlobalMapping -ErrorAction SilentlyContinue | Where-Object { $_.RemotePath -eq $share } | Remove-SmbGlobalMapping -Force
  Get-SmbShare -Name $shareName -ErrorAction SilentlyContinue | Remove-SmbShare -Force
  Get-LocalUser -Name $shareUser -ErrorAction SilentlyContinue | Remove-LocalUser
}

function Remove-Target {
  if ($iqn -ne "") {
    Invoke-Ctl "storage", "unstage-target", "--target-path=$base\iscsi", "--iqn=$iqn" | Out-Null
    Invoke-Ctl "iscsi", "disconnect-target", $portal, "--iqn=$iqn" | Out-Null
    Invoke-Ctl "iscsi", "remove-target-portal", $portal | Out-Null
    Remove-IscsiVirtualDiskTargetMapping -TargetName $targetName -Path $targetDisk
    Remove-IscsiServerTarget -TargetName $targetName
  }
  if (Test-Path $targetDisk) { Remove-IscsiVirtualDisk -Path $targetDisk }
  if ($initiatorBegun) { Stop-Service -Name "MSiSCSI" -Force }
}
Test-Part "share-made" "the node has a share for a local user, which the selftest maps" -Needs "answers" {
  foreach ($needed in "New-SmbShare", "New-LocalUser") { if (-not (Get-Command $needed -ErrorAction SilentlyContinue)) { Skip-Part "the command $needed does not exist here" } }
  if ((Get-Service -Name "LanmanServer").Status -ne "Running") { Skip-Part "the service LanmanServer does not run" }
  $refused = Invoke-Ctl "smb", "new-smb-global-mapping", "--remote-path=$share"
  if ($refused.Err -match "allow-local-shares") { Skip-Part "the service maps no share of its own node: start it with --allow-local-shares" }
  if ((Get-CimInstance Win32_ComputerSystem).DomainRole -ge 4) { Skip-Part "a domain controller has no local users" }
  $script:sharePassword = "Aa1!" + [System.Guid]::NewGuid().ToString("N")
  $secret = ConvertTo-SecureString -AsPlainText -Force $sharePassword
  New-LocalUser -Name $shareUser -Password $secret -AccountNeverExpires -Description "node-check.ps1 of CSI Proxy" | Out-Null
  $folder = (New-Item -ItemType Directory -Path (Join-Path $work "share")).FullName
  Invoke-Checked "icacls.exe" $folder, "/grant", "${shareUser}:(OI)(CI)M" | Out-Null
  New-SmbShare -Name $shareName -Path $folder -FullAccess "$env:COMPUTERNAME\$shareUser" -EncryptData $true | Out-Null
  $script:selftestFlags += "--smb-share=$share", "--smb-username=$env:COMPUTERNAME\$shareUser", (Write-Secret "smb-password" $sharePassword)
}
Test-Part "iscsi-stopped" "while MSiSCSI is stopped the iSCSI classes answer at once" -Needs "answers" {
  $state = (Get-Service -Name "MSiSCSI").Status
  if ($state -ne "Stopped") { Skip-Part "the service MSiSCSI is $state; this part needs it stopped" }
  $watch = [System.Diagnostics.Stopwatch]::StartNew()
  $call = Invoke-Ctl "iscsi", "list-target-portals"
  $told = "$($watch.ElapsedMilliseconds) ms, exit code $($call.Code) $($call.Err.Trim())"
  Assert-That ($watch.ElapsedMilliseconds -lt 60000) $told
  $told
}
Test-Part "target-made" "the node has an iSCSI target, to which the selftest connects" -Needs "answers" {
  if (-not (Get-Command New-IscsiServerTarget -ErrorAction SilentlyContinue)) { Skip-Part "the node has no iSCSI target role: run Install-WindowsFeature FS-iSCSITarget-Server" }
  if ((Get-Service -Name "MSiSCSI").Status -ne "Running") { Start-Service -Name "MSiSCSI"; $script:initiatorBegun = $true }
  New-IscsiVirtualDisk -Path $targetDisk -SizeBytes 256mb | Out-Null
  # Only this node may connect.
  $target = New-IscsiServerTarget -TargetName $targetName -InitiatorIds "IQN:$(@(Get-InitiatorPort -ConnectionType "iSCSI")[0].NodeAddress)"
  $script:iqn = "$($target.TargetIqn)"
  Add-IscsiVirtualDiskTargetMapping -TargetName $targetName -Path $targetDisk
  $script:selftestFlags += "--iscsi-portal=127.0.0.1", "--iscsi-iqn=$iqn"
}
# Each step that failed is a part of its own. The other steps are in the report, too, as `selftest/STEP`.
Test-Part "selftest" "csi-proxyctl selftest ends, while the service that optimises drives is disabled" -Needs "answers", "disk-image" {
  $optimiser = Get-Service -Name "defragsvc" -ErrorAction SilentlyContinue
  try {
    if ($null -ne $optimiser) { Stop-Service -Name "defragsvc" -Force; Set-Service -Name "defragsvc" -StartupType Disabled }
    $call = Invoke-Ctl (@("selftest", "--disk=$disk", "--work-dir=$KubeletPath\csi-proxy-selftest") + $selftestFlags)
  } finally {
    if ($null -ne $optimiser) { Set-Service -Name "defragsvc" -StartupType $optimiser.StartType }
    if ($null -ne $optimiser -and $optimiser.Status -eq "Running") { Start-Service -Name "defragsvc" }
  }
  if (-not $call.Out.StartsWith("{")) { throw "exit code $($call.Code): $($call.Err.Trim())" }
  Write-Text (Join-Path $work "selftest.json") $call.Out
  $told = $call.Out | ConvertFrom-Json
  foreach ($step in @($told.steps | Where-Object { $_.result -eq "FAILED" })) { Add-Part "selftest/$($step.name)" $step.shows "FAILED" $step.detail }
  "$($told.passed) passed, $($told.failed) failed, $($told.skipped) skipped, $($told.not_asked) not asked for"
}
# The service reads all properties of these classes, and a query fails if the value of one cannot be converted.
Test-Part "wmi-types" "the report lists the properties and types of an instance of each class that the service reads" -Needs "answers" {
  if ($sharePassword -ne "") { Invoke-Ctl "smb", "new-smb-global-mapping", "--remote-path=$share", "--username=$env:COMPUTERNAME\$shareUser", (Write-Secret "password" $sharePassword) | Out-Null }
  if ($iqn -ne "") { foreach ($call in "add-target-portal", "connect-target") { Invoke-Ctl (@("iscsi", $call, $portal) + @("--iqn=$iqn" | Where-Object { $call -eq "connect-target" })) | Out-Null } }
  $without = foreach ($class in @("Disk", "Partition", "Volume", "iSCSITargetPortal", "iSCSITarget", "iSCSISession", "iSCSIConnection", "SmbGlobalMapping")) {
    $namespace = if ($class -eq "SmbGlobalMapping") { "root/Microsoft/Windows/SMB" } else { $storage }
    # iSCSI's classes fail while MSiSCSI is stopped.
    $instance = @(Get-CimInstance -Namespace $namespace "MSFT_$class" -ErrorAction SilentlyContinue)[0]
    $properties = if ($null -ne $instance) { $instance.CimInstanceProperties } else { (Get-CimClass -Namespace $namespace "MSFT_$class").CimClassProperties }
    Add-Fact "WMI MSFT_$class" { $properties | ForEach-Object { "$($_.Name) $($_.CimType) $(if ($null -ne $instance) { $_.Value -join ', ' })" } }
    if ($null -eq $instance) { "MSFT_$class" }
  }
  if ($iqn -ne "") { Invoke-Ctl "iscsi", "disconnect-target", $portal, "--iqn=$iqn" | Out-Null }
  if ($sharePassword -ne "") { Invoke-Ctl "smb", "remove-smb-global-mapping", "--remote-path=$share" | Out-Null }
  "without an instance: $(@($without) -join ', ')"
}
# A virtual disk that diskpart attached must be detached to grow. A disk of the target server grows while connected, but the
# initiator does not notice the growth by itself (learn.microsoft.com/powershell/module/iscsitarget/resize-iscsivirtualdisk).
Test-Part "disk-grown" "a disk grows while it is connected, and its volume grows without a rescan" -Needs "target-made" {
  Get-Answer "iscsi", "add-target-portal", $portal | Out-Null
  Get-Answer "iscsi", "connect-target", $portal, "--iqn=$iqn" | Out-Null
  try {
    $number = [int]@((Get-Answer "iscsi", "get-target-disks", $portal, "--iqn=$iqn").diskIDs)[0]
    if ((Get-CimDisk $number).Size -ne 256mb) { throw "disk $number does not have the size that was made, so it is not used" }
    $volume = (Invoke-Stage $number "grown").volume_id
    Resize-IscsiVirtualDisk -Path $targetDisk -SizeBytes 768mb
    Get-Answer "volume", "resize-volume", "--volume-id=$volume", "--size-bytes=0" | Out-Null
    $stats = [int64](Get-Answer "volume", "get-volume-stats", "--volume-id=$volume").total_bytes
    Invoke-Unstage "grown" | Out-Null
  } finally { Invoke-Ctl "iscsi", "disconnect-target", $portal, "--iqn=$iqn" | Out-Null }
  Assert-That ($stats -gt 640mb) "the volume has $stats bytes"
}
Test-Part "iscsi-paths" "one call stages a LUN; a second session is opened on request, and its disk is recognised as the same" -Needs "target-made" {
  $own = @(Get-NetIPAddress -AddressFamily IPv4 | Where-Object { $_.IPAddress -ne "127.0.0.1" -and $_.AddressState -eq "Preferred" })
  if ($own.Count -eq 0) { Skip-Part "the node has no second address" }
  $path = "storage", "stage-target", "--portals=127.0.0.1", "--persistent", "--iqn=$iqn", "--lun-id=0", "--target-path=$base\iscsi"
  $paths = $path + @("storage", "stage-target", "--portals=$($own[0].IPAddress)", "--multipath" | Select-Object -Skip 2)
  $steps = (Get-Answer $path).steps
  $again = @((Get-Answer $path).steps)
  $both = Invoke-Ctl $paths
  Add-Fact "connections and disks of the target" {
    Get-CimInstance -Namespace $storage MSFT_iSCSIConnection | Format-List -Property "*"
    Get-CimInstance -Namespace $storage MSFT_Disk -Filter "BusType = 9" | Format-List -Property "Number", "IsOffline", "OfflineReason", "Location"
  }
  $count = { @(Get-CimInstance -Namespace $storage MSFT_iSCSISession | Where-Object { $_.TargetNodeAddress -eq $iqn }).Count }
  $sessions = & $count
  Get-Answer "storage", "unstage-target", "--target-path=$base\iscsi", "--iqn=$iqn", "--lun-id=0", "--remove-portals=$($own[0].IPAddress)" | Out-Null
  $done = if ($both.Code -eq 0) { ($both.Out | ConvertFrom-Json).steps -join " " } else { $both.Err.Trim() }
  $told = "steps: $($steps -join ' '); again: $($again -join ' '); by both: $done; $sessions sessions, $(& $count) left"
  Assert-That ($again.Count -eq 0 -and $sessions -eq 2 -and (& $count) -eq 0 -and ($both.Code -eq 0 -or $both.Err -match "MPIO")) $told
  $told
}
Test-Part "iscsi-chap" "with CHAP a wrong secret, a wrong user and no user are refused, and the right ones connect" -Needs "target-made" {
  Set-IscsiServerTarget -TargetName $targetName -EnableChap $true -Chap (New-Object PSCredential("csi", (ConvertTo-SecureString -AsPlainText -Force $chapSecret)))
  Get-Answer "iscsi", "add-target-portal", $portal | Out-Null
  $call = Invoke-Ctl "iscsi", "connect-target", $portal, "--iqn=$iqn"
  $told = @($call.Err.Trim())
  foreach ($case in @("csi", "notthesecret12"), @("someone", $chapSecret), @("csi", $chapSecret)) {
    $call = Invoke-Ctl "iscsi", "connect-target", $portal, "--iqn=$iqn", "--auth-type=ONE_WAY_CHAP", "--chap-username=$($case[0])", (Write-Secret "chap-secret" $case[1])
    $told += $call.Err.Trim()
  }
  Assert-That ($call.Code -eq 0) ($told -join "; ")
  $session = @(Get-CimInstance -Namespace $storage MSFT_iSCSISession | Where-Object { $_.TargetNodeAddress -eq $iqn })[0]
  Get-Answer "iscsi", "disconnect-target", $portal, "--iqn=$iqn" | Out-Null
  Assert-That (@($told | Where-Object { $_ -match "0xefff00" }).Count -eq 3 -and $session.AuthenticationType -eq "ONEWAYCHAP") "$($told -join '; '); $($session.AuthenticationType)"
  $told -join "; "
}
