<#
.SYNOPSIS
Installs ways for the current user on Windows, without Python and without administrator's rights.

.DESCRIPTION
    irm <release base>/install.ps1 | iex
    .\install.ps1 [options]

Works in Windows PowerShell 5.1 and in PowerShell 7. Nothing of yours is changed, except that one entry is added to
your Path and ways is listed among the installed apps. Hooks are put into a Claude Code config directory only when
one is named: -Activate DIR here, or "ways init" later.

What is trusted: the release base, over TLS (with the certificates that Windows trusts). The archive must have the
size and the SHA-256 that the signed targets metadata there gives. The signatures themselves are checked by
"ways update", whose keys are in the program that this installs.

Each option has a variable: WAYS_VERSION, WAYS_RELEASE_BASE, WAYS_ARCHIVE, WAYS_SHA256, WAYS_APP_ROOT (the folder
itself), WAYS_ACTIVATE, WAYS_NO_PATH=1, WAYS_UNATTENDED=1, WAYS_ALLOW_DOWNGRADE=1. Proxies are taken from
https_proxy, else from Windows.

.PARAMETER Version
This version, not the newest.
.PARAMETER Base
Where releases are: an https address, a folder or a file:// address (mirror, air-gapped machine).
.PARAMETER Archive
Install this archive; nothing is downloaded.
.PARAMETER Sha256
The SHA-256 that the archive must have.
.PARAMETER Dir
Install below this folder, in DIR\agent-ways\app.
.PARAMETER Activate
Put hooks into this Claude Code config directory.
.PARAMETER NoPath
Leave the Path as it is.
.PARAMETER Unattended
Ask nothing.
.PARAMETER AllowDowngrade
With -Version: also a version older than the present one.
#>
param(
    [string]$Version = $env:WAYS_VERSION,
    [string]$Base = $env:WAYS_RELEASE_BASE,
    [string]$Archive = $env:WAYS_ARCHIVE,
    [string]$Sha256 = $env:WAYS_SHA256,
    [string]$Dir = '',
    [string]$Activate = $env:WAYS_ACTIVATE,
    [switch]$NoPath,
    [switch]$Unattended,
    [switch]$AllowDowngrade
)

$ReleaseBase = '' # where releases are served; written in when a release is published

# Everything is a function until the last lines, so that half a download of this script does nothing. Nothing says
# "exit" but the last line: under "| iex" that would close the person's own PowerShell.

function Stop-Install([string]$Message, [string]$Next = '', [int]$Code = 1) {
    $text = "ways: $Message"
    if ($Next) { $text += "  Next: $Next" }
    $failure = New-Object System.InvalidOperationException($text)
    $failure.Data['ways-exit-code'] = $Code
    throw $failure
}

function Test-Setting([string]$Value) {
    return $Value -and ($Value -notin @('0', 'false', 'no'))
}

# An address as it may be printed: without user, password, query and control characters.
function Get-Shown([string]$Address) {
    $text = $Address -replace '[\x00-\x1f\x7f]', ''
    $text = $text -replace '://[^/@]*@', '://'
    return $text -replace '\?.*$', ''
}

function Get-Platform {
    if ([Environment]::OSVersion.Platform -ne [PlatformID]::Win32NT) {
        Stop-Install 'this is not Windows' 'sh install.sh'
    }
    if ([Environment]::OSVersion.Version.Major -lt 10) {
        Stop-Install 'Windows 10 or newer is needed'
    }
    $processor = $env:PROCESSOR_ARCHITEW6432
    if (-not $processor) { $processor = $env:PROCESSOR_ARCHITECTURE }
    # Windows on ARM runs programs for x86_64.
    if ($processor -notin @('AMD64', 'ARM64')) {
        Stop-Install "there is no build for the processor $processor"
    }
    return 'windows-x86_64'
}

