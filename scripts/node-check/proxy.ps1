# Part of node-check.ps1: the service that is looked at, and the Go release's in its place.
# Uses its $programs, $logs, $Directory, $Report, $work, $KubeletPath, $ctl, $proxy, $pipe, $Yes, $NoRestart and $StopGoRelease,
# and keeps $process, $started, $installed, $begun, $goService, $inherited, $server and $metrics.

$process = $null
# In console mode; as a service of ours; a service that was there, and stopped.
$started = $false
$installed = $false
$begun = ""
$goService = ""
$inherited = $null
$server = "none"
$metrics = ""
$ownName = "csi-proxy-node-check"
$asked = ""

# The service's name; empty when none is installed.
function Find-ServiceName {
  if ($installed) { return $ownName }
  foreach ($name in "csi-proxy", "csiproxy") {
    if ($name -ne $goService -and (Get-Service -Name $name -ErrorAction SilentlyContinue)) { return $name }
  }
  ""
}

# A service's values in the registry, which no language of Windows changes.
function Get-ServiceValue([string]$Name, [string]$Value) {
  $key = Get-Item -LiteralPath "HKLM:\SYSTEM\CurrentControlSet\Services\$Name"
  $key.GetValue($Value)
}

function Test-Answering { (Invoke-Program $ctl "doctor").Code -eq 0 }

# --- Which program it is ---

# The id of the process that serves the pipe; 0 when there is no pipe.
function Get-PipeServer {
  $client = New-Object System.IO.Pipes.NamedPipeClientStream(".", $pipe, [System.IO.Pipes.PipeDirection]::InOut)
  try {
    $client.Connect(2000)
    [int][NodeCheck.Native]::PipeServer($client.SafePipeHandle)
  } catch [System.TimeoutException] {
    0
  } catch [System.UnauthorizedAccessException] {
    # Doubt 42: the part pipe-access tells, and the rest goes on.
    $running = @(Get-Process -Name "csi-proxy" -ErrorAction SilentlyContinue)
    if ($running.Count -eq 1) { $running[0].Id } else { 0 }
  } finally {
    $client.Dispose()
  }
}

# A program's own word on what it is: only ours has a version resource that names the product.
function Get-ProgramVersion([string]$Path) {
  # A container's files are not seen from outside.
  if (-not (Test-Path $Path)) { return "unknown" }
  $told = [System.Diagnostics.FileVersionInfo]::GetVersionInfo($Path)
  if ($told.ProductName -eq "CSI Proxy") { return "CSI Proxy $($told.ProductVersion)" }
  ""
}

function Test-GoRelease([string]$Path) { $Path -ne "" -and (Get-ProgramVersion $Path) -eq "" }

# Finds the Go release, as a service or behind the pipes, and stops it if that was asked for.
function Step-AsideGoRelease {
  $name = Find-ServiceName
  $program = ""
  if ($name -ne "") { $program = "$(@([NodeCheck.Service]::Words((Get-ServiceValue $name 'ImagePath')))[0])" }
  $serving = Get-PipeServer
  $path = ""
  if ($serving -ne 0) { $path = "$((Get-Process -Id $serving).Path)" }
  # A wrapper such as nssm runs the program that serves. Our clients refuse the pipes of the Go release.
  $go = (Test-GoRelease $path) -or ($serving -ne 0 -and -not (Test-Answering))
  if (-not $go -and $serving -eq 0) { $go = Test-GoRelease $program }
  if (-not $go) { return "neither installed nor answering" }
  $which = "another csi-proxy than this release's, as the Go release's is: service '$name', program $path $program"
  Write-Host $masks.Apply("There is $which.")
  if (-not $StopGoRelease) {
    throw "there is $which. This release's programs do not talk to it. Run again with -StopGoRelease, which stops it and starts it again at the end, or stop it yourself"
  }
  if ($name -eq "") { throw "$which, which no service starts: end process $serving yourself" }
  if ($serving -ne 0) { $script:inherited = Open-Abandoned }
  Stop-Service -Name $name -Force
  $script:goService = $name
  "$which; stopped, and started again at the end"
}

# --- Starting and ending it ---

# Metrics as well, at a port that is free.
function New-ProxyFlags([string]$Log) {
  $free = New-Object System.Net.Sockets.TcpListener([System.Net.IPAddress]::Loopback, 0)
  $free.Start()
  $script:metrics = "127.0.0.1:$($free.LocalEndpoint.Port)"
  $free.Stop()
  "-kubelet-path=$KubeletPath", "-logtostderr=false", "-log_file=$Log", "-v=2", "--metrics-bind-address=$metrics"
}

# Installs the service as operators do, in folders of its own, so that it has the privileges that it is
# left with and no more: in console mode it has those of an administrator, who may do anything.
function Install-Proxy {
  New-Item -ItemType Directory -Path $programs | Out-Null
  foreach ($name in "csi-proxy.exe", "csi-proxy-service.exe") {
    Copy-Item (Join-Path $Directory $name) $programs
  }
  $script:installed = $true
  $flags = New-ProxyFlags "$logs\csi-proxy.log"
  foreach ($words in (@("install", "--name=$ownName", "--") + $flags), @("start", "--name=$ownName")) {
    $call = Invoke-Program "$programs\csi-proxy-service.exe" $words
    if ($call.Code -ne 0) { throw "csi-proxy-service $($words -join ' '): $($call.Out) $($call.Err)" }
  }
  "installed and started as service $ownName"
}

