# Part of node-check.ps1: who may open and serve the pipes. Uses its $pipe, $proxy and $KubeletPath.

# Opens the pipe with a right of its owner's beside reading.
function Open-Changing([string]$Right) {
  $rights = [System.IO.Pipes.PipeAccessRights]"ReadData, $Right"
  $client = New-Object System.IO.Pipes.NamedPipeClientStream(".", $pipe, $rights, [System.IO.Pipes.PipeOptions]::None,
    [System.Security.Principal.TokenImpersonationLevel]::Anonymous, [System.IO.HandleInheritability]::None)
  $client.Connect(5000)
  $client
}

function New-Instance([int]$Limit) {
  New-Object System.IO.Pipes.NamedPipeServerStream($pipe, [System.IO.Pipes.PipeDirection]::InOut, $Limit)
}

# Asserts that Windows refuses what the body opens.
function Assert-Denied([string]$What, [scriptblock]$Body) {
  try { (& $Body).Dispose() } catch {
    $why = $_.Exception.GetBaseException()
    Assert-That ($why -is [System.UnauthorizedAccessException]) "${What}: $($why.Message)"
    return $why.Message
  }
  throw "an administrator may $What"
}

Test-Part "pipe-descriptor" "SYSTEM and Administrators alone may open the pipe, and SYSTEM owns it" {
  Assert-Passed "answers"
  $client = Open-Abandoned
  try { $sddl = $client.GetAccessControl().GetSecurityDescriptorSddlForm("Access, Owner, Group") } finally { $client.Dispose() }
  $descriptor = New-Object System.Security.AccessControl.RawSecurityDescriptor($sddl)
  $protected = [System.Security.AccessControl.ControlFlags]::DiscretionaryAclProtected
  Assert-That (($descriptor.ControlFlags -band $protected) -ne 0) "the DACL is not protected: $sddl"
  $service = "S-1-5-18"
  # In console mode the pipe belongs to the administrator who started the program.
  if ($started) { $service = [System.Security.Principal.WindowsIdentity]::GetCurrent().User.Value }
  # The last is OWNER RIGHTS.
  $trusted = "S-1-5-18", "S-1-5-32-544", $service, "S-1-3-4"
  $others = @($descriptor.DiscretionaryAcl | Where-Object { $trusted -notcontains $_.SecurityIdentifier.Value })
  Assert-That ($others.Count -eq 0) "others may open it as well: $sddl"
  Assert-That ($descriptor.Owner.Value -eq $service) "it has another owner: $sddl"
  $sddl
}

Test-Part "pipe-access" "an administrator opens the pipe, and neither serves it nor changes who may" {
  Assert-Passed "answers"
  $self = [System.Security.Principal.WindowsIdentity]::GetCurrent().User.Value
  if ($started -or $self -eq "S-1-5-18") { Skip-Part "the service runs as this account" }
  (Open-Abandoned).Dispose()
  Assert-Denied "change the access list" { Open-Changing "ChangePermissions" }
  Assert-Denied "take the pipe" { Open-Changing "TakeOwnership" }
  Assert-Denied "make an instance" { New-Instance -1 }
}

Test-Part "first-instance" "nobody can make the first instance of the pipe while the service has it" {
  Assert-Passed "answers"
  # A limit of one instance has .NET ask for the first (FILE_FLAG_FIRST_PIPE_INSTANCE).
  Assert-Denied "make the first instance" { New-Instance 1 }
}

Test-Part "second-service" "a second csi-proxy.exe does not start beside the first" {
  Assert-Passed "answers"
  $second = Invoke-Program $proxy "-kubelet-path=$KubeletPath" 30
  Assert-That ($second.Code -ne 0) "it ended with exit code 0"
  Assert-That (Test-Answering) "the first does not answer any more"
  "exit code $($second.Code): $($second.Err.Trim())"
}

Test-Part "remote-client" "a client that comes over the network is refused" {
  Assert-Passed "answers"
  # The same way to a pipe that takes such clients, or nothing is shown.
  $control = Open-RemotePipe "srvsvc"
  if ($control -ne "") { Skip-Part "no pipe of \\$env:COMPUTERNAME can be opened: $control" }
  $refusal = Open-RemotePipe $pipe
  Assert-That ($refusal -ne "") "\\$env:COMPUTERNAME\pipe\$pipe could be opened"
  $refusal
}
