# The scripts of service_installer/windows/bootstrap, with each switch, after each other, and with each program failing.
BeforeAll {
  . "$PSScriptRoot/stand-ins.ps1"
  New-Drive
  $at = "$drive/a release/bin"
  Add-Program $at "csi-proxy-service.exe", "csi-proxy.exe"
  Add-Program "$drive/k" "nssm.exe"
  Add-Program "$drive/my dir" "nssm.exe"
  Copy-Item "$checkout/service_installer/windows/bootstrap/*.ps1" $at
  Set-StandIn "Get-Service" "Name" { param($p) if ($services.ContainsKey($p.Name)) { [pscustomobject]@{ Name = $p.Name; Status = $services[$p.Name] } } elseif ($ErrorActionPreference -eq "Stop") { throw "no service" } }
  Set-StandIn "New-Service" "Name BinaryPathName StartupType"
  Set-StandIn "Start-Service" "Name"
  Set-StandIn "Get-CimInstance" "ClassName" { foreach ($name in $images.Keys) { [pscustomobject]@{ Name = $name; PathName = $images[$name] } } }
  Set-StandIn "Get-FileHash" "Path" { param($p) [pscustomobject]@{ Hash = if ($same) { "" } else { $p.Path } } }
  Set-StandIn "Get-Acl" "Path" { param($p) [pscustomobject]@{ Sddl = $sddl } }
  $sddl = "O:BAG:S-1-5-21-1-2-3-513D:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
  $global:services, $global:images, $global:same = @{}, @{}, $false
  $installer, $program = "csi-proxy-service.exe", "$at/csi-proxy.exe"
  $flags = "[--] [-kubelet-path=C:\var\lib\kubelet] [-logtostderr=false] [-log_file=C:\ProgramData\csi-proxy\logs\csi-proxy.log]"
  $access = "[/inheritance:r] [/grant] [*S-1-5-18:F] [*S-1-5-32-544:F]"
}
AfterAll { Remove-Drive }

