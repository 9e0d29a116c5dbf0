# Part of node-check.ps1: links, and what is behind them. Uses its $base, $outside, $work, $programsFrom and node.ps1.

Test-Part "escape-junction" "no call leaves the kubelet's directory by a junction" {
  Assert-Passed "answers"
  Assert-NoEscape "Junction"
}

Test-Part "escape-symlink" "no call leaves the kubelet's directory by a symbolic link" {
  Assert-Passed "answers"
  Assert-NoEscape "SymbolicLink"
}

Test-Part "escape-race" "a directory that becomes a junction and back while calls go through it lets none out" {
  Assert-Passed "answers"
  $swapped = Join-Path $base "swapped"
  $attacker = Start-Job -ArgumentList $swapped, $outside -ScriptBlock {
    param($swapped, $outside)
    $end = (Get-Date).AddSeconds(60)
    while ((Get-Date) -lt $end) {
      try {
        [System.IO.Directory]::CreateDirectory("$swapped\inner") | Out-Null
        [System.IO.Directory]::Delete($swapped, $true)
      } catch { }
      try {
        New-Item -ItemType Junction -Path $swapped -Target $outside | Out-Null
        [System.IO.Directory]::Delete($swapped)
      } catch { }
    }
  }
  $outcomes = @{}
  try {
    $end = (Get-Date).AddSeconds(30)
    while ((Get-Date) -lt $end) {
      $call = Invoke-Ctl "filesystem", "rmdir", "--path=$swapped\inner", "--force"
      $outcome = "done"
      if ($call.Code -ne 0) { $outcome = ($call.Err -split ":")[1].Trim() }
      $outcomes[$outcome] = 1 + [int]$outcomes[$outcome]
    }
  } finally {
    Stop-Job -Job $attacker
    Remove-Job -Job $attacker -Force
    Remove-Tree $swapped
  }
  Assert-SentinelStays
  @($outcomes.Keys | ForEach-Object { "$_ $($outcomes[$_])" }) -join ", "
}

Test-Part "reparse-race" "an empty directory that becomes a junction and back, without being removed, lets none out" {
  Assert-Passed "answers"
  Assert-Step "partition"
  $hostile = Join-Path $programsFrom "hostile.exe"
  if (-not (Test-Path $hostile)) { Skip-Part "there is no $hostile (integration/service/hostile/README.md)" }
  $raced = Join-Path $base "raced"
  try {
    $flags = "-reparse", "100000", "-raced", $raced, "-outside", "$work\raced", "-volume", (Get-TestVolume)
    $race = Invoke-Program $hostile $flags 7200
  } finally {
    Remove-Tree $raced
  }
  Assert-That ($race.Code -eq 0) "exit code $($race.Code): $($race.Out) $($race.Err)"
  $race.Out
}

Test-Part "remove-keeps-target" "a directory goes with links in it, whose targets stay" {
  Assert-Passed "answers"
  $tree = Join-Path $base "tree"
  New-Item -ItemType Directory -Path "$tree\deep" | Out-Null
  New-Item -ItemType Junction -Path "$tree\deep\junction" -Target $outside | Out-Null
  New-Item -ItemType SymbolicLink -Path "$tree\symlink" -Target $outside | Out-Null
  Set-Content -Path "$tree\deep\read-only.txt" -Value "goes"
  Set-ItemProperty -Path "$tree\deep\read-only.txt" -Name IsReadOnly -Value $true
  Get-Answer "filesystem", "rmdir", "--path=$tree", "--force" | Out-Null
  Assert-That (-not (Test-Path $tree)) "$tree is still there"
  Assert-SentinelStays
}

Test-Part "link-target" "Windows reads the link that the service makes as one to its source" {
  Assert-Passed "answers"
  $source = Join-Path $base "source"
  $link = Join-Path $base "link"
  Get-Answer "filesystem", "mkdir", "--path=$source" | Out-Null
  Get-Answer "filesystem", "create-symlink", "--source-path=$source", "--target-path=$link" | Out-Null
  $item = Get-Item $link
  Assert-That ($item.LinkType -eq "SymbolicLink") "it is a $($item.LinkType)"
  $target = @($item.Target)[0]
  Assert-That ($target -eq $source) "its target is $target"
  Set-Content -Path "$link\through.txt" -Value "x"
  Assert-That (Test-Path "$source\through.txt") "a file made through the link is not where it leads"
  (Invoke-Program "fsutil.exe" "reparsepoint", "query", $link).Out.Trim()
}

Test-Part "mount-seen" "Windows sees the mount while it is there, and files go through it to the volume" {
  Assert-Step "format"
  $volume = Get-TestVolume
  $mount = Join-Path $base "mount"
  Get-Answer "filesystem", "mkdir", "--path=$mount" | Out-Null
  Get-Answer "volume", "mount-volume", "--volume-id=$volume", "--target-path=$mount" | Out-Null
  $seen = (Invoke-Program "mountvol.exe" $mount, "/L").Out.Trim()
  Assert-That ($seen -eq $volume) "mountvol says $seen"
  Set-Content -Path "$mount\file.txt" -Value "on the volume"
  Get-Answer "volume", "unmount-volume", "--volume-id=$volume", "--target-path=$mount" | Out-Null
  $after = (Invoke-Program "mountvol.exe" $mount, "/L").Out.Trim()
  Assert-That ($after -notmatch "Volume\{") "mountvol still says $after"
  Assert-That (@(Get-ChildItem -Force $mount).Count -eq 0) "the file is in the directory, not on the volume"
  Get-Answer "filesystem", "rmdir", "--path=$mount" | Out-Null
  $volume
}
