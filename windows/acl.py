"""Access lists on Windows: a file, folder or pipe for the current user alone.

Written from the documented Win32 API; run under Wine only, never on Windows itself: see
docs/decisions/judge.md.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _TOKEN_QUERY = 0x0008
    _TOKEN_USER = 1
    _DACL_SECURITY_INFORMATION = 0x00000004
    _PROTECTED_DACL = 0x80000000
    _SDDL_REVISION = 1
    _PROCESS_QUERY_LIMITED_INFORMATION = 0x1000

    _advapi = ctypes.WinDLL("advapi32", use_last_error=True)
    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.GetCurrentProcess.restype = wintypes.HANDLE
    _kernel.OpenProcess.restype = wintypes.HANDLE
    _kernel.OpenProcess.argtypes = [wintypes.DWORD, wintypes.BOOL, wintypes.DWORD]
    _kernel.CloseHandle.argtypes = [wintypes.HANDLE]
    _kernel.LocalFree.argtypes = [ctypes.c_void_p]
    _advapi.OpenProcessToken.argtypes = [wintypes.HANDLE, wintypes.DWORD, ctypes.POINTER(wintypes.HANDLE)]
    _advapi.GetTokenInformation.argtypes = [
        wintypes.HANDLE,
        ctypes.c_int,
        ctypes.c_void_p,
        wintypes.DWORD,
        ctypes.POINTER(wintypes.DWORD),
    ]
    _advapi.ConvertSidToStringSidW.argtypes = [ctypes.c_void_p, ctypes.POINTER(wintypes.LPWSTR)]
    _advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW.argtypes = [
        wintypes.LPCWSTR,
        wintypes.DWORD,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(wintypes.ULONG),
    ]
    _advapi.SetFileSecurityW.argtypes = [wintypes.LPCWSTR, wintypes.DWORD, ctypes.c_void_p]

    def _check(done: int) -> None:
        if not done:
            raise ctypes.WinError(ctypes.get_last_error())

    def user_sid(pid: int | None = None) -> str:
        """The SID, as text, of the user whom a process (None: ours) runs as. Raises OSError."""
        opened = None
        if pid is None:
            process = _kernel.GetCurrentProcess()
        else:
            opened = process = _kernel.OpenProcess(_PROCESS_QUERY_LIMITED_INFORMATION, False, pid)
            _check(bool(process))
        try:
            token = wintypes.HANDLE()
            _check(_advapi.OpenProcessToken(process, _TOKEN_QUERY, ctypes.byref(token)))
            try:
                return _sid_of_token(token)
            finally:
                _kernel.CloseHandle(token)
        finally:
            if opened is not None:
                _kernel.CloseHandle(opened)

    def _sid_of_token(token: wintypes.HANDLE) -> str:
        size = wintypes.DWORD()
        _advapi.GetTokenInformation(token, _TOKEN_USER, None, 0, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        _check(_advapi.GetTokenInformation(token, _TOKEN_USER, buffer, size, ctypes.byref(size)))
        # TOKEN_USER begins with SID_AND_ATTRIBUTES, which begins with the pointer to the SID.
        sid = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_void_p)).contents
        text = wintypes.LPWSTR()
        _check(_advapi.ConvertSidToStringSidW(sid, ctypes.byref(text)))
        try:
            return str(text.value)
        finally:
            _kernel.LocalFree(text)

    def private_descriptor(inherited: bool = False) -> ctypes.c_void_p:
        """A security descriptor whose protected DACL grants the current user everything and nobody else
        anything; the caller frees it with `free_descriptor`. Raises OSError."""
        flags = "OICI" if inherited else ""
        descriptor = ctypes.c_void_p()
        _check(
            _advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW(
                f"D:P(A;{flags};GA;;;{user_sid()})", _SDDL_REVISION, ctypes.byref(descriptor), None
            )
        )
        return descriptor

    def free_descriptor(descriptor: ctypes.c_void_p) -> None:
        """Free what `private_descriptor` gave."""
        _kernel.LocalFree(descriptor)

    def restrict_to_current_user(path: str) -> None:
        """Give a file or a folder an ACL that grants the current user alone. Raises OSError."""
        import os

        descriptor = private_descriptor(inherited=os.path.isdir(path))
        try:
            what = _DACL_SECURITY_INFORMATION | _PROTECTED_DACL
            _check(_advapi.SetFileSecurityW(path, what, descriptor))
        finally:
            free_descriptor(descriptor)
