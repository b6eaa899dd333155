#include "work/types/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	DATA_FIELD = 5, /* of /proc/PID/statm: pages of data and stack */
	/* An allocator that needs more pages takes this many at least: glibc, 1 MiB beside its heap. */
	ALLOCATOR_STEP = 1 << 20,
};

/* Of the process, as the limit is. */
static int statm = -1;
static uint64_t limit;
static atomic_bool is_reached;

void memory_limit_watch(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_DATA, &l))
		return;
	limit = l.rlim_cur;
	statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

/* What counts against the limit; 0 if that is not known. */
static uint64_t data_size(void)
{
	char text[256];
	ssize_t n = pread(statm, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	char *at = text;
	for (int i = 0; i < DATA_FIELD; i++)
		strtoull(at, &at, 10);
	return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void memory_limit_note(size_t size)
{
	if (statm < 0)
		return;
	int err = errno;
	uint64_t used = data_size(), wanted;
	if (__builtin_add_overflow(used + ALLOCATOR_STEP, size, &wanted))
		wanted = UINT64_MAX;
	atomic_store(&is_reached, used && wanted > limit);
	errno = err;
}

bool memory_limit_is_reached(void)
{
	return atomic_load(&is_reached);
}
