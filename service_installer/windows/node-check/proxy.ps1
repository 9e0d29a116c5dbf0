# Part of node-check.ps1: finds, starts and ends the service under test. Uses the script's $programs, $work, $Directory,
# $KubeletPath, $ctl, $proxy and $pipe, and defines $child, $installed, $begun and $metrics.

# What Start-Proxy did: $child runs in console mode, $installed is our own service, $begun an existing service that was stopped.
$child = $null
$installed = $false
$begun = ""
$metrics = ""
$ownName = "csi-proxy-node-check"

# Returns the service's name; empty if none is installed.
function Find-ServiceName {
  if ($installed) { return $ownName }
  "$(Get-Service -Name "csi-proxy", "csiproxy" -ErrorAction SilentlyContinue | Select-Object -First 1 | ForEach-Object { $_.Name })"
}

# Reads a service's value from the registry, whose texts do not depend on Windows' language.
function Get-ServiceValue([string]$Name, [string]$Value) { (Get-Item -LiteralPath "HKLM:\SYSTEM\CurrentControlSet\Services\$Name").GetValue($Value) }

# Returns the value of a flag in the service's command line, with one dash or two; empty if the flag is not set.
function Get-ServiceFlag([string]$Name, [string]$Flag) {
  if ((Get-ServiceValue $Name "ImagePath") -match "--?$Flag[= ]`"?([^`" ]+)") { $Matches[1] } else { "" }
}

function Test-Answering { (Invoke-Program $ctl "doctor").Code -eq 0 }

# --- Which program it is ---

# Returns a program's name and version; empty for another csi-proxy, because only ours names its product in a version resource.
function Get-ProgramVersion([string]$Path) {
  # A container's files are not visible from outside.
  if (-not (Test-Path $Path)) { return "unknown" }
  $told = [System.Diagnostics.FileVersionInfo]::GetVersionInfo($Path)
  if ($told.ProductName -eq "CSI Proxy") { return "CSI Proxy $($told.ProductVersion)" }
  ""
}

# Returns the process that serves the pipes now.
function Get-ProxyProcess {
  if ($null -ne $child) { return Get-Process -Id $child.Process.Id }
  $running = @(Get-Process -Name "csi-proxy" -ErrorAction SilentlyContinue)
  if ($running.Count -ne 1) { Skip-Part "$($running.Count) processes csi-proxy.exe run" }
  $running[0]
}

# Throws if another csi-proxy is installed or serves the pipes. The script neither calls nor stops such a service.
function Assert-NoGoRelease {
  $name = Find-ServiceName
  $found = @(Get-Process -Name "csi-proxy" -ErrorAction SilentlyContinue | ForEach-Object { $_.Path })
  if ($name -ne "") { $found += (Get-ServiceValue $name "ImagePath") -replace '^"?([^"]*?\.exe).*', '$1' }
  $others = @($found | Where-Object { $_ -and (Get-ProgramVersion $_) -eq "" })
  # A service may run a wrapper such as nssm, so also checks the pipes: our clients refuse those of the Go release.
  $serving = @([System.IO.Directory]::GetFiles("\\.\pipe\", $pipe)).Count -gt 0
  if ($others.Count -eq 0 -and (-not $serving -or (Test-Answering))) { return "neither installed nor answering" }
  throw "another release of csi-proxy is installed or answers: service '$name', program $($others -join ', '). Stop it and run again"
}

# --- Starting and ending it ---

# Returns the service's flags, with metrics at a free port.
function New-ProxyFlags {
  $free = New-Object System.Net.Sockets.TcpListener([System.Net.IPAddress]::Loopback, 0)
  $free.Start()
  $script:metrics = "127.0.0.1:$($free.LocalEndpoint.Port)"
  $free.Stop()
  "-kubelet-path=$KubeletPath", "-logtostderr=false", "-log_file=$programs\logs\csi-proxy.log", "-v=2", "--metrics-bind-address=$metrics", "--allow-local-shares"
}

# Installs the service as operators do, in its own folder, because in console mode it has all of an administrator's privileges
# instead of the few that the installer leaves it. Uses a service that exists or answers already.
function Start-Proxy {
  $name = Find-ServiceName
  if ($name -ne "" -and -not $installed) { $script:metrics = (Get-ServiceFlag $name "metrics-bind-address") -replace "^:", "127.0.0.1:" }
  if (Test-Answering) { return "a service answers already: $name" }
  if ($name -ne "") {
    Start-Service -Name $name
    $script:begun = $name
    if (-not (Test-Answering)) { throw "service $name runs but does not answer: see its log" }
    return "service $name was stopped and has been started"
  }
  if ($null -eq $child -and (Test-Path (Join-Path $Directory "csi-proxy-service.exe")) -and -not $env:CONTAINER_SANDBOX_MOUNT_POINT) {
    $script:installed = $true
    Invoke-Checked (Join-Path $Directory "csi-proxy-service.exe") (@("install", "--name=$ownName", "--directory=$programs", "--") + (New-ProxyFlags))
    return Invoke-Checked "$programs\csi-proxy-service.exe" "start", "--name=$ownName"
  }
  New-Item -ItemType Directory -Force -Path "$programs\logs" | Out-Null
  $script:child = Start-Child $proxy (New-ProxyFlags)
  for ($i = 0; $i -lt 60; $i++) {
    if ($child.Process.HasExited) { throw "csi-proxy.exe ended with exit code $($child.Process.ExitCode): $($child.Err.Result)" }
    if (Test-Answering) { return "csi-proxy.exe started in console mode: with an administrator's privileges, not a service's" }
    Start-Sleep -Milliseconds 500
  }
  throw "csi-proxy.exe does not answer"
}

# Ends or uninstalls what Start-Proxy started or installed, copies the log to $work, and stops $begun again.
function Restore-Services {
  if ($null -ne $child -and -not $child.Process.HasExited) {
    $child.Process.Kill()
    $child.Process.WaitForExit()
  }
  if ($installed) { Invoke-Checked (Join-Path $Directory "csi-proxy-service.exe") "uninstall", "--name=$ownName" | Out-Null }
  if (Test-Path "$programs\logs") { Copy-Item "$programs\logs\*.log" $work }
  Remove-Tree $programs
  if ($begun -ne "") { Stop-Service -Name $begun -Force }
}
