# Part of node-check.ps1: an iSCSI target of this node itself, where it has the role iSCSI Target Server. Uses its
# $work, $storage and harness.ps1.

$targetName = "csi-node-check"
$targetDisk = Join-Path $work "target.vhdx"
$chapUser = "csi-node-check"
$chapSecret = [System.Guid]::NewGuid().ToString("N").Substring(0, 14)
$portal = "--target-portal.target-address=127.0.0.1"
$iqn = ""
$initiatorBegun = $false

function Remove-Target {
  if ($iqn -ne "") {
    Invoke-Ctl "storage", "unstage-target", "--target-path=$base\iscsi", "--iqn=$iqn" | Out-Null
    Invoke-Ctl "iscsi", "disconnect-target", $portal, "--iqn=$iqn" | Out-Null
    Invoke-Ctl "iscsi", "remove-target-portal", $portal | Out-Null
    Remove-IscsiVirtualDiskTargetMapping -TargetName $targetName -Path $targetDisk
    Remove-IscsiServerTarget -TargetName $targetName
  }
  if (Test-Path $targetDisk) {
    Remove-IscsiVirtualDisk -Path $targetDisk
    Remove-Item -Path $targetDisk -Force
  }
  if ($initiatorBegun) { Stop-Service -Name "MSiSCSI" -Force }
}

# What WMI's own Connect says.
function Get-ConnectOutcome([hashtable]$Chap) {
  $wanted = @{ NodeAddress = $iqn; TargetPortalAddress = "127.0.0.1"; TargetPortalPortNumber = [uint16]3260 } + $Chap
  Get-CimOutcome { Invoke-CimMethod -Namespace $storage -ClassName MSFT_iSCSITarget -MethodName Connect -Arguments $wanted }
}

Test-Part "iscsi-stopped" "while MSiSCSI is stopped the iSCSI classes answer at once" {
  Assert-Passed "answers"
  $initiator = Get-Service -Name "MSiSCSI" -ErrorAction SilentlyContinue
  if ($null -eq $initiator) { Skip-Part "there is no service MSiSCSI" }
  if ($initiator.Status -ne "Stopped") { Skip-Part "the service MSiSCSI is $($initiator.Status), and is left alone" }
  $watch = [System.Diagnostics.Stopwatch]::StartNew()
  $service = Invoke-Ctl "iscsi", "list-target-portals"
  $took = $watch.ElapsedMilliseconds
  $windows = Get-CimOutcome { Get-CimInstance -Namespace $storage MSFT_iSCSITargetPortal }
  $after = (Get-Service -Name "MSiSCSI").Status
  $told = "list-target-portals took $took ms, exit code $($service.Code) $($service.Err.Trim()); WMI: $windows; MSiSCSI then $after"
  Assert-That ($took -lt 30000) $told
  $told
}

Test-Part "iscsi-session" "a target is found and connected, its disk is there at once, and it is disconnected" {
  Assert-Passed "answers"
  if (-not (Get-Command New-IscsiServerTarget -ErrorAction SilentlyContinue)) {
    Skip-Part "the node has no role iSCSI Target Server (Install-WindowsFeature FS-iSCSITarget-Server)"
  }
  if ((Get-Service -Name "MSiSCSI").Status -ne "Running") {
    Get-Answer "system", "start-service", "--name=MSiSCSI" | Out-Null
    $script:initiatorBegun = $true
  }
  New-IscsiVirtualDisk -Path $targetDisk -SizeBytes 256mb | Out-Null
  # For this node alone.
  $initiator = @(Get-InitiatorPort -ConnectionType "iSCSI")[0].NodeAddress
  $target = New-IscsiServerTarget -TargetName $targetName -InitiatorIds "IQN:$initiator"
  $script:iqn = "$($target.TargetIqn)"
  Add-IscsiVirtualDiskTargetMapping -TargetName $targetName -Path $targetDisk
  Get-Answer "iscsi", "add-target-portal", $portal | Out-Null
  $known = Get-CimInstance -Namespace $storage MSFT_iSCSITargetPortal | Where-Object { $_.TargetPortalAddress -eq "127.0.0.1" }
  $update = Get-CimOutcome {
    Invoke-CimMethod -InputObject $known -MethodName Update -Arguments @{ TargetPortalAddress = "127.0.0.1"; TargetPortalPortNumber = [uint16]3260 }
  }
  $found = @((Get-Answer "iscsi", "discover-target-portal", $portal).iqns)
  Assert-That ($found -contains $iqn) "Update: $update; discovered: $($found -join ', ')"
  $watch = [System.Diagnostics.Stopwatch]::StartNew()
  Get-Answer "iscsi", "connect-target", $portal, "--iqn=$iqn" | Out-Null
  $disks = @((Get-Answer "iscsi", "get-target-disks", $portal, "--iqn=$iqn").diskIDs)
  $first = "$($disks.Count) disks after $($watch.ElapsedMilliseconds) ms"
  $session = @(Get-CimInstance -Namespace $storage MSFT_iSCSISession | Where-Object { $_.TargetNodeAddress -eq $iqn })
  $again = Get-ConnectOutcome @{ AuthenticationType = "NONE" }
  Get-Answer "iscsi", "disconnect-target", $portal, "--iqn=$iqn" | Out-Null
  $left = @(Get-CimInstance -Namespace $storage MSFT_iSCSISession | Where-Object { $_.TargetNodeAddress -eq $iqn })
  $told = "Update: $update; $first; $($session.Count) sessions, persistent $(@($session | ForEach-Object { $_.IsPersistent }) -join ' '); connecting again: $again; $($left.Count) sessions left"
  Assert-That ($disks.Count -eq 1 -and $session.Count -eq 1 -and $left.Count -eq 0) $told
  $told
}

