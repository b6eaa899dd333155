/*
 * The sandbox from outside: what /proc says of a process in it. Inside, a user namespace could hide the
 * truth, and the filter refuses the question. Linked with --wrap.
 */
#include "work/sandbox/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/sandbox/sandbox_parts.h"
#include "gsym/base/sanitizer.h"
#include "gsym/base/vec.h"

int __real_unshare(int flags);

static bool has_user_namespaces = true;

int __wrap_unshare(int flags)
{
	if (has_user_namespaces || !(flags & CLONE_NEWUSER))
		return __real_unshare(flags);
	errno = EPERM;
	return -1;
}

/* A process that is looked at. */
struct inmate {
	pid_t pid;
	int alive; /* it ends when this is closed */
};

static struct inmate start(void (*enter)(void))
{
	int ready[2], alive[2];
	char byte;
	assert_int_equal(pipe(ready) | pipe(alive), 0);
	struct inmate ret = {.pid = fork(), .alive = alive[1]};
	assert_true(ret.pid >= 0);
	if (ret.pid == 0) {
		close(alive[1]);
		enter();
		if (write(ready[1], "x", 1) == 1)
			(void)!read(alive[0], &byte, 1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(alive[0]);
	close(ready[0]);
	close(ready[1]);
	return ret;
}

static void end(const struct inmate *inmate)
{
	close(inmate->alive);
	assert_int_equal(waitpid(inmate->pid, NULL, 0), inmate->pid);
}

/* The rest of the line of /proc/PID/status that begins with @key, without its white space. */
static void status_of(pid_t pid, const char *key, char *ret, size_t size)
{
	char path[64], line[512];
	*ret = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *status = fopen(path, "re");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (strncmp(line, key, strlen(key)) == 0)
			snprintf(ret, size, "%s", line + strlen(key) + strspn(line + strlen(key), " \t"));
	ret[strcspn(ret, "\n")] = 0;
	fclose(status);
}

static void expect_status(pid_t pid, const char *key, const char *want)
{
	char got[512];
	status_of(pid, key, got, sizeof(got));
	size_t n = strlen(got);
	while (n && got[n - 1] == ' ')
		got[--n] = 0;
	if (strcmp(got, want))
		fail_msg("%s %s, not %s", key, got, want);
}

/* The inode of a namespace of a process, 0 if it cannot be seen. */
static ino_t namespace_of(pid_t pid, const char *name)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	return stat(path, &st) ? 0 : st.st_ino;
}

static void expect_no_capabilities(pid_t pid)
{
	static const char *const sets[] = {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		expect_status(pid, sets[i], "0000000000000000");
}

/* Whether a process may unshare this, and change its root directory then. */
static bool can_unshare(int flags)
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(__real_unshare(flags) || chroot("/"));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

TEST(without_privileges)
{
	static const char *const namespaces[] = {"user", "net", "ipc"};
	if (SANITIZER || geteuid() != 0)
		skip();
	const struct inmate inmate = start(privileges_drop);
	expect_status(inmate.pid, "Uid:", "65534\t65534\t65534\t65534");
	expect_status(inmate.pid, "Gid:", "65534\t65534\t65534\t65534");
	expect_status(inmate.pid, "Groups:", "");
	expect_no_capabilities(inmate.pid);
	for (size_t i = 0;
	     can_unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) && i < ARRAY_SIZE(namespaces); i++)
		assert_int_not_equal(namespace_of(inmate.pid, namespaces[i]),
				     namespace_of(getpid(), namespaces[i]));
	end(&inmate);
}

/* As where they are turned off: what else needs a capability is done before all are dropped. */
TEST(without_user_namespaces)
{
	char path[64];
	struct stat st;
	if (SANITIZER || geteuid() != 0 || !can_unshare(CLONE_NEWNET | CLONE_NEWIPC))
		skip();
	has_user_namespaces = false;
	const struct inmate inmate = start(privileges_drop);
	has_user_namespaces = true;
	expect_status(inmate.pid, "Uid:", "65534\t65534\t65534\t65534");
	expect_no_capabilities(inmate.pid);
	assert_int_equal(namespace_of(inmate.pid, "user"), namespace_of(getpid(), "user"));
	assert_int_not_equal(namespace_of(inmate.pid, "net"), namespace_of(getpid(), "net"));
	assert_int_not_equal(namespace_of(inmate.pid, "ipc"), namespace_of(getpid(), "ipc"));
	snprintf(path, sizeof(path), "/proc/%d/root/proc", inmate.pid);
	assert_int_equal(stat(path, &st), -1);
	end(&inmate);
}

static void enter_network(void)
{
	sandbox_enter_network("/nothing");
}

static void enter_transfer(void)
{
	sandbox_enter_transfer(NULL, 0);
}

static void enter_directory(void)
{
	sandbox_enter_directory("/nothing");
}

/* Those that keep their user have no rights of his beyond what the kernel checks of every process. */
TEST(with_files_or_network)
{
	void (*const kinds[])(void) = {enter_network, enter_transfer, enter_directory};
	if (SANITIZER || geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct inmate inmate = start(kinds[i]);
		expect_no_capabilities(inmate.pid);
		expect_status(inmate.pid, "NoNewPrivs:", "1");
		end(&inmate);
	}
}
