# Part of node-check.ps1: calls through links and mounts. Uses the script's $base, $outside, $sentinel, $work, $Directory and $disk.

function Assert-SentinelStays {
  Assert-That (Test-Path $sentinel) "the sentinel $sentinel outside is gone"
  $names = @(Get-ChildItem -Recurse -Force $outside | Where-Object { @("inner", "sentinel.txt") -notcontains $_.Name } | ForEach-Object { $_.FullName })
  Assert-That ($names.Count -eq 0) "made outside: $($names -join ', ')"
}
# Makes every kind of call that takes a path, through a link that leads out of the kubelet's directory.
foreach ($kind in @("escape-junction", "Junction"), @("escape-symlink", "SymbolicLink")) {
  Test-Part $kind[0] "no call leaves the kubelet's directory by a link of this kind" -Needs "answers" {
    $link = Join-Path $base "to-outside"
    New-Item -ItemType $kind[1] -Path $link -Target $outside | Out-Null
    $calls = @("filesystem", "path-exists", "--path=$link\inner"),
      @("filesystem", "is-symlink", "--path=$link"),
      @("filesystem", "mkdir", "--path=$link\made"),
      @("filesystem", "rmdir", "--path=$link\inner", "--force"),
      @("filesystem", "rmdir-contents", "--path=$link\inner"),
      @("filesystem", "create-symlink", "--source-path=$base", "--target-path=$link\made"),
      @("filesystem", "create-symlink", "--source-path=$link\inner", "--target-path=$base\made"),
      @("volume", "get-volume-id-from-target-path", "--target-path=$link\inner"),
      @("volume", "get-closest-volume-id-from-target-path", "--target-path=$link\inner")
    foreach ($call in $calls) { Assert-Refused "PERMISSION_DENIED" $call | Out-Null }
    # Rmdir may remove the link itself, but not its target.
    Get-Answer "filesystem", "rmdir", "--path=$link" | Out-Null
    Assert-That (-not (Test-Path $link)) "the link is still there"
    Assert-SentinelStays
  }
}
Test-Part "reparse-race" "no call leaves the kubelet's directory by an empty directory that turns into a junction and back" -Needs "stages" {
  $hostile = Join-Path $Directory "hostile.exe"
  if (-not (Test-Path $hostile)) { Skip-Part "there is no $hostile (integration/service/hostile/README.md)" }
  $volume = (Invoke-Stage (New-Image "raced") "raced-volume").volume_id
  try {
    $race = Invoke-Program $hostile "-reparse", "100000", "-raced", "$base\raced", "-outside", "$work\raced", "-volume", $volume 7200
  } finally { Invoke-Unstage "raced-volume" | Out-Null; Remove-Tree "$base\raced" }
  Assert-That ($race.Code -eq 0) "exit code $($race.Code): $($race.Out) $($race.Err)"
  $race.Out
}
Test-Part "remove-keeps-target" "a directory is removed with its links and its read-only file, and the links' targets stay" -Needs "answers" {
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
Test-Part "mount-seen" "Windows sees the mount while it is there, and files go through it to the volume" -Needs "stages", "disk-image" {
  $mount = Join-Path $base "mount"
  $volume = (Invoke-Stage $disk "mount").volume_id
  $seen = (Invoke-Program "mountvol.exe" $mount, "/L").Out.Trim()
  Set-Content -Path "$mount\file.txt" -Value "on the volume"
  Get-Answer "volume", "unmount-volume", "--volume-id=$volume", "--target-path=$mount" | Out-Null
  $after = (Invoke-Program "mountvol.exe" $mount, "/L").Out.Trim()
  Assert-That ($seen -eq $volume -and $after -notmatch "Volume\{") "mountvol said $seen, and after the unmount $after"
  Assert-That (@(Get-ChildItem -Force $mount).Count -eq 0) "the file is in the directory, not on the volume"
  Get-Answer "filesystem", "rmdir", "--path=$mount" | Out-Null
  $volume
}
