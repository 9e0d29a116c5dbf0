<#
.SYNOPSIS
  Tries to build the programs with MSVC, by the libraries of vcpkg; README.md says what is known to be in the way.
.PARAMETER Report
  The folder that gets the logs.
.PARAMETER Vcpkg
  Where vcpkg is.
#>
#Requires -Version 5.1
[CmdletBinding()]
param([string]$Report = "report", [string]$Vcpkg = $env:VCPKG_INSTALLATION_ROOT)
Set-StrictMode -Version 2.0
# What a program writes to its standard error is no error of PowerShell's.
$ErrorActionPreference = "Continue"
$root = (Resolve-Path (Join-Path $PSScriptRoot "..\..")).Path
$logs = (New-Item -ItemType Directory -Force -Path $Report).FullName
$build = Join-Path $root "build\msvc"

function Invoke-Step([string]$Name, [string[]]$Arguments) {
  & cmake.exe $Arguments 2>&1 | ForEach-Object { "$_" } | Tee-Object -FilePath (Join-Path $logs "$Name.log")
  if ($LASTEXITCODE -ne 0) {
    foreach ($log in Get-ChildItem "$Vcpkg\buildtrees\*\*.log", "$build\vcpkg-manifest-install.log" -ErrorAction SilentlyContinue) {
      if ($log.Name -match "err|manifest") { Copy-Item $log.FullName $logs }
    }
    Write-Host "${Name}: exit code $LASTEXITCODE"
    exit 1
  }
}

# Tests need benchmark and more; precompiled headers are GCC's alone.
Invoke-Step "configure" "-S", $root, "-B", $build, "-DCMAKE_TOOLCHAIN_FILE=$Vcpkg\scripts\buildsystems\vcpkg.cmake",
  "-DVCPKG_MANIFEST_DIR=$PSScriptRoot", "-DVCPKG_TARGET_TRIPLET=x64-windows-static", "-DBUILD_TESTING=OFF"
Invoke-Step "build" "--build", $build, "--config", "Release", "--parallel"