function Uninstall-Proxy {
  if (-not $installed) { return }
  $call = Invoke-Program "$programs\csi-proxy-service.exe" "uninstall", "--name=$ownName"
  Copy-Masked "$logs\csi-proxy.log" (Join-Path $Report "csi-proxy.log")
  Remove-Tree $programs
  Remove-Tree $logs
  if ($call.Code -ne 0) { throw "csi-proxy-service uninstall: $($call.Out) $($call.Err)" }
}

function Start-Proxy {
  $name = Find-ServiceName
  if ($name -ne "" -and -not $installed) {
    $script:metrics = [NodeCheck.Service]::Flag((Get-ServiceValue $name "ImagePath"), "metrics-bind-address") -replace "^:", "127.0.0.1:"
  }
  if (Test-Answering) { return "one answers already; service: $name" }
  if ($name -ne "") {
    Start-Service -Name $name
    $script:begun = $name
    if (-not (Test-Answering)) { throw "service $name runs and does not answer" }
    return "service $name was stopped, and is started"
  }
  if (-not $started -and (Test-Path (Join-Path $Directory "csi-proxy-service.exe")) -and -not $env:CONTAINER_SANDBOX_MOUNT_POINT) {
    return Install-Proxy
  }
  $script:process = [System.Diagnostics.Process]::Start((New-StartInfo $proxy (New-ProxyFlags "$work\csi-proxy.log")))
  $script:started = $true
  for ($i = 0; $i -lt 60; $i++) {
    if ($process.HasExited) { throw "csi-proxy.exe ended with exit code $($process.ExitCode); its log is kept" }
    if (Test-Answering) {
      return "csi-proxy.exe started in console mode, process $($process.Id): with an administrator's privileges, not a service's"
    }
    Start-Sleep -Milliseconds 500
  }
  throw "csi-proxy.exe does not answer"
}

function Restore-Services {
  if ($null -ne $inherited) { $inherited.Dispose() }
  if ($begun -ne "") { Stop-Service -Name $begun -Force }
  if ($goService -ne "") { Start-Service -Name $goService }
}

# A service that was there before is restarted and killed only if its owner agrees.
function Assert-MayRestart {
  if ($started -or $installed) { return }
  if ($NoRestart) { Skip-Part "-NoRestart was given" }
  if ($Yes) { return }
  if ($asked -eq "") {
    $script:asked = "no"
    Write-Host ""
    Write-Host "The service $(Find-ServiceName) of this node would now be restarted twice and killed once. Calls of drivers fail meanwhile, and are repeated."
    # Without a terminal Read-Host throws, which is no consent.
    try { $script:asked = "$(Read-Host 'Type yes to agree')".Trim().ToLowerInvariant() } catch { Write-Host $_.Exception.Message }
  }
  if ($asked -ne "yes") { Skip-Part "nobody agreed to restart the service; -Yes agrees beforehand" }
}

# Returns the number of pipes that answer.
function Get-AnsweringPipes {
  $said = (Invoke-Program $ctl "doctor").Out
  if ($said -notmatch "(\d+) of \d+ pipes answer") { throw "csi-proxyctl doctor said: $said" }
  [int]$Matches[1]
}

function Wait-Answering([int]$Pipes, [string]$After) {
  # The service manager restarts what has crashed after 10 s.
  for ($i = 0; $i -lt 60; $i++) {
    $now = Get-AnsweringPipes
    if ($now -eq $Pipes) { return }
    Start-Sleep -Seconds 1
  }
  throw "after a $After, $now of $Pipes pipes answer"
}

# A client that says nothing and does not close its end, as released Go clients do.
function Open-Abandoned {
  $client = New-Object System.IO.Pipes.NamedPipeClientStream(".", $pipe, [System.IO.Pipes.PipeDirection]::InOut)
  $client.Connect(5000)
  $client
}

# Ends the service, by a stop or a crash, and has it start again. In console mode every end is a crash.
function Restart-Proxy([string]$How) {
  if (-not $started -and $How -eq "stop") {
    Restart-Service -Name (Find-ServiceName) -Force
    return
  }
  $running = Get-ProxyProcess
  $running.Kill()
  $running.WaitForExit()
  if ($started) { Start-Proxy | Out-Null }
}

# The process behind the pipes, as it is now.
function Get-ProxyProcess {
  if ($null -ne $process) {
    $process.Refresh()
    return $process
  }
  $serving = Get-PipeServer
  if ($serving -eq 0) { Skip-Part "nobody serves the pipe" }
  Get-Process -Id $serving
}

# Returns the error of opening a pipe over the network; empty when it opens.
function Open-RemotePipe([string]$Name) {
  $client = New-Object System.IO.Pipes.NamedPipeClientStream($env:COMPUTERNAME, $Name, [System.IO.Pipes.PipeDirection]::InOut)
  try {
    $client.Connect(3000)
    ""
  } catch {
    $_.Exception.GetBaseException().Message
  } finally {
    $client.Dispose()
  }
}
