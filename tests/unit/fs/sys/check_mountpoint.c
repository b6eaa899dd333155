/* The mount point before the mount: dead mounts are detached, others refused; and the service manager. */
#include "fs/sys/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"
#include "tests/unit/wrap_log.h"

/* ---- In place of the system ---- */

static struct {
	unsigned dead;        /* mounts at the mount point whose daemon died */
	int open_err;         /* else: why it cannot be opened */
	int detach_err;       /* of umount2(2) */
	int spawn_err;        /* of the helper */
	int wait_err, status; /* likewise */
	bool no_memory;       /* strdup() fails */
	int realpath_err;
	int socket_err;
	const char *mounts; /* the table of mounts; NULL: it cannot be read */
	unsigned detached, helped, waited, tables, sockets;
	void *copy; /* of strdup(), that was not freed */
} sys;

static char dir[] = "/tmp/check_mountpoint.XXXXXX";

int __real_open64(const char *path, int flags, ...);
char *__real_strdup(const char *text);
void __real_free(void *p);
char *__real_realpath(const char *path, char *resolved);
FILE *__wrap_setmntent(const char *path, const char *mode);
int __real_endmntent(FILE *table);
int __real_socket(int domain, int type, int protocol);

int __wrap_open64(const char *path, int flags, ...)
{
	int err = sys.dead ? ENOTCONN : sys.open_err;
	if (strcmp(path, dir) != 0 || !err)
		return __real_open64(path, flags, 0);
	assert_true(flags & O_DIRECTORY && flags & O_CLOEXEC);
	errno = err;
	return -1;
}

static int detach(void)
{
	assert_true(sys.dead > 0);
	sys.dead--;
	return 0;
}

int __wrap_umount2(const char *path, int flags)
{
	assert_string_equal(path, dir);
	assert_int_equal(flags, MNT_DETACH | UMOUNT_NOFOLLOW);
	sys.detached++;
	errno = sys.detach_err ? sys.detach_err : EINTR; /* of an earlier call */
	return sys.detach_err ? -1 : detach();
}

int __wrap_posix_spawnp(pid_t *ret, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	assert_null(actions);
	assert_null(attr);
	assert_ptr_equal(env, environ);
	assert_string_equal(file, "fusermount3");
	assert_string_equal(argv[0], "fusermount3");
	assert_string_equal(argv[1], "-uz");
	assert_string_equal(argv[2], dir);
	assert_null(argv[3]);
	sys.helped++;
	*ret = 4321;
	if (!sys.spawn_err && !sys.wait_err && !sys.status)
		detach();
	return sys.spawn_err;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	assert_int_equal(pid, 4321);
	assert_int_equal(options, 0);
	sys.waited++;
	*status = sys.status;
	errno = sys.wait_err;
	return sys.wait_err ? -1 : pid;
}

char *__wrap_strdup(const char *text)
{
	sys.copy = sys.no_memory ? NULL : __real_strdup(text);
	return sys.copy;
}

void __wrap_free(void *p)
{
	if (p && p == sys.copy)
		sys.copy = NULL;
	__real_free(p);
}

char *__wrap_realpath(const char *path, char *resolved)
{
	errno = sys.realpath_err;
	return sys.realpath_err ? NULL : __real_realpath(path, resolved);
}

FILE *__wrap_setmntent(const char *path, const char *mode)
{
	assert_string_equal(path, "/proc/self/mounts");
	assert_int_equal(mode[0], 'r');
	if (!sys.mounts)
		return NULL;
	sys.tables++;
	return fmemopen((void *)sys.mounts, strlen(sys.mounts), "r");
}

int __wrap_endmntent(FILE *table)
{
	sys.tables--;
	return __real_endmntent(table);
}

int __wrap_socket(int domain, int type, int protocol)
{
	sys.sockets++;
	errno = sys.socket_err;
	return sys.socket_err ? -1 : __real_socket(domain, type, protocol);
}

/* ---- Cases ---- */

static const struct log one_log = {.most = LOG_LEVEL_WARNING};
static struct gsym_diag diag;
static char *found;
static int next_fd; /* the lowest that is free */

