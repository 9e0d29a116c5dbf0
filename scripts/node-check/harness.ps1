# Part of node-check.ps1: programs run to their end, parts that pass or fail, facts, the report.
# Uses its $ctl, and keeps $parts and $facts.

$parts = New-Object System.Collections.ArrayList
$facts = New-Object System.Collections.ArrayList

# --- Programs ---

# A word as CommandLineToArgvW reads it back.
function ConvertTo-Argument([string]$Text) {
  if ($Text -ne "" -and $Text -notmatch '[\s"]') { return $Text }
  '"' + ($Text -replace '(\\*)"', '$1$1\"' -replace '(\\+)$', '$1$1') + '"'
}

function New-StartInfo([string]$Path, [string[]]$Arguments) {
  $info = New-Object System.Diagnostics.ProcessStartInfo
  $info.FileName = $Path
  $info.Arguments = @($Arguments | ForEach-Object { ConvertTo-Argument $_ }) -join " "
  $info.UseShellExecute = $false
  $info.CreateNoWindow = $true
  $info
}

# Runs a program to its end. PowerShell must not make errors of what the program prints.
function Invoke-Program([string]$Path, [string[]]$Arguments, [int]$Seconds = 600) {
  $info = New-StartInfo $Path $Arguments
  $info.RedirectStandardOutput = $true
  $info.RedirectStandardError = $true
  $child = [System.Diagnostics.Process]::Start($info)
  $output = $child.StandardOutput.ReadToEndAsync()
  $errors = $child.StandardError.ReadToEndAsync()
  if (-not $child.WaitForExit($Seconds * 1000)) {
    $child.Kill()
    throw "$Path $($info.Arguments): did not end within $Seconds s"
  }
  $child.WaitForExit()
  [pscustomobject]@{ Code = $child.ExitCode; Out = $output.Result; Err = $errors.Result }
}

function Invoke-Ctl([string[]]$Arguments) { Invoke-Program $ctl ($Arguments + "--output=json") }

# The answer of an rpc, which must succeed.
function Get-Answer([string[]]$Arguments) {
  $call = Invoke-Ctl $Arguments
  if ($call.Code -ne 0) { throw "csi-proxyctl $($Arguments -join ' '): $($call.Err.Trim())" }
  $call.Out | ConvertFrom-Json
}

function Assert-Refused([string]$Code, [string[]]$Arguments) {
  $call = Invoke-Ctl $Arguments
  if ($call.Code -eq 0) { throw "csi-proxyctl $($Arguments -join ' ') was not refused" }
  if ($call.Err -notmatch "error: ${Code}: ") {
    throw "csi-proxyctl $($Arguments -join ' '): $($call.Err.Trim()), not $Code"
  }
}

# --- Parts and facts ---

function Assert-That([bool]$Condition, [string]$Otherwise) { if (-not $Condition) { throw $Otherwise } }

function Skip-Part([string]$Reason) { throw "skip: $Reason" }

# Runs one part. Its return value is the detail, and its exception is the reason of a failure.
function Test-Part([string]$Name, [string]$Shows, [scriptblock]$Body) {
  Write-Host -NoNewline "$Name ... "
  $start = Get-Date
  $result = "OK"
  try {
    $detail = (@(& $Body) | Out-String).Trim()
  } catch {
    $detail = $_.Exception.Message
    $result = "FAILED"
    if ($detail.StartsWith("skip: ")) {
      $result = "SKIPPED"
      $detail = $detail.Substring(6)
    }
  }
  $milliseconds = [int]((Get-Date) - $start).TotalMilliseconds
  Write-Host "$result $detail"
  [void]$parts.Add([pscustomobject]@{
      name = $Name; shows = $Shows; result = $result; milliseconds = $milliseconds; detail = $detail
    })
}

# Skips a part that makes no sense after another has failed.
function Assert-Passed([string]$Name) {
  $passed = @($parts | Where-Object { $_.name -eq $Name -and $_.result -eq "OK" })
  if ($passed.Count -eq 0) { Skip-Part "needs $Name" }
}

# The same for a step of the selftest.
function Assert-Step([string]$Name) {
  $passed = @()
  if ($null -ne $selftest) {
    $passed = @($selftest.steps | Where-Object { $_.name -eq $Name -and $_.result -eq "OK" })
  }
  if ($passed.Count -eq 0) { Skip-Part "needs the step $Name of the selftest" }
}

# Adds a question to the node and its answer, for the report alone.
function Add-Fact([string]$Name, [scriptblock]$Body) {
  try {
    $value = (@(& $Body) | Out-String -Width 200).Trim()
  } catch {
    $value = "error: $($_.Exception.Message)"
  }
  [void]$facts.Add([pscustomobject]@{ name = $Name; value = $value })
}

# --- The report ---

# Writes both files, and returns how many parts failed.
function Write-Report([string]$Path, [string]$About, [string]$Version) {
  $count = @{ OK = 0; FAILED = 0; SKIPPED = 0 }
  foreach ($part in $parts) { $count[$part.result]++ }
  $summary = "$($count.OK) passed, $($count.FAILED) failed, $($count.SKIPPED) skipped"
  $account = [System.Security.Principal.WindowsIdentity]::GetCurrent().Name
  $whole = [pscustomobject]@{
    about = $About; version = $Version; account = $account; powershell = "$($PSVersionTable.PSVersion)"
    finished = (Get-Date).ToUniversalTime().ToString("o")
    parts = $parts; selftest = $selftest; facts = $facts; summary = $summary
  }
  $whole | ConvertTo-Json -Depth 8 | Set-Content -Path "$Path.json" -Encoding UTF8
  & {
    "$About, $Version"
    ""
    $parts | Format-Table -Wrap -AutoSize -Property "name", "result", "milliseconds", "detail"
    if ($null -ne $selftest) {
      $selftest.steps | Format-Table -Wrap -AutoSize -Property "name", "result", "milliseconds", "detail"
      $selftest.latencies | Format-Table -AutoSize -Property "rpc", "version", "calls", "fastest_ms", "median_ms", "slowest_ms"
    }
    foreach ($fact in $facts) {
      "--- $($fact.name)"
      $fact.value
      ""
    }
    $summary
  } | Out-String -Width 200 | Set-Content -Path "$Path.txt" -Encoding UTF8
  Write-Host "$summary; the report is in $Path.txt and $Path.json"
  $count.FAILED
}
