/*
 * What the sandbox asks of kernels with each version of Landlock, and without; and limits that the kernel
 * refuses. The calls are answered here.
 */
#include "work/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gsym/base/sanitizer.h"
#include "gsym/base/vec.h"
#include "tests/unit/work/in_child.h"
#include "tests/lib/unit.h"
#include "tests/unit/work/sandbox/wrap_syscall.h"

/* Newer than Debian 12's headers: LANDLOCK_ACCESS_NET_*, LANDLOCK_SCOPE_*. */
enum { BIND_AND_CONNECT = 3, SOCKETS_AND_SIGNALS = 3 };

/* ---- In place of the kernel ---- */

static long version;       /* of Landlock; 0: it is not enabled; -1: it is not known */
static uint64_t fields[3]; /* of the last ruleset: rights of files, of the network, scopes */
static size_t fields_size;
static int ruleset = -1;
static unsigned restricted;

static long create_ruleset(const void *attr, size_t size)
{
	if (!attr) {
		errno = version < 0 ? ENOSYS : EOPNOTSUPP;
		return version < 1 ? -1 : version;
	}
	assert_true(size <= sizeof(fields));
	memcpy(fields, attr, size);
	fields_size = size;
	return ruleset = memfd_create("ruleset", MFD_CLOEXEC);
}

static bool answer_call(long number, const long arguments[static 5], long *ret)
{
	switch (number) {
	case SYS_landlock_create_ruleset:
		*ret = create_ruleset((const void *)arguments[0], (size_t)arguments[1]);
		return true;
	case SYS_landlock_add_rule: *ret = 0; return true;
	case SYS_landlock_restrict_self:
		restricted += arguments[0] == ruleset;
		*ret = 0;
		return true;
	default: return false;
	}
}

static int refused = -1; /* the resource whose limit cannot be read, or */
static bool may_not_set; /* not be set */

int __real_getrlimit64(int resource, struct rlimit *ret);
int __wrap_getrlimit64(int resource, struct rlimit *ret)
{
	errno = EFAULT;
	return resource == refused && !may_not_set ? -1 : __real_getrlimit64(resource, ret);
}

int __real_setrlimit64(int resource, const struct rlimit *limit);
int __wrap_setrlimit64(int resource, const struct rlimit *limit)
{
	errno = EPERM;
	return resource == refused && may_not_set ? -1 : __real_setrlimit64(resource, limit);
}

/* ---- Landlock ---- */

/* Rights of files and bytes of attributes of each version, as in landlock(7). */
static const struct {
	long version;
	unsigned rights, size;
} versions[] = {{1, 13, 8}, {2, 14, 8}, {3, 15, 8}, {4, 15, 16}, {5, 16, 16}, {6, 16, 24}, {7, 16, 24}};
static size_t which;

static int forbid_all(void)
{
	sandbox_enter_directory("/nothing");
	if (fields[0] != (1ULL << versions[which].rights) - 1)
		return 1;
	if (fields_size != versions[which].size)
		return 2;
	if (fields_size > 8 && fields[1] != BIND_AND_CONNECT)
		return 3;
	if (fields_size > 16 && fields[2] != SOCKETS_AND_SIGNALS)
		return 4;
	return restricted != 1 || fcntl(ruleset, F_GETFD) >= 0;
}

static int permit_network(void)
{
	sandbox_enter_network("/nothing");
	if (fields[0] != (1ULL << versions[which].rights) - 1 || fields[1])
		return 1;
	return restricted != 1 || fcntl(ruleset, F_GETFD) >= 0;
}

TEST(each_version)
{
	if (SANITIZER)
		skip();
	for (which = 0; which < ARRAY_SIZE(versions); which++) {
		version = versions[which].version;
		assert_int_equal(in_child(forbid_all), 0);
		assert_int_equal(in_child(permit_network), 0);
	}
}

/* No descriptor is taken for a ruleset, and nothing else is left out. */
static int do_without(void)
{
	sandbox_enter_network("/nothing");
	sandbox_enter_transfer(NULL, 0);
	return fields_size || restricted || fcntl(STDIN_FILENO, F_GETFD) < 0;
}

TEST(no_landlock)
{
	if (SANITIZER)
		skip();
	for (version = -1; version < 1; version++)
		assert_int_equal(in_child(do_without), 0);
}

/* ---- Limits ---- */

static int set_limits(void)
{
	return -sandbox_limits(1 << 30, 60, 1 << 20);
}

TEST(limits_fail)
{
	static const int resources[] = {RLIMIT_CORE, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA};
	assert_int_equal(in_child(set_limits), 0);
	for (size_t i = 0; i < ARRAY_SIZE(resources) - (SANITIZER ? 1 : 0); i++) {
		refused = resources[i];
		may_not_set = false;
		assert_int_equal(in_child(set_limits), EFAULT);
		may_not_set = true;
		assert_int_equal(in_child(set_limits), EPERM);
	}
}
