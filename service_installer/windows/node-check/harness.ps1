# Part of node-check.ps1 and of integration/windows/run.ps1: runs programs and parts, and collects outcomes and facts.
# Uses $ctl and $showDetails, and defines $parts, $facts, $gone and $watch.

$parts, $facts = (New-Object System.Collections.ArrayList), (New-Object System.Collections.ArrayList)
# Why no later part can run; empty as long as they can.
$gone = ""
# A function that gets the name of each part that has ended. Returns why the part FAILED, regardless
# of what its body found, or nothing.
$watch = { }
# Set-Content -Encoding UTF8 of Windows PowerShell writes a byte-order mark, which readers of JSON refuse.
$utf8 = New-Object System.Text.UTF8Encoding($false)

# Returns a path as .NET needs it. .NET takes a relative path from the folder of the process, not from PowerShell's.
function Get-NetPath([string]$Path) { $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Path) }
function Write-Text([string]$Path, [string[]]$Lines) { [System.IO.File]::WriteAllText((Get-NetPath $Path), ($Lines -join "`n") + "`n", $utf8) }

# Returns the account. Throws unless Windows PowerShell runs the script as administrator.
function Get-Administrator {
  if ($PSVersionTable.PSEdition -ne "Desktop") { throw "run this with Windows PowerShell: powershell.exe -File $PSCommandPath" }
  $identity = [System.Security.Principal.WindowsIdentity]::GetCurrent()
  $role = [System.Security.Principal.WindowsBuiltInRole]::Administrator
  if (-not (New-Object System.Security.Principal.WindowsPrincipal($identity)).IsInRole($role)) { throw "run this as administrator" }
  $identity.Name
}

function Get-RegistryValue([string]$Key, [string]$Value) { (Get-Item -LiteralPath "HKLM:\$Key").GetValue($Value) }

# Connects to a pipe. Returns the client.
function Open-Pipe([string]$Server, [string]$Name, [int]$Milliseconds) {
  $client = New-Object System.IO.Pipes.NamedPipeClientStream($Server, $Name, [System.IO.Pipes.PipeDirection]::InOut)
  try { $client.Connect($Milliseconds) } catch { $client.Dispose(); throw }
  $client
}

# --- Programs ---

# Quotes a word so that CommandLineToArgvW returns it unchanged.
function ConvertTo-Argument([string]$Text) {
  if ($Text -ne "" -and $Text -notmatch '[\s"]') { return $Text }
  '"' + ($Text -replace '(\\*)"', '$1$1\"' -replace '(\\+)$', '$1$1') + '"'
}

# Starts a program and reads all that it prints. Programs of Windows, which are named without a folder, print in the
# console's code page, and all others UTF-8.
function Start-Child([string]$Path, [string[]]$Arguments) {
  $info = New-Object System.Diagnostics.ProcessStartInfo
  $named = $Path -notmatch '[\\/]'
  $info.FileName = if ($named) { $Path } else { Get-NetPath $Path }
  $info.Arguments = @($Arguments | ForEach-Object { ConvertTo-Argument $_ }) -join " "
  $info.UseShellExecute = $false
  $info.CreateNoWindow = $true
  $info.RedirectStandardOutput = $true
  $info.RedirectStandardError = $true
  if (-not $named) { $info.StandardOutputEncoding = $utf8; $info.StandardErrorEncoding = $utf8 }
  $child = [System.Diagnostics.Process]::Start($info)
  [pscustomobject]@{ Process = $child; Out = $child.StandardOutput.ReadToEndAsync(); Err = $child.StandardError.ReadToEndAsync() }
}

function Wait-Child($Child, [int]$Seconds = 600) {
  if (-not $Child.Process.WaitForExit($Seconds * 1000)) { $Child.Process.Kill(); throw "$($Child.Process.StartInfo.FileName) did not end within $Seconds s" }
  $Child.Process.WaitForExit()
  [pscustomobject]@{ Code = $Child.Process.ExitCode; Out = $Child.Out.Result; Err = $Child.Err.Result }
}

function Invoke-Program([string]$Path, [string[]]$Arguments, [int]$Seconds = 600) { Wait-Child (Start-Child $Path $Arguments) $Seconds }

# Runs a program that must end with exit code 0; returns what it printed.
function Invoke-Checked([string]$Path, [string[]]$Arguments) {
  $call = Invoke-Program $Path $Arguments
  if ($call.Code -ne 0) { throw "$Path $($Arguments -join ' '): exit code $($call.Code): $($call.Out.Trim()) $($call.Err.Trim())" }
  $call.Out.Trim()
}

function Invoke-Ctl([string[]]$Arguments) { Invoke-Program $ctl ($Arguments + "--output=json") }

