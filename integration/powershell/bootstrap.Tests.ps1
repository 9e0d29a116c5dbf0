# The scripts of service_installer/windows/bootstrap: each switch, a second run, and each program failing.
BeforeDiscovery {
  $i, $n, $only = "csi-proxy-service.exe", "nssm.exe", "[/inheritance:r] [/grant]"; $flags = "[--] [-kubelet-path=C:\var\lib\kubelet] [-logtostderr=false] [-log_file=C:\ProgramData\csi-proxy\logs\csi-proxy.log]"
  $set = { param($k) "AppDirectory] [$k", "AppRestartDelay] [5000", "AppStopMethodConsole] [25000", "Description] [CSI Proxy", "Start] [SERVICE_AUTO_START", "AppStdout] [$k\csi-proxy.log", "AppStderr] [$k\csi-proxy.err.log" | ForEach-Object { "$n [set] [csi-proxy] [$_]" } }
  $logs = { param($k) "csi-proxy.log", "csi-proxy.err.log" | ForEach-Object { "icacls.exe [$k\$_] $only [*S-1-5-18:F] [*S-1-5-32-544:F]" } }
  $upgrade = "$i [upgrade] [--name] [csiproxy] [--binary] [AT/csi-proxy.exe]"; $runs = @{ other = 'C:\k\nssm.exe'; none = $null; csiproxy = '"C:\etc\r w\csi-proxy.exe" -windows-service' }
  $cases = @(
    @{ run = "install.ps1"; words = "$i [install] [--directory] [C:\Program Files\csi-proxy] $flags", "$i [start]", "$i [status]" }
    @{ run = "install.ps1 -RepairFolders -Directory 'D:\my dir\' -KubeletPath 'E:\' -LogFile 'D:\my logs\a.log'"; words = "$i [install] [--directory] [D:\my dir] [--repair-folders] [--] [-kubelet-path=E:\] [-logtostderr=false] [-log_file=D:\my logs\a.log]", "$i [start]", "$i [status]" }
    @{ run = "install.ps1"; answer = "echo until it is restarted"; words = "$i [install] [--directory] [C:\Program Files\csi-proxy] $flags", "$i [stop]", "$i [start]", "$i [status]" }
    @{ run = "install.ps1 -NoRestart"; answer = "echo until it is restarted"; words = "$i [install] [--directory] [C:\Program Files\csi-proxy] $flags", "$i [start]", "$i [status]" }
    @{ run = "upgrade.ps1"; images = $runs; words = $upgrade, "$i [status] [--name] [csiproxy]"; last = "Get-FileHash Path=C:\etc\r w\csi-proxy.exe", "Get-FileHash Path=AT/csi-proxy.exe" }
    @{ run = "upgrade.ps1 -RepairFolders"; images = $runs; words = "$upgrade [--repair-folders]", "$i [status] [--name] [csiproxy]" }
    @{ run = "upgrade.ps1"; images = $runs; same = $true; words = "$i [status] [--name] [csiproxy]" }
    @{ run = "upgrade.ps1"; images = $runs + @{ two = 'C:\k\CSI-Proxy.EXE -v=2' }; words = "thrown: several services run csi-proxy.exe: name one with -ServiceName: *" }
    @{ run = "upgrade.ps1 -ServiceName two"; images = $runs + @{ two = 'C:\k\CSI-Proxy.EXE -v=2' }; words = ($upgrade -replace "csiproxy", "two"), "$i [status] [--name] [two]" }
    @{ run = "upgrade.ps1 -ServiceName other"; images = $runs; words = "thrown: service other does not run csi-proxy.exe; these do: csiproxy" }
    @{ run = "upgrade.ps1"; images = @{ a = 'C:\k\csi-proxy.exe.old'; b = '"C:\k\csi-proxy-service.exe" run'; c = '"C:\k\host.exe" C:\k\csi-proxy.exe' }; words = "thrown: no service runs csi-proxy.exe: run install.ps1 instead" }
    @{ run = "kube-up.ps1 -LogsDirectory 'C:\my logs\'"; words = "icacls.exe [C:\my logs] $only [*S-1-5-18:(OI)(CI)F] [*S-1-5-32-544:(OI)(CI)F]", "sc.exe [failure] [csiproxy] [reset=] [0] [actions=] [restart/10000]", "sc.exe [failureflag] [csiproxy] [1]"; last = 'New-Service Name=csiproxy StartupType=Automatic BinaryPathName="C:\etc\kubernetes\node\bin\csi-proxy.exe" -windows-service "-log_file=C:\my logs\csi-proxy.log" -logtostderr=false', "Start-Service Name=csiproxy" }
    @{ run = "kube-up.ps1 -LogsDirectory 'C:\my dir\'"; services = @{ csiproxy = "Stopped" }; words = @(); last = "Start-Service Name=csiproxy" }
    @{ run = "kube-up.ps1 -LogsDirectory 'C:\logs 2'"; answer = 'touch "${WORDS%words}logs 2/csi-proxy.log"'; words = "icacls.exe *", "thrown: C:\logs 2 is new but contains files already: remove it and run again" }
    @{ run = "aks.ps1 -KubeDirectory 'C:\my dir\'"; services = @{ "csi-proxy" = "Stopped" }; words = (& $logs 'C:\my dir') + (& $set 'C:\my dir') + "$n [start] [csi-proxy]" }
    @{ run = "aks.ps1"; words = @("$n [install] [csi-proxy] [C:\k\csi-proxy.exe]") + (& $logs 'C:\k') + (& $set 'C:\k') + "$n [start] [csi-proxy]" }
    @{ run = "aks.ps1 -Native -KubeDirectory 'C:\my dir\'"; words = "$i [install] [--name] [csi-proxy] [--directory] [C:\my dir] [--replace-wrapper] [--repair-folders]", "$i [start] [--name] [csi-proxy]" }
    @{ run = "aks.ps1 -Native"; services = @{ "csi-proxy" = "Running" }; words = "$i [stop] [--name] [csi-proxy]", "$i [install] [--name] [csi-proxy] [--directory] [C:\k] [--replace-wrapper] [--repair-folders]", "$i [start] [--name] [csi-proxy]" })
}
BeforeAll {
  . "$PSScriptRoot/stand-ins.ps1"; New-Drive; $at = "$drive/a release/bin"; foreach ($place in @($at, "csi-proxy-service.exe"), @("$drive/k", "nssm.exe"), @("$drive/my dir", "nssm.exe")) { Add-Program $place[0] $place[1] }; Copy-Item "$checkout/service_installer/windows/bootstrap/*.ps1" $at
  Set-StandIn "Get-Service" "Name" { if ($services[$p.Name]) { [pscustomobject]@{ Status = $services[$p.Name] } } elseif ($ErrorActionPreference -eq "Stop") { [pscustomobject]@{ Status = "Stopped" } } }
  Set-StandIn "New-Service" "Name BinaryPathName StartupType"; Set-StandIn "Start-Service" "Name"; Set-StandIn "Get-CimInstance" "ClassName" { foreach ($name in $images.Keys) { [pscustomobject]@{ Name = $name; PathName = $images[$name] } } }
  Set-StandIn "Get-FileHash" "Path" { [pscustomobject]@{ Hash = if ($same) { "" } else { $p.Path } } }; Set-StandIn "Get-Acl" "Path" { [pscustomobject]@{ Sddl = $sddl } }; $sddl = "O:BAG:S-1-5-21-1-2-3-513D:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
  function Invoke-Script([string]$Run) { Get-Words ([scriptblock]::Create("& '$at/$($Run -replace ' .*')' $($Run -replace '^\S+')")) }
}
AfterAll { Remove-Drive }
Describe "a script of bootstrap" {
  BeforeEach { Remove-Item "$drive/k/*.log", "$drive/my dir/*.log" -ErrorAction SilentlyContinue }; AfterEach { $env:ANSWER, $env:FAIL_AT = "", "" }
  It "gives each program its words: <run> (<answer>)" -ForEach $cases {
    $services, $images, $env:ANSWER = $(if ($services) { $services } else { @{} }), $(if ($images) { $images } else { @{} }), "$answer"; $said = @(Invoke-Script $run); $said.Count | Should -Be @($words).Count -Because ($said -join "`n")
    for ($k = 0; $k -lt $said.Count; $k++) { $said[$k] | Should -BeLike ((@($words)[$k] -replace "AT/", "$at/") -replace "([\[\]])", '`$1') }; if ($last) { $calls | Select-Object -Last @($last).Count | Should -Be ($last -replace "AT/", "$at/") }
  }
  It "keeps safe logs, which nssm has open, and replaces others" {
    $services = @{ "csi-proxy" = "Running" }; Invoke-Script "aks.ps1" | Should -HaveCount 9; Set-Content "$drive/k/csi-proxy.log" "a line"; Invoke-Script "aks.ps1" | Should -HaveCount 7; Get-Content "$drive/k/csi-proxy.log" | Should -Be "a line"
    foreach ($sddl in "O:S-1-5-21-1-2-3-1001G:DUD:PAI(A;;FA;;;SY)(A;;FA;;;BA)", "O:BAG:DUD:PAI(A;;FA;;;SY)(A;;FA;;;BU)", "O:BAG:DUD:AI(A;;FA;;;SY)(A;;FA;;;BA)", "O:BAG:DUD:PAI(A;;FA;;;SY)(A;;FA;;;BA)(A;;FR;;;BU)") {
      Invoke-Script "aks.ps1" | Should -HaveCount 9; Get-Content "$drive/k/csi-proxy.log" | Should -BeNullOrEmpty
    }
    $sddl = "O:BAG:DUD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"; Remove-Item "$drive/k/csi-proxy.log"; New-Item -ItemType SymbolicLink -Path "$drive/k/csi-proxy.log" -Target "$drive/words" | Out-Null
    Invoke-Script "aks.ps1" | Should -HaveCount 8; (Get-Item "$drive/k/csi-proxy.log").LinkType | Should -BeNullOrEmpty
  }
  It "upgrades to the same program after an interrupted upgrade" {
    $services, $images, $same = @{}, @{ csiproxy = 'C:\k\csi-proxy.exe' }, $true; Invoke-Script "upgrade.ps1" | Should -HaveCount 1
    Set-Content "$drive/k/csi-proxy.exe.upgrading" "ran"; @(Invoke-Script "upgrade.ps1")[0] | Should -BeLike "*``[upgrade``]*"; Remove-Item "$drive/k/csi-proxy.exe.upgrading"
  }
  It "ends when a program fails: <_>" -ForEach "install.ps1", "upgrade.ps1 -RepairFolders", "kube-up.ps1 -LogsDirectory 'C:\logs 3'", "aks.ps1", "aks.ps1 -Native" {
    $services, $images = @{ "csi-proxy" = "Stopped" }, @{ csiproxy = 'C:\csi-proxy.exe' }; $all = @(Invoke-Script $_).Count; $all | Should -BeGreaterThan 1
    foreach ($number in 1..$all) { Remove-Item -Recurse "$drive/k/*.log", "$drive/logs 3" -ErrorAction SilentlyContinue; $env:FAIL_AT = $number; $words = Invoke-Script $_; $words[-1] | Should -Match "^thrown: .* failed with exit code 1"; $words.Count | Should -Be ($number + 1) }
  }
}