static unsigned lines_logged(void)
{
	unsigned n = 0;
	for (const char *at = logged; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static int lowest_free(void)
{
	int fd = dup(STDERR_FILENO);
	close(fd);
	return fd;
}

static int set_up(void **state)
{
	(void)state;
	memset(&sys, 0, sizeof(sys));
	logged[0] = 0;
	sys.mounts = "proc /proc proc rw 0 0\n";
	diag.text[0] = 0;
	found = NULL;
	next_fd = lowest_free();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(found);
	assert_int_equal(lowest_free(), next_fd);
	assert_int_equal(sys.tables, 0);
	assert_null(sys.copy);
	return 0;
}

static int prepare(const char *path)
{
	free(found);
	found = NULL;
	return mountpoint_prepare(path, &one_log, &found, &diag);
}

static void refused(const char *path, int err, const char *said)
{
	assert_int_equal(prepare(path), err);
	if (!strstr(diag.text, said) || !strstr(diag.text, path))
		fail_msg("%s", diag.text);
}

/* Its absolute path, without symbolic links. */
TEST(directories)
{
	char path[100];
	assert_int_equal(prepare(dir), 0);
	assert_string_equal(found, dir);
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink(".", path), 0);
	assert_int_equal(prepare(path), 0);
	assert_string_equal(found, dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sys.detached, 0);
	assert_int_equal(lines_logged(), 0);
	assert_string_equal(diag.text, "");
	/* One that may not be listed is no dead one. */
	sys.open_err = EACCES;
	assert_int_equal(prepare(dir), 0);
	assert_int_equal(sys.detached, 0);
}

TEST(no_directories)
{
	char path[100];
	snprintf(path, sizeof(path), "%s/missing", dir);
	refused(path, -ENOENT, "No such file");
	assert_null(found);
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	refused(path, -ENOTDIR, "not a directory");
	assert_null(found);
	assert_int_equal(unlink(path), 0);
	sys.realpath_err = EACCES;
	refused(dir, -EACCES, "Permission denied");
	assert_null(found);
}

/* The last mount there counts. */
TEST(mounted)
{
	static const struct {
		const char *types[3]; /* of mounts, the last one last; NULL: that one is elsewhere */
		bool busy;
	} rows[] = {
		{{"fuse.gsymfs"}, true},
		{{"ext4"}, false},
		{{NULL}, false},
		{{"ext4", "fuse.gsymfs"}, true},
		{{"fuse.gsymfs", "ext4"}, false},
		{{"fuse.gsymfs", NULL, "fuse.gsymfs"}, true},
		{{"fuse.gsymfs", NULL}, true},
		{{"fuse.other"}, false},
	};
	char table[600];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = 0;
		for (size_t k = 0; k < 3; k++) {
			const char *type = rows[i].types[k];
			n += (size_t)snprintf(table + n, sizeof(table) - n, "from %s%s %s ro 0 0\n", dir,
					      type ? "" : "/other", type ? type : "fuse.gsymfs");
			if (k == 2 || (!type && k == 1) || !rows[i].types[k + 1])
				break;
		}
		n += (size_t)snprintf(table + n, sizeof(table) - n, "from %s/below fuse.gsymfs ro 0 0\n",
				      dir);
		sys.mounts = table;
		if (rows[i].busy)
			refused(dir, -EBUSY, "mounted there already");
		else
			assert_int_equal(prepare(dir), 0);
		assert_string_equal(found, dir);
	}
	sys.mounts = NULL;
	assert_int_equal(prepare(dir), 0);
}

/* All whose daemons died go, but not without end. */
TEST(dead_mounts)
{
	enum { MOST = 16 };
	for (unsigned n = 1; n <= MOST + 1; n++) {
		sys.dead = n;
		sys.detached = 0;
		logged[0] = 0;
		assert_int_equal(prepare(dir), 0);
		unsigned expected = n > MOST ? MOST : n;
		assert_int_equal(sys.detached, expected);
		assert_int_equal(lines_logged(), expected); /* each is told */
		assert_non_null(strstr(logged, dir));
		assert_int_equal(sys.helped, 0);
	}
}

