# Part of node-check.ps1: the service's process, settings, cost and end, and the container that all may run in.
# Uses its $pipe, $proxy, $KubeletPath, $base, $Calls and $KubeletMounted, and proxy.ps1.

Test-Part "server-version" "the program that serves the pipes is of the release that is tried" {
  Assert-Passed "answers"
  $serving = Get-ProxyProcess
  $version = Get-ProgramVersion $serving.Path
  $script:server = "version $version, process $($serving.Id), $($serving.Path)"
  if ($version -eq "unknown") { Skip-Part "the program of process $($serving.Id), $($serving.Path), cannot be read" }
  Assert-That ($version -eq (Get-ProgramVersion $proxy)) "$server; the programs of this release are $(Get-ProgramVersion $proxy)"
  $server
}

Test-Part "system-dlls" "every module of the service's process lies in System32, but the program" {
  Assert-Passed "answers"
  $serving = Get-ProxyProcess
  $system = Join-Path $env:SystemRoot "System32"
  $others = @($serving.Modules | ForEach-Object { $_.FileName } | Where-Object { -not $_.StartsWith($system, "OrdinalIgnoreCase") -and $_ -ne $serving.Path })
  Assert-That ($others.Count -eq 0) ($others -join ", ")
  "$($serving.Modules.Count) modules"
}

Test-Part "service-settings" "the service restarts after failures, has a SID, and keeps few privileges" {
  $name = Find-ServiceName
  if ($name -eq "") { Skip-Part "no service csi-proxy or csiproxy is installed" }
  $actions = [NodeCheck.Service]::FailureActions((Get-ServiceValue $name "FailureActions"))
  $privileges = @(Get-ServiceValue $name "RequiredPrivileges" | Where-Object { $_ })
  $sid = Get-ServiceValue $name "ServiceSidType"
  Add-Fact "service $name" {
    foreach ($value in "ImagePath", "ObjectName", "Start", "DelayedAutostart", "Type", "FailureActionsOnNonCrashFailures") {
      "${value}: $(Get-ServiceValue $name $value)"
    }
    "failure actions: $actions"
    "ServiceSidType: $sid"
    "RequiredPrivileges: $($privileges -join ' ')"
  }
  Assert-That ($actions -match "restart") "no restart after a failure: '$actions'"
  # SERVICE_SID_TYPE_UNRESTRICTED is 1, SERVICE_SID_TYPE_RESTRICTED 3.
  Assert-That ($sid -eq 1 -or $sid -eq 3) "no service SID: '$sid'"
  Assert-That ($privileges -contains "SeManageVolumePrivilege") "its privileges are not limited to those it needs"
  Assert-That (($privileges -notcontains "SeDebugPrivilege") -and ($privileges -notcontains "SeTcbPrivilege")) "it keeps more: $($privileges -join ' ')"
  "$actions; $($privileges -join ' ')"
}

Test-Part "event-log" "the service has written to the event log" {
  if ((Find-ServiceName) -eq "") { Skip-Part "no service is installed, and console mode writes nothing there" }
  $filter = @{ LogName = "Application"; ProviderName = "csi-proxy" }
  $entries = @(Get-WinEvent -FilterHashtable $filter -MaxEvents 20)
  Add-Fact "event log" { $entries | Format-Table -Wrap -Property "TimeCreated", "Level", "Id", "Message" }
  Assert-That ("$($entries[0].Message)" -match "csi-proxy|stopp|serve|start") "its text cannot be read: '$($entries[0].Message)'"
  "$($entries.Count) entries, the last: $($entries[0].Message)"
}

Test-Part "cost" "after many calls the process has neither grown nor kept handles" {
  Assert-Passed "answers"
  $reads = @(
    @("disk", "list-disk-ids"),
    @("disk", "list-disk-locations"),
    @("system", "get-bios-serial-number"),
    @("system", "get-service", "--name=EventLog"),
    @("filesystem", "path-exists", "--path=$base"),
    @("volume", "get-closest-volume-id-from-target-path", "--target-path=$base")
  )
  # Objects that are made once, at the first calls, do not count as growth.
  for ($i = 0; $i -lt 60; $i++) { Get-Answer $reads[$i % $reads.Count] | Out-Null }
  $before = Get-ProxyProcess
  $handles = $before.HandleCount
  $bytes = $before.PrivateMemorySize64
  for ($i = 0; $i -lt $Calls; $i++) { Get-Answer $reads[$i % $reads.Count] | Out-Null }
  # Until the connections of clients that have gone are closed.
  Start-Sleep -Seconds 5
  $after = Get-ProxyProcess
  $grown = "$Calls calls: handles $handles -> $($after.HandleCount), private bytes $bytes -> $($after.PrivateMemorySize64)"
  Assert-That ($after.HandleCount - $handles -lt 50) $grown
  Assert-That ($after.PrivateMemorySize64 - $bytes -lt 16mb) $grown
  $grown
}