# A virtual disk that is attached by diskpart or Hyper-V must be detached to grow. That of this role stays connected, and the
# initiator does not see by itself that it has grown (learn.microsoft.com/powershell/module/iscsitarget/resize-iscsivirtualdisk).
Test-Part "disk-grown" "a disk grows while it is connected: Windows sees its size when asked to, and its volume grows without a rescan" {
  Assert-Passed "iscsi-session"
  Get-Answer "iscsi", "connect-target", $portal, "--iqn=$iqn" | Out-Null
  try {
    $number = [int]@((Get-Answer "iscsi", "get-target-disks", $portal, "--iqn=$iqn").diskIDs)[0]
    $size = (Get-CimDisk $number).Size
    Assert-That ($size -eq 256mb) "disk $number has $size bytes, and is left alone"
    Invoke-Stage $number "grown" | Out-Null
    try {
      $volume = Get-VolumeOf $number
      Resize-IscsiVirtualDisk -Path $targetDisk -SizeBytes 512mb
      $before = [NodeCheck.Native]::DiskLength($number)
      $failure = [NodeCheck.Native]::UpdateSize($number)
      $after = [NodeCheck.Native]::DiskLength($number)
      $layout = [NodeCheck.Native]::LayoutError($number)
      # The service asks for the next size itself.
      Resize-IscsiVirtualDisk -Path $targetDisk -SizeBytes 768mb
      Get-Answer "volume", "resize-volume", "--volume-id=$volume", "--size-bytes=0" | Out-Null
      $stats = [int64](Get-Answer "volume", "get-volume-stats", "--volume-id=$volume").total_bytes
    } finally {
      Invoke-Unstage "grown" | Out-Null
    }
  } finally {
    Get-Answer "iscsi", "disconnect-target", $portal, "--iqn=$iqn" | Out-Null
  }
  if ($metrics -ne "") { Add-Fact "fallbacks after disk-grown" { Get-Fallbacks } }
  $told = "512 MiB: length $before, update $failure, then $after; partitions for a handle that reads: error $layout; 768 MiB: the volume has $stats bytes"
  Assert-That ($failure -eq 0 -and $after -eq 512mb -and $layout -eq 0 -and $stats -gt 640mb) $told
  $told
}

# The disks of the target by its connections, as `127.0.0.1:3260 -> disk 3 offline 2 LUN 0`.
function Show-Connections {
  $target = @(Get-CimInstance -Namespace $storage MSFT_iSCSITarget | Where-Object { $_.NodeAddress -eq $iqn })[0]
  @(Get-CimAssociatedInstance -InputObject $target -ResultClassName MSFT_iSCSIConnection) | ForEach-Object {
    $disks = @(Get-CimAssociatedInstance -InputObject $_ -ResultClassName MSFT_Disk) | ForEach-Object {
      "disk $($_.Number) offline $($_.IsOffline) $($_.OfflineReason) at $($_.Location)"
    }
    "$($_.TargetAddress):$($_.TargetPortNumber) -> $($disks -join ', ')"
  }
}