function Get-AppRoot([string]$Below) {
    if ($Below) {
        return Join-Path (Get-FullPath $Below) 'agent-ways\app'
    }
    if ($env:WAYS_APP_ROOT) { return Get-FullPath $env:WAYS_APP_ROOT }
    $local = $env:LOCALAPPDATA
    if (-not $local) { $local = [Environment]::GetFolderPath('LocalApplicationData') }
    if (-not $local) { Stop-Install 'LOCALAPPDATA is not set, so there is no place to install to' '.\install.ps1 -Dir DIR' 2 }
    return Join-Path $local 'agent-ways\app'
}

# .NET has a current folder of its own, which PowerShell's "cd" does not change.
function Get-FullPath([string]$Path) {
    return $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Path)
}

# Downloading

function Get-Source([string]$Named) {
    $address = $Named.TrimEnd('/', '\')
    if (-not $address) {
        Stop-Install 'no release base is known' '.\install.ps1 -Base URL, or -Archive FILE' 2
    }
    $loopback = '^http://(localhost|127\.0\.0\.1|\[::1\])([:/]|$)'
    if ($address -match '^https://' -or $address -match $loopback) {
        return @{ Folder = ''; Address = $address; Shown = (Get-Shown $address) }
    }
    if ($address -match '^http://') {
        Stop-Install "$(Get-Shown $address) is not encrypted, so what comes from it could be anybody's" 'use its https address'
    }
    if ($address -match '^file://') {
        $folder = ([Uri]$address).LocalPath
    } elseif ($address -match '^[A-Za-z][A-Za-z0-9+.-]+://') {
        Stop-Install "$(Get-Shown $address): only https addresses, file:// addresses and folders can be read" '' 2
    } else {
        $folder = Get-FullPath $address
    }
    if (-not [IO.Directory]::Exists($folder)) { Stop-Install "$folder is no folder" 'look at -Base' }
    return @{ Folder = $folder; Address = ''; Shown = $folder }
}

# The file of the release base, at most $Most bytes. $false when it is not there.
function Receive-File($Source, [string]$Path, [string]$File, [long]$Most) {
    if ($Source.Folder) {
        $place = Join-Path $Source.Folder ($Path -replace '/', '\')
        if (-not [IO.File]::Exists($place)) { return $false }
        [IO.File]::Copy($place, $File, $true)
        return $true
    }
    $address = "$($Source.Address)/$Path"
    $where = Get-Shown $address
    try {
        $request = New-Request $address
        $response = $request.GetResponse()
        try {
            if ($address -match '^https://' -and $response.ResponseUri.Scheme -ne 'https') {
                Stop-Install "$where leads to an address that is not encrypted" 'look at -Base'
            }
            Save-Stream $response.GetResponseStream() $File $Most $where
        } finally {
            $response.Close()
        }
        return $true
    } catch {
        $failure = $_.Exception
        while ($failure -and $failure -isnot [Net.WebException]) {
            if ($failure.Data.Contains('ways-exit-code')) { throw $failure }
            $failure = $failure.InnerException
        }
        if (-not $failure) { throw }
        return Get-DownloadFault $failure $where
    }
}

function New-Request([string]$Address) {
    $request = [Net.WebRequest]::Create($Address)
    $request.UserAgent = 'ways'
    $request.Timeout = 60000
    $request.ReadWriteTimeout = 60000
    $parts = [Uri]$Address
    if ($parts.UserInfo) {
        $token = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes([Uri]::UnescapeDataString($parts.UserInfo)))
        $request.Headers['Authorization'] = "Basic $token"
    }
    $named = $env:https_proxy
    if ($named -and $parts.Scheme -eq 'https') {
        $proxy = New-Object Net.WebProxy($named)
        $who = ([Uri]$named).UserInfo
        if ($who) {
            $user, $password = $who -split ':', 2
            $proxy.Credentials = New-Object Net.NetworkCredential([Uri]::UnescapeDataString($user), [Uri]::UnescapeDataString("$password"))
        }
        $request.Proxy = $proxy
    } elseif ($request.Proxy) {
        $request.Proxy.Credentials = [Net.CredentialCache]::DefaultCredentials
    }
    return $request
}

function Save-Stream($Stream, [string]$File, [long]$Most, [string]$Where) {
    $buffer = New-Object byte[] 65536
    [long]$total = 0
    $out = [IO.File]::Create($File)
    try {
        while (($count = $Stream.Read($buffer, 0, $buffer.Length)) -gt 0) {
            $total += $count
            if ($total -gt $Most) { Stop-Install "$Where is larger than it should be" 'try again later, or another -Base' }
            $out.Write($buffer, 0, $count)
        }
    } finally {
        $out.Dispose()
    }
}

# $false for "there is no such file"; everything else ends the run and says what it was.
function Get-DownloadFault($Failure, [string]$Where) {
    $status = 0
    if ($Failure.Response -and $Failure.Response.StatusCode) { $status = [int]$Failure.Response.StatusCode }
    if ($status -in @(404, 410)) { return $false }
    if ($status -eq 407) { Stop-Install 'the proxy wants a user and a password' '$env:https_proxy = "http://user:password@proxy:port"' }
    if ($status) { Stop-Install "$Where is refused: the server answers $status" 'look at -Base and the access that it needs' }
    $tls = $Failure.Status -in @([Net.WebExceptionStatus]::TrustFailure, [Net.WebExceptionStatus]::SecureChannelFailure)
    $inner = $Failure
    while ($inner) {
        if ($inner -is [Security.Authentication.AuthenticationException]) { $tls = $true }
        $inner = $inner.InnerException
    }
    if ($tls) {
        Stop-Install ("the certificate that came with $Where is not one that Windows trusts. On a company's network this is usually " +
            'its TLS inspection, not tampering with the release: its authority is unknown here.') `
            "have the company's certificate added to Windows' trusted authorities"
    }
    Stop-Install "$Where cannot be downloaded: $(Get-Shown $Failure.Message)" 'look at the network, https_proxy and -Base, and run this again'
}

# What there is

function Read-Metadata($Source, [string]$Role, [string]$Number, [string]$Staging) {
    $name = "metadata/$Role.json"
    if ($Number) { $name = "metadata/$Number.$Role.json" }
    $file = Join-Path $Staging "$Role.json"
    if (-not (Receive-File $Source $name $file 16000000)) {
        Stop-Install "$($Source.Shown) holds no $name, so it is no release repository" 'look at -Base'
    }
    try {
        $found = [IO.File]::ReadAllText($file) | ConvertFrom-Json
    } catch {
        $found = $null
    }
    if (-not $found -or $found.signed._type -ne $Role) {
        Stop-Install "$($Source.Shown)/$name is not the metadata that it should be" 'look at -Base; a portal page of the network can also be the cause'
    }
    return $found.signed
}

# The archive that fits: name, version, length, SHA-256.
function Get-Release($Source, [string]$Wanted, [string]$Platform, [string]$Staging) {
    $timestamp = Read-Metadata $Source 'timestamp' '' $Staging
    # PowerShell 7 reads a date, 5.1 a text.
    $expires = $timestamp.expires
    if ($expires -isnot [DateTime]) { $expires = [DateTime]::Parse($expires, [Globalization.CultureInfo]::InvariantCulture) }
    if ($expires.ToUniversalTime() -lt [DateTime]::UtcNow) {
        Write-Warning "what $($Source.Shown) says of its releases was good until $($expires.ToUniversalTime().ToString('u')); it may be an old copy"
    }
    $snapshot = Read-Metadata $Source 'snapshot' $timestamp.meta.'snapshot.json'.version $Staging
    $targets = Read-Metadata $Source 'targets' $snapshot.meta.'targets.json'.version $Staging
    $best = $null
    foreach ($target in $targets.targets.PSObject.Properties) {
        $pattern = '^ways-([0-9][0-9A-Za-z.+_-]*)-' + [Regex]::Escape($Platform) + '\.zip$'
        if ($target.Name -notmatch $pattern) { continue }
        $version = $Matches[1]
        if ($Wanted -and $version -ne $Wanted) { continue }
        $order = Get-Order $version
        if (-not $Wanted) {
            if (-not $order) { continue }
            # A version of the stable channel goes before all others.
            $order = "$([int]($order[27] -eq '4'))$order"
        }
        if (-not $best -or [string]::CompareOrdinal($order, $best.Order) -gt 0) {
            $best = @{
                Name = $target.Name; Version = $version; Order = $order
                Length = [long]$target.Value.length; Sha256 = [string]$target.Value.hashes.sha256
            }
        }
    }
    if (-not $best) {
        $what = 'ways'
        if ($Wanted) { $what = "version $Wanted of ways" }
        Stop-Install "$($Source.Shown) has no $what for $Platform" 'look at -Version and -Base'
    }
    if ($best.Length -le 0 -or $best.Sha256 -notmatch '^[0-9a-f]{64}$') {
        Stop-Install "$($Source.Shown) gives no size and SHA-256 for $($best.Name)"
    }
    return $best
}

# A text that sorts as the versions do; '' for one that is no release's.
function Get-Order([string]$Text) {
    if ($Text -notmatch '^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-.]?(dev|alpha|a|beta|b|rc)[-.]?(\d{0,9}))?$') { return '' }
    $stages = @{ 'dev' = 0; 'alpha' = 1; 'a' = 1; 'beta' = 2; 'b' = 2; 'rc' = 3 }
    $stage = 4
    $number = 0
    if ($Matches[4]) {
        $stage = $stages[$Matches[4]]
        if ($Matches[5]) { $number = [long]$Matches[5] }
    }
    return '{0:d9}{1:d9}{2:d9}{3}{4:d9}' -f [long]$Matches[1], [long]$Matches[2], [long]$Matches[3], $stage, [long]$number
}

function Assert-NoDowngrade([string]$App, [string]$New, [bool]$Allowed) {
    $file = Join-Path $App 'current.txt'
    if ($Allowed -or -not [IO.File]::Exists($file)) { return }
    $present = [IO.File]::ReadAllText($file).Trim()
    $now = Get-Order $present
    $then = Get-Order $New
    if ($now -and $then -and [string]::CompareOrdinal($then, $now) -lt 0) {
        Stop-Install "version $present is installed and is newer than $New" ".\install.ps1 -Version $New -AllowDowngrade" 3
    }
}

# Putting it in place

# What a killed run left. A number that a process has may be another process's by now; it goes next time.
function Clear-Leftover([string]$Versions) {
    foreach ($folder in [IO.Directory]::GetDirectories($Versions)) {
        $name = [IO.Path]::GetFileName($folder)
        if ($name -match '^\.(?:staging-install|removing-.+)-(\d+)$') {
            if (-not (Get-Process -Id ([int]$Matches[1]) -ErrorAction SilentlyContinue)) { Remove-Folder $folder }
        }
    }
}

function Remove-Folder([string]$Folder) {
    if (-not [IO.Directory]::Exists($Folder)) { return }
    try {
        [IO.Directory]::Delete($Folder, $true)
    } catch [IO.IOException], [UnauthorizedAccessException] {
        Write-Verbose "$Folder cannot be removed yet: $($_.Exception.Message)"
    }
}

function Get-FileSha256([string]$File) {
    $algorithm = [Security.Cryptography.SHA256]::Create()
    $stream = [IO.File]::OpenRead($File)
    try {
        return [BitConverter]::ToString($algorithm.ComputeHash($stream)).Replace('-', '').ToLowerInvariant()
    } finally {
        $stream.Dispose()
        $algorithm.Dispose()
    }
}

# An archive and what is in it need some four times its size.
function Assert-Space([string]$Folder, [long]$Length) {
    try {
        $free = (New-Object IO.DriveInfo([IO.Path]::GetPathRoot($Folder))).AvailableFreeSpace
    } catch {
        return # a network share tells nothing
    }
    $needed = 4 * $Length
    if ($free -lt $needed) {
        $megabytes = [Math]::Floor($free / 1000000), [Math]::Ceiling($needed / 1000000)
        Stop-Install "$Folder has $($megabytes[0]) MB free, and $($megabytes[1]) MB are needed" 'make room, or choose another -Dir' 5
    }
}

function Assert-Archive([string]$File, $Release, [string]$Asked, [string]$Name) {
    $found = Get-FileSha256 $File
    $size = (New-Object IO.FileInfo($File)).Length
    if ($Release) {
        if ($size -ne $Release.Length) { Stop-Install "the archive has $size bytes and should have $($Release.Length)" 'run this again' }
        if ($found -ne $Release.Sha256) {
            Stop-Install "the archive's SHA-256 is $found and should be $($Release.Sha256); it was not installed" `
                'run this again; if it stays so, tell those who run the release base'
        }
    } elseif (-not $Asked) {
        Write-Host "Nothing vouches for $Name but you. Its SHA-256: $found"
    }
    if ($Asked -and $found -ne $Asked.ToLowerInvariant()) {
        Stop-Install "the archive's SHA-256 is $found, not the one that was asked for" 'fetch it again, or correct -Sha256'
    }
}

