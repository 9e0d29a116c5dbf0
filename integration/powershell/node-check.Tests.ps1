# node-check.ps1 over the simulated node: from a release's folder with spaces, with what a node may lack, and with a service that is killed.
BeforeAll {
  . "$PSScriptRoot/node.ps1"
  # Checks a node from its folder. Returns the report, with its text and the exit code.
  function Invoke-Check([hashtable]$With = @{}, [string]$Scenario = (Get-Content -Raw "$PSScriptRoot/node.textproto"), [scriptblock]$First = { }) {
    New-Node $Scenario
    & $First
    Push-Location "$drive/a release 2.0"
    try { $global:said = & "$release/share/csi-proxy/node-check.ps1" @With 6>&1 | Out-String } finally { Pop-Location; $code = $LASTEXITCODE; if (Get-ServicePid) { & "$release/bin/csi-proxy-service.exe" uninstall } }
    $at = "$drive/a release 2.0/node-check-report"
    if (-not (Microsoft.PowerShell.Management\Test-Path $at)) { return [pscustomobject]@{ code = $code; said = $global:said } }
    if (-not (Microsoft.PowerShell.Management\Test-Path "$at/report.json")) { throw $global:said }
    $report = Get-Content -Raw "$at/report.json" | ConvertFrom-Json
    $report | Add-Member code $code -PassThru | Add-Member said $global:said -PassThru | Add-Member text (Get-Content -Raw "$at/REPORT.md") -PassThru
  }
  function Get-Bad($Report) { @($Report.parts | Where-Object { @("OK", "SKIPPED") -notcontains $_.result } | ForEach-Object { "$($_.name) $($_.result): $($_.detail)" }) }
}
Describe "a node" {
  It "passes" {
    $report = Invoke-Check @{ DiskNumber = 2 }

    [IO.File]::WriteAllText("/tmp/last.json", (ConvertTo-Json -Depth 6 $report))
    [IO.File]::WriteAllText("/tmp/last.md", $report.text)
    Get-Bad $report | Should -BeNullOrEmpty
  }
}
