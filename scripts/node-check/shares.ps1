# Part of node-check.ps1: shares of this node itself, for two users that are made for it, and how refusals look. Uses its
# $work, $base and harness.ps1.

$shareUsers = "csi-node-check-a", "csi-node-check-b"
$shareNames = "csi-node-check-a$", "csi-node-check-b$"
$sharePasswords = @()
$smb = "root/Microsoft/Windows/SMB"

function Get-Share([int]$Index) { "\\$env:COMPUTERNAME\$($shareNames[$Index])" }

# The flags of a mapping. The password goes by a file, which only administrators read.
function New-MappingFlags([string]$Share, [string]$User, [string]$Password, [string]$Link = "") {
  $file = Join-Path $work "password.txt"
  [System.IO.File]::WriteAllText($file, $Password)
  "smb", "new-smb-global-mapping", "--remote-path=$Share", "--local-path=$Link", "--username=$env:COMPUTERNAME\$User", "--password-file=$file"
}

# The same asked of WMI itself. Its Create takes the credentials as one text.
function Get-MappingOutcome([string]$Share, [string]$User, [string]$Password) {
  $wanted = @{ RemotePath = $Share; Credential = "$env:COMPUTERNAME\\${User}:$Password"; RequirePrivacy = $true }
  Get-CimOutcome { Invoke-CimMethod -Namespace $smb -ClassName MSFT_SmbGlobalMapping -MethodName Create -Arguments $wanted }
}

# How a mapping is refused, by the service and by WMI; fails when it is not.
function Assert-MappingRefused([string]$Share, [string]$User, [string]$Password) {
  $service = Get-Refusal (New-MappingFlags $Share $User $Password)
  $outcome = Get-MappingOutcome $Share $User $Password
  Remove-Mappings
  Assert-That ($outcome -notmatch "^ReturnValue 0 ") "WMI mapped it: $outcome"
  "the service: $service; WMI: $outcome"
}

function Remove-Mappings {
  foreach ($known in @(Get-CimInstance -Namespace $smb MSFT_SmbGlobalMapping)) {
    if ($known.RemotePath -like "\\$env:COMPUTERNAME\csi-node-check-*") {
      Invoke-CimMethod -InputObject $known -MethodName Remove -Arguments @{ Force = $true } | Out-Null
    }
  }
}

function New-Shares {
  foreach ($i in 0, 1) {
    $script:sharePasswords += "Aa1!" + [System.Guid]::NewGuid().ToString("N")
    $secret = ConvertTo-SecureString -AsPlainText -Force $sharePasswords[$i]
    New-LocalUser -Name $shareUsers[$i] -Password $secret -AccountNeverExpires -Description "node-check.ps1 of CSI Proxy" | Out-Null
    $masks.Know("user", $shareUsers[$i])
    $folder = Join-Path $work "share-$i"
    New-Item -ItemType Directory -Path $folder | Out-Null
    $granted = Invoke-Program "icacls.exe" $folder, "/grant", "$($shareUsers[$i]):(OI)(CI)M"
    Assert-That ($granted.Code -eq 0) "icacls ended with exit code $($granted.Code)"
    New-SmbShare -Name $shareNames[$i] -Path $folder -FullAccess "$env:COMPUTERNAME\$($shareUsers[$i])" -EncryptData $true | Out-Null
  }
}

function Remove-Shares {
  if (-not (Get-Command New-SmbShare -ErrorAction SilentlyContinue)) { return }
  if ($sharePasswords.Count -eq 0) { return }
  Remove-Mappings
  foreach ($name in $shareNames) {
    if (Get-SmbShare -Name $name -ErrorAction SilentlyContinue) { Remove-SmbShare -Name $name -Force }
  }
  foreach ($name in $shareUsers) {
    if (Get-LocalUser -Name $name -ErrorAction SilentlyContinue) { Remove-LocalUser -Name $name }
  }
}

Test-Part "smb-class" "mappings are found by RemotePath, and Create is static" {
  $class = Get-CimClass -Namespace $smb MSFT_SmbGlobalMapping
  Add-Fact "class MSFT_SmbGlobalMapping" {
    foreach ($property in $class.CimClassProperties) { "$($property.Name): $($property.CimType) $($property.Flags)" }
    foreach ($method in $class.CimClassMethods) {
      $qualifiers = @($method.Qualifiers | ForEach-Object { $_.Name }) -join " "
      $parameters = @($method.Parameters | ForEach-Object { "$($_.Name) $($_.CimType)" }) -join ", "
      "$($method.Name) ($parameters) $qualifiers"
    }
  }
  $keys = @($class.CimClassProperties | Where-Object { "$($_.Flags)" -match "Key" } | ForEach-Object { $_.Name })
  $create = @($class.CimClassMethods | Where-Object { $_.Name -eq "Create" })
  Assert-That ($create.Count -eq 1) "the class has no method Create"
  $static = @($create[0].Qualifiers | Where-Object { $_.Name -eq "static" }).Count -eq 1
  $told = "keys $($keys -join ', '); Create is static: $static"
  Assert-That ($static -and $keys -contains "RemotePath") $told
  $told
}

