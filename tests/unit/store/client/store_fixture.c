#include "tests/unit/store/client/store_fixture.h"

#include <dirent.h>
#include <ftw.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/os/monotonic.h"
#include "gsym/base/file_io.h"

const char *fixture_program;

struct store *fixture_store(struct fixture *f)
{
	const struct store_options options = {.address = f->directory};
	struct gsym_diag diag = {""};
	struct store *store = NULL;
	int err = store_open(&options, fixture_program, f->stop[0], &f->log, &f->counters, &store, &diag);
	if (err)
		fail_msg("%s", diag.text);
	return store;
}

void fixture_open(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	strcpy(f->directory, "/tmp/check_store.XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	assert_int_equal(pipe2(f->stop, O_CLOEXEC), 0);
	f->store = fixture_store(f);
	f->fd = file_of("", 0);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)!remove(path); /* a process that is ending may be faster */
	return 0;
}

void remove_all(const char *directory)
{
	nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void fixture_close(struct fixture *f)
{
	store_close(f->store);
	close(f->stop[0]);
	close(f->stop[1]);
	close(f->fd);
	remove_all(f->directory);
}

int fixture_set_up(void **state)
{
	static struct fixture fixture;
	fixture_open(&fixture);
	*state = &fixture;
	return 0;
}

int fixture_tear_down(void **state)
{
	fixture_close(*state);
	return 0;
}

int file_of(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, data, size, 0), 0);
	return fd;
}

bool file_is(int fd, const void *data, size_t size)
{
	struct stat st;
	char *found = malloc(size + 1);
	bool ret = found && fstat(fd, &st) == 0 && (size_t)st.st_size == size &&
		   read_all(fd, found, size, 0) == 0 && memcmp(found, data, size) == 0;
	free(found);
	return ret;
}

int put(struct store *store, const char *name, const char *text, enum store_condition condition,
	const char *etag, struct store_reply *ret)
{
	struct store_reply reply;
	const struct store_request request = {
		.operation = STORE_PUT,
		.condition = condition,
		.name = name,
		.etag = etag,
		.fd = file_of(text, strlen(text)),
		.size = strlen(text),
	};
	store_do(store, &request, SOON_MS, &reply);
	close(request.fd);
	if (ret)
		*ret = reply;
	return reply.err;
}

int get(struct store *store, const char *name, uint64_t most, int fd, struct store_reply *ret)
{
	struct store_reply reply;
	const struct store_request request = {.operation = STORE_GET, .name = name, .fd = fd, .size = most};
	store_do(store, &request, SOON_MS, &reply);
	if (ret)
		*ret = reply;
	return reply.err;
}

int head(struct store *store, const char *name, struct store_reply *ret)
{
	struct store_reply reply;
	const struct store_request request = {.operation = STORE_HEAD, .name = name};
	store_do(store, &request, SOON_MS, &reply);
	if (ret)
		*ret = reply;
	return reply.err;
}

void path_of(const struct fixture *f, const char *path, char ret[static 512])
{
	snprintf(ret, 512, "%s/%s", f->directory, path);
}

/* Status and parent in /proc/.../stat, after the name, which may hold anything. False: there is none. */
static bool read_stat(const char *path, char *ret_status, pid_t *ret_parent)
{
	char text[512] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	const char *end = n > 0 ? strrchr(text, ')') : NULL;
	return end && sscanf(end, ") %c %d", ret_status, ret_parent) == 2;
}

/* The parent of a process that has not ended. */
static pid_t parent_of(const char *pid)
{
	char path[300], status;
	pid_t parent;
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	return read_stat(path, &status, &parent) && status != 'Z' ? parent : 0;
}

/* Whether all threads of @pid are stopped, which happens to each in its own time. */
static bool is_stopped(pid_t pid)
{
	char path[600], status;
	pid_t parent;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *list = opendir(path);
	struct dirent *entry;
	bool ret = true;
	assert_non_null(list);
	while ((entry = readdir(list))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid, entry->d_name);
		if (*entry->d_name != '.' && read_stat(path, &status, &parent))
			ret &= status == 'T';
	}
	closedir(list);
	return ret;
}

void stop_process(pid_t pid)
{
	assert_int_equal(kill(pid, SIGSTOP), 0);
	while (!is_stopped(pid))
		poll(NULL, 0, 1);
}

size_t children(pid_t *ret, size_t most)
{
	DIR *list = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;
	assert_non_null(list);
	while (n < most && (entry = readdir(list)))
		if (*entry->d_name >= '1' && *entry->d_name <= '9' && parent_of(entry->d_name) == getpid())
			ret[n++] = (pid_t)atoi(entry->d_name);
	closedir(list);
	return n;
}

pid_t store_process(void)
{
	pid_t found[2];
	/* The one before may still be ending. */
	for (int64_t until = monotonic_ms() + SOON_MS; children(found, 2) != 1; poll(NULL, 0, 1))
		assert_true(monotonic_ms() < until);
	return found[0];
}
