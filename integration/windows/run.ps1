<#
.SYNOPSIS
  Runs on a real Windows node what is tested elsewhere under Wine or over models. README.md says what each part settles.
.DESCRIPTION
  Writes PART.txt and PART.json into the folder of the report, whatever happens, and the logs of what ran into a folder PART there. Ends
  with exit code 1 when something failed, and with 3 when something did not come to its end.

  It changes the machine: services, virtual disks, shares, Windows' roles, files below C:\ and %ProgramFiles%. Run it as administrator on
  a machine that is thrown away afterwards.
.PARAMETER Packed
  The folder that integration/windows/pack.sh has made.
.PARAMETER Only
  With the part tests: the tests whose names match this expression.
#>
#Requires -Version 5.1
[CmdletBinding()]
param(
  [Parameter(Mandatory = $true)]
  [ValidateSet("node-check", "service", "tests", "container", "drivers", "upstream", "bench")][string]$Part,
  [string]$Packed = "packed", [string]$Report = "report", [string]$Only = "."
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = "Stop"

$logs = (New-Item -ItemType Directory -Force -Path (Join-Path $Report $Part)).FullName
$scripts = (Resolve-Path (Join-Path $PSScriptRoot "..\..\service_installer\windows")).Path
. (Join-Path $scripts "node-check\harness.ps1")
Get-Administrator | Out-Null
$from = Get-NetPath $Packed
$programs = Join-Path $from "programs"
$ctl, $proxy, $hostile = "csi-proxyctl.exe", "csi-proxy.exe", "hostile.exe" | ForEach-Object { Join-Path $programs $_ }
$goClient, $goRelease = "load.exe", "csi-proxy-go.exe" | ForEach-Object { Join-Path $from "bench\$_" }
# Shows details, because the machine is discarded after the run.
$showDetails = $true
$windows = Get-CimInstance Win32_OperatingSystem
$revision = Get-RegistryValue "SOFTWARE\Microsoft\Windows NT\CurrentVersion" "UBR"
$about = "$($windows.Caption), build $($windows.BuildNumber).$revision"

# Runs a program to its end and appends its output to NAME.log. Fails unless it exits with $Code.
function Invoke-Logged([string]$Name, [string]$Path, [string[]]$Arguments, [int]$Seconds = 600, [int]$Code = 0) {
  $call = Invoke-Program $Path $Arguments $Seconds
  $said = "$($call.Out)`n$($call.Err)".Trim()
  [System.IO.File]::AppendAllText((Get-NetPath "$logs\$Name.log"), "$Path $($Arguments -join ' ')`n$said`n", $utf8)
  $tail = @($said -split "`n" | Select-Object -Last 8) -join " "
  Assert-That ($call.Code -eq $Code) "exit code $($call.Code), not ${Code}: $tail"
  $said
}

# --- The service ---

# The installer accepts only a folder that nobody but administrators may write to, as below %ProgramFiles%.
$installed = Join-Path $env:ProgramFiles "csi-proxy"
$service = Join-Path $installed "csi-proxy-service.exe"
$serviceLogs = Join-Path $env:ProgramData "csi-proxy\logs"
$serviceFlags = "-logtostderr=false", "-log_file=$serviceLogs\csi-proxy.log", "-v=2"

function Install-Proxy {
  New-Item -ItemType Directory -Force -Path "C:\var\lib\kubelet\plugins", "C:\var\lib\kubelet\pods" | Out-Null
  Invoke-Logged "service" (Join-Path $programs "csi-proxy-service.exe") (@("install", "--directory", $installed, "--") + $serviceFlags) | Out-Null
  Invoke-Logged "service" $service "start" | Out-Null
  Assert-Answering
  Invoke-Logged "service" $service "status"
}

function Assert-Answering {
  $doctor = Invoke-Program $ctl "doctor"
  Assert-That ($doctor.Code -eq 0) "csi-proxyctl doctor: $($doctor.Out) $($doctor.Err)"
  $doctor.Out.Trim()
}

# Opens a client that sends nothing and stays open, as released Go clients do.
function Open-Abandoned { Open-Pipe "." "csi-proxy-filesystem-v1" 5000 }

function Test-Service {
  $next = Join-Path $installed "next.exe"
  $installedProgram = Join-Path $installed "csi-proxy.exe"
  Test-Part "install" "csi-proxy-service installs the service, and all its pipes answer" { Install-Proxy }
  Test-Part "upgrade" "an upgrade serves" -Needs "install" {
    # The program with another byte at its end, which Windows ignores.
    [System.IO.File]::WriteAllBytes((Get-NetPath $next), [System.IO.File]::ReadAllBytes((Get-NetPath $installedProgram)) + [byte]1)
    $size = (Get-Item $next).Length
    Invoke-Logged "service" $service "upgrade", "--binary", $next
    Assert-That ((Get-Item $installedProgram).Length -eq $size) "the old program is still there"
    Assert-Answering
  }
  foreach ($broken in @("no program", "cmd.exe")) {
    Test-Part "rollback ($broken)" "an upgrade to what does not serve brings the old program back" -Needs "install" {
      Set-Content -Path $next -Value $broken
      if ($broken -ne "no program") { Copy-Item (Join-Path $env:SystemRoot "System32\$broken") $next -Force }
      $before = (Get-FileHash $installedProgram).Hash
      $said = Invoke-Logged "service" $service @("upgrade", "--timeout=20s", "--binary", $next) -Code 1
      Assert-That ($said -match "the old program has been restored") $said
      Assert-That ((Get-FileHash $installedProgram).Hash -eq $before) "the program is not the old one"
      Assert-Answering
    }
  }
  Test-Part "rights" "an administrator makes no instance of the pipe, and opens it neither with WRITE_DAC nor WRITE_OWNER" -Needs "install" {
    Invoke-Logged "rights" $hostile "-rights=filesystem-v1"
  }
  Test-Part "crash" "the service manager starts the service again after a crash, while clients that never close it have a pipe open" -Needs "install" {
    $clients = foreach ($i in 1..10) { Open-Abandoned }
    Stop-Process -Force -Id (Get-CimInstance Win32_Service -Filter "Name = 'csi-proxy'").ProcessId
    $until = (Get-Date).AddSeconds(60)
    do { Start-Sleep -Seconds 1 } until ((Get-Service "csi-proxy").Status -eq "Running" -or (Get-Date) -gt $until)
    Assert-Answering
    foreach ($client in $clients) { $client.Dispose() }
  }
  Test-Part "completion" "Windows PowerShell completes the command line of csi-proxyctl" {
    Invoke-Expression (Invoke-Checked $ctl "completion", "powershell")
    foreach ($pair in @("csi-proxyctl disk resc", "rescan"), @("csi-proxyctl disk rescan --ti", "--timeout"), @("csi-proxyctl disk rescan --output=wi", "--output=wide")) {
      $offered = @([System.Management.Automation.CommandCompletion]::CompleteInput($pair[0], $pair[0].Length, $null).CompletionMatches | ForEach-Object { $_.CompletionText })
      Assert-That ($offered.Count -eq 1 -and $offered[0] -eq $pair[1]) "'$($pair[0])' is completed to '$($offered -join ' ')'"
    }
  }
  Test-Part "uninstall" "nothing of the service stays" -Needs "install" {
    Invoke-Logged "service" $service "uninstall"
    Assert-That ($null -eq (Get-Service "csi-proxy" -ErrorAction SilentlyContinue)) "the service is still there"
  }
  Test-Part "take-over" "the service of the Go release serves, and is then replaced under its own name" -Needs "uninstall" {
    Copy-Item $goRelease (Join-Path $installed "csi-proxy-go.exe")
    $line = "`"$installed\csi-proxy-go.exe`" -windows-service -logtostderr=false -log_file=$serviceLogs\csi-proxy.log"
    New-Service -Name "csiproxy" -BinaryPathName $line | Out-Null
    Start-Service "csiproxy"
    Invoke-Logged "take-over" $goClient "-first" | Out-Null
    $client = Open-Abandoned
    $said = Invoke-Logged "take-over" $service "install", "--binary", $installedProgram
    Assert-That ($said -match "change service csiproxy") $said
    Invoke-Logged "take-over" $service "stop" | Out-Null
    Invoke-Logged "take-over" $service "start" | Out-Null
    Invoke-Logged "take-over" $goClient "-first" | Out-Null
    # Our clients accept only a pipe that SYSTEM owns, although it has the Go release's name.
    Assert-Answering
    $client.Dispose()
    Invoke-Logged "take-over" $service "uninstall" | Out-Null
  }
}

# --- The tests that ctest runs under Wine ---

function Test-Natively {
  Test-Part "prepare" "the tests and the sources that they read are unpacked" {
    $script:known = Get-Content (Join-Path $from "tests.json") -Raw | ConvertFrom-Json
    # The tests contain paths of the build without a drive, which Windows resolves on the current one.
    $root = "C:" + $known.root.Replace("/", "\")
    $temporary = "C:\csi-proxy-tests"
    New-Item -ItemType Directory -Force -Path $root, $temporary | Out-Null
    Invoke-Logged "prepare" "tar.exe" "-xf", (Join-Path $from "tree.tar"), "-C", $root | Out-Null
    # Access like that of %ProgramFiles%, in a path without a space.
    Invoke-Logged "prepare" "icacls.exe" $temporary, "/inheritance:r", "/grant:r", "*S-1-5-32-544:(OI)(CI)F", "*S-1-5-18:(OI)(CI)F" | Out-Null
    Invoke-Logged "prepare" "icacls.exe" $temporary, "/setowner", "*S-1-5-32-544" | Out-Null
    $env:TEMP = $temporary
    $env:TMP = $temporary
    [Environment]::CurrentDirectory = Get-NetPath "C:\"
  }
  if ((Get-Count "OK") -ne 1) { return }
  foreach ($test in $known.tests) {
    if ($test.name -notmatch $Only) { continue }
    Test-Part $test.name "passes without Wine" {
      if ($test.left_out -ne "") { Skip-Part $test.left_out }
      foreach ($pair in $test.environment) { $name, $value = $pair -split "=", 2; Set-Item "Env:$name" $value }
      try {
        $said = Invoke-Logged $test.name "C:$($test.command[0].Replace('/', '\'))" @($test.command | Select-Object -Skip 1) $test.timeout
        @($said -split "`n" | Select-String "^\[  PASSED  \]|^\[  SKIPPED \]" | ForEach-Object { $_.Line.Trim() }) -join ", "
      } finally { foreach ($pair in $test.environment) { Remove-Item "Env:$(($pair -split '=', 2)[0])" } }
    }
  }
}

