/*
 * elfutils' client does the work: it knows the servers ($DEBUGINFOD_URLS), keeps what it got in a directory
 * that other programs of the user share, and is loaded only here and only when asked, so nobody needs to have
 * it. Of its interface (debuginfod_find_debuginfo(3)) only what is used here is declared.
 */
#include "convert/cli/worker/debuginfod_client.h"

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

#include "convert/worker/worker.h"
#include "convert/cli/worker/sandbox.h"

enum { MEMORY = 1 << 30 };

struct debuginfod_client;
typedef int progress_fn(struct debuginfod_client *client, long done, long total);

struct client {
	struct debuginfod_client *(*begin)(void);
	void (*set_progressfn)(struct debuginfod_client *client, progress_fn *progress);
	int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *id, int size,
			      char **path);
	void (*set_verbose_fd)(struct debuginfod_client *client, int fd); /* or NULL: since elfutils 0.183 */
};

/* The progress function has no argument of its own in the oldest versions of the library. */
static struct {
	time_t deadline;
	uint64_t size;
	bool late, large;
} bounds;

static time_t seconds_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Called about once a second, also while nothing comes; non-zero makes the client stop and clean up behind
 * itself. */
static int check_bounds(struct debuginfod_client *client, long done, long total)
{
	(void)client;
	bounds.late |= seconds_now() >= bounds.deadline;
	bounds.large |=
		(done > 0 && (uint64_t)done > bounds.size) || (total > 0 && (uint64_t)total > bounds.size);
	return bounds.late || bounds.large;
}

static bool load_client(struct client *ret)
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

/* ---- Servers in trouble ---- */

/* "url N" and what became of the query, in the client's own words: whether the server has answered that it
 * has no such file. */
static bool is_no(const char *line)
{
	size_t n = strcspn(line, "\n");
	return n > 4 && (strncmp(line + n - 4, " 404", 4) == 0 || strncmp(line + n - 4, " 410", 4) == 0);
}

/*
 * The client says ENOENT, too, of a server that is overloaded, of one that closes the connection, and of
 * several of which the last one said no. What it tells those who debug it knows better. Without such words:
 * no trouble.
 */
static bool in_trouble(int words)
{
	char line[1024];
	bool queried = false, trouble = false;
	FILE *file = fdopen(words, "r");
	if (!file)
		return false;
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		queried |= strncmp(line, "query ", 6) == 0;
		trouble |= queried && strncmp(line, "url ", 4) == 0 && !is_no(line);
	}
	return trouble;
}

/* Else the client might say ENOENT for ten minutes. */
static void forget_no(const struct worker_download *order)
{
	char path[WORKER_PATH_MAX + 2 * sizeof(order->id) + 16];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/", order->directory);
	for (uint32_t i = 0; i < order->id_size; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", order->id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, "/debuginfo");
	if (stat(path, &st) == 0 && st.st_size == 0)
		unlink(path);
}

/* ---- All of it ---- */

/* What came of it: @fd, or a better reason than the client gives. */
static int judge(int fd, int words)
{
	if (bounds.late || fd == -ETIME) /* the client's own limit, DEBUGINFOD_TIMEOUT */
		return -ETIMEDOUT;
	if (bounds.large)
		return -EFBIG;
	return fd == -ENOENT && words >= 0 && in_trouble(words) ? -EREMOTEIO : fd;
}

/* A descriptor, or why there is none. */
static int download(const struct client *client, const struct worker_download *order)
{
	struct debuginfod_client *handle = client->begin();
	if (!handle)
		return -ENOMEM;
	int words = client->set_verbose_fd ? memfd_create("words", MFD_CLOEXEC) : -1;
	if (words >= 0)
		client->set_verbose_fd(handle, words);
	client->set_progressfn(handle, check_bounds);
	int fd = client->find_debuginfo(handle, order->id, (int)order->id_size, NULL);
	int why = judge(fd, words);
	if (why < 0 && why != -ENOENT)
		forget_no(order);
	return why;
}

static int fetch(const struct worker_download *order)
{
	struct client client;
	bounds.deadline = seconds_now() + (time_t)order->seconds;
	bounds.size = order->size;
	/* A server that is silent for DEBUGINFOD_TIMEOUT is not asked twice more at once: the daemon tries
	 * again later. */
	setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
	if (setenv("DEBUGINFOD_CACHE_PATH", order->directory, 1))
		return -ENOMEM;
	if (!load_client(&client))
		return -ELIBACC;
	int err = sandbox_limits(MEMORY, order->seconds, order->size);
	if (err)
		return err;
	sandbox_enter_network(order->directory);
	return download(&client, order);
}

int work_fetch(void)
{
	union worker_message msg;
	if (worker_receive(WORKER_SOCKET_FD, &msg, NULL) != 1 || msg.head.type != WORKER_DOWNLOAD)
		return 1;
	int fd = fetch(&msg.download);
	struct worker_opened answer = {.head.serial = msg.head.serial, .error = fd < 0 ? -fd : 0};
	int err = worker_send(WORKER_SOCKET_FD, &answer.head, WORKER_OPENED, fd);
	/* What libraries would do at the end only costs time; the kernel does the rest. */
	_exit(err ? 1 : 0);
}
