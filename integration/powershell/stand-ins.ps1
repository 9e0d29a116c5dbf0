# Stands for Windows: its drive C:, its commands, and programs that record their arguments. A test
# file dot-sources it in BeforeAll.
$ErrorActionPreference = "Stop"; $global:checkout = (Resolve-Path "$PSScriptRoot/../..").Path
# The build tree with the programs; ctest sets it.
if (-not $env:CSI_PROXY_BUILD) { $env:CSI_PROXY_BUILD = "$checkout/build/release" }
# The answers by command, and the calls, each as a name and parameters.
$global:answers, $global:calls = @{}, (New-Object System.Collections.ArrayList)
# Makes an empty drive C:, whose folder is $drive. Programs of Windows are on PATH.
function global:New-Drive {
  if (Test-Path variable:global:drive) { Microsoft.PowerShell.Management\Remove-Item -Recurse -Force $drive -ErrorAction SilentlyContinue }
  $global:drive = (New-Item -ItemType Directory -Path (Join-Path ([IO.Path]::GetTempPath()) "csi proxy $([Guid]::NewGuid())")).FullName; Remove-PSDrive -Name C -Scope Global -ErrorAction SilentlyContinue
  New-PSDrive -Name C -PSProvider FileSystem -Root $drive -Scope Global | Out-Null; foreach ($folder in "Windows/System32", "Windows/Temp", "Program Files", "ProgramData", "Users/Müller") { New-Item -ItemType Directory -Path "$drive/$folder" | Out-Null }
  $env:SystemRoot, $env:SystemDrive, $env:ProgramFiles, $env:ProgramData = "C:\Windows", "C:", "C:\Program Files", "C:\ProgramData"; $env:COMPUTERNAME, $env:USERNAME, $env:USERDOMAIN, $env:USERDNSDOMAIN = "WINNODE", "Administrator", "WINNODE", "corp.example.net"; $global:calls.Clear()
  $env:WORDS, $env:FAIL_AT, $env:ANSWER = "$drive/words", "", ""; $global:path = if (Test-Path variable:global:path) { $global:path } else { $env:PATH }; $env:PATH = "$drive/Windows/System32:$global:path"
  Add-Program "$drive/Windows/System32" "icacls.exe", "sc.exe", "tar.exe", "docker.exe", "cmd.exe", "mountvol.exe", "diskpart.exe"
}
function global:Add-Program([string]$Folder, [string[]]$Names, [string]$Of = "program.sh") { New-Item -ItemType Directory -Force -Path $Folder | Out-Null; foreach ($name in $Names) { Microsoft.PowerShell.Management\Copy-Item "$checkout/integration/powershell/$Of" "$Folder/$name" } }
# Returns the arguments of the programs that the block called, one line for each call, and as the
# last line what was thrown.
function global:Get-Words([scriptblock]$Body) { Set-Content $env:WORDS $null; $global:calls.Clear(); try { & $Body | Out-Null } catch { $thrown = "thrown: $_" }; @(Get-Content $env:WORDS) + @($thrown | Where-Object { $_ }) }
# Defines a command by the names of its parameters, in their order, with `!` for a switch and `<` for the pipeline's. The answer finds the
# parameters that it got in $p.
function global:Set-StandIn([string]$Command, [string]$Parameters, [scriptblock]$Answer = { }) {
  $at = -1; $declared = foreach ($name in @(-split $Parameters | Where-Object { $_ })) { $at++; switch -Regex ($name) { "!$" { "[switch]`$$($name.Trim('!'))" } "<$" { "[Parameter(ValueFromPipeline)]`$$($name.Trim('<'))" } default { "[Parameter(Position = $at)]`$$name" } } }
  $global:answers[$Command] = $Answer; $told = "`$p = `$PSBoundParameters; [void]`$global:calls.Add(`"$Command `$(`$p.GetEnumerator() | ForEach-Object { `"`$(`$_.Key)=`$(`$_.Value)`" })`"); & `$global:answers['$Command']"
  Set-Item "function:global:$Command" ([scriptblock]::Create("[CmdletBinding(SupportsShouldProcess)] param($($declared -join ', ')) process { $told }"))
}
# Stands for a function of a script: a command's alias goes before the function.
function global:Set-Seam([string]$Function, [string]$Parameters, [scriptblock]$Answer = { }) { Set-StandIn "$Function-StandIn" $Parameters $Answer; Set-Alias -Scope Global $Function "$Function-StandIn" }
# Removes the drive and all stand-ins, so that another file's tests find none.
function global:Remove-Drive {
  Microsoft.PowerShell.Management\Remove-Item -Recurse -Force $drive
  foreach ($name in @($answers.Keys) + "Test-Path", "New-Item", "Set-Content", "Get-ChildItem", "Copy-Item", "Set-ItemProperty") { Microsoft.PowerShell.Management\Remove-Item "function:$name", "alias:$($name -replace '-StandIn')" -ErrorAction SilentlyContinue }
}
# PowerShell on Linux joins paths of a drive by `/`.
function global:Join-Path([string]$Path, [string]$ChildPath) { if ($Path -match "^[A-Z]:") { $Path.TrimEnd("\") + "\" + $ChildPath } else { Microsoft.PowerShell.Management\Join-Path $Path ($ChildPath -replace "\\", "/") } }