# --- A process-isolated container with one pipe ---

function Test-Container {
  $pipe = "\\.\pipe\csi-proxy-filesystem-v1"
  $tag = "ltsc2022"
  if ([int]$windows.BuildNumber -ge 26100) { $tag = "ltsc2025" }
  $image = "mcr.microsoft.com/windows/nanoserver:$tag"
  $beside = Join-Path $env:SystemDrive "csi-proxy-container"
  $admin = "ContainerAdministrator"
  $inside = "--rm", "--isolation=process", "--network=none", "--volume=${beside}:C:\programs:ro", "--volume=${pipe}:${pipe}"
  # Runs a command in the container as an account.
  function Invoke-Inside([string]$Account, [string[]]$Command, [int]$Code = 0) {
    Invoke-Logged "container" "docker.exe" (@("run", "--user=$Account") + $inside + @($image) + $Command) 300 $Code
  }
  Test-Part "install" "csi-proxy-service installs the service, and all its pipes answer" { Install-Proxy }
  Test-Part "image" "a container of this Windows runs" {
    New-Item -ItemType Directory -Force -Path $beside | Out-Null
    Copy-Item $ctl, $hostile, $goClient $beside
    Invoke-Logged "container" "docker.exe" "pull", $image -Seconds 1800 | Out-Null
    # The machine cannot start an image newer than itself
    # (https://github.com/actions/runner-images/issues/11582).
    Invoke-Logged "container" "docker.exe" "image", "inspect", "--format={{.OsVersion}}", $image
    Invoke-Inside $admin "cmd.exe", "/c", "ver"
  }
  $look = "C:\programs\csi-proxyctl.exe", "filesystem", "path-exists", "--path=C:\var\lib\kubelet", "--api=v1"
  # For each case: the account, the expected exit code and the command.
  $cases = [ordered]@{
    "C++ client" = @($admin, 0) + $look
    "Go client" = $admin, 0, "C:\programs\load.exe", "-first"
    # The administrator can neither create an instance of the pipe nor open it with WRITE_DAC or WRITE_OWNER.
    "rights" = $admin, 0, "C:\programs\hostile.exe", "-rights=filesystem-v1"
    # A pipe that was not mounted does not exist.
    "other pipes" = $admin, 3, "C:\programs\csi-proxyctl.exe", "disk", "list-disk-ids"
    "other accounts" = @("ContainerUser", 3) + $look
  }
  foreach ($name in $cases.Keys) {
    Test-Part $name "what the account may do with the mounted pipe" -Needs "install", "image" {
      $account, $code, $command = $cases[$name]
      Invoke-Inside $account $command -Code $code
      # Fails if the container could create an instance, which would answer instead.
      Assert-Answering | Out-Null
    }
  }
}

