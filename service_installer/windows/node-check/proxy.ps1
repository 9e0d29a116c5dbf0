# Part of node-check.ps1: finds, starts and ends the service under test. Uses the script's $programs, $work, $Directory,
# $KubeletPath, $ctl, $proxy and $pipe, and defines $child, $installed, $begun, $metrics, $watched and $ended.

# What Start-Proxy did: $child runs in console mode, $installed is our own service, $begun an existing service that was stopped.
$child, $installed, $begun, $metrics = $null, $false, "", ""
# The id of the process under test; 0 before the part `answers`, and when the process has ended for good.
$watched = 0
# The parts during which a process under test ended.
$ended = @()
$ownName = "csi-proxy-node-check"

# Returns the service's name; empty if none is installed.
function Find-ServiceName {
  if ($installed) { return $ownName }
  "$(Get-Service -Name "csi-proxy", "csiproxy" -ErrorAction SilentlyContinue | Select-Object -First 1 | ForEach-Object { $_.Name })"
}

# Reads a service's value from the registry, whose texts do not depend on Windows' language.
function Get-ServiceValue([string]$Name, [string]$Value) { Get-RegistryValue "SYSTEM\CurrentControlSet\Services\$Name" $Value }

# Returns the value of a flag in the service's command line, with one dash or two; empty if the flag is not set. Quotation marks may
# enclose the flag or its value.
function Get-ServiceFlag([string]$Name, [string]$Flag) {
  if ((Get-ServiceValue $Name "ImagePath") -match "`"--?$Flag=([^`"]+)|--?$Flag[= ]`"([^`"]+)|--?$Flag[= ]([^`" ]+)") { "$($Matches[1])$($Matches[2])$($Matches[3])" } else { "" }
}

function Test-Pipe([string]$Name) { @([System.IO.Directory]::GetFiles("\\.\pipe\", $Name)).Count -gt 0 }
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

function Get-Processes { if ($null -ne $child) { Get-Process -Id $child.Process.Id -ErrorAction SilentlyContinue } else { Get-Process -Name "csi-proxy" -ErrorAction SilentlyContinue } }

# Returns the process that serves the pipes now.
function Get-ProxyProcess {
  $running = @(Get-Processes)
  if ($running.Count -ne 1) { Skip-Part "$($running.Count) processes csi-proxy.exe run" }
  $running[0]
}

# Returns which other csi-proxy is installed or serves the pipes; empty without one. The script neither calls nor stops that service.
function Find-OtherRelease {
  $name = Find-ServiceName
  $found = @(Get-Process -Name "csi-proxy" -ErrorAction SilentlyContinue | ForEach-Object { $_.Path })
  # A service may run a wrapper such as nssm. Then only its process, or the pipe, shows which release it is.
  if ($name -ne "" -and (Get-ServiceValue $name "ImagePath") -match '^"?([^"]*csi-proxy[^"\\/]*?\.exe)') { $found += $Matches[1] }
  $others = @($found | Where-Object { $_ -and (Get-ProgramVersion $_) -eq "" } | Sort-Object -Unique)
  # Our clients refuse the pipes of the Go release.
  if ($others.Count -eq 0 -and ($found.Count -gt 0 -or -not (Test-Pipe $pipe) -or (Test-Answering))) { return "" }
  "another release of csi-proxy is installed or answers: service '$name', program '$($others -join ', ')'"
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
    if (-not $installed) { $script:begun = $name }
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

# Returns what became of the process under test if it ended during the part; otherwise nothing.
# Waits up to 30 s until a service answers again, so that the later parts can run: Windows restarts
# a failed service after 10 s, and this function starts the script's own service after 20 s.
function Watch-Proxy([string]$Part) {
  if ($watched -eq 0 -or @(Get-Processes | ForEach-Object { $_.Id }) -contains $watched) { return }
  $was, $script:watched = $watched, 0
  $script:ended += $Part
  $name = Find-ServiceName
  $mine = $null -ne $child -or $installed
  $log = if ($mine) { "$programs\logs\csi-proxy.log" } elseif ($name -ne "") { Get-ServiceFlag $name "log_file" } else { "" }
  $tail = if ($log -ne "" -and (Test-Path $log)) { @(Get-Content $log -Tail 5 -Encoding UTF8) -join " | " } else { "it has no log" }
  $script:child = $null
  for ($i = 0; $i -lt 60 -and -not (Test-Answering); $i++) {
    if ($i -eq 40 -and $mine) { try { Start-Proxy | Out-Null } catch { $tail += " | $($_.Exception.Message)" } }
    Start-Sleep -Milliseconds 500
  }
  if (Test-Answering) { $script:watched = @(Get-Processes | ForEach-Object { $_.Id })[0] } else { $script:gone = "the service ended during the part $Part" }
  "the service's process $was ended during this part, and $(if ($watched -ne 0) { "process $watched serves now" } else { "none serves now" }); the end of its log: $tail"
}

# Ends or uninstalls what Start-Proxy started or installed, copies the log to $work, and stops $begun again.
function Restore-Services {
  $script:watched = 0
  if ($null -ne $child -and -not $child.Process.HasExited) { $child.Process.Kill(); $child.Process.WaitForExit() }
  if ($installed) { Invoke-Checked (Join-Path $Directory "csi-proxy-service.exe") "uninstall", "--name=$ownName" | Out-Null }
  if (Test-Path "$programs\logs\*.log") { Copy-Item "$programs\logs\*.log" $work }
  Remove-Tree $programs
  if ($begun -ne "") { Stop-Service -Name $begun -Force }
}
