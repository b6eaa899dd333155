#include "tests/unit/store/transfer/store_child_fixture.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/transfer/engine.h"
#include "store/transfer/http_secrets.h"
#include "store/transfer/store_child.h"
#include "work/sandbox/sandbox.h"
#include "work/worker/worker.h"
#include "gsym/base/diag.h"

struct store_child_script with;

static char steps[256];         /* what was done, in this order */
static unsigned n_threads;      /* that were to be started */
static unsigned n_closed;       /* engines */
static atomic_uint n_under_way; /* transfers */

const char *const known_etags[] = {
	"", "\"abc\"", "!~", "a b", " a", "a ", "a\x7f", "\x7f", "\x1f", "a\n", "\xc3\xa4", NULL,
};

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	size_t n = strlen(steps);
	va_list list;
	va_start(list, fmt);
	vsnprintf(steps + n, sizeof(steps) - n, fmt, list);
	va_end(list);
}

static const char *text_of(const char *text)
{
	return text ? text : "-";
}

static int open_engine(const char *name, const struct store_options *o, void **ret, struct gsym_diag *diag)
{
	note(" %s", name);
	if (with.open_err == -EBADMSG)
		return diag_set(diag, with.open_err, "%0300d", 7);
	diag_set(diag, 0, "%s %s %s %s %s %s", o->address, text_of(o->bearer_file), text_of(o->netrc_file),
		 text_of(o->cert_file), text_of(o->key_file), text_of(o->ca_file));
	if (!with.open_err)
		*ret = (void *)&with;
	return with.open_err;
}

static int open_directory(const struct store_options *o, void **ret, struct gsym_diag *diag)
{
	return open_engine("directory", o, ret, diag);
}

static int open_http(const struct store_options *o, void **ret, struct gsym_diag *diag)
{
	return open_engine("http", o, ret, diag);
}

static int open_s3(const struct store_options *o, void **ret, struct gsym_diag *diag)
{
	return open_engine("s3", o, ret, diag);
}

static void tell(struct transfer *t)
{
	const struct transfer_limits *l = &t->limits;
	snprintf(t->reply.text, sizeof(t->reply.text), "%d %d '%s' '%s' %s %u, %u %u %u, %s", t->operation,
		 t->condition, t->name, t->etag, t->fd < 0 ? "no" : "file", (unsigned)t->size, l->connect,
		 l->stall, l->whole, atomic_load(t->canceled) ? "canceled" : "goes on");
}

/* Until its file is readable, or it is cancelled, which takes a while. */
static int hold(const struct transfer *t)
{
	struct pollfd file = {.fd = t->fd, .events = POLLIN};
	t->begun(t);
	for (;;) {
		bool is_canceled = atomic_load(t->canceled);
		int n = poll(&file, 1, is_canceled ? 20 : 1);
		if (n > 0)
			return file.revents & POLLNVAL ? -EBADF : 0;
		if (is_canceled)
			return -ECANCELED;
	}
}

static int act(struct transfer *t)
{
	unsigned number = 0;
	if (strcmp(t->name, "steps") == 0)
		snprintf(t->reply.text, sizeof(t->reply.text), "%s", steps);
	if (strcmp(t->name, "tell") == 0)
		tell(t);
	if (strcmp(t->name, "hold") == 0)
		return hold(t);
	if (strcmp(t->name, "threads") == 0)
		t->reply.size = n_threads;
	if (strcmp(t->name, "begun") == 0) {
		t->begun(t);
		t->reply = (struct store_reply){.size = 456, .now = 789, .modified = -12};
	}
	if (strcmp(t->name, "fails") == 0) {
		snprintf(t->reply.text, sizeof(t->reply.text), "%0255d", 1);
		t->reply.size = 3;
		return -EREMOTEIO;
	}
	if (sscanf(t->name, "etag/%u", &number) == 1 && known_etags[number])
		snprintf(t->reply.etag, sizeof(t->reply.etag), "%s", known_etags[number]);
	else if (sscanf(t->name, "long/%u", &number) == 1)
		memset(t->reply.etag, 'x', number);
	return 0;
}

static int run(void *engine, struct transfer *transfer)
{
	if ((void *)engine != &with)
		return -EINVAL;
	atomic_fetch_add(&n_under_way, 1);
	int err = act(transfer);
	atomic_fetch_sub(&n_under_way, 1);
	return err;
}

static void close_engine(void *engine)
{
	n_closed += (void *)engine == &with;
	if (atomic_load(&n_under_way))
		_exit(CLOSED_EARLY);
}

const struct engine_type directory_engine = {open_directory, run, close_engine};
const struct engine_type http_engine = {open_http, run, close_engine};
const struct engine_type s3_engine = {open_s3, run, close_engine};

char *s3_credentials_path(void)
{
	return with.credentials ? strdup(with.credentials) : NULL;
}

int sandbox_limits(uint64_t memory_bytes, uint64_t cpu_seconds, uint64_t file_bytes)
{
	note("limits %u %u %s", (unsigned)(memory_bytes >> 20), (unsigned)cpu_seconds,
	     file_bytes == UINT64_MAX ? "all" : "some");
	return with.limits_err;
}

void sandbox_enter_directory(const char *directory)
{
	note(" sandbox of %s", directory);
}

void sandbox_enter_transfer(const char *const *files, size_t n)
{
	note(" sandbox with");
	for (size_t i = 0; i < n; i++)
		note(" %s", text_of(files[i]));
}

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run_thread)(void *), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run_thread)(void *), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run_thread)(void *), void *arg)
{
	if (++n_threads == with.fails_at)
		return EAGAIN;
	return __real_pthread_create(ret, attr, run_thread, arg);
}

int store_child_serve(int sock)
{
	if (sock != WORKER_SOCKET_FD) {
		dup2(sock, WORKER_SOCKET_FD);
		close(sock);
	}
	if (with.no_stdin)
		close(STDIN_FILENO);
	int status = work_store();
	return status == 0 && n_closed != 1 ? NOT_CLOSED : status;
}