Test-Part "iscsi-paths" "one call stages a LUN; a second session is opened when it is asked for, and its disk taken for the same" {
  Assert-Passed "iscsi-session"
  $own = @(Get-NetIPAddress -AddressFamily IPv4 | Where-Object { $_.IPAddress -ne "127.0.0.1" -and $_.AddressState -eq "Preferred" })
  if ($own.Count -eq 0) { Skip-Part "the node has no second address" }
  $second = $own[0].IPAddress
  $path = "storage", "stage-target", "--portals=127.0.0.1", "--persistent", "--iqn=$iqn", "--lun-id=0", "--target-path=$base\iscsi"
  $paths = "storage", "stage-target", "--portals=127.0.0.1", "--portals=$second", "--multipath", "--persistent", "--iqn=$iqn", "--lun-id=0", "--target-path=$base\iscsi"
  $staged = Get-Answer $path
  $again = Get-Answer $path
  $told = "steps: $($staged.steps -join ' '); again: $($again.steps -join ' '); " + ((Show-Connections) -join "; ")
  $outcome = Get-CimOutcome {
    Invoke-CimMethod -Namespace $storage -ClassName MSFT_iSCSITarget -MethodName Connect -Arguments @{
      NodeAddress = $iqn; TargetPortalAddress = $second; TargetPortalPortNumber = [uint16]3260
    }
  }
  $both = Invoke-Ctl $paths
  $told += "; without the flag: $outcome; by both: $($both.Out.Trim()) $($both.Err.Trim()); " + ((Show-Connections) -join "; ")
  $sessions = @(Get-CimInstance -Namespace $storage MSFT_iSCSISession | Where-Object { $_.TargetNodeAddress -eq $iqn })
  $ended = Get-Answer "storage", "unstage-target", "--target-path=$base\iscsi", "--iqn=$iqn", "--lun-id=0", "--remove-portals=$second"
  $left = @(Get-CimInstance -Namespace $storage MSFT_iSCSISession | Where-Object { $_.TargetNodeAddress -eq $iqn })
  $told += "; $($sessions.Count) sessions; unstaged: $($ended.steps -join ' '); $($left.Count) sessions left"
  Assert-That (@($again.steps).Count -eq 0 -and $sessions.Count -eq 2 -and $left.Count -eq 0) $told
  Assert-That ($both.Code -eq 0 -or $both.Err -match "MPIO") $told
  $told
}

Test-Part "iscsi-chap" "with CHAP a wrong secret, a wrong user and none are refused, and the right ones connect" {
  Assert-Passed "iscsi-session"
  $secret = ConvertTo-SecureString -AsPlainText -Force $chapSecret
  Set-IscsiServerTarget -TargetName $targetName -EnableChap $true -Chap (New-Object PSCredential($chapUser, $secret))
  $file = Join-Path $work "secret.txt"
  $told = @()
  foreach ($case in @("wrong secret", $chapUser, "notthesecret12"), @("wrong user", "someone", $chapSecret)) {
    [System.IO.File]::WriteAllText($file, $case[2])
    $service = Get-Refusal "iscsi", "connect-target", $portal, "--iqn=$iqn", "--auth-type=ONE_WAY_CHAP", "--chap-username=$($case[1])", "--chap-secret-file=$file"
    $outcome = Get-ConnectOutcome @{ AuthenticationType = "ONEWAYCHAP"; ChapUsername = $case[1]; ChapSecret = $case[2] }
    $told += "$($case[0]): the service: $service; WMI: $outcome"
  }
  $service = Get-Refusal "iscsi", "connect-target", $portal, "--iqn=$iqn"
  $told += "no CHAP: the service: $service; WMI: $(Get-ConnectOutcome @{ AuthenticationType = 'NONE' })"
  [System.IO.File]::WriteAllText($file, $chapSecret)
  Get-Answer "iscsi", "connect-target", $portal, "--iqn=$iqn", "--auth-type=ONE_WAY_CHAP", "--chap-username=$chapUser", "--chap-secret-file=$file" | Out-Null
  Get-Answer "iscsi", "disconnect-target", $portal, "--iqn=$iqn" | Out-Null
  Assert-That (($told -join " ") -match "0x[eE][fF][fF][fF]00") ($told -join "; ")
  $told -join "; "
}
