/*
 * elfutils' client library does the work: it knows the servers ($DEBUGINFOD_URLS) and caches files in a
 * directory shared with other programs of the user. It is loaded at run time, so that it is an optional
 * dependency. Of its interface (debuginfod_find_debuginfo(3)) only what is used here is declared.
 */
#include "cli/worker/worker_commands.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/ascii.h"
#include "work/worker/worker.h"
#include "work/sandbox/sandbox.h"

enum { MEMORY = 1 << 30, SILENT_MAX = 1024, SERVERS_MAX = 32 /* bits of a set */ };

struct debuginfod_client;
typedef int progress_fn(struct debuginfod_client *client, long done, long total);

struct debuginfod_library {
	struct debuginfod_client *(*begin)(void);
	void (*set_progressfn)(struct debuginfod_client *client, progress_fn *progress);
	int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *id, int size,
			      char **path);
	void (*set_verbose_fd)(struct debuginfod_client *client, int fd); /* or NULL: since elfutils 0.183 */
};

/* Static, because the progress function has no user argument in the oldest versions of the library. */
static struct {
	time_t deadline;
	time_t silent_until; /* 0: servers may send nothing for as long as the client lets them */
	uint64_t size;
	bool late, large;
} bounds;

static time_t seconds_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/*
 * Whether no server has sent anything. Until one has, the client counts its own loops in @done, and knows no
 * @total; a file whose size the server does not tell begins with a buffer of kilobytes.
 */
static bool is_silent(long done, long total)
{
	return total <= 0 && done < SILENT_MAX;
}

/* Called about once a second, even if no data arrives; non-zero makes the client abort and clean up. */
static int check_bounds(struct debuginfod_client *client, long done, long total)
{
	(void)client;
	bounds.late |= seconds_now() >= bounds.deadline;
	bounds.late |= bounds.silent_until && seconds_now() >= bounds.silent_until && is_silent(done, total);
	bounds.large |=
		(done > 0 && (uint64_t)done > bounds.size) || (total > 0 && (uint64_t)total > bounds.size);
	return bounds.late || bounds.large;
}

static bool load_client(struct debuginfod_library *ret)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	*(void **)&ret->begin = dlsym(library, "debuginfod_begin");
	*(void **)&ret->set_progressfn = dlsym(library, "debuginfod_set_progressfn");
	*(void **)&ret->find_debuginfo = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&ret->set_verbose_fd = dlsym(library, "debuginfod_set_verbose_fd");
	return ret->begin && ret->set_progressfn && ret->find_debuginfo;
}

/* ---- Failing servers ---- */

/* How the servers of a list replied, with bit N for server N. */
struct replies {
	uint32_t failed;
	uint32_t missing; /* they do not have the file */
};

/* Whether a line of the log, "url N" and the result of the query, says that the server has no such file. */
static bool is_not_found(const char *line)
{
	size_t n = strcspn(line, "\n");
	return n > 4 && (strncmp(line + n - 4, " 404", 4) == 0 || strncmp(line + n - 4, " 410", 4) == 0);
}

/*
 * The client also returns ENOENT for a server that is overloaded or closes the connection, and for several of
 * which the last one has no such file. Its verbose log is more precise. Without a log no failure is assumed.
 */
static struct replies read_replies(int log)
{
	char line[1024];
	struct replies replies = {0};
	bool queried = false;
	unsigned number;
	FILE *file = log >= 0 ? fdopen(log, "r") : NULL;
	if (!file)
		return replies;
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		queried |= strncmp(line, "query ", 6) == 0;
		if (!queried || sscanf(line, "url %u ", &number) != 1 || number >= SERVERS_MAX)
			continue;
		*(is_not_found(line) ? &replies.missing : &replies.failed) |= 1U << number;
	}
	return replies;
}

/* How many there are in a list. */
static unsigned count_servers(const char *urls)
{
	unsigned n = *urls != 0;
	for (; *urls; urls++)
		n += *urls == ' ';
	return n;
}