Describe "install.ps1" {
  AfterEach { $env:ANSWER = "" }
  It "installs, starts and shows the service" {
    Get-Words { & "$at/install.ps1" } | Should -Be "$installer [install] [--directory] [C:\Program Files\csi-proxy] $flags", "$installer [start]", "$installer [status]"
  }
  It "restarts a service whose settings have changed, unless -NoRestart is given" {
    $env:ANSWER = 'echo the new settings are not used until it is restarted'
    (Get-Words { & "$at/install.ps1" })[1] | Should -Be "$installer [stop]"
    (Get-Words { & "$at/install.ps1" -NoRestart })[1] | Should -Be "$installer [start]"
  }
  It "passes its parameters on, without a backslash at the end" {
    $words = Get-Words { & "$at/install.ps1" -RepairFolders -Directory 'D:\my dir\' -KubeletPath 'E:\' -LogFile 'D:\my logs\a.log' }
    $words[0] | Should -Be "$installer [install] [--directory] [D:\my dir] [--repair-folders] [--] [-kubelet-path=E:\] [-logtostderr=false] [-log_file=D:\my logs\a.log]"
  }
}

Describe "upgrade.ps1" {
  BeforeEach { $global:images = @{ other = 'C:\k\nssm.exe'; none = $null; csiproxy = '"C:\etc\r w\csi-proxy.exe" -windows-service' } }
  AfterEach { $global:same = $false }
  It "upgrades the service that runs csi-proxy.exe" {
    Get-Words { & "$at/upgrade.ps1" } | Should -Be "$installer [upgrade] [--name] [csiproxy] [--binary] [$program]", "$installer [status] [--name] [csiproxy]"
    $calls[-1] | Should -Be "Get-FileHash Path=$program"
    $calls[-2] | Should -Be "Get-FileHash Path=C:\etc\r w\csi-proxy.exe"
  }
  It "passes --repair-folders as one word" {
    (Get-Words { & "$at/upgrade.ps1" -RepairFolders })[0] | Should -Be "$installer [upgrade] [--name] [csiproxy] [--binary] [$program] [--repair-folders]"
  }
  It "leaves the same program alone" {
    $global:same = $true
    Get-Words { & "$at/upgrade.ps1" } | Should -Be "$installer [status] [--name] [csiproxy]"
  }
  It "takes one service of several by its name, and refuses others" {
    $global:images.second = 'C:\k\CSI-Proxy.EXE -v=2'
    Get-Words { & "$at/upgrade.ps1" } | Should -Match "^thrown: several services run csi-proxy.exe"
    (Get-Words { & "$at/upgrade.ps1" -ServiceName second })[0] | Should -Match "\[second\]"
    Get-Words { & "$at/upgrade.ps1" -ServiceName other } | Should -Match "^thrown: service other does not run csi-proxy.exe"
    $global:images = @{ a = 'C:\k\csi-proxy.exe.old'; b = '"C:\k\csi-proxy-service.exe" run'; c = '"C:\k\host.exe" C:\k\csi-proxy.exe' }
    Get-Words { & "$at/upgrade.ps1" } | Should -Match "^thrown: no service runs csi-proxy.exe"
  }
}

Describe "kube-up.ps1" {
  BeforeEach { $global:services = @{} }
  AfterEach { $env:ANSWER = "" }
  It "makes the log's folder and the service, once" {
    $folder = "[/inheritance:r] [/grant] [*S-1-5-18:(OI)(CI)F] [*S-1-5-32-544:(OI)(CI)F]"
    Get-Words { & "$at/kube-up.ps1" -LogsDirectory 'C:\my logs\' } | Should -Be "icacls.exe [C:\my logs] $folder", "sc.exe [failure] [csiproxy] [reset=] [0] [actions=] [restart/10000]", "sc.exe [failureflag] [csiproxy] [1]"
    $calls[-2] | Should -Be 'New-Service Name=csiproxy StartupType=Automatic BinaryPathName="C:\etc\kubernetes\node\bin\csi-proxy.exe" -windows-service "-log_file=C:\my logs\csi-proxy.log" -logtostderr=false'
    $global:services = @{ csiproxy = "Stopped" }
    Get-Words { & "$at/kube-up.ps1" -LogsDirectory 'C:\my logs\' -NodeDirectory 'C:\my dir\' } | Should -BeNullOrEmpty
    $calls[-1] | Should -Be "Start-Service Name=csiproxy"
  }
  It "refuses a new folder that has files already" {
    $env:ANSWER = "touch '$drive/logs 2/csi-proxy.log'"
    Get-Words { & "$at/kube-up.ps1" -LogsDirectory 'C:\logs 2' } | Select-Object -Last 1 | Should -Match "^thrown: .* contains files already"
  }
}

Describe "aks.ps1" {
  BeforeEach {
    $global:services = @{}
    Remove-Item "$drive/k/*.log"
    $set = { param($k) "AppDirectory] [$k", "AppRestartDelay] [5000", "AppStopMethodConsole] [25000", "Description] [CSI Proxy", "Start] [SERVICE_AUTO_START", "AppStdout] [$k\csi-proxy.log", "AppStderr] [$k\csi-proxy.err.log" | ForEach-Object { "nssm.exe [set] [csi-proxy] [$_]" } }
  }
  It "runs csi-proxy by nssm" {
    $global:services = @{ "csi-proxy" = "Stopped" }
    Get-Words { & "$at/aks.ps1" -KubeDirectory 'C:\my dir\' } | Should -Be (@("csi-proxy.log", "csi-proxy.err.log" | ForEach-Object { "icacls.exe [C:\my dir\$_] $access" }) + (& $set 'C:\my dir') + "nssm.exe [start] [csi-proxy]")
  }
  It "keeps safe logs, which nssm has open, and replaces others" {
    Get-Words { & "$at/aks.ps1" } | Select-Object -Index 2, 3 | Should -Be "icacls.exe [C:\k\csi-proxy.err.log] $access", (& $set 'C:\k')[0]
    $global:services = @{ "csi-proxy" = "Running" }
    Set-Content "$drive/k/csi-proxy.log" "a line"
    Get-Words { & "$at/aks.ps1" } | Should -Be (& $set 'C:\k')
    Get-Content "$drive/k/csi-proxy.log" | Should -Be "a line"
    foreach ($sddl in "O:S-1-5-21-1-2-3-1001G:DUD:PAI(A;;FA;;;SY)(A;;FA;;;BA)", "O:BAG:DUD:PAI(A;;FA;;;SY)(A;;FA;;;BU)", "O:BAG:DUD:AI(A;;FA;;;SY)(A;;FA;;;BA)", "O:BAG:DUD:PAI(A;;FA;;;SY)(A;;FA;;;BA)(A;;FR;;;BU)") {
      (Get-Words { & "$at/aks.ps1" })[0] | Should -Be "icacls.exe [C:\k\csi-proxy.log] $access"
      Get-Content "$drive/k/csi-proxy.log" | Should -BeNullOrEmpty
    }
  }
  It "replaces a link in the log's place" {
    New-Item -ItemType SymbolicLink -Path "$drive/k/csi-proxy.log" -Target "$drive/words" | Out-Null
    Get-Words { & "$at/aks.ps1" } | Out-Null
    (Get-Item "$drive/k/csi-proxy.log").LinkType | Should -BeNullOrEmpty
  }
  It "removes nssm with -Native" {
    $install = "$installer [install] [--name] [csi-proxy] [--directory] [C:\my dir] [--replace-wrapper] [--repair-folders]"
    Get-Words { & "$at/aks.ps1" -Native -KubeDirectory 'C:\my dir\' } | Should -Be $install, "$installer [start] [--name] [csi-proxy]"
    $global:services = @{ "csi-proxy" = "Running" }
    (Get-Words { & "$at/aks.ps1" -Native })[0] | Should -Be "$installer [stop] [--name] [csi-proxy]"
  }
}

Describe "a program that fails" {
  It "ends <_>" -ForEach "install.ps1", "upgrade.ps1 -RepairFolders", "kube-up.ps1 -LogsDirectory 'C:\logs 3'", "aks.ps1", "aks.ps1 -Native" {
    $global:images = @{ csiproxy = 'C:\csi-proxy.exe' }
    $global:services = @{ "csi-proxy" = "Stopped" }
    $run = [scriptblock]::Create("& '$at/$($_ -replace ' .*')' $($_ -replace '^\S+')")
    $all = @(Get-Words $run).Count
    $all | Should -BeGreaterThan 1
    foreach ($number in 1..$all) {
      Remove-Item -Recurse "$drive/k/*.log", "$drive/logs 3" -ErrorAction SilentlyContinue
      $env:FAIL_AT = $number
      $words = Get-Words $run
      $env:FAIL_AT = ""
      $words[-1] | Should -Match "^thrown: .* failed with exit code 1"
      $words.Count | Should -Be ($number + 1)
    }
  }
}
