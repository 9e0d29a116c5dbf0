#!/usr/bin/env bash
# Runs the tests of the PowerShell scripts with the programs of a build: run.sh BUILD [FILE]. Exits with 77, a skip of ctest, without
# PowerShell 7, which is $CSI_PROXY_PWSH or in PATH, or without Pester 5.
set -euo pipefail
pwsh=${CSI_PROXY_PWSH:-$(command -v pwsh || true)} && export CSI_PROXY_BUILD=$1
# shellcheck disable=SC2016  # PowerShell's variables
[[ -x $pwsh ]] && "$pwsh" -NoProfile -Command 'exit [int](-not (Get-Module -ListAvailable Pester | Where-Object { $_.Version -ge "5.0" }))' || {
  echo "skipped, without PowerShell 7 and Pester 5: dotnet tool install --global PowerShell && pwsh -Command 'Install-Module Pester'"
  exit 77
}
exec "$pwsh" -NoProfile -Command "\$c = New-PesterConfiguration; \$c.Run.Path = '$(dirname "$0")/${2-}'; \$c.Run.Exit = \$true; Invoke-Pester -Configuration \$c"