TEST(not_detached)
{
	sys.dead = 1;
	sys.detach_err = EINVAL;
	refused(dir, -EINVAL, "cannot detach");
	assert_int_equal(sys.detached, 1);
	assert_int_equal(sys.helped, 0);
	assert_int_equal(lines_logged(), 0);
	assert_null(found);
}

/* A plain user needs the helper. */
TEST(helped)
{
	sys.dead = 2;
	sys.detach_err = EPERM;
	assert_int_equal(prepare(dir), 0);
	assert_int_equal(sys.helped, 2);
	assert_int_equal(sys.waited, 2);
	assert_int_equal(lines_logged(), 2);
}

TEST(not_helped)
{
	static const struct {
		int spawn, wait, status, err;
		bool no_memory;
	} rows[] = {
		{ENOENT, 0, 0, -ENOENT, false}, {0, ECHILD, 0, -EPERM, false}, {0, 0, 0x100, -EPERM, false},
		{0, 0, 9, -EPERM, false},       {0, 0, 0, -ENOMEM, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&sys, 0, sizeof(sys));
		sys.mounts = "";
		sys.dead = 1;
		sys.detach_err = EPERM;
		sys.spawn_err = rows[i].spawn;
		sys.wait_err = rows[i].wait;
		sys.status = rows[i].status;
		sys.no_memory = rows[i].no_memory;
		refused(dir, rows[i].err, "cannot detach");
		assert_int_equal(sys.helped, !rows[i].no_memory);
		assert_int_equal(sys.waited, !rows[i].no_memory && !rows[i].spawn);
		assert_int_equal(lines_logged(), 0);
		assert_null(sys.copy);
	}
}

/* ---- The service manager ---- */

/* Sends to @address, where a socket listens; what arrives. */
static void notifies(const char *address)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char message[100];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	assert_true(strlen(address) < sizeof(at.sun_path));
	memcpy(at.sun_path, address, strlen(address));
	if (*address == '@')
		at.sun_path[0] = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&at,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address))),
			 0);
	setenv("NOTIFY_SOCKET", address, 1);
	service_notify("READY=1");
	service_notify("STOPPING=1");
	assert_int_equal(recv(fd, message, sizeof(message), 0), strlen("READY=1"));
	assert_memory_equal(message, "READY=1", strlen("READY=1"));
	assert_int_equal(recv(fd, message, sizeof(message), 0), strlen("STOPPING=1"));
	assert_int_equal(recv(fd, message, sizeof(message), 0), -1);
	close(fd);
	if (*address == '/')
		unlink(address);
}

TEST(notified)
{
	struct sockaddr_un longest;
	char address[sizeof(longest.sun_path) + 1];
	snprintf(address, sizeof(address), "%s/notify", dir);
	notifies(address);
	/* As long as an address may be. */
	memset(address, 'x', sizeof(address));
	memcpy(address, dir, strlen(dir));
	address[strlen(dir)] = '/';
	address[sizeof(longest.sun_path) - 1] = 0;
	notifies(address);
	snprintf(address, sizeof(address), "@%s", dir);
	notifies(address);
}

TEST(not_notified)
{
	struct sockaddr_un longest;
	char address[sizeof(longest.sun_path) + 1];
	unsetenv("NOTIFY_SOCKET");
	service_notify("READY=1");
	static const char *const others[] = {"", "relative", "vsock:2:1234", ".", "A"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		setenv("NOTIFY_SOCKET", others[i], 1);
		service_notify("READY=1");
	}
	memset(address, 'x', sizeof(address));
	address[0] = '/';
	address[sizeof(longest.sun_path)] = 0;
	setenv("NOTIFY_SOCKET", address, 1);
	service_notify("READY=1");
	assert_int_equal(sys.sockets, 0);
	/* Failures are not told. */
	snprintf(address, sizeof(address), "%s/missing", dir);
	setenv("NOTIFY_SOCKET", address, 1);
	service_notify("READY=1");
	assert_int_equal(sys.sockets, 1);
	sys.socket_err = EMFILE;
	service_notify("READY=1");
	assert_int_equal(sys.sockets, 2);
}

EACH_TEST(set_up, tear_down)

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	int failed = unit_run();
	return rmdir(dir) || failed;
}
