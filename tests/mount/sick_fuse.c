/*
 * Preloaded into the daemon: reading /dev/fuse fails, as the environment variable SICK_FUSE says.
 *
 *	short   while SWITCH exists: two of three reads find no memory, or give less than a request
 *	lost    the first request is received, but not delivered
 *	old     the first request is INIT of a version that libfuse does not know
 *	ended   SIGTERM ends the daemon while it has received INIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { INIT_MAJOR_OFF = 40 }; /* after struct fuse_in_header */

static int is_fuse(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(10, 229);
}

ssize_t read(int fd, void *buf, size_t size)
{
	static atomic_uint reads;
	ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
	const char *how = getenv("SICK_FUSE");
	if (!how || !is_fuse(fd))
		return real(fd, buf, size);
	unsigned number = atomic_fetch_add(&reads, 1);
	if (strcmp(how, "short") == 0 && access(SWITCH, F_OK) == 0 && number % 3) {
		errno = ENOMEM;
		return number % 3 == 1 ? -1 : 4;
	}
	ssize_t n = real(fd, buf, size);
	if (number == 0 && strcmp(how, "lost") == 0) {
		errno = ENOMEM;
		return -1;
	}
	if (number == 0 && strcmp(how, "old") == 0)
		memcpy((char *)buf + INIT_MAJOR_OFF, &(uint32_t){6}, sizeof(uint32_t));
	if (number == 0 && strcmp(how, "ended") == 0) {
		kill(getpid(), SIGTERM);
		usleep(300000); /* for the thread that takes it */
	}
	return n;
}