# --- Drivers' own code ---

function Test-Drivers {
  $steps = Join-Path $PSScriptRoot "..\drivers\steps\machine.ps1" | Resolve-Path
  $descriptors = Join-Path $from "drivers\admin.pb"
  $env:CSI_PROXYCTL = $ctl
  # Runs a driver's program to its end. Fails with the steps that failed.
  function Invoke-Driver([string]$Name, [string]$Program, [string[]]$Node) {
    $at = New-Item -ItemType Directory -Force -Path (Join-Path $logs $Name)
    $flags = $Node + @("-descriptors=$descriptors", "-directory=$($at.FullName)")
    $call = Invoke-Program (Join-Path $from "drivers\$Program.exe") $flags 3600
    Write-Text (Join-Path $at "steps.log") $call.Out
    Write-Text (Join-Path $at "driver.log") $call.Err
    $lines = $call.Out -split "`n"
    $bad = @($lines | Where-Object { $_ -match "^FAILED" })
    Assert-That ($call.Code -eq 0) "exit code $($call.Code); $($bad -join '; ') $(@($call.Err -split "`n" | Select-Object -Last 3) -join ' ')"
    @($lines | Where-Object { $_ -match "^total" } | ForEach-Object { ($_ -replace "^total\t", "") -replace "\t", " " }) -join "; "
  }
  $nodes = [ordered]@{ "simulated" = "-service=$programs\csi-proxy-simulated.exe"; "machine" = "-machine=$steps" }
  foreach ($node in $nodes.Keys) {
    if ($node -eq "machine") { Test-Part "install" "csi-proxy-service installs the service, and all its pipes answer" { Install-Proxy } }
    foreach ($program in "azuredisk", "azurefile", "gcp_pd", "replay") {
      Test-Part "$program, $node" "the driver's own code takes a volume of the simulated node, or of this machine, through its life" {
        if ($node -eq "machine") { Assert-Passed "install" }
        Invoke-Driver "$program-$node" $program $nodes[$node]
      }
    }
  }
}

# --- The Go release's own tests ---

function Test-Upstream {
  # The tests read the metrics at this address.
  $serviceFlags = $serviceFlags + "-metrics-bind-address=localhost:8888"
  Test-Part "install" "csi-proxy-service installs the service, and all its pipes answer" { Install-Proxy }
  Test-Part "virtual disks" "Windows has the commands for virtual disks" { (Install-WindowsFeature -Name "Hyper-V-PowerShell").ExitCode }
  # Set as in upstream's workflow, because the disks of GitHub's machines do not answer page 83.
  $env:CSI_PROXY_GH_ACTIONS = "TRUE"
  $env:ENABLE_ISCSI_TESTS = "TRUE"
  $env:ETHERNET_NAME = @(Get-NetIPAddress -AddressFamily IPv4 -PrefixOrigin Dhcp)[0].InterfaceAlias
  foreach ($test in "TestFilesystemAPIGroup", "TestDiskAPIGroup", "TestVolumeAPIs", "TestSmbAPIGroup", "TestIscsiAPIGroup", "TestGetBIOSSerialNumber", "TestServiceCommands") {
    Test-Part $test "upstream's test passes" -Needs "install" {
      $said = Invoke-Logged $test (Join-Path $from "upstream\tests.exe") "-test.v", "-test.run=^$test`$" 1200
      @($said -split "`n" | Where-Object { $_ -match "--- (PASS|SKIP)" } | ForEach-Object { $_.Trim() }) -join "; "
    }
  }
}