# Returns the answer of an rpc. The part ends with FAILED if the service returns an error, with ERROR if no service answers.
function Get-Answer([string[]]$Arguments) {
  $call = Invoke-Ctl $Arguments
  Assert-That ($call.Code -ne 1) "csi-proxyctl $($Arguments -join ' '): $($call.Err.Trim())"
  if ($call.Code -ne 0) { throw "csi-proxyctl $($Arguments -join ' '): exit code $($call.Code): $($call.Err.Trim())" }
  $call.Out | ConvertFrom-Json
}

# Returns the error of an rpc, which must fail with this code.
function Assert-Refused([string]$Code, [string[]]$Arguments) {
  $call = Invoke-Ctl $Arguments
  if ($call.Code -ge 2) { throw "csi-proxyctl $($Arguments -join ' '): exit code $($call.Code): $($call.Err.Trim())" }
  Assert-That ($call.Err -match "error: ${Code}: ") "csi-proxyctl $($Arguments -join ' '): '$($call.Err.Trim())', not $Code"
  $call.Err.Trim()
}

# --- Parts and facts ---

# Ends a part with FAILED or SKIPPED. Everything else that is thrown ends it with ERROR, which says nothing about Windows: a
# missing command, a bug in the script, an absent service.
function Exit-Part([string]$Result, [string]$Detail) { throw [pscustomobject]@{ outcome = $Result; detail = $Detail } }
function Assert-That([bool]$Condition, [string]$Otherwise) { if (-not $Condition) { Exit-Part "FAILED" $Otherwise } }
function Skip-Part([string]$Reason) { Exit-Part "SKIPPED" $Reason }

function Get-ErrorText($Thrown) {
  $place = $Thrown.InvocationInfo
  "$($Thrown.Exception.Message) ($("$($place.ScriptName)" -replace '^.*[\\/]', '') line $($place.ScriptLineNumber))"
}

function Add-Part([string]$Name, [string]$Shows, [string]$Result, [string]$Detail, [int]$Milliseconds = 0, [int]$At = $parts.Count) {
  $parts.Insert($At, [pscustomobject]@{ name = $Name; shows = $Shows; result = $Result; milliseconds = $Milliseconds; detail = $Detail })
}

# Runs one part, if the parts that it needs have passed. The body returns the part's detail.
function Test-Part([string]$Name, [string]$Shows, [scriptblock]$Body, [string[]]$Needs = @()) {
  Write-Host -NoNewline "$Name ... "
  $start = Get-Date
  $result = "OK"
  try {
    Assert-Passed $Needs
    $detail = (@(& $Body) | Out-String -Width 4096).Trim()
  } catch {
    $thrown = $_.TargetObject
    if ($null -ne $thrown -and $null -ne $thrown.PSObject.Properties["outcome"]) {
      $result = $thrown.outcome
      $detail = $thrown.detail
    } else { $result = "ERROR"; $detail = Get-ErrorText $_ }
  }
  try { $seen = & $watch $Name } catch { $seen = Get-ErrorText $_ }
  if ($seen) { $detail = "$seen; the part itself ended with $result $detail"; $result = "FAILED" }
  if ($showDetails) { Write-Host "$result $detail" } else { Write-Host $result }
  Add-Part $Name $Shows $result $detail ([int]((Get-Date) - $start).TotalMilliseconds)
}

# Adds what was thrown outside of the parts, as the first part.
function Add-RunError($Thrown) { Add-Part "run" "nothing fails outside of the parts" "ERROR" (Get-ErrorText $Thrown) 0 0 }

# Adds the parts of this list that did not run.
function Add-Unreached([string[]]$Names) {
  $ran = @($parts | ForEach-Object { $_.name })
  foreach ($name in $Names) { if ($ran -notcontains $name) { Add-Part $name "" "NOT REACHED" "the script ended before this part" } }
}

# Skips the part unless all of these parts have passed. Also skips a part that needs others if the
# service has ended for good.
function Assert-Passed([string[]]$Names) {
  if ($gone -ne "" -and $Names.Count -gt 0) { Skip-Part $gone }
  foreach ($name in $Names) { if (@($parts | Where-Object { $_.name -eq $name -and $_.result -eq "OK" }).Count -eq 0) { Skip-Part "needs $name" } }
}

function Add-Fact([string]$Name, [scriptblock]$Body) {
  try { $value = (@(& $Body) | Out-String -Width 200).Trim() } catch { $value = "error: $($_.Exception.Message)" }
  [void]$facts.Add([pscustomobject]@{ name = $Name; value = $value })
}

function Get-Count([string]$Result) { @($parts | Where-Object { $_.result -eq $Result }).Count }

# Returns 3 if something was thrown outside of the parts; otherwise 1 if a part FAILED; otherwise 3 if a part ended with ERROR or did not
# run; otherwise 0.
function Get-OutcomeCode {
  if (@($parts | Where-Object { $_.name -eq "run" }).Count -gt 0) { return 3 }
  if ((Get-Count "FAILED") -gt 0) { return 1 }
  if ((Get-Count "ERROR") -gt 0 -or (Get-Count "NOT REACHED") -gt 0 -or $parts.Count -eq 0) { return 3 }
  0
}
