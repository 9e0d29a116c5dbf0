# integration/windows/run.ps1: every part comes to its end, with programs that record their
# arguments.
BeforeAll {
  . "$PSScriptRoot/stand-ins.ps1"; New-Drive
  $programs = @{ "packed/programs" = "csi-proxy.exe", "csi-proxyctl.exe", "csi-proxy-service.exe", "hostile.exe", "csi-proxy-simulated.exe"; "Program Files/csi-proxy" = "csi-proxy.exe", "csi-proxy-service.exe"
    "packed/bench" = "load.exe", "peer.exe", "csi-proxy-go.exe"; "packed/upstream" = "tests.exe"; "packed/drivers" = "azuredisk.exe", "azurefile.exe", "gcp_pd.exe", "replay.exe"; "root/of" = "a_test.exe", "b_test.exe" }
  foreach ($folder in $programs.Keys) { Add-Program "$drive/$folder" $programs[$folder] }
  Set-Content "$drive/packed/tests.json" '{"root":"/root","tests":[{"name":"a","command":["/root/of/a_test.exe","--x"],"environment":["CSI_X=a=b"],"timeout":60,"left_out":""},{"name":"b","command":["/root/of/b_test.exe"],"environment":[],"timeout":60,"left_out":"a script"}]}'
  Set-Seam "Get-Administrator" "" { "WINNODE\Administrator" }; Set-Seam "Open-Pipe" "Server Name Milliseconds" { New-Object System.IO.MemoryStream }; Set-Seam "Get-RegistryValue" "Key Value" { 1 }
  Set-StandIn "Get-CimInstance" "ClassName Filter" { [pscustomobject]@{ Caption = "Windows Server"; BuildNumber = "26100"; ProcessId = 4242 } }
  Set-StandIn "Get-Service" "Name" { if (-not (Select-String -Quiet "\[uninstall\]" $env:WORDS)) { [pscustomobject]@{ Status = "Running" } } }; Set-StandIn "New-Service" "Name BinaryPathName" { 1 }
  foreach ($none in "Stop-Process Id Force!", "Start-Service Name", "Start-Sleep Seconds Milliseconds") { Set-StandIn ($none -split " ")[0] ($none -replace "^\S+") }
  Set-StandIn "Install-WindowsFeature" "Name IncludeManagementTools!" { [pscustomobject]@{ ExitCode = "Success" } }; Set-StandIn "Get-NetIPAddress" "AddressFamily PrefixOrigin" { [pscustomobject]@{ InterfaceAlias = "Ethernet" } }
  # The installer's upgrade and roll back, the calls that docker refuses, and the programs' answers.
  $env:ANSWER = @'
case "${0##*/} $*" in
  "csi-proxy-service.exe upgrade --timeout"*) echo the old program has been restored; exit 1 ;; "csi-proxy-service.exe upgrade"*) cp "$BOX/next.exe" "$BOX/csi-proxy.exe" ;;
  "csi-proxy-service.exe install --binary"*) echo change service csiproxy ;; "docker.exe run"*"disk list-disk-ids"* | "docker.exe run --user=ContainerUser"*) exit 3 ;;
  "csi-proxyctl.exe completion powershell") "$CSI_PROXY_BUILD/client/ctl/csi-proxyctl" completion powershell ;; "peer.exe "*) touch "$5.json" ;;
  "azuredisk.exe "*) echo "total	3 steps" ;; "a_test.exe "*) echo "[  PASSED  ] 1 test $CSI_X." ;;
esac
'@
  $env:BOX = "$drive/Program Files/csi-proxy"
  function Invoke-Part([string]$Part, [string]$Report = "report") {
    $said = Get-Words { & "$checkout/integration/windows/run.ps1" -Part $Part -Packed "$drive/packed" -Report "$drive/$Report" 6>$null; $global:code = $LASTEXITCODE }
    [pscustomobject]@{ words = $said; code = $global:code; parts = @((Get-Content -Raw "$drive/$Report/$Part.json" | ConvertFrom-Json).parts); text = Get-Content -Raw "$drive/$Report/$Part.txt" }
  }
}
AfterAll { Remove-Drive }
Describe "run.ps1" {
  It "runs the part <part> to its end" -ForEach @(
    @{ part = "service"; parts = "install", "upgrade", "rollback (no program)", "rollback (cmd.exe)", "rights", "crash", "completion", "uninstall", "take-over" }
    @{ part = "tests"; parts = "prepare", "a", "b"; bad = "b SKIPPED" }
    @{ part = "container"; parts = "install", "image", "C++ client", "Go client", "rights", "other pipes", "other accounts" }
    @{ part = "drivers"; parts = @(foreach ($node in "simulated", "machine") { if ($node -eq "machine") { "install" }; "azuredisk", "azurefile", "gcp_pd", "replay" | ForEach-Object { "$_, $node" } }) }
    @{ part = "upstream"; parts = "install", "virtual disks", "TestFilesystemAPIGroup", "TestDiskAPIGroup", "TestVolumeAPIs", "TestSmbAPIGroup", "TestIscsiAPIGroup", "TestGetBIOSSerialNumber", "TestServiceCommands" }
    @{ part = "bench"; parts = , "bench" }
    @{ part = "node-check"; parts = "iscsi-target", "node-check"; bad = "node-check ERROR" }) {
    $run = Invoke-Part $part; $run.parts.name | Should -Be $parts; @($run.parts | Where-Object { $_.result -ne "OK" } | ForEach-Object { "$($_.name) $($_.result)" }) | Should -Be @($bad | Where-Object { $_ }) -Because $run.text
    $run.code | Should -Be $(if ($part -eq "node-check") { 3 } else { 0 }); $run.text | Should -Match "Windows Server, build 26100.1"; if ($part -eq "tests") { $run.parts[1].detail | Should -Be "[  PASSED  ] 1 test a=b." }
    if ($part -eq "container") { $run.words -like "docker.exe *hostile.exe*" | Should -Match "\[run\] \[--user=ContainerAdministrator\] \[--rm\] .* \[mcr.microsoft.com/windows/nanoserver:ltsc2025\] \[C:\\programs\\hostile.exe\] \[-rights=filesystem-v1\]" }
  }
  It "reports what is thrown outside of the parts as the first part" {
    $env:ANSWER = "exit 1"; (Invoke-Part "drivers").code | Should -Be 1; Set-StandIn "Get-NetIPAddress" "AddressFamily PrefixOrigin" { throw "no address" }; $run = Invoke-Part "upstream" "outside"
    "$($run.parts[0].name) $($run.code)" | Should -Be "run 3"
  }
}
