# Goes back to the version before, without running any program of ways: for a version that does not start.
#     powershell -ExecutionPolicy Bypass -File "$env:LOCALAPPDATA\agent-ways\app\rollback.ps1"
# Written by ways; its place in the app root tells it where the versions are.
$ErrorActionPreference = 'Stop'
$app = Split-Path -Parent $PSCommandPath
$current = Join-Path $app 'current'
$previous = Join-Path $app 'previous'
$names = Join-Path $app 'current.txt'

function Get-Leads([string]$Link) {
    $item = Get-Item -LiteralPath $Link -Force -ErrorAction SilentlyContinue
    if (-not $item -or -not ($item.Attributes -band [IO.FileAttributes]::ReparsePoint)) { return '' }
    return [string](@($item.Target)[0])
}

# A junction cannot be renamed over another: the old one goes aside, and comes back when the second step fails.
function Set-Junction([string]$Link, [string]$Target) {
    $aside = "$Link.ways-tmp-$PID"
    $there = Test-Path -LiteralPath $Link
    if ($there) { [IO.Directory]::Move($Link, $aside) }
    try {
        [void](New-Item -ItemType Junction -Path $Link -Target $Target)
    } catch {
        if ($there) { [IO.Directory]::Move($aside, $Link) }
        throw
    }
    # Not recursive: that removes the junction and nothing behind it.
    if ($there) { [IO.Directory]::Delete($aside) }
}

try {
    $to = Get-Leads $previous
    $from = Get-Leads $current
    if (-not $to) { throw "there is no version before this one in $app" }
    if ($to -eq $from) { throw 'there is no version to go back to: current and previous are the same' }
    $program = Join-Path $to 'bin\ways.exe'
    if (-not (Test-Path -LiteralPath $program)) { throw "the version before, $to, holds no program" }
    $ErrorActionPreference = 'Continue'
    & $program --version | Out-Null
    $started = $LASTEXITCODE -eq 0
    $ErrorActionPreference = 'Stop'
    if (-not $started) { throw "$program does not start either; run the ways installer again" }
    [IO.File]::WriteAllText($names, (Split-Path -Leaf $to) + "`n")
    Set-Junction $current $to
    if ($from) { Set-Junction $previous $from }
    Write-Host "ways is version $(Split-Path -Leaf $to) again"
    & (Join-Path $app 'bin\ways.exe') reconcile --quiet
    if ($LASTEXITCODE -ne 0) { Write-Host 'The targets were not all brought up to date. Next: ways reconcile' }
} catch {
    [Console]::Error.WriteLine("ways: $($_.Exception.Message)")
    exit 1
}
