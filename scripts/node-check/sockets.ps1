# Part of node-check.ps1: csi-node-sidecars.exe beside a driver, over Unix sockets.
# Uses its $Directory and $base, and harness.ps1.

$socketsSource = Join-Path $PSScriptRoot "unix-sockets.cs"
$sidecarsProgram = Join-Path $Directory "csi-node-sidecars.exe"
$driverName = "node-check.csi-proxy.example"
$driverSocket = Join-Path $base "csi.sock"
$registry = Join-Path $base "registry"
$registration = Join-Path $registry "$driverName-reg.sock"
$driver = $null
$sidecars = $null
$health = ""

function New-SidecarsFlags([string]$Folder) {
  "--csi-address=$driverSocket", "--kubelet-registration-path=$driverSocket", "--plugin-registration-path=$Folder", "--http-endpoint=$health"
}

function Start-Sidecars {
  $script:sidecars = [System.Diagnostics.Process]::Start((New-StartInfo $sidecarsProgram (New-SidecarsFlags $registry)))
}

# As a crash ends it.
function Stop-Sidecars {
  if ($null -ne $sidecars -and -not $sidecars.HasExited) {
    $sidecars.Kill()
    $sidecars.WaitForExit()
  }
  $script:sidecars = $null
}

# Returns the code that /healthz answers; 0 for no answer.
function Get-HealthCode([string]$Of) {
  try {
    [int](Invoke-WebRequest -UseBasicParsing -TimeoutSec 10 -Uri "http://$health/healthz$Of").StatusCode
  } catch {
    if ($null -eq $_.Exception.PSObject.Properties["Response"] -or $null -eq $_.Exception.Response) { return 0 }
    [int]$_.Exception.Response.StatusCode
  }
}

function Wait-HealthCode([string]$Of, [int]$Code) {
  for ($i = 0; $i -lt 60; $i++) {
    $now = Get-HealthCode $Of
    if ($now -eq $Code) { return }
    if ($sidecars.HasExited) { throw "csi-node-sidecars.exe ended with exit code $($sidecars.ExitCode)" }
    Start-Sleep -Milliseconds 500
  }
  throw "/healthz$Of answers $now, not $Code"
}

# The socket is one for Windows, and behind it is a server of gRPC.
function Assert-Registration {
  Wait-HealthCode "/node-driver-registrar" 200
  $tag = (Invoke-Program "fsutil.exe" "reparsepoint", "query", $registration).Out.Trim()
  Assert-That ($tag -match "0x80000023") "$registration is not a Unix socket: $tag"
  [NodeCheck.Look]::Greet($registration)
  $tag
}

try {
  Test-Part "socket-made" "a driver's socket is found, and the registrar makes one that Windows knows as such and that answers" {
    if (-not (Test-Path $sidecarsProgram)) { Skip-Part "there is no $sidecarsProgram" }
    Add-Type -Path $socketsSource
    New-Item -ItemType Directory -Path $registry | Out-Null
    $free = New-Object System.Net.Sockets.TcpListener([System.Net.IPAddress]::Loopback, 0)
    $free.Start()
    $script:health = "127.0.0.1:$($free.LocalEndpoint.Port)"
    $free.Stop()
    $script:driver = New-Object NodeCheck.Driver($driverSocket, $driverName)
    Start-Sidecars
    Wait-HealthCode "" 200
    Assert-Registration
  }

  Test-Part "socket-descriptor" "SYSTEM, Administrators and the account of the program alone may open the socket" {
    Assert-Passed "socket-made"
    $descriptor = [NodeCheck.Look]::Descriptor($registration)
    $sections = [System.Security.AccessControl.AccessControlSections]"Access, Owner"
    $sddl = $descriptor.GetSddlForm($sections)
    $protected = [System.Security.AccessControl.ControlFlags]::DiscretionaryAclProtected
    Assert-That (($descriptor.ControlFlags -band $protected) -ne 0) "the DACL is not protected: $sddl"
    $trusted = "S-1-5-18", "S-1-5-32-544", [System.Security.Principal.WindowsIdentity]::GetCurrent().User.Value
    $others = @($descriptor.DiscretionaryAcl | Where-Object { $trusted -notcontains $_.SecurityIdentifier.Value })
    Assert-That ($others.Count -eq 0) "others may open it as well: $sddl"
    $sddl
  }

  Test-Part "socket-access" "whoever may not write to a socket's file cannot connect" {
    Assert-Passed "socket-made"
    $private = Join-Path $base "private.sock"
    $other = New-Object NodeCheck.Driver($private, $driverName)
    try {
      [NodeCheck.Look]::Greet($private)
      [NodeCheck.Look]::SetAccess($private, "D:P(A;;FR;;;BA)(A;;FR;;;SY)")
      $refusal = ""
      try { [NodeCheck.Look]::Greet($private) } catch { $refusal = $_.Exception.GetBaseException().Message }
      Assert-That ($refusal -ne "") "who may only read could connect"
      $refusal
    } finally {
      $other.Dispose()
    }
  }

  Test-Part "socket-driver" "a driver that goes makes /healthz fail, and one that comes again mends it" {
    Assert-Passed "socket-made"
    $driver.Dispose()
    Wait-HealthCode "" 500
    $script:driver = New-Object NodeCheck.Driver($driverSocket, $driverName)
    Wait-HealthCode "" 200
  }

  Test-Part "socket-left" "after a crash the socket that is left is removed, and made again" {
    Assert-Passed "socket-made"
    Stop-Sidecars
    $left = [System.IO.File]::GetAttributes($registration)
    Assert-That (($left -band [System.IO.FileAttributes]::ReparsePoint) -ne 0) "what is left is $left"
    Start-Sidecars
    Assert-Registration
  }

  Test-Part "socket-of-another" "a file that is not a socket is neither taken for one nor removed" {
    Assert-Passed "socket-made"
    Stop-Sidecars
    $other = Join-Path $base "other-registry"
    New-Item -ItemType Directory -Path $other | Out-Null
    $file = Join-Path $other "$driverName-reg.sock"
    Set-Content -Path $file -Value "stays"
    $call = Invoke-Program $sidecarsProgram (New-SidecarsFlags $other) 60
    Assert-That ($call.Code -ne 0) "it ended with exit code 0"
    Assert-That ((Get-Content $file) -eq "stays") "the file is not what it was"
    $call.Err.Trim()
  }
} finally {
  Stop-Sidecars
  if ($null -ne $driver) { $driver.Dispose() }
}