# Unpacks entry by entry: a name that leads out of the folder is refused before anything of it is written.
function Expand-Checked([string]$File, [string]$Folder, [string]$Top) {
    Add-Type -AssemblyName System.IO.Compression
    Add-Type -AssemblyName System.IO.Compression.FileSystem
    $zip = [IO.Compression.ZipFile]::OpenRead($File)
    try {
        foreach ($entry in $zip.Entries) {
            $name = $entry.FullName
            $parts = $name.TrimEnd('/') -split '/'
            if ($parts[0] -cne $Top -or $parts -contains '..' -or $parts -contains '.' -or $parts -contains '' -or $name -match '[\\:*?"<>|\x00-\x1f]') {
                Stop-Install "the archive holds $(Get-Shown $name), which lies outside $Top" 'fetch it again'
            }
        }
        foreach ($entry in $zip.Entries) {
            if ($entry.FullName.EndsWith('/')) { continue }
            $place = [IO.Path]::Combine($Folder, ($entry.FullName -replace '/', '\'))
            [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($place))
            [IO.Compression.ZipFileExtensions]::ExtractToFile($entry, $place, $false)
        }
    } finally {
        $zip.Dispose()
    }
}

# Runs the program of a version's folder; @{ Code; Output }.
function Invoke-Program([string]$Folder, [string[]]$Arguments, [bool]$Show = $false) {
    $program = Join-Path $Folder 'bin\ways.exe'
    if (-not [IO.File]::Exists($program)) { return @{ Code = 1; Output = "there is no $program" } }
    # A line on standard error is no failure of the script's; Windows PowerShell would make it one.
    $ErrorActionPreference = 'Continue'
    $before = [Console]::OutputEncoding
    try {
        [Console]::OutputEncoding = New-Object Text.UTF8Encoding($false)
        if ($Show) {
            & $program @Arguments | Out-Host
            return @{ Code = $LASTEXITCODE; Output = '' }
        }
        $said = & $program @Arguments 2>&1 | ForEach-Object { "$_" }
        return @{ Code = $LASTEXITCODE; Output = ($said -join "`n") }
    } catch {
        return @{ Code = 1; Output = $_.Exception.Message }
    } finally {
        [Console]::OutputEncoding = $before
    }
}

function Assert-Works([string]$Folder, [string]$Version) {
    $told = Invoke-Program $Folder @('--version', '--json')
    if ($told.Code -ne 0) { Stop-Install "the program does not start here: $(Get-Shown $told.Output)" 'a virus scanner may have stopped it; run this again' }
    try {
        $reported = ($told.Output | ConvertFrom-Json).version
    } catch {
        $reported = $told.Output
    }
    if ($reported -ne $Version) { Stop-Install "the archive of version $Version holds version $(Get-Shown $reported)" 'fetch it again' }
    $checked = Invoke-Program $Folder @('finish-install', '--check')
    if ($checked.Code -ne 0) { Stop-Install (Get-Shown $checked.Output) 'run this again' }
}

function Test-Present([string]$Folder) {
    return [IO.Directory]::Exists($Folder) -and (Invoke-Program $Folder @('finish-install', '--check')).Code -eq 0
}

# A scanner may hold a new file for a moment.
function Move-Folder([string]$From, [string]$To) {
    for ($try = 1; ; $try++) {
        try {
            [IO.Directory]::Move($From, $To)
            return
        } catch [IO.IOException], [UnauthorizedAccessException] {
            if ($try -ge 20) { Stop-Install "$From cannot be moved to $To`: $($_.Exception.Message)" 'close what uses it and run this again' 5 }
            Start-Sleep -Milliseconds (50 * $try)
        }
    }
}

function Get-ArchiveVersion([string]$File, [string]$Platform, [string]$Wanted) {
    $name = [IO.Path]::GetFileName($File)
    if (-not [IO.File]::Exists($File)) { Stop-Install "$File is no file" 'look at -Archive' 2 }
    if ($name -notmatch ('^ways-([0-9][0-9A-Za-z.+_-]*)-' + [Regex]::Escape($Platform) + '\.zip$')) {
        Stop-Install "$name is not called as an archive of ways for this machine is (ways-<version>-$Platform.zip)" '' 2
    }
    $found = $Matches[1]
    if ($Wanted -and $Wanted -ne $found) { Stop-Install "$name is not version $Wanted" '' 2 }
    return $found
}

function Install-Ways($Options) {
    if ([Net.ServicePointManager]::SecurityProtocol -ne 0) {
        # Windows PowerShell 5.1 begins with what .NET of its time thought safe.
        [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
    }
    $platform = Get-Platform
    $version = $Options.Version -replace '^v', ''
    if ($version -and $version -notmatch '^[0-9][0-9A-Za-z.+_-]*$') { Stop-Install "$(Get-Shown $version) is not a version like 1.2.3" '' 2 }
    $archive = ''
    if ($Options.Archive) {
        $archive = Get-FullPath $Options.Archive
        $version = Get-ArchiveVersion $archive $platform $version
    }
    $app = Get-AppRoot $Options.Dir
    $versions = Join-Path $app 'versions'
    $staging = Join-Path $versions ".staging-install-$PID"
    $env:WAYS_APP_ROOT = $app
    [void][IO.Directory]::CreateDirectory($versions)
    Clear-Leftover $versions
    # Never in the temporary folder: it may be on another disk, and policies may forbid programs there.
    [void][IO.Directory]::CreateDirectory($staging)
    try {
        $source = $null
        $release = $null
        $present = $version -and (Test-Present (Join-Path $versions $version))
        if (-not $present -and (-not $archive -or $Options.Base)) {
            $named = $Options.Base
            if (-not $named) { $named = $Options.ReleaseBase }
            $source = Get-Source $named
            $release = Get-Release $source $version $platform $staging
            $version = $release.Version
            $present = Test-Present (Join-Path $versions $version)
        }
        Assert-NoDowngrade $app $version $Options.AllowDowngrade
        $place = Join-Path $versions $version
        if ($present) {
            Write-Host "Version $version is there already"
        } else {
            $file = Join-Path $staging 'archive.zip'
            if ($archive) {
                Assert-Space $staging (New-Object IO.FileInfo($archive)).Length
                [IO.File]::Copy($archive, $file)
            } else {
                Assert-Space $staging $release.Length
                Write-Host "Downloading ways $version for $platform ($([Math]::Ceiling($release.Length / 1000000)) MB) from $($source.Shown)"
                $prefixed = Receive-File $source "targets/$($release.Sha256).$($release.Name)" $file $release.Length
                if (-not $prefixed -and -not (Receive-File $source "targets/$($release.Name)" $file $release.Length)) {
                    Stop-Install "$($source.Shown) lists $($release.Name) and does not have it" 'try again later, or another -Base'
                }
            }
            Assert-Archive $file $release $Options.Sha256 $archive
            $top = "ways-$version"
            Expand-Checked $file $staging $top
            [IO.File]::Delete($file)
            $new = Join-Path $staging $top
            Assert-Works $new $version
            if ([IO.Directory]::Exists($place)) {
                Write-Warning "version $version was there and is damaged; it is replaced"
                Move-Folder $place (Join-Path $versions ".removing-$version-$PID")
            }
            Move-Folder $new $place
        }
        $arguments = @('finish-install', '--method', 'install.ps1')
        if ($source) {
            $from = $source.Shown
            $arguments += @('--base', $from)
        }
        if ($Options.NoPath) { $arguments += '--no-path' }
        if ($Options.AllowDowngrade) { $arguments += '--allow-downgrade' }
        $finished = Invoke-Program $place $arguments $true
        if ($finished.Code -ne 0) { Stop-Install "version $version is in $versions and could not be made the current one" 'run this again' $finished.Code }
    } finally {
        Remove-Folder $staging
        Remove-Folder (Join-Path $versions ".removing-$version-$PID")
    }
    return Start-SetUp $app $Options
}

function Start-SetUp([string]$App, $Options) {
    if ($Options.Activate) {
        $target = Get-FullPath $Options.Activate
        Write-Host "Setting ways up for $target"
        return (Invoke-Program $App @('init', '--yes', '--target', $target) $true).Code
    }
    $attended = [Environment]::UserInteractive -and -not [Console]::IsInputRedirected -and -not [Console]::IsOutputRedirected
    if ($attended -and -not $Options.Unattended -and -not $env:CI) {
        # It asks questions, so it needs the console itself: what a function calls writes to the function's output.
        $info = New-Object Diagnostics.ProcessStartInfo((Join-Path $App 'bin\ways.exe'), 'init')
        $info.UseShellExecute = $false
        $process = [Diagnostics.Process]::Start($info)
        $process.WaitForExit()
        return $process.ExitCode
    }
    return (Invoke-Program $App @('finish-install', '--what-next') $true).Code
}

$options = @{
    Version = $Version; Base = $Base; Archive = $Archive; Sha256 = $Sha256; Dir = $Dir; Activate = $Activate
    NoPath = ($NoPath -or (Test-Setting $env:WAYS_NO_PATH))
    Unattended = ($Unattended -or (Test-Setting $env:WAYS_UNATTENDED))
    AllowDowngrade = ($AllowDowngrade -or (Test-Setting $env:WAYS_ALLOW_DOWNGRADE))
    ReleaseBase = $ReleaseBase
}
$ErrorActionPreference = 'Stop'
$waysAppRootBefore = $env:WAYS_APP_ROOT
$code = 1
try {
    $code = Install-Ways $options
} catch {
    $code = 1
    if ($_.Exception.Data.Contains('ways-exit-code')) {
        $code = $_.Exception.Data['ways-exit-code']
        [Console]::Error.WriteLine($_.Exception.Message)
    } else {
        [Console]::Error.WriteLine("ways: $(Get-Shown $_.Exception.Message)")
    }
} finally {
    # The variable was for the programs that ran here; a session that goes on must not keep it.
    $env:WAYS_APP_ROOT = $waysAppRootBefore
}
if ($PSCommandPath) { exit $code }
