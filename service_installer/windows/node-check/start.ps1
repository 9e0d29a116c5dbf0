# Part of node-check.ps1: what the other parts need. Uses the script's $proxy and $disk, node.ps1 and proxy.ps1, and sets $server and $watched.

Test-Part "answers" "the service answers on its pipes" {
  Start-Proxy
  $process = Get-ProxyProcess
  $script:watched = $process.Id
  $script:server = "$(Get-ProgramVersion $process.Path), $($process.Path)"
  Assert-That (@("unknown", (Get-ProgramVersion $proxy)) -contains (Get-ProgramVersion $process.Path)) "$server; the programs of this release are $(Get-ProgramVersion $proxy)"
}
$watch = { Watch-Proxy $args[0] }

Test-Part "disk-image" "a virtual disk is attached" {
  $script:disk = New-Image "disk" 2048
  if ((Get-CimDisk $disk).PartitionStyle -ne 0) { throw "disk $disk is not raw" }
  "disk $disk"
}
Test-Part "stages" "a virtual disk is staged and unstaged" -Needs "answers" {
  $staged = Invoke-Stage (New-Image "stages") "stages"
  "staged by $($staged.steps -join ' '); unstaged by $((Invoke-Unstage "stages").steps -join ' ')"
}
