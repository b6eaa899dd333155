/* Preloaded into the daemon: statx(2) of files called "slow..." takes a while, while SWITCH exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DELAY_US = 100000 };

int statx(int dir, const char *name, int flags, unsigned mask, struct statx *st)
{
	int (*real)(int, const char *, int, unsigned, struct statx *) = dlsym(RTLD_NEXT, "statx");
	if (strncmp(name, "slow", 4) == 0 && access(SWITCH, F_OK) == 0)
		usleep(DELAY_US);
	return real(dir, name, flags, mask, st);
}
