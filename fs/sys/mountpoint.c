#include "fs/sys/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <spawn.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gsym/base/diag.h"

enum { STACKED_MAX = 16 };

extern char **environ;

/*
 * The kernel may answer stat(2) from memory for a while; opening a directory asks the daemon. ECONNABORTED:
 * it died while it was asked.
 */
static bool is_dead(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd < 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

/* What an ordinary user needs the set-user-id helper for. */
static int detach_by_helper(const char *path)
{
	char name[] = "fusermount3", options[] = "-uz", *copy = strdup(path);
	char *argv[] = {name, options, copy, NULL};
	pid_t pid;
	int status = 0, err = copy ? posix_spawnp(&pid, name, NULL, NULL, argv, environ) : ENOMEM;
	if (!err && (waitpid(pid, &status, 0) < 0 || status != 0))
		err = EPERM;
	free(copy);
	return -err;
}

static int detach(const char *path)
{
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return 0;
	return errno == EPERM ? detach_by_helper(path) : -errno;
}

/* Whether the last mount at @path, which has no symbolic links, is one of gsymfs. */
static bool is_mounted(const char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	bool found = false;
	const struct mntent *entry;
	while (mounts && (entry = getmntent(mounts)))
		if (strcmp(entry->mnt_dir, path) == 0)
			found = strcmp(entry->mnt_type, "fuse.gsymfs") == 0;
	if (mounts)
		endmntent(mounts);
	return found;
}

int mountpoint_detach_dead(const char *path)
{
	int n = 0, err = 0;
	for (; n < STACKED_MAX && !err && is_dead(path); n += !err)
		err = detach(path);
	return err ? err : n;
}

int mountpoint_prepare(const char *path, const struct log *log, char **ret, struct gsym_diag *diag)
{
	struct stat st;
	int n = mountpoint_detach_dead(path);
	if (n < 0)
		return diag_set(diag, n, "%s: cannot detach the mount of a daemon that died: %s", path,
				strerror(-n));
	for (; n > 0; n--)
		log_warning(log, "%s: detached a mount whose daemon had died", path);
	if (stat(path, &st))
		return diag_set(diag, -errno, "%s: cannot mount there: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return diag_set(diag, -ENOTDIR, "%s: cannot mount there: not a directory", path);
	*ret = realpath(path, NULL);
	if (!*ret)
		return diag_set(diag, -errno, "%s: cannot mount there: %s", path, strerror(errno));
	return is_mounted(*ret) ? diag_set(diag, -EBUSY,
					   "%s: gsymfs is mounted there already; unmount it first: "
					   "fusermount3 -u '%s'",
					   path, *ret)
				: 0;
}

void service_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
		return;
	strcpy(to.sun_path, path);
	if (path[0] == '@')
		to.sun_path[0] = 0; /* an abstract address */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to, size);
	close(fd);
}
