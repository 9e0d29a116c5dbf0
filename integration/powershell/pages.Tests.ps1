# The lines that pages and hints tell a person to run on a node, run by PowerShell with programs
# that record their arguments.
BeforeDiscovery {
  $root = (Resolve-Path "$PSScriptRoot/../..").Path
  $texts = foreach ($page in "README.md", "service_installer/README.md", "client/ctl/README.md", "client/README.md", "client/drivers/*.md", "server/troubleshooting.md", "scripts/deploy/README.md", "scripts/release/README.md", "server/host/doubts.md", "service_installer/windows/bootstrap/README.md") { Get-Content (Resolve-Path "$root/$page") }
  # Strings of C++ that are written as several.
  $texts += foreach ($file in Get-ChildItem -Recurse "$root/client/ctl", "$root/server", "$root/service_installer" -Include *.cc, *.h) { (Get-Content -Raw $file) -replace '"\s*\n\s*"', '' -split "\n" }; $program = '(?:\.\\)?(?:csi-proxyctl|csi-proxy-service)'
  $lines = foreach ($text in $texts) {
    if ($text -match "^    ($program( .*)?)$") { $Matches[1] }; [regex]::Matches($text, "``($program [^``|]+)``") | ForEach-Object { $_.Groups[1].Value }; [regex]::Matches($text, "(csi-proxyctl [a-z]+ [a-z]+-[a-z-]+)[ ,.:;]") | ForEach-Object { $_.Groups[1].Value }
  }
  $lines = @($lines | Sort-Object -Unique | Where-Object { $_ -notmatch '[|[]|\.\.\.|", | < ' } | ForEach-Object { @{ line = $_ } })
}
BeforeAll {
  . "$PSScriptRoot/stand-ins.ps1"; New-Drive; Add-Program "$drive/release/bin" "csi-proxy-service", "csi-proxyctl"; $env:PATH = "$drive/release/bin:$env:PATH"
  # Runs a line in the folder with the programs, as if it were pasted. Returns the words of the programs.
  function Invoke-Line([string]$Line) { Push-Location "$drive/release/bin"; try { Get-Words ([scriptblock]::Create($Line)) } finally { Pop-Location } }
}
AfterAll { Remove-Drive }
Describe "a line for a node" {
  It "gives PowerShell and cmd the same words: <line>" -ForEach $lines {
    # A shell would change a line that contains one of these characters.
    $line | Should -Not -Match "['%`$<>;@#&(){}]"; $words = $line -replace '"', '' -replace '^\.\\' -split " +"; Invoke-Line $line | Should -Be "$($words[0])$(-join ($words | Select-Object -Skip 1 | ForEach-Object { " [$_]" }))$(if ($words.Count -eq 1) { ' []' })"
  }
  It "has the words of the front page, from install to uninstall" {
    $page = Get-Content "$checkout/README.md" | Where-Object { $_ -match "^    (\.\\)?csi-proxy" } | ForEach-Object { $_.Trim() }
    Invoke-Line ($page -join "`n") | Should -Be @("csi-proxy-service [install]", "csi-proxy-service [start]", "csi-proxy-service [status]", "csi-proxyctl [doctor]", "csi-proxy-service [upgrade] [--binary] [new\csi-proxy.exe]", "csi-proxy-service [upgrade] [--binary] [old\csi-proxy.exe]",
      "csi-proxy-service [stop]", "csi-proxy-service [uninstall]", "csi-proxyctl [doctor]", "csi-proxyctl [diagnose]", "csi-proxyctl [repair] [--what=dangling-links]")
  }
  It "takes a request from a file, and PowerShell's completion from the program" {
    $lines = Get-Content "$checkout/client/ctl/README.md" | Where-Object { $_ -match "^    .* \| " }; Set-Content "$drive/release/bin/request.json" "{}"
    Invoke-Line $lines[0] | Should -Be "csi-proxyctl [smb] [new-smb-global-mapping] [--json] [-]"; $env:ANSWER = 'echo "\$global:completed = 1"'; Invoke-Line $lines[1] | Should -Be "csi-proxyctl [completion] [powershell]"; $env:ANSWER = ""; $completed | Should -Be 1
  }
  It "checks a node by one pasted line, and upgrades a node of EKS" {
    $page = Get-Content -Raw "$checkout/service_installer/windows/bootstrap/README.md"; $pasted = [regex]::Matches($page, '(?s)```powershell\n(.*?)```') | ForEach-Object { $_.Groups[1].Value }
    Add-Program "$drive/Windows/System32" "powershell.exe"; Set-StandIn "Unblock-File" "In<"; Invoke-Line $pasted[-1] | Should -Be "powershell.exe [-NoProfile] [-ExecutionPolicy] [Bypass] [-File] [.\share\csi-proxy\node-check.ps1] [-Note] [cloud and machine type]"
    $env:TEMP = "C:\Windows\Temp"; Set-StandIn "Invoke-WebRequest" "Uri OutFile UseBasicParsing!"; Set-StandIn "Get-FileHash" "Path" { [pscustomobject]@{ Hash = "the sum in SHA256SUMS" } }
    Set-StandIn "Expand-Archive" "Path DestinationPath" {
      foreach ($folder in "bin", "share/csi-proxy/bootstrap") { New-Item -ItemType Directory -Path "$($p.DestinationPath)/csi-proxy-2.0.0-windows-amd64/$folder" | Out-Null }
      Set-Content "$($p.DestinationPath)/csi-proxy-2.0.0-windows-amd64/share/csi-proxy/bootstrap/upgrade.ps1" "`$global:upgraded = `$PSScriptRoot"
    }
    New-Item -ItemType Directory "$drive/Program Files/Amazon/EKS" | Out-Null; Set-Content "$drive/Program Files/Amazon/EKS/Start-EKSBootstrap.ps1" 'param($EKSClusterName) $global:cluster = $EKSClusterName'; Invoke-Line ($pasted[0] -replace "(?m)^  ") | Should -BeNullOrEmpty
    $cluster | Should -Be "my-cluster"; $upgraded | Should -Match "csi-proxy-2.0.0-windows-amd64.bin$"
  }
}
