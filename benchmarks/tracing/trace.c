/* Notes when a program calls the C library, for benchmarks/breakdown.py.
 *
 * Loaded by LD_PRELOAD into a measured copy of a run; the product knows nothing of it. Each call costs two
 * looks at clocks, so that a run takes hardly longer than without. The notes are kept in memory and
 * appended to the file named by WAYS_TRACE when the program ends or starts another one:
 *
 *     <process> <nanoseconds, CLOCK_MONOTONIC> <nanoseconds of processor time> <call> <handle or -1> <path or ->
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST 16384
#define LONGEST 232

struct note {
    long long at;
    long long busy;
    const char *call;
    int handle;
    char path[LONGEST];
};

static struct note notes[MOST];
static int count;

static long long clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static struct note *note(const char *call, int handle, const char *path)
{
    struct note *one = &notes[count < MOST ? count++ : MOST - 1];

    one->at = clock_ns(CLOCK_MONOTONIC);
    one->busy = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    one->call = call;
    one->handle = handle;
    /* The end of a long path says more than its beginning. */
    size_t length = path ? strlen(path) : 0;
    if (length >= LONGEST)
        path += length - LONGEST + 1;
    strcpy(one->path, path ? path : "");
    return one;
}

#define REAL(name) ((__typeof__(name) *)real(#name))

static void *real(const char *name)
{
    /* Few names, asked for often: by the address of the literal. */
    static struct { const char *name; void *function; } known[64];
    int at = 0;

    for (; at < 64 && known[at].name; at++)
        if (known[at].name == name)
            return known[at].function;
    void *function = dlsym(RTLD_NEXT, name);
    if (at < 64) {
        known[at].function = function;
        known[at].name = name;
    }
    return function;
}

static void flush(void)
{
    const char *file = getenv("WAYS_TRACE");
    FILE *out = file ? REAL(fopen)(file, "a") : NULL;

    if (out) {
        for (int at = 0; at < count; at++)
            fprintf(out, "%d %lld %lld %s %d %s\n", getpid(), notes[at].at, notes[at].busy, notes[at].call, notes[at].handle,
                    notes[at].path[0] ? notes[at].path : "-");
        fclose(out);
    }
    count = 0;
}

__attribute__((constructor)) static void begin(void) { note("begin", -1, NULL); }
__attribute__((destructor)) static void finish(void) { if (count) { note("exit", -1, NULL); flush(); } }

void _exit(int code)
{
    note("exit", -1, NULL);
    flush();
    ((__typeof__(&_exit))real("_exit"))(code);
    __builtin_unreachable();
}

#define STARTS(name, parameters, arguments, path) \
    int name parameters { note("exec", -1, path); flush(); return REAL(name) arguments; }

STARTS(execv, (const char *path, char *const words[]), (path, words), path)
STARTS(execvp, (const char *path, char *const words[]), (path, words), path)
STARTS(execve, (const char *path, char *const words[], char *const env[]), (path, words, env), path)

#define OPENS(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        int mode = va_arg(rest, int); \
        va_end(rest); \
        struct note *one = note("open", -1, path); \
        return one->handle = REAL(name)(path, flags, mode); \
    }

OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
    int name(int folder, const char *path, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        int mode = va_arg(rest, int); \
        va_end(rest); \
        struct note *one = note("open", -1, path); \
        return one->handle = REAL(name)(folder, path, flags, mode); \
    }

OPENS_AT(openat)
OPENS_AT(openat64)

#define CALL(result, name, parameters, arguments, call, handle, path) \
    result name parameters { note(call, handle, path); return REAL(name) arguments; }

CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), "fopen", -1, path)
CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode), "fopen", -1, path)
CALL(void *, dlopen, (const char *path, int flags), (path, flags), "dlopen", -1, path)
CALL(DIR *, opendir, (const char *path), (path), "opendir", -1, path)
CALL(ssize_t, read, (int handle, void *to, size_t size), (handle, to, size), "read", handle, NULL)
CALL(ssize_t, pread64, (int handle, void *to, size_t size, off64_t at), (handle, to, size, at), "read", handle, NULL)
CALL(ssize_t, write, (int handle, const void *from, size_t size), (handle, from, size), "write", handle, NULL)
CALL(int, stat, (const char *path, struct stat *to), (path, to), "stat", -1, path)
CALL(int, stat64, (const char *path, struct stat64 *to), (path, to), "stat", -1, path)
CALL(int, lstat, (const char *path, struct stat *to), (path, to), "stat", -1, path)
CALL(int, lstat64, (const char *path, struct stat64 *to), (path, to), "stat", -1, path)
CALL(int, fstatat64, (int folder, const char *path, struct stat64 *to, int flags), (folder, path, to, flags), "stat", -1, path)
CALL(int, access, (const char *path, int mode), (path, mode), "access", -1, path)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), "mkdir", -1, path)
CALL(int, rename, (const char *from, const char *to), (from, to), "rename", -1, to)
CALL(int, unlink, (const char *path), (path), "unlink", -1, path)
CALL(void *, mmap64, (void *at, size_t size, int protect, int flags, int handle, off64_t from), (at, size, protect, flags, handle, from), "mmap", handle, NULL)
CALL(ssize_t, send, (int handle, const void *from, size_t size, int flags), (handle, from, size, flags), "send", handle, NULL)
CALL(ssize_t, recv, (int handle, void *to, size_t size, int flags), (handle, to, size, flags), "recv", handle, NULL)

int poll(struct pollfd *what, nfds_t many, int wait)
{
    note("poll", many == 1 ? what->fd : -1, NULL);
    return REAL(poll)(what, many, wait);
}

int connect(int handle, const struct sockaddr *to, socklen_t size)
{
    note("connect", handle, to->sa_family == AF_UNIX ? ((const struct sockaddr_un *)to)->sun_path : NULL);
    return REAL(connect)(handle, to, size);
}

int fcntl64(int handle, int what, ...)
{
    va_list rest;
    va_start(rest, what);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (what == F_SETLK || what == F_SETLKW)
        note("lock", handle, NULL);
    return REAL(fcntl64)(handle, what, argument);
}

#undef setitimer
int setitimer(__itimer_which_t which, const struct itimerval *new, struct itimerval *old)
{
    note("timer", -1, NULL);
    return REAL(setitimer)(which, new, old);
}
