/* Preloaded into the daemon: a policy lets it find debug files but not read them while SWITCH exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A file that was found is opened by the link of its descriptor. */
static bool is_denied(const char *path)
{
	char file[PATH_MAX];
	ssize_t n = strncmp(path, "/proc/self/fd/", 14) ? -1 : readlink(path, file, sizeof(file));
	return n > 6 && memcmp(file + n - 6, ".debug", 6) == 0 && access(SWITCH, F_OK) == 0;
}

#define OPEN(name)                                                                        \
	int name(const char *path, int flags, ...)                                        \
	{                                                                                 \
		int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #name);            \
		va_list args;                                                             \
		va_start(args, flags);                                                    \
		mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0; \
		va_end(args);                                                             \
		if (is_denied(path)) {                                                    \
			errno = EPERM;                                                    \
			return -1;                                                        \
		}                                                                         \
		return real(path, flags, mode);                                           \
	}

OPEN(open)
OPEN(open64)