Test-Part "smb-wrong-password" "a wrong password is refused" {
  Assert-Passed "answers"
  Assert-Passed "smb-class"
  foreach ($needed in "New-SmbShare", "New-LocalUser") {
    if (-not (Get-Command $needed -ErrorAction SilentlyContinue)) { Skip-Part "the node has no command $needed" }
  }
  if ((Get-Service -Name "LanmanServer").Status -ne "Running") { Skip-Part "the service LanmanServer does not run" }
  if ((Get-CimInstance Win32_ComputerSystem).DomainRole -ge 4) { Skip-Part "a domain controller has no local users" }
  New-Shares
  Assert-MappingRefused (Get-Share 0) $shareUsers[0] "not the password"
}

Test-Part "smb-absent-share" "a share that is not there is refused" {
  Assert-Passed "smb-wrong-password"
  Assert-MappingRefused "\\$env:COMPUTERNAME\csi-node-check-absent$" $shareUsers[0] $sharePasswords[0]
}

Test-Part "smb-share" "a share is mapped for a user with a domain, linked, written through, listed and unmapped" {
  Assert-Passed "smb-wrong-password"
  $share = Get-Share 0
  $link = Join-Path $base "share"
  Get-Answer (New-MappingFlags $share $shareUsers[0] $sharePasswords[0] $link) | Out-Null
  try {
    Set-Content -Path "$link\file.txt" -Value "through the link"
    Assert-That (Test-Path "$work\share-0\file.txt") "a file made through the link is not in the share"
    $target = @((Get-Item $link).Target)[0]
    $listed = @((Get-Answer "storage", "list-smb-mappings").mappings | Where-Object { $_.remote_path -like "*csi-node-check-a*" })
    Assert-That ($listed.Count -eq 1) "list-smb-mappings has it $($listed.Count) times"
    Add-Fact "mappings in WMI" { Get-CimInstance -Namespace $smb MSFT_SmbGlobalMapping | Format-List -Property "*" }
    Add-Fact "connections" { Get-SmbConnection | Format-List -Property "ServerName", "ShareName", "Dialect", "Encrypted", "Credential", "UserName" }
    $status = $listed[0].status
  } finally {
    Get-Answer "filesystem", "rmdir", "--path=$link" | Out-Null
    Get-Answer "smb", "remove-smb-global-mapping", "--remote-path=$share" | Out-Null
  }
  Assert-That (@(Get-CimInstance -Namespace $smb MSFT_SmbGlobalMapping | Where-Object { $_.RemotePath -eq $share }).Count -eq 0) "it is still mapped"
  "link to $target, state $status"
}

Test-Part "smb-other-credentials" "a second user of one server is refused with error 1219" {
  Assert-Passed "smb-share"
  Get-Answer (New-MappingFlags (Get-Share 0) $shareUsers[0] $sharePasswords[0]) | Out-Null
  $told = Assert-MappingRefused (Get-Share 1) $shareUsers[1] $sharePasswords[1]
  Assert-That ($told -match "1219|4c3") $told
  $told
}

Test-Part "smb-no-encryption" "a server without encryption is refused" {
  Assert-Passed "smb-share"
  # Encryption came with dialect 3.0. Servers can be held to an older one since 2025
  # (https://learn.microsoft.com/windows-server/storage/file-server/manage-smb-dialects).
  if (-not (Get-Command Set-SmbServerConfiguration).Parameters.ContainsKey("Smb2DialectMax")) { Skip-Part "this server cannot do without encryption" }
  if (-not $Yes) { Skip-Part "it holds the SMB server of the node to dialect 2.1 for a moment, which -Yes agrees to" }
  $before = (Get-SmbServerConfiguration).Smb2DialectMax
  Set-SmbShare -Name $shareNames[0] -EncryptData $false -Force
  $older = @{ Smb2DialectMax = "SMB210" }
  Set-SmbServerConfiguration @older -Force
  try {
    Assert-MappingRefused (Get-Share 0) $shareUsers[0] $sharePasswords[0]
  } finally {
    $older["Smb2DialectMax"] = $before
    Set-SmbServerConfiguration @older -Force
  }
}