# --- Beside the Go release ---

function Test-Bench {
  Test-Part "bench" "both services are measured, in turns" {
    New-Item -ItemType Directory -Force -Path "C:\var\lib\kubelet" | Out-Null
    $figures = Join-Path $logs "windows"
    $said = Invoke-Logged "bench" (Join-Path $from "bench\peer.exe") @("windows", $proxy, $goRelease, $goClient, $figures, "5", "5") 3600
    Assert-That (Test-Path "$figures.json") "there are no figures"
    "`n$said"
  }
}

# --- node-check ---

function Test-Node {
  Test-Part "iscsi-target" "Windows has the role of an iSCSI target" {
    (Install-WindowsFeature -Name "FS-iSCSITarget-Server" -IncludeManagementTools).ExitCode
  }
  Test-Part "node-check" "service_installer/windows/node-check.ps1 passes" {
    $global:LASTEXITCODE = 0
    & (Join-Path $scripts "node-check.ps1") -Directory $programs -Report (Join-Path $logs "node-check") -Note "a runner of GitHub"
    if ($LASTEXITCODE -gt 1) { throw "exit code ${LASTEXITCODE}: a part did not come to its end; node-check\REPORT.md says which" }
    Assert-That ($LASTEXITCODE -eq 0) "exit code $LASTEXITCODE; node-check\REPORT.md says which part failed"
  }
}

