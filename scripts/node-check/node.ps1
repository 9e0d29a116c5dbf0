# Part of node-check.ps1: the virtual disk, the service, and what is tried on links.
# Uses its $programs, $logs, $Directory, $Report, $work, $base, $outside, $sentinel, $vhdx, $SizeMB, $KubeletPath, $ctl, $proxy and $disk,
# and keeps $process, $started and $installed.

$process = $null
$started = $false
$installed = $false

# --- The virtual disk ---

function Invoke-DiskPart([string[]]$Lines) {
  $file = Join-Path $work "diskpart.txt"
  Set-Content -Path $file -Value $Lines -Encoding Oem
  $call = Invoke-Program "diskpart.exe" "/s", $file
  if ($call.Code -ne 0) { throw "diskpart: $($call.Out.Trim())" }
}

# Makes the disk and attaches it; returns by which means.
function New-TestDisk {
  if (Get-Command New-VHD -ErrorAction SilentlyContinue) {
    try {
      New-VHD -Path $vhdx -SizeBytes ($SizeMB * 1mb) -Dynamic | Out-Null
      Mount-VHD -Path $vhdx -NoDriveLetter
      return "New-VHD"
    } catch {
      # Hyper-V's module may be there without Hyper-V.
      Remove-Item -Path $vhdx -ErrorAction SilentlyContinue
    }
  }
  Invoke-DiskPart "create vdisk file=`"$vhdx`" maximum=$SizeMB type=expandable", "select vdisk file=`"$vhdx`"", "attach vdisk"
  "diskpart"
}

# The number of the disk that lies in our file: all that is done to a disk is done to this one.
function Find-TestDisk {
  for ($i = 0; $i -lt 60; $i++) {
    $image = Get-DiskImage -ImagePath $vhdx
    if ($image.Attached -and $null -ne $image.Number) {
      $found = Get-Disk -Number $image.Number
      Assert-That ($found.Size -eq $SizeMB * 1mb) "disk $($image.Number) is not of the size that was made"
      Assert-That ($found.PartitionStyle -eq "RAW") "disk $($image.Number) is not raw"
      return [int]$image.Number
    }
    Start-Sleep -Milliseconds 500
  }
  throw "the virtual disk does not show up"
}

