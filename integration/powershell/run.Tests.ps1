# integration/windows/run.ps1: every part comes to its end, with programs that write down their words.
BeforeAll {
  . "$PSScriptRoot/stand-ins.ps1"
  New-Drive
  Add-Program "$drive/packed/programs" "csi-proxy.exe", "csi-proxyctl.exe", "csi-proxy-service.exe", "hostile.exe", "csi-proxy-simulated.exe"
  Add-Program "$drive/Program Files/csi-proxy" "csi-proxy.exe", "csi-proxy-service.exe"
  Add-Program "$drive/packed/bench" "load.exe", "peer.exe", "csi-proxy-go.exe"
  Add-Program "$drive/packed/upstream" "tests.exe"
  Add-Program "$drive/packed/drivers" "azuredisk.exe", "azurefile.exe", "gcp_pd.exe", "replay.exe"
  Add-Program "$drive/root/of" "a_test.exe", "b_test.exe"
  Set-Content "$drive/packed/tests.json" (ConvertTo-Json -Depth 5 @{ root = "/root"; tests = @(
        @{ name = "a"; command = @("/root/of/a_test.exe", "--x"); environment = @("CSI_X=a=b"); timeout = 60; left_out = "" }
        @{ name = "b"; command = @("/root/of/b_test.exe"); environment = @(); timeout = 60; left_out = "a script" }) })
  Set-Seam "Get-Administrator" "" { "WINNODE\Administrator" }
  Set-Seam "Open-Pipe" "Server Name Milliseconds" { New-Object System.IO.MemoryStream }
  Set-StandIn "Get-CimInstance" "ClassName Filter" { [pscustomobject]@{ Caption = "Windows Server"; BuildNumber = "26100"; ProcessId = 4242 } }
  Set-Seam "Get-RegistryValue" "Key Value" { 1 }
  Set-StandIn "Get-Service" "Name" { if (-not (Select-String -Quiet "\[uninstall\]" $env:WORDS)) { [pscustomobject]@{ Status = "Running" } } }
  Set-StandIn "Stop-Process" "Id Force!"
  Set-StandIn "New-Service" "Name BinaryPathName" { 1 }
  Set-StandIn "Start-Service" "Name"
  Set-StandIn "Start-Sleep" "Seconds Milliseconds"
  Set-StandIn "Install-WindowsFeature" "Name IncludeManagementTools!" { [pscustomobject]@{ ExitCode = "Success" } }
  Set-StandIn "Get-NetIPAddress" "AddressFamily PrefixOrigin" { [pscustomobject]@{ InterfaceAlias = "Ethernet" } }
  # The installer's upgrade and roll back, the names that docker refuses, and the clients' answers.
  $env:ANSWER = @'
case "${0##*/} $*" in
  "csi-proxy-service.exe upgrade --timeout"*) echo the old program has been restored; exit 1 ;;
  "csi-proxy-service.exe upgrade"*) cp "$BOX/next.exe" "$BOX/csi-proxy.exe" ;;
  "csi-proxy-service.exe install --binary"*) echo change service csiproxy ;;
  "docker.exe run"*"disk list-disk-ids"* | "docker.exe run --user=ContainerUser"*) exit 3 ;;
  "csi-proxyctl.exe completion powershell") cat "$COMPLETION" ;;
  "peer.exe "*) touch "$5.json" ;;
  "azuredisk.exe "*) echo "total	3 steps" ;;
  "a_test.exe "*) echo "[  PASSED  ] 1 test $CSI_X." ;;
esac
'@
  $env:BOX, $env:COMPLETION = "$drive/Program Files/csi-proxy", "$drive/completion.ps1"
  Set-Content $env:COMPLETION "Register-ArgumentCompleter -Native -CommandName csi-proxyctl -ScriptBlock { param(`$word, `$ast, `$cursor) @{ resc = 'rescan'; '--ti' = '--timeout'; '--output=wi' = '--output=wide' }[`$word] }"
}
AfterAll { Remove-Drive }

Describe "run.ps1 -Part <part>" -ForEach @(
  @{ part = "service"; parts = "install", "upgrade", "rollback (no program)", "rollback (cmd.exe)", "rights", "crash", "completion", "uninstall", "take-over"; bad = @() }
  @{ part = "tests"; parts = "prepare", "a", "b"; bad = "b SKIPPED" }
  @{ part = "container"; parts = "install", "image", "C++ client", "Go client", "rights", "other pipes", "other accounts"; bad = @() }
  @{ part = "drivers"; parts = @(foreach ($node in "simulated", "machine") { if ($node -eq "machine") { "install" }; "azuredisk", "azurefile", "gcp_pd", "replay" | ForEach-Object { "$_, $node" } }); bad = @() }
  @{ part = "upstream"; parts = @("install", "virtual disks") + @("TestFilesystemAPIGroup", "TestDiskAPIGroup", "TestVolumeAPIs", "TestSmbAPIGroup", "TestIscsiAPIGroup", "TestGetBIOSSerialNumber", "TestServiceCommands"); bad = @() }
  @{ part = "bench"; parts = , "bench"; bad = @() }
  @{ part = "node-check"; parts = "iscsi-target", "node-check"; bad = "node-check ERROR" }
) {
  It "runs its parts to their end" {
    $said = Get-Words { & "$checkout/integration/windows/run.ps1" -Part $part -Packed "$drive/packed" -Report "$drive/report" 6>$null; $global:code = $LASTEXITCODE }
    $whole = Get-Content -Raw "$drive/report/$part.json" | ConvertFrom-Json
    @($whole.parts | ForEach-Object { $_.name }) | Should -Be $parts
    @($whole.parts | Where-Object { $_.result -ne "OK" } | ForEach-Object { "$($_.name) $($_.result)" }) | Should -Be $bad -Because ($whole.parts | Out-String -Width 300)
    $global:code | Should -Be $(if ($part -eq "node-check") { 3 } else { 0 })
    Get-Content -Raw "$drive/report/$part.txt" | Should -Match "Windows Server, build 26100.1"
    if ($part -eq "tests") { ($whole.parts[1]).detail | Should -Be "[  PASSED  ] 1 test a=b." }
    if ($part -eq "container") { $said -like "docker.exe *hostile.exe*" | Should -Match "\[run\] \[--user=ContainerAdministrator\] \[--rm\] .* \[mcr.microsoft.com/windows/nanoserver:ltsc2025\] \[C:\\programs\\hostile.exe\] \[-rights=filesystem-v1\]" }
  }
}

Describe "run.ps1" {
  It "reports what is thrown outside of the parts as the first part" {
    $env:ANSWER = "exit 1"
    Get-Words { & "$checkout/integration/windows/run.ps1" -Part drivers -Packed "$drive/packed" -Report "$drive/report" 6>$null; $global:code = $LASTEXITCODE } | Out-Null
    $global:code | Should -Be 1
    Set-StandIn "Get-NetIPAddress" "AddressFamily PrefixOrigin" { throw "no address" }
    Get-Words { & "$checkout/integration/windows/run.ps1" -Part upstream -Packed "$drive/packed" -Report "$drive/outside" 6>$null; $global:code = $LASTEXITCODE } | Out-Null
    (Get-Content -Raw "$drive/outside/upstream.json" | ConvertFrom-Json).parts[0].name | Should -Be "run"
    $global:code | Should -Be 3
  }
}