$run = @{
  "node-check" = "Test-Node"; "service" = "Test-Service"; "tests" = "Test-Natively"; "container" = "Test-Container"
  "drivers" = "Test-Drivers"; "upstream" = "Test-Upstream"; "bench" = "Test-Bench"
}
try { & $run[$Part] } catch { Add-RunError $_ }
foreach ($log in Get-ChildItem "$serviceLogs\*" -ErrorAction SilentlyContinue) { Copy-Item $log.FullName $logs }
Add-Fact "programs" { Get-ChildItem "$programs\*" | Get-FileHash | Format-Table -AutoSize -Property "Hash", "Path" }

$summary = "${Part}: $(Get-Count "OK") passed, $(Get-Count "FAILED") failed, $(Get-Count "ERROR") did not come to their end, $(Get-Count "SKIPPED") skipped"
$whole = [pscustomobject]@{ schema = 1; about = $about; summary = $summary; parts = $parts; facts = $facts }
Write-Text "$logs.json" (ConvertTo-Json -Depth 5 -InputObject $whole)
$table = $parts | Format-Table -Wrap -AutoSize -Property "name", "result", "milliseconds", "detail" | Out-String -Width 200
$told = $facts | Format-List -Property "name", "value" | Out-String -Width 200
# Removes NUL and other control characters, because of which tools would treat the text as binary.
Write-Text "$logs.txt" (@($about, $table, $told, $summary) -replace '[^\P{Cc}\r\n\t]', '')
# GitHub shows this file on the run's page.
if ($env:GITHUB_STEP_SUMMARY) { Write-Text $env:GITHUB_STEP_SUMMARY @("### $summary", $about, "~~~", $table.Trim(), "~~~") }
Write-Host $summary
exit (Get-OutcomeCode)
