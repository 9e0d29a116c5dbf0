# Part of node-check.ps1: the service's pipe, process, settings and cost, and the container in which the script may run.
# Uses the script's $base, $work, $pipe, $disk and $KubeletMounted, node.ps1 and proxy.ps1.

Test-Part "remote-client" "a client that comes over the network is refused" -Needs "answers" {
  # Also connects to srvsvc, which accepts remote clients, because otherwise a refusal would prove nothing.
  foreach ($name in "srvsvc", $pipe) {
    $refusal = ""
    try { (Open-Pipe $env:COMPUTERNAME $name 3000).Dispose() } catch { $refusal = $_.Exception.GetBaseException().Message }
    if ($name -eq "srvsvc" -and $refusal -ne "") { Skip-Part "no pipe of this node can be opened over the network: $refusal" }
  }
  Assert-That ($refusal -ne "") "the pipe could be opened over the network"
  $refusal
}
Test-Part "system-dlls" "every module of the service's process except the program lies in System32" -Needs "answers" {
  $serving = Get-ProxyProcess
  $system = Join-Path $env:SystemRoot "System32"
  $others = @($serving.Modules | ForEach-Object { $_.FileName } | Where-Object { -not $_.StartsWith($system, "OrdinalIgnoreCase") -and $_ -ne $serving.Path })
  Assert-That ($others.Count -eq 0) ($others -join ", ")
  "$($serving.Modules.Count) modules"
}
Test-Part "service-settings" "the service restarts after failures, has a SID, and keeps few privileges" -Needs "answers" {
  $name = Find-ServiceName
  if ($name -eq "") { Skip-Part "no service csi-proxy or csiproxy is installed" }
  $actions = Get-ServiceValue $name "FailureActions"
  $privileges = @(Get-ServiceValue $name "RequiredPrivileges" | Where-Object { $_ })
  $sid = Get-ServiceValue $name "ServiceSidType"
  # SERVICE_FAILURE_ACTIONS with 32-bit words: the first action follows five of them, and SC_ACTION_RESTART is 1.
  Assert-That ($null -ne $actions -and $actions.Length -ge 28 -and [BitConverter]::ToInt32($actions, 20) -eq 1) "no restart after a failure"
  # SERVICE_SID_TYPE_UNRESTRICTED is 1, SERVICE_SID_TYPE_RESTRICTED 3.
  Assert-That ($sid -eq 1 -or $sid -eq 3) "no service SID: '$sid'"
  Assert-That ($privileges -contains "SeManageVolumePrivilege" -and $privileges -notcontains "SeDebugPrivilege" -and $privileges -notcontains "SeTcbPrivilege") "its privileges: $($privileges -join ' ')"
  $privileges -join " "
}
Test-Part "event-log" "the service has written to the event log" -Needs "answers" {
  if ((Find-ServiceName) -eq "") { Skip-Part "no service is installed, and console mode writes nothing there" }
  if (@(Get-Service -Name "EventLog" -ErrorAction SilentlyContinue | Where-Object { $_.Status -eq "Running" }).Count -eq 0) { Skip-Part "the service EventLog does not run on this node" }
  $entries = @(Get-WinEvent -FilterHashtable @{ LogName = "Application"; ProviderName = "csi-proxy" } -MaxEvents 20)
  Assert-That ("$($entries[0].Message)" -match "csi-proxy|stopp|serve|start") "its text cannot be read: '$($entries[0].Message)'"
  "$($entries.Count) entries, the last: $($entries[0].Message)"
}
Test-Part "cost" "after a thousand calls the process has neither grown nor kept handles" -Needs "answers" {
  $reads = @("disk", "list-disk-ids"),
    @("system", "get-service", "--name=RpcSs"),
    @("volume", "get-closest-volume-id-from-target-path", "--target-path=$base")
  # The first 60 calls create objects that exist only once and must not count as growth.
  $seen = foreach ($calls in 60, (Get-Rounds)) {
    for ($i = 0; $i -lt $calls; $i++) { Get-Answer $reads[$i % $reads.Count] | Out-Null }
    # Waits until the service has closed the connections of ended clients.
    Start-Sleep -Seconds 5
    Get-ProxyProcess
  }
  $told = "handles $($seen[0].HandleCount) -> $($seen[1].HandleCount), private bytes $($seen[0].PrivateMemorySize64) -> $($seen[1].PrivateMemorySize64)"
  Assert-That ($seen[1].HandleCount - $seen[0].HandleCount -lt 50 -and $seen[1].PrivateMemorySize64 - $seen[0].PrivateMemorySize64 -lt 16mb) $told
  $told
}
# If the service took a fallback, the report shows the doubt about that fallback as settled.
Test-Part "fallbacks" "the service counts the fallbacks that it took because Windows behaved unexpectedly" -Needs "answers" {
  if ($metrics -eq "") { Skip-Part "the service serves no metrics (--metrics-bind-address)" }
  $call = Invoke-Ctl "diagnose", "--metrics=$metrics"
  if (-not $call.Out.StartsWith("{")) { throw "csi-proxyctl diagnose: $($call.Err.Trim())" }
  Write-Text (Join-Path $work "diagnosis.json") $call.Out
  $told = $call.Out | ConvertFrom-Json
  if (@($told.not_known).Count -gt 0) { throw "not known: $($told.not_known -join '; ')" }
  # The log of a service that the script has started says which disk did not answer.
  $why = @(if (Test-Path "$programs\logs\csi-proxy.log") { Select-String -Path "$programs\logs\csi-proxy.log" -Pattern 'fallback=disk-does-not-answer .*why="(.*)"' | ForEach-Object { $_.Matches[0].Groups[1].Value } | Sort-Object -Unique | Select-Object -First 5 })
  (@(@($told.fallbacks) | ForEach-Object { "$($_.fallback) $($_.times)" }) + $why) -join ", "
}
# This part comes after the part `fallbacks`, because it makes the service use one.
Test-Part "offline-open-file" "a volume is unstaged while a file on it is open, and its disk stays online" -Needs "stages" {
  $number = New-Image "open"
  Invoke-Stage $number "open" | Out-Null
  $file = Open-File "$base\open\file.txt"
  # UnstageVolume ignores one error of MSFT_Disk.Offline, that of a disk in use, and fails on any other.
  try { $steps = (Invoke-Unstage "open").steps -join " " } finally { $file.Dispose() }
  Assert-That (-not (Get-CimDisk $number).IsOffline) "$steps; the disk is offline"
  $steps
}
Test-Part "long-path" "a volume is mounted at a path of more than 260 characters" -Needs "stages" {
  $long = Join-Path $base ("long\" + ("0123456789" * 20) + "\" + ("0123456789" * 10))
  $volume = (Get-Answer "storage", "stage-volume", "--disk.number=$disk", "--target-path=$long").volume_id
  $found = (Get-Answer "volume", "get-volume-id-from-target-path", "--target-path=$long").volume_id
  Get-Answer "storage", "unstage-volume", "--target-path=$long" | Out-Null
  Get-Answer "filesystem", "rmdir", "--path=$base\long", "--force" | Out-Null
  Assert-That ($found -eq $volume) "the volume there is $found, not $volume"
}
Test-Part "host-process" "an ordinary container has its own session and ContainerType; the node and HostProcess containers do not" {
  $sandbox = "$env:CONTAINER_SANDBOX_MOUNT_POINT"
  $session = (Get-Process -Id $PID).SessionId
  $type = Get-RegistryValue "SYSTEM\CurrentControlSet\Control" "ContainerType"
  # Each process-isolated container runs a CExecSvc.exe.
  $sessions = @(Get-CimInstance Win32_Process -Filter "Name = 'CExecSvc.exe'" | ForEach-Object { $_.SessionId })
  Assert-That ($null -eq $type) "ContainerType is $type here"
  Assert-That ($sandbox -eq "" -or $session -eq 0) "a HostProcess container in session $session"
  if ($sessions.Count -eq 0 -and $sandbox -eq "") { Skip-Part "no container runs on this node, and this process runs in none" }
  Assert-That (@($sessions | Sort-Object -Unique).Count -eq $sessions.Count -and $sessions -notcontains 0) "containers in sessions $($sessions -join ', ')"
  "$($sessions.Count) containers in sessions $($sessions -join ', ')"
}
Test-Part "kubelet-mounted" "opens below the kubelet's directory succeed when it is mounted into a HostProcess container" -Needs "answers" {
  if (-not $KubeletMounted) { Skip-Part "-KubeletMounted was not given (scripts/deploy/node-check.yaml)" }
  foreach ($i in 1..((Get-Rounds) / 5)) {
    Get-Answer "filesystem", "mkdir", "--path=$base\mounted-$i\inner" | Out-Null
    Get-Answer "filesystem", "path-exists", "--path=$base\mounted-$i\inner" | Out-Null
    Get-Answer "filesystem", "rmdir", "--path=$base\mounted-$i", "--force" | Out-Null
  }
}