/* Those of which nothing was heard when time was up failed, too. */
static uint32_t silent_servers(const char *urls, const struct replies *replies)
{
	unsigned n = count_servers(urls);
	return (n < SERVERS_MAX ? (1U << n) - 1 : UINT32_MAX) & ~replies->missing;
}

/* Removes a negative cache entry, with which the client returns ENOENT for ten minutes. */
static void drop_negative_entry(const struct worker_download *order)
{
	char path[WORKER_PATH_MAX + 2 * sizeof(order->id) + 16];
	struct stat st;
	char id[2 * sizeof(order->id) + 1];
	hex_write(id, order->id, order->id_size);
	snprintf(path, sizeof(path), "%s/%s/debuginfo", order->directory, id);
	if (stat(path, &st) == 0 && st.st_size == 0)
		unlink(path);
}

/* ---- Downloading ---- */

/*
 * @fd, or a more precise error than that of the client: this is -EINVAL for an id of the largest size, which
 * it takes no more, but also where it can make no file in its cache.
 */
static int refine_error(int fd, const struct worker_download *order, const struct replies *replies)
{
	if (bounds.late || fd == -ETIME) /* the client's own limit, DEBUGINFOD_TIMEOUT */
		return -ETIMEDOUT;
	if (bounds.large)
		return -EFBIG;
	if (fd == -EINVAL && order->id_size < sizeof(order->id))
		return -EIO;
	return fd == -ENOENT && replies->failed ? -EREMOTEIO : fd;
}

/* A descriptor, or a negative errno; and the servers that failed. */
static int download(const struct debuginfod_library *client, const struct worker_download *order,
		    uint32_t *ret_failed)
{
	struct debuginfod_client *handle = client->begin();
	if (!handle)
		return -ENOMEM;
	int log = client->set_verbose_fd ? memfd_create("log", MFD_CLOEXEC) : -1;
	if (log >= 0)
		client->set_verbose_fd(handle, log);
	client->set_progressfn(handle, check_bounds);
	int fd = client->find_debuginfo(handle, order->id, (int)order->id_size, NULL);
	const struct replies replies = read_replies(log);
	int ret = refine_error(fd, order, &replies);
	*ret_failed = ret == -ETIMEDOUT ? silent_servers(order->urls, &replies) : replies.failed;
	if (ret < 0 && (ret != -ENOENT || order->partial))
		drop_negative_entry(order);
	return ret;
}

static int fetch(const struct worker_download *order, uint32_t *ret_failed)
{
	struct debuginfod_library client;
	bounds.deadline = seconds_now() + (time_t)order->seconds;
	bounds.size = order->size;
	const char *timeout = getenv("DEBUGINFOD_TIMEOUT");
	if (order->silence && !(timeout && *timeout))
		bounds.silent_until = seconds_now() + (time_t)order->silence;
	/* No immediate retries of a server that is silent for DEBUGINFOD_TIMEOUT: the client of the worker
	 * tries again later. */
	setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
	if (setenv("DEBUGINFOD_CACHE_PATH", order->directory, 1) || setenv("DEBUGINFOD_URLS", order->urls, 1))
		return -ENOMEM;
	if (!load_client(&client))
		return -ELIBACC;
	int err = sandbox_limits(MEMORY, order->seconds, order->size);
	if (err)
		return err;
	sandbox_enter_network(order->directory);
	return download(&client, order, ret_failed);
}

int work_fetch(void)
{
	union worker_message msg;
	if (worker_receive(WORKER_SOCKET_FD, &msg, NULL) != 1 || msg.head.type != WORKER_DOWNLOAD)
		return 1;
	uint32_t failed = 0;
	int fd = fetch(&msg.download, &failed);
	struct worker_opened answer = {
		.head.serial = msg.head.serial, .error = fd < 0 ? -fd : 0, .failed = failed};
	int err = worker_send(WORKER_SOCKET_FD, &answer.head, WORKER_OPENED, fd);
	/* Skips the exit handlers of libraries; the kernel frees all resources. */
	_exit(err ? 1 : 0);
}