function Remove-TestDisk {
  if (-not (Test-Path $vhdx)) { return }
  if ((Get-DiskImage -ImagePath $vhdx).Attached) {
    try {
      Dismount-DiskImage -ImagePath $vhdx | Out-Null
    } catch {
      Invoke-DiskPart "select vdisk file=`"$vhdx`"", "detach vdisk"
    }
  }
  Remove-Item -Path $vhdx -Force
}

# .NET removes links and mount points as such, where Remove-Item of 5.1 may follow them.
function Remove-Tree([string]$Path) {
  if (-not [System.IO.Directory]::Exists($Path)) { return }
  $attributes = [System.IO.File]::GetAttributes($Path)
  $isLink = ($attributes -band [System.IO.FileAttributes]::ReparsePoint) -ne 0
  [System.IO.Directory]::Delete($Path, -not $isLink)
}

# --- The service ---

# The service's name; empty when none is installed.
function Find-ServiceName {
  foreach ($name in "csi-proxy", "csiproxy") {
    if (Get-Service -Name $name -ErrorAction SilentlyContinue) { return $name }
  }
  ""
}

function Test-Answering { (Invoke-Program $ctl "doctor").Code -eq 0 }

# Installs the service as operators do, in folders of its own, so that it has the privileges that it is
# left with and no more: in console mode it has those of an administrator, who may do anything.
function Install-Proxy {
  New-Item -ItemType Directory -Path $programs | Out-Null
  foreach ($name in "csi-proxy.exe", "csi-proxy-service.exe") {
    Copy-Item (Join-Path $Directory $name) $programs
  }
  $script:installed = $true
  $flags = "-kubelet-path=$KubeletPath", "-logtostderr=false", "-log_file=$logs\csi-proxy.log", "-v=2"
  foreach ($words in (@("install", "--name=csi-proxy", "--") + $flags), @("start", "--name=csi-proxy")) {
    $call = Invoke-Program "$programs\csi-proxy-service.exe" $words
    if ($call.Code -ne 0) { throw "csi-proxy-service $($words -join ' '): $($call.Out) $($call.Err)" }
  }
  "installed and started as service csi-proxy"
}

function Uninstall-Proxy {
  if (-not $installed) { return }
  $call = Invoke-Program "$programs\csi-proxy-service.exe" "uninstall", "--name=csi-proxy"
  if (Test-Path "$logs\csi-proxy.log") { Copy-Item "$logs\csi-proxy.log" "$Report.log" }
  Remove-Tree $programs
  Remove-Tree $logs
  if ($call.Code -ne 0) { throw "csi-proxy-service uninstall: $($call.Out) $($call.Err)" }
}

function Start-Proxy {
  $name = Find-ServiceName
  if (Test-Answering) { return "one answers already; service: $name" }
  if ($name -ne "") {
    Start-Service -Name $name
    if (-not (Test-Answering)) { throw "service $name runs and does not answer" }
    return "service $name was stopped, and is started"
  }
  if (-not $started -and (Test-Path (Join-Path $Directory "csi-proxy-service.exe"))) { return Install-Proxy }
  $flags = "-kubelet-path=$KubeletPath", "-logtostderr=false", "-log_file=$work\csi-proxy.log", "-v=2"
  $script:process = [System.Diagnostics.Process]::Start((New-StartInfo $proxy $flags))
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
  $running = @(Get-Process -Name "csi-proxy" -ErrorAction SilentlyContinue)
  if ($running.Count -ne 1) { Skip-Part "there are $($running.Count) processes csi-proxy.exe" }
  $running[0]
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

# --- Volumes and links ---

# The one volume on the virtual disk.
function Get-TestVolume {
  $volumes = @((Get-Answer "volume", "list-volumes-on-disk", "--disk-number=$disk").volume_ids)
  Assert-That ($volumes.Count -eq 1) "there are $($volumes.Count) volumes on the disk"
  $volumes[0]
}

function Assert-SentinelStays {
  Assert-That (Test-Path $sentinel) "the sentinel $sentinel outside is gone"
  $others = Get-ChildItem -Recurse -Force $outside | Where-Object { $_.Name -ne "inner" -and $_.Name -ne "sentinel.txt" }
  $names = @($others | ForEach-Object { $_.FullName })
  Assert-That ($names.Count -eq 0) "made outside: $($names -join ', ')"
}

# Every kind of call that takes a path, with one that a link of this kind leads out.
function Assert-NoEscape([string]$Kind) {
  $link = Join-Path $base "to-outside-$Kind"
  New-Item -ItemType $Kind -Path $link -Target $outside | Out-Null
  $inner = "$link\inner"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "path-exists", "--path=$inner"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "is-symlink", "--path=$inner"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "is-symlink", "--path=$link"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "mkdir", "--path=$inner\made"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "mkdir", "--path=$link\made"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "rmdir", "--path=$inner", "--force"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "rmdir-contents", "--path=$inner"
  Assert-Refused "FAILED_PRECONDITION" "filesystem", "rmdir-contents", "--path=$link"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "create-symlink", "--source-path=$base", "--target-path=$link\made"
  Assert-Refused "PERMISSION_DENIED" "filesystem", "create-symlink", "--source-path=$inner", "--target-path=$base\made"
  Assert-Refused "PERMISSION_DENIED" "volume", "get-volume-id-from-target-path", "--target-path=$inner"
  Assert-Refused "PERMISSION_DENIED" "volume", "get-closest-volume-id-from-target-path", "--target-path=$inner"
  Assert-SentinelStays
  # The link itself may go, and alone.
  Get-Answer "filesystem", "rmdir", "--path=$link" | Out-Null
  Assert-That (-not (Test-Path $link)) "the link is still there"
  Assert-SentinelStays
}
