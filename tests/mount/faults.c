/*
 * Preloaded into the daemon and its workers: what the machine may fail at, while a file in FAULTS says so.
 *
 *	send    sendmsg(2) in the daemon
 *	recv    recvmsg(2) in the daemon, from the socket that it has sent to last; once
 *	calloc  calloc(3) of some kilobytes in new workers, as libelf needs for sections
 *	later   the date in the daemon is a day later
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LEAST = 4000, MOST = 20000 };

static bool in_worker;
static _Atomic int sent_to = -1; /* a socket */

void *__libc_calloc(size_t n, size_t size);

static bool daemon_fails(const char *at)
{
	return strcmp(program_invocation_short_name, "gsymfs") == 0 && access(at, F_OK) == 0;
}

__attribute__((constructor)) static void look(void)
{
	in_worker = strcmp(program_invocation_short_name, "gsym") == 0 && access(FAULTS "/calloc", F_OK) == 0;
}

void *calloc(size_t n, size_t size)
{
	if (in_worker && n * size >= LEAST && n * size <= MOST) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(n, size);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
	if (daemon_fails(FAULTS "/send")) {
		errno = ENOBUFS;
		return -1;
	}
	sent_to = fd;
	return real(fd, msg, flags);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
	if (sent_to == fd && daemon_fails(FAULTS "/recv")) {
		sent_to = -1;
		errno = ENOMEM;
		return -1;
	}
	return real(fd, msg, flags);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int err = real(clock, ret);
	bool date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
	if (!err && date && daemon_fails(FAULTS "/later"))
		ret->tv_sec += 24 * 3600;
	return err;
}

time_t time(time_t *ret)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
