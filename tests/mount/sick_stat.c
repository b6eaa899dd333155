/* Preloaded into the daemon: files called "sick" cannot be looked at while SWITCH exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_sick(const char *name)
{
	return strcmp(name, "sick") == 0 && access(SWITCH, F_OK) == 0;
}

int statx(int dir, const char *name, int flags, unsigned mask, struct statx *st)
{
	int (*real)(int, const char *, int, unsigned, struct statx *) = dlsym(RTLD_NEXT, "statx");
	if (is_sick(name)) {
		errno = EIO;
		return -1;
	}
	return real(dir, name, flags, mask, st);
}

int fstatat(int dir, const char *name, struct stat *st, int flags)
{
	int (*real)(int, const char *, struct stat *, int) = dlsym(RTLD_NEXT, "fstatat");
	if (is_sick(name)) {
		errno = EIO;
		return -1;
	}
	return real(dir, name, st, flags);
}

/* The same under the name that programs with 64-bit file offsets call. */
int fstatat64(int dir, const char *name, struct stat64 *st, int flags)
{
	int (*real)(int, const char *, struct stat64 *, int) = dlsym(RTLD_NEXT, "fstatat64");
	if (is_sick(name)) {
		errno = EIO;
		return -1;
	}
	return real(dir, name, st, flags);
}
