# Part of node-check.ps1: what the report masks, and its files. What needs no Windows is in report.cs, with tests.
# Uses its $masks, $parts, $facts, $selftest and $doubts.

# Values of this node that no pattern finds. Called again at the end, for what came meanwhile.
function Add-Secrets {
  foreach ($name in $env:COMPUTERNAME, [System.Net.Dns]::GetHostName(), $env:USERDNSDOMAIN) { $masks.Know("host", $name) }
  foreach ($name in $env:USERNAME, $env:USERDOMAIN) { $masks.Know("user", $name) }
  foreach ($folder in [System.IO.Directory]::GetDirectories((Join-Path $env:SystemDrive "Users"))) {
    $name = Split-Path -Leaf $folder
    if (@("Public", "Default", "All Users", "Default User") -notcontains $name) { $masks.Know("user", $name) }
  }
  $queries = {
    foreach ($bios in Get-CimInstance Win32_BIOS) { $masks.Know("bios", $bios.SerialNumber) }
  }, {
    foreach ($product in Get-CimInstance Win32_ComputerSystemProduct) {
      $masks.Know("bios", $product.UUID)
      $masks.Know("bios", $product.IdentifyingNumber)
    }
  }, {
    foreach ($user in Get-CimInstance Win32_UserAccount -Filter "LocalAccount = TRUE") { $masks.Know("user", $user.Name) }
  }, {
    foreach ($known in Get-CimInstance -Namespace "root/Microsoft/Windows/Storage" MSFT_Disk) {
      $masks.Know("serial", $known.SerialNumber)
      $masks.Know("id", $known.UniqueId)
      $masks.Know("id", "$($known.Guid)".Trim("{}"))
    }
  }, {
    foreach ($known in Get-CimInstance -Namespace "root/Microsoft/Windows/Storage" MSFT_Partition) {
      $masks.Know("id", "$($known.Guid)".Trim("{}"))
      $masks.Know("id", $known.UniqueId)
    }
  }, {
    # Page 83 may be longer than WMI's UniqueId.
    foreach ($known in (Get-Answer "storage", "list-disks").disks) {
      foreach ($id in $known.page83, $known.eui, $known.unique_id) { $masks.Know("id", $id) }
      $masks.Know("serial", $known.serial_number)
    }
  }
  # A node without such a class has nothing to mask of it, and a service that does not answer says so elsewhere.
  foreach ($query in $queries) { try { & $query } catch { Write-Verbose $_.Exception.Message } }
}

function ConvertTo-Outcomes($Told, [string]$Prefix) {
  $outcomes = New-Object "System.Collections.Generic.List[NodeCheck.Outcome]"
  foreach ($one in @($Told)) {
    $outcomes.Add((New-Object NodeCheck.Outcome("$Prefix$($one.name)", "$($one.shows)", "$($one.result)", "$($one.detail)")))
  }
  , $outcomes
}

# All outcomes of a report: parts, and under `selftest/` the steps.
function Get-Outcomes($Of) {
  $outcomes = ConvertTo-Outcomes $Of.parts ""
  if ($null -ne $Of.selftest) { $outcomes.AddRange((ConvertTo-Outcomes $Of.selftest.steps "selftest/")) }
  , $outcomes
}

function Copy-Masked([string]$From, [string]$To) {
  if (Test-Path $From) { [System.IO.File]::WriteAllText($To, $masks.Apply([System.IO.File]::ReadAllText($From))) }
}

# A copy with all texts masked.
function Protect-Value($Value) {
  if ($null -eq $Value) { return $null }
  $base = $Value.PSObject.BaseObject
  if ($base -is [string]) { return $masks.Apply($base) }
  if ($base -is [System.Collections.IList]) { return , @($base | ForEach-Object { Protect-Value $_ }) }
  if ($base -isnot [System.Management.Automation.PSCustomObject]) { return $base }
  $copy = [ordered]@{}
  foreach ($property in $Value.PSObject.Properties) { $copy[$property.Name] = Protect-Value $property.Value }
  [pscustomobject]$copy
}

# Writes the files into a folder, and returns how many parts failed.
function Write-Report([string]$Folder, [string]$About, [string]$Version) {
  Add-Secrets
  $count = @{ OK = 0; FAILED = 0; SKIPPED = 0 }
  foreach ($part in $parts) { $count[$part.result]++ }
  $summary = "$($count.OK) passed, $($count.FAILED) failed, $($count.SKIPPED) skipped"
  $account = [System.Security.Principal.WindowsIdentity]::GetCurrent().Name
  # All further on is made of masked texts: none is cut or wrapped before it is masked.
  $whole = Protect-Value ([pscustomobject]@{
    schema = 1; about = $About; version = $Version; server = $server; account = $account
    powershell = "$($PSVersionTable.PSVersion)"; finished = (Get-Date).ToUniversalTime().ToString("o")
    parts = $parts; selftest = $selftest; facts = $facts; summary = $summary; doubts = @()
  })
  $outcomes = Get-Outcomes $whole
  foreach ($doubt in $doubts) { $doubt.Judge($outcomes) }
  $whole.doubts = @($doubts | ForEach-Object {
      [pscustomobject]@{ number = $_.Number; expected = $_.Expected; did = $_.Did; settled = $_.Settled }
    })
  $told = New-Object "System.Collections.Generic.List[string[]]"
  foreach ($fact in $whole.facts) { $told.Add([string[]]@($fact.name, $fact.value)) }
  $head = "$($whole.about). Programs: $($whole.version). Server that answered: $($whole.server). Account: $($whole.account)."
  $markdown = [NodeCheck.Markdown]::Report($head, $summary, $doubts, $outcomes, $told, 60000)
  [System.IO.File]::WriteAllText((Join-Path $Folder "REPORT.md"), $markdown)
  $whole | ConvertTo-Json -Depth 8 | Set-Content -Path (Join-Path $Folder "report.json") -Encoding UTF8
  & {
    $head
    ""
    $whole.parts | Format-Table -Wrap -AutoSize -Property "name", "result", "milliseconds", "detail"
    if ($null -ne $whole.selftest) {
      $whole.selftest.steps | Format-Table -Wrap -AutoSize -Property "name", "result", "milliseconds", "detail"
      $whole.selftest.latencies | Format-Table -AutoSize -Property "rpc", "version", "calls", "fastest_ms", "median_ms", "slowest_ms"
    }
    foreach ($fact in $whole.facts) {
      "--- $($fact.name)"
      $fact.value
      ""
    }
    $whole.doubts | Format-Table -Wrap -AutoSize -Property "number", "settled", "expected", "did"
    $summary
  } | Out-String -Width 200 | Set-Content -Path (Join-Path $Folder "report.txt") -Encoding UTF8
  $whole.doubts | Format-Table -AutoSize -Property "number", "settled", "expected" | Out-String | Write-Host
  Write-Host "$summary; paste $(Join-Path $Folder 'REPORT.md') into an issue and attach report.json"
  $count.FAILED
}
