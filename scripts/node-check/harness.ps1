# Part of node-check.ps1: programs run to their end, parts that pass or fail, facts.
# Uses its $ctl and $masks, and keeps $parts and $facts.

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

# The words of a call for the report, without what no report may hold.
function Show-Words([string[]]$Arguments) { ($Arguments -join " ") -replace "(--(password|chap-secret)=)\S+", '$1***' }

# The answer of an rpc, which must succeed.
function Get-Answer([string[]]$Arguments) {
  $call = Invoke-Ctl $Arguments
  if ($call.Code -ne 0) { throw "csi-proxyctl $(Show-Words $Arguments): $($call.Err.Trim())" }
  $call.Out | ConvertFrom-Json
}

# The error of an rpc, which must fail.
function Get-Refusal([string[]]$Arguments) {
  $call = Invoke-Ctl $Arguments
  if ($call.Code -eq 0) { throw "csi-proxyctl $(Show-Words $Arguments) was not refused" }
  $call.Err.Trim()
}

function Assert-Refused([string]$Code, [string[]]$Arguments) {
  $refusal = Get-Refusal $Arguments
  if ($refusal -notmatch "error: ${Code}: ") { throw "csi-proxyctl $(Show-Words $Arguments): $refusal, not $Code" }
}

# --- WMI ---

# What a method of WMI says, by whichever of the channels it does: the exception's HRESULT, its error object, or ReturnValue.
function Get-CimOutcome([scriptblock]$Body) {
  try {
    $answer = & $Body
    if ($null -eq $answer -or $null -eq $answer.PSObject.Properties["ReturnValue"]) { return "no ReturnValue" }
    "ReturnValue {0} (0x{0:x})" -f $answer.ReturnValue
  } catch [Microsoft.Management.Infrastructure.CimException] {
    $why = $_.Exception
    $told = @()
    if ($null -ne $why.ErrorData) {
      foreach ($property in $why.ErrorData.CimInstanceProperties) {
        if ($null -ne $property.Value) { $told += "$($property.Name)=$($property.Value)" }
      }
    }
    "HRESULT 0x{0:x8}, native {1}, status 0x{2:x8}, id {3}; error object: {4}" -f $why.HResult, $why.NativeErrorCode,
      $why.StatusCode, $why.MessageId, ($told -join ", ")
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
    $detail = (@(& $Body) | Out-String -Width 4096).Trim()
  } catch {
    $detail = $_.Exception.Message
    $result = "FAILED"
    if ($detail.StartsWith("skip: ")) {
      $result = "SKIPPED"
      $detail = $detail.Substring(6)
    }
  }
  $milliseconds = [int]((Get-Date) - $start).TotalMilliseconds
  Write-Host $masks.Apply("$result $detail")
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
  if ($value.Length -gt 65536) { $value = $value.Substring(0, 65536) + "..." }
  [void]$facts.Add([pscustomobject]@{ name = $Name; value = $value })
}