# The lines of the counters of fallbacks.
function Get-Fallbacks {
  $lines = (Invoke-WebRequest -UseBasicParsing -TimeoutSec 10 -Uri "http://$metrics/metrics").Content -split "`n"
  @($lines | Where-Object { $_ -match '^csi_proxy_fallbacks_total\{' })
}

Test-Part "fallbacks" "the service has taken none of the ways around that it has for what Windows may refuse" {
  Assert-Passed "answers"
  if ($metrics -eq "") { Skip-Part "the service serves no metrics (--metrics-bind-address)" }
  $taken = @(Get-Fallbacks)
  if ($taken.Count -eq 0) { Skip-Part "the service counts no fallbacks" }
  Add-Fact "fallbacks" { $taken }
  $more = @($taken | Where-Object { $_ -notmatch ' 0$' })
  Assert-That ($more.Count -eq 0) ($more -join "; ")
  "$($taken.Count) counters at 0"
}

Test-Part "host-process" "a container of its own has a session and a type of its own, which node and HostProcess containers have not" {
  $sandbox = "$env:CONTAINER_SANDBOX_MOUNT_POINT"
  $self = Get-Process -Id $PID
  $type = (Get-Item "HKLM:\SYSTEM\CurrentControlSet\Control").GetValue("ContainerType")
  # Each process-isolated container runs one.
  $agents = @(Get-CimInstance Win32_Process -Filter "Name = 'CExecSvc.exe'")
  Add-Fact "containers" {
    "sandbox '$sandbox', session $($self.SessionId), in a job $([NodeCheck.Native]::InJob($self.Handle)), ContainerType '$type'"
    "bind filter: $(Test-Path (Join-Path $env:SystemRoot 'System32\bindfltapi.dll')), C:\hpc: $(Test-Path 'C:\hpc')"
    $agents | Format-Table -AutoSize -Property "ProcessId", "SessionId", "CreationDate"
  }
  Assert-That ($null -eq $type) "ContainerType is $type here"
  if ($sandbox -ne "") { Assert-That ($self.SessionId -eq 0) "a HostProcess container in session $($self.SessionId)" }
  if ($agents.Count -eq 0 -and $sandbox -eq "") { Skip-Part "no container runs on this node, and this is none" }
  $sessions = @($agents | ForEach-Object { $_.SessionId } | Sort-Object -Unique)
  Assert-That ($sessions.Count -eq $agents.Count -and $sessions -notcontains 0) "$($agents.Count) containers in sessions $($sessions -join ', ')"
  "$($agents.Count) containers in sessions $($sessions -join ', ')"
}

Test-Part "kubelet-mounted" "opens below the kubelet's directory do not fail where it is mounted into a HostProcess container" {
  Assert-Passed "answers"
  if (-not $KubeletMounted) { Skip-Part "-KubeletMounted was not given (scripts/deploy/node-check.yaml)" }
  $errors = @{}
  for ($i = 0; $i -lt 200; $i++) {
    $path = "$base\mounted-$i\inner"
    $calls = @(
      @("filesystem", "mkdir", "--path=$path"),
      @("filesystem", "path-exists", "--path=$path"),
      @("filesystem", "rmdir", "--path=$base\mounted-$i", "--force")
    )
    foreach ($words in $calls) {
      $call = Invoke-Ctl $words
      if ($call.Code -ne 0) { $errors[$call.Err.Replace("mounted-$i", "mounted").Trim()]++ }
    }
  }
  Assert-That ($errors.Count -eq 0) (@($errors.Keys | ForEach-Object { "$($errors[$_]) times $_" }) -join "; ")
  "600 calls"
}

Test-Part "pipe-inherited" "a pipe's name that the Go release left has our owner and access list" {
  Assert-Passed "answers"
  if ($null -eq $inherited) { Skip-Part "no pipe of the Go release was held open (-StopGoRelease)" }
  Assert-Passed "pipe-descriptor"
  ($parts | Where-Object { $_.name -eq "pipe-descriptor" }).detail
}

Test-Part "abandoned-clients" "after a stop and a crash all pipes answer again, though clients that never close them have them open" {
  Assert-Passed "answers"
  Assert-MayRestart
  $before = Get-AnsweringPipes
  $abandoned = @()
  try {
    foreach ($how in "stop", "crash", "stop") {
      for ($i = 0; $i -lt 10; $i++) { $abandoned += Open-Abandoned }
      Restart-Proxy $how
      Wait-Answering $before $how
    }
  } finally {
    foreach ($client in $abandoned) { $client.Dispose() }
  }
  "$before pipes, $($abandoned.Count) clients"
}
