/* Preloaded into the daemon: files called "sick" cannot be looked at while SWITCH exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int fstatat(int dir, const char *name, struct stat *st, int flags)
{
	int (*real)(int, const char *, struct stat *, int) = dlsym(RTLD_NEXT, "fstatat");
	if (strcmp(name, "sick") == 0 && access(SWITCH, F_OK) == 0) {
		errno = EIO;
		return -1;
	}
	return real(dir, name, st, flags);
}

/* The same under the name that programs with 64-bit file offsets call. */
int fstatat64(int dir, const char *name, struct stat64 *st, int flags)
{
	return fstatat(dir, name, (struct stat *)st, flags);
}
