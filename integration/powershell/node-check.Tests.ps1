# node-check.ps1 over the simulated node: from a release's folder with spaces, on nodes that lack something, with a service that is killed.
BeforeDiscovery { $faulty = @(
    @{ node = "a mute BIOS"; edit = { $_ -notmatch "^bios_" }; bad = "selftest/bios FAILED"; skipped = "bios-agrees"; words = "bios.*the serial number" }
    @{ node = "no service EventLog"; edit = { $_ -notmatch "EventLog" }; bad = "selftest/service FAILED"; skipped = "event-log"; words = "EventLog does not run" }
    @{ node = "a mute disk"; edit = { $true }; more = "disk { number: 3 size_bytes: 1073741824 page83_error { code: 21 } serial_number: `"MUTE`" }"; bad = @(); skipped = @(); words = "fallbacks . OK . disk-does-not-answer \d+, reading page 83 of disk 3.*not ready" }) }
BeforeAll {
  . "$PSScriptRoot/node.ps1"
  $healthy = Get-Content "$PSScriptRoot/node.textproto"; $scripts = "$checkout/service_installer/windows"
  $listed = [regex]::Matches(((Get-Content -Raw "$scripts/node-check.ps1") -replace '(?s)^.*\$files = |\n}.*$'), '"([^"]+)"') | ForEach-Object { $_.Groups[1].Value }
  # Checks a node from the release's folder. Returns the report with its text, what the script printed, and the exit code.
  function Invoke-Check([hashtable]$With = @{}, [string[]]$Scenario = $healthy, [scriptblock]$First = { }) {
    . "$PSScriptRoot/node.ps1"; New-Node ($Scenario -join "`n")
    . $First
    Push-Location $release; try { $said = & "$release/share/csi-proxy/node-check.ps1" @With 6>&1 | Out-String -Width 300 } finally { Pop-Location; $code = $LASTEXITCODE; if (Get-ServicePid) { & "$release/bin/csi-proxy-service.exe" uninstall } }
    if (-not (Test-Path "$release/node-check-report/report.json")) { return [pscustomobject]@{ code = $code; said = $said } }; $report = Get-Content -Raw "$release/node-check-report/report.json" | ConvertFrom-Json
    $report | Add-Member -NotePropertyMembers @{ code = $code; said = $said; text = Get-Content -Raw "$release/node-check-report/REPORT.md" } -PassThru
  }
  function Get-Parts($Report, [string]$But) { @($Report.parts | Where-Object { $_.result -notmatch $But } | ForEach-Object { "$($_.name) $($_.result)" }) }
  function Get-Left { @("C:\Windows\Temp\csi-proxy-node-check", "C:\Program Files\csi-proxy-node-check", "C:\var\lib\kubelet\csi-proxy-node-check" | Where-Object { Test-Path $_ }) + @($others.Keys) }
  $first = Invoke-Check @{ DiskNumber = 2; Note = "a test"; Print = $true }
}
AfterAll { Remove-Drive }
Describe "a node" {
  It "passes every part, and is left as it was" {
    Get-Parts $first "OK|SKIPPED" | Should -BeNullOrEmpty -Because $first.text; Get-Parts $first "OK" | Should -Be "host-process SKIPPED", "kubelet-mounted SKIPPED"
    @($first.parts | ForEach-Object { $_.name }) | Should -Be (@($listed) + "clean-up"); $first.code | Should -Be 0; Get-Left | Should -BeNullOrEmpty
    "$($services.MSiSCSI) $($services.defragsvc)" | Should -Be "Stopped Running"
  }
  It "reports the types of each class of WMI, and masks names and secrets" {
    $first.text | Should -Match "^# CSI Proxy on a node\n\nMicrosoft Windows Server 2022 Datacenter, build 20348.2322, a test"; @($first.facts | Where-Object { $_.name -like "WMI *" }).Count | Should -Be 8
    ($first.facts | Where-Object { $_.name -eq "WMI MSFT_Disk" }).value | Should -Match "(?m)^Size UInt64 68719476736$"
    ($first.facts | Where-Object { $_.name -eq "WMI MSFT_SmbGlobalMapping" }).value | Should -Match "RemotePath String \\\\<host-1>"; $first.said | Should -Match "=== report.json"; $first.said | Should -Not -Match "WINNODE|Müller|IDN-12345|Aa1![0-9a-f]{8}|vol0a1b2c3d4e5f60789"
  }
  It "passes in a HostProcess container, where the service runs in console mode" {
    $env:CONTAINER_SANDBOX_MOUNT_POINT = "C:\hpc"; try { $report = Invoke-Check @{ KubeletMounted = $true } } finally { $env:CONTAINER_SANDBOX_MOUNT_POINT = "" }
    Get-Parts $report "OK|SKIPPED" | Should -BeNullOrEmpty -Because $report.text; Get-Parts $report "OK" | Should -Be "fresh-disk SKIPPED", "service-settings SKIPPED", "event-log SKIPPED"
  }
  It "with <node> passes all other parts, and settles no doubt by it" -ForEach $faulty {
    $report = Invoke-Check @{ DiskNumber = 2 } @(@($healthy | Where-Object $edit) + "$more") { if ($node -match "EventLog") { $services.Remove("EventLog") } }; Get-Parts $report "OK|SKIPPED" | Should -Be $bad -Because $report.text
    Get-Parts $report "OK" | Should -Be (@(@($listed) + "selftest/bios", "selftest/service" | ForEach-Object { if ($skipped -contains $_) { "$_ SKIPPED" } elseif ("$bad" -eq "$_ FAILED") { "$_ FAILED" } elseif ($_ -match "host-process|mounted") { "$_ SKIPPED" } }) | Where-Object { $_ -notmatch "detach" } | Sort-Object { [array]::IndexOf(@($report.parts | ForEach-Object { $_.name }), ($_ -split " ")[0]) })
    $report.text | Should -Match $words; foreach ($doubt in $report.doubts) { $before = @($first.doubts | Where-Object { $_.number -eq $doubt.number })[0].settled; if ($doubt.settled -ne $before) { $doubt.settled | Should -BeIn "in part", "no" -Because "doubt $($doubt.number): $($doubt.did)" } }
  }
}
Describe "a service that ends" {
  It "is named in the report's first line, with the end of its log, and hides no other part" {
    $report = Invoke-Check @{} $healthy {
      Set-Seam "Open-Pipe" "Server Name Milliseconds" { Stop-Process -Id (Get-ServicePid); while (Test-Running (Get-ServicePid)) { [Threading.Thread]::Sleep(10) }; throw "access is denied" }
      # Windows starts the service again.
      Set-StandIn "Start-Sleep" "Seconds Milliseconds" { if (-not (Test-Running (Get-ServicePid))) { Start-Service "csi-proxy-node-check" } }; Set-StandIn "Remove-LocalUser" "In<" { throw "no user with $sharePassword" }
    }
    ($report.text -split "\n")[0] | Should -Be "# CSI Proxy on a node: the service's process ended during the part remote-client"
    ($report.parts | Where-Object { $_.name -eq "remote-client" }).detail | Should -Match "^the service's process \d+ ended during this part, and process \d+ serves now; the end of its log: .*csi-proxy"
    Get-Parts $report "OK|SKIPPED" | Should -Be "remote-client FAILED", "clean-up ERROR"; $report.parts[-1].detail | Should -Match "left behind: user csi-node-check; Remove-Shares: no user with <secret-\d>"; $report.code | Should -Be 1
  }
  It "is found between any two parts, also when it was started again" {
    . "$PSScriptRoot/node.ps1"; Set-Seam "Get-Processes" "" { [pscustomobject]@{ Id = $global:id } }; Set-Seam "Test-Answering" "" { $global:id -ne 0 }
    Set-Content "$drive/parts.ps1" @'
param($library, $names, $killed, $again)
foreach ($file in "harness", "proxy") { . "$library/$file.ps1" }; $showDetails, $programs, $watched, $global:id, $watch = $false, "C:\none", 5, 5, { Watch-Proxy $args[0] }
Add-Part "up" "" "OK" ""
foreach ($number in 1..$names.Count) {
  if ($number -eq $killed) { $global:id = $again }
  Test-Part $names[$number - 1] "" { } "up"
}
[pscustomobject]@{ ended = $ended; failed = @($parts | Where-Object { $_.result -eq "FAILED" } | ForEach-Object { $_.name }); skipped = Get-Count "SKIPPED" }
'@
    foreach ($again in 0, 7) {
      foreach ($killed in 1..$listed.Count) {
        $run = & "$drive/parts.ps1" "$scripts/node-check" $listed $killed $again 6>$null; $run.ended | Should -Be $listed[$killed - 1]; $run.failed | Should -Be $listed[$killed - 1]; $run.skipped | Should -Be $(if ($again) { 0 } else { $listed.Count - $killed })
      }
    }
  }
  AfterAll { Remove-Item alias:Get-Processes, alias:Test-Answering -ErrorAction SilentlyContinue }
}
Describe "the script itself" {
  It "goes on after a file that does not parse, and lists the parts that were not reached" {
    $report = Invoke-Check @{} $healthy {
      Set-Content "$release/share/csi-proxy/node-check/network.ps1" "function ("
      Set-Content "$release/share/csi-proxy/node-check/disks.ps1" "`$unset"; Set-Content "$release/share/csi-proxy/node-check/service.ps1" ""
    }
    @($report.parts | Select-Object -First 2 | ForEach-Object { "$($_.name) $($_.result)" }) | Should -Be "run ERROR", "run ERROR"
    "$($report.parts[0].detail) $($report.parts[1].detail)" | Should -Match "unset.*network.ps1"
    @($report.parts | Where-Object { $_.result -eq "NOT REACHED" }).Count | Should -Be 30; ($report.parts | Where-Object { $_.name -eq "mount-seen" }).result | Should -Be "OK" -Because $report.text; $report.summary | Should -Match "30 not reached"; $report.code | Should -Be 3
  }
  It "changes nothing where another release is <_>" -ForEach "a process", "a service", "a pipe" {
    $report = Invoke-Check @{} $healthy {
      $global:kind = $_; Set-StandIn "Get-Process" "Name Id" { if ($kind -eq "a process") { [pscustomobject]@{ Id = 1; Path = "C:\etc\go\csi-proxy.exe" } } }
      Set-StandIn "Get-Service" "Name" { if ($kind -eq "a service") { [pscustomobject]@{ Name = "csiproxy" } } }; Set-Seam "Test-Pipe" "Name" { $kind -eq "a pipe" }; Set-Seam "Get-ProgramVersion" "Path" { "" }; Set-Seam "Get-RegistryValue" "Key Value" { '"C:\etc\go\csi-proxy.exe" -windows-service' }
    }
    $report.code | Should -Be 4; $report.said | Should -Match $(if ($_ -eq "a pipe") { "another release" } else { "program 'C:\\etc\\go\\csi-proxy.exe'" }); Get-Left | Should -BeNullOrEmpty; $calls -match "New-|Start-|Mount-" | Should -BeNullOrEmpty
  }
  It "does not begin without its programs, or where an earlier run has left something" {
    (Invoke-Check @{ Directory = "C:\none" }).code | Should -Be 2; $report = Invoke-Check @{} $healthy { New-Item -ItemType Directory -Path "$release/node-check-report" | Out-Null }; $report.code | Should -Be 2
    $report.said | Should -Match "node-check-report exists already"; Get-Left | Should -BeNullOrEmpty
  }
  It "removes a tree, but no target of a link" {
    . "$scripts/node-check/harness.ps1"; . "$scripts/node-check/node.ps1"
    New-Item -ItemType Directory -Path "C:\tree\deep", "C:\kept" | Out-Null; Set-Content "C:\kept\file" "x"; Set-Content "C:\tree\deep\read-only" "x"; (Get-Item "C:\tree\deep\read-only").IsReadOnly = $true
    foreach ($link in "C:\tree\deep\link", "C:\tree\file", "C:\alone") { Microsoft.PowerShell.Management\New-Item -ItemType SymbolicLink -Path $link -Target $(if ($link -match "file") { "$drive/kept/file" } else { "$drive/kept" }) | Out-Null }
    Remove-Tree "C:\tree"; Remove-Tree "C:\alone"; Remove-Tree "C:\none"; Test-Path "C:\tree" | Should -BeFalse; Test-Path "C:\kept\file" | Should -BeTrue
  }
  It "reads a flag of a service with quotation marks in each place" {
    . "$scripts/node-check/proxy.ps1"
    foreach ($line in '"C:\a b\csi-proxy.exe" "-log_file=C:\l o\x.log" -v=2', 'C:\csi-proxy.exe --log_file "C:\l o\x.log"', 'C:\csi-proxy.exe -log_file="C:\l o\x.log"') { Set-Seam "Get-ServiceValue" "Name Value" { $line }; Get-ServiceFlag "x" "log_file" | Should -Be "C:\l o\x.log" }
    Get-ServiceFlag "x" "v" | Should -Be $(if ($line -match "-v") { "2" } else { "" }); Remove-Item alias:Get-ServiceValue
  }
  It "has a part, or a step, for each doubt, and judges none by the whole selftest" {
    $known = @($listed) + @([regex]::Matches((Get-Content -Raw "$checkout/client/ctl/selftest/steps.cc"), '\{"([a-z-]+)",') | ForEach-Object { "selftest/$($_.Groups[1].Value)" })
    $known += [regex]::Matches((Get-Content -Raw "$checkout/integration/windows/run.ps1"), '"([a-z-]+)"') | ForEach-Object { "windows/$($_.Groups[1].Value)" }; $rows = @(Get-Content "$checkout/server/host/doubts.md" | Where-Object { $_ -match "^\| \d" }); $rows.Count | Should -BeGreaterThan 80
    foreach ($row in $rows) { [regex]::Matches(($row -split "\|")[5], '`([^`]+)`') | ForEach-Object { $_.Groups[1].Value } | Where-Object { $known -notcontains $_ -or $_ -eq "selftest" } | Should -BeNullOrEmpty -Because $row }
  }
}
