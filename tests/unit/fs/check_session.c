/* The session: its options, in which order parts are started and stopped, what fails, what a signal does. */
#include "fs/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <syslog.h>
#include <time.h>

#include "store/share/share_service.h"
#include "fs/answer/stream.h"
#include "fs/images/catalogue.h"
#include "fs/state.h"
#include "fs/sys/mountpoint.h"
#include "fs/sys/request_loop.h"
#include "fs/tree/ops.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

static struct gsymfs fs;
static char a_session;

/* ---- What happened ---- */

enum { EVENTS_MAX = 100 };

static const char *events[EVENTS_MAX];
static size_t n_events;
static const char *failing; /* the event that fails, with -EMFILE; NULL: none */
static char logged[600];

static int event(const char *name)
{
	assert_true(n_events < EVENTS_MAX);
	events[n_events++] = name;
	return failing && strcmp(failing, name) == 0 ? -EMFILE : 0;
}

static unsigned times(const char *name)
{
	unsigned n = 0;
	for (size_t i = 0; i < n_events; i++)
		n += strcmp(events[i], name) == 0;
	return n;
}

static void happened(const char *name, unsigned n)
{
	if (times(name) != n)
		fail_msg("%s: %u times, not %u", name, times(name), n);
}

/* The last @first comes before the first @then; both happened. */
static void before(const char *first, const char *then)
{
	size_t last = 0, next = n_events;
	for (size_t i = 0; i < n_events; i++) {
		if (strcmp(events[i], first) == 0)
			last = i + 1;
		if (strcmp(events[i], then) == 0 && next == n_events)
			next = i;
	}
	if (!last || next == n_events || last > next)
		fail_msg("%s is not before %s", first, then);
}

/* ---- In place of the parts ---- */

static bool is_locked(void)
{
	if (pthread_mutex_trylock(&fs.images.lock.pthread))
		return true;
	pthread_mutex_unlock(&fs.images.lock.pthread);
	return false;
}

/* What starts: with an object that must be that of the daemon. */
#define STARTS(name, function, type, object)       \
	int __wrap_##function(struct type *part);  \
	int __wrap_##function(struct type *part)   \
	{                                          \
		assert_ptr_equal(part, &(object)); \
		return event(name);                \
	}

/* What ends, without the lock. */
#define ENDS(name, function, type, object)         \
	void __wrap_##function(struct type *part); \
	void __wrap_##function(struct type *part)  \
	{                                          \
		assert_ptr_equal(part, &(object)); \
		assert_false(is_locked());         \
		event(name);                       \
	}

/* What gives up its calls, with the lock. */
#define WAKES(name, function, type, object)                            \
	void __wrap_##function(struct type *part, struct list *woken); \
	void __wrap_##function(struct type *part, struct list *woken)  \
	{                                                              \
		static struct list call;                               \
		assert_ptr_equal(part, &(object));                     \
		assert_true(is_locked());                              \
		list_append(woken, &call);                             \
		event(name);                                           \
	}

STARTS("runners", runners_start, runners, fs.runners)
STARTS("share", share_start, share, fs.share)
STARTS("remote", remote_start, remote, fs.remote)
STARTS("scanner", scanner_start, scanner, fs.scanner)
STARTS("signals", signals_start, signals, fs.signals)
STARTS("leave", starter_leave, starter, fs.starter)
ENDS("queue joined", queue_join, queue, fs.queue)
ENDS("runners joined", runners_join, runners, fs.runners)
ENDS("share stopped", share_stop, share, fs.share)
ENDS("remote joined", remote_join, remote, fs.remote)
ENDS("scanner stopped", scanner_stop, scanner, fs.scanner)
ENDS("signals stopped", signals_stop, signals, fs.signals)
ENDS("syslog", log_use_syslog, log, fs.log)
ENDS("state", state_log, gsymfs, fs)
WAKES("runners woken", runners_stop, runners, fs.runners)
WAKES("streams woken", streams_wake_all, answers, fs.answers)
WAKES("images woken", images_wake_all, images, fs.images)
WAKES("remote woken", remote_stop, remote, fs.remote)

int __wrap_background_start(struct background *background);
void __wrap_background_stop(struct background *background, struct list *woken);
void __wrap_background_join(struct background *background);
int __wrap_queue_start(struct queue *queue, unsigned jobs);
void __wrap_queue_stop(struct queue *queue);
void __wrap_calls_end(struct list *woken, int err);
void __wrap_signals_block(void);
void __wrap_service_notify(const char *text);
void __wrap_starter_serving(const struct starter *starter);
int __wrap_eventfd_write(int fd, eventfd_t value);
int __wrap_request_loop_init(struct request_loop *loop, unsigned n_threads);
int __wrap_request_loop_run(struct request_loop *loop);
void __wrap_request_loop_deinit(struct request_loop *loop);
int __wrap_parallel_install(struct fuse_session *session);
int __wrap_fuse_session_mount(struct fuse_session *session, const char *mountpoint);
void __wrap_fuse_session_unmount(struct fuse_session *session);
void __wrap_fuse_set_log_func(fuse_log_func_t func);
struct fuse_session *__wrap_fuse_session_new(struct fuse_args *args, const struct fuse_lowlevel_ops *ops,
					     size_t size, void *user);
void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool is_names(const struct background *background)
{
	assert_true(background == &fs.answers.names || background == &fs.answers.tables);
	return background == &fs.answers.names;
}

int __wrap_background_start(struct background *background)
{
	return event(is_names(background) ? "names" : "tables");
}

void __wrap_background_stop(struct background *background, struct list *woken)
{
	static struct list calls[2];
	assert_true(is_locked());
	list_append(woken, &calls[is_names(background)]);
	event(is_names(background) ? "names woken" : "tables woken");
}

void __wrap_background_join(struct background *background)
{
	assert_false(is_locked());
	event(is_names(background) ? "names joined" : "tables joined");
}

static unsigned jobs;

int __wrap_queue_start(struct queue *queue, unsigned n)
{
	assert_ptr_equal(queue, &fs.queue);
	jobs = n;
	return event("queue");
}

void __wrap_queue_stop(struct queue *queue)
{
	assert_ptr_equal(queue, &fs.queue);
	assert_true(is_locked());
	event("queue stopped");
}

/* All that gave up calls did so. */
void __wrap_calls_end(struct list *woken, int err)
{
	assert_int_equal(list_count(woken), 6);
	assert_int_equal(err, -ENOTCONN);
	assert_false(is_locked());
	event("calls ended");
}

void __wrap_signals_block(void)
{
	event("block");
}

void __wrap_service_notify(const char *text)
{
	event(text);
}

void __wrap_starter_serving(const struct starter *starter)
{
	assert_ptr_equal(starter, &fs.starter);
	event("serving");
}

int __wrap_eventfd_write(int fd, eventfd_t value)
{
	assert_int_equal(fd, fs.stop_fd);
	assert_true(value > 0);
	int err = event("stop");
	errno = EBADF;
	return err ? -1 : 0;
}

static unsigned threads;
static void (*while_serving)(void);

int __wrap_request_loop_init(struct request_loop *loop, unsigned n_threads)
{
	assert_ptr_equal(loop->session, &a_session);
	assert_ptr_equal(loop->parallel, &fs.tree.parallel);
	assert_ptr_equal(loop->log, &fs.log);
	assert_ptr_equal(loop->interrupted, &fs.signals.taken);
	assert_ptr_equal(loop->readers, &fs.images.readers);
	threads = n_threads;
	return event("init");
}

int __wrap_request_loop_run(struct request_loop *loop)
{
	assert_ptr_equal(fs.signals.session, &a_session);
	loop->ready(loop->user);
	event("serve");
	if (while_serving)
		while_serving();
	return event("served");
}

void __wrap_request_loop_deinit(struct request_loop *loop)
{
	assert_ptr_equal(loop->session, &a_session);
	event("deinit");
}

int __wrap_parallel_install(struct fuse_session *session)
{
	assert_ptr_equal(session, &a_session);
	return event("parallel");
}

int __wrap_fuse_session_mount(struct fuse_session *session, const char *mountpoint)
{
	assert_ptr_equal(session, &a_session);
	assert_string_equal(mountpoint, "/m");
	return event("mount");
}

void __wrap_fuse_session_unmount(struct fuse_session *session)
{
	assert_ptr_equal(session, &a_session);
	event("unmount");
}

static fuse_log_func_t libfuse_log;

void __wrap_fuse_set_log_func(fuse_log_func_t func)
{
	libfuse_log = func;
	event("libfuse's log");
}

static int syslog_level;

void __wrap_vsyslog(int level, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
void __wrap___vsyslog_chk(int level, int flag, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

void __wrap_vsyslog(int level, const char *fmt, va_list args)
{
	syslog_level = level;
	vsnprintf(logged, sizeof(logged), fmt, args);
}

/* With _FORTIFY_SOURCE. */
void __wrap___vsyslog_chk(int level, int flag, const char *fmt, va_list args)
{
	(void)flag;
	__wrap_vsyslog(level, fmt, args);
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	va_list args;
	assert_ptr_equal(log, &fs.log);
	size_t n = strlen(logged);
	va_start(args, fmt);
	vsnprintf(logged + n, sizeof(logged) - n, fmt, args);
	va_end(args);
	event(level == LOG_LEVEL_ERROR ? "error" : "info");
}

/* ---- Making it ---- */

static struct {
	unsigned until_failure; /* calls that add options, until one fails; 0: none does */
	bool refused;           /* an option, by libfuse */
	unsigned made;
	char args[300]; /* of the session */
} lib;

int __real_fuse_opt_add_opt_escaped(char **opts, const char *opt);
int __wrap_fuse_opt_add_opt_escaped(char **opts, const char *opt);
int __real_fuse_opt_add_arg(struct fuse_args *args, const char *arg);
int __wrap_fuse_opt_add_arg(struct fuse_args *args, const char *arg);

static bool fails(void)
{
	return lib.until_failure && --lib.until_failure == 0;
}

int __wrap_fuse_opt_add_opt_escaped(char **opts, const char *opt)
{
	return fails() ? -1 : __real_fuse_opt_add_opt_escaped(opts, opt);
}

int __wrap_fuse_opt_add_arg(struct fuse_args *args, const char *arg)
{
	return fails() ? -1 : __real_fuse_opt_add_arg(args, arg);
}

struct fuse_session *__wrap_fuse_session_new(struct fuse_args *args, const struct fuse_lowlevel_ops *ops,
					     size_t size, void *user)
{
	assert_ptr_equal(ops, &gsymfs_ops);
	assert_int_equal(size, sizeof(*ops));
	assert_ptr_equal(user, &fs.tree);
	lib.made++;
	lib.args[0] = 0;
	for (int i = 0; i < args->argc; i++)
		strcat(strcat(lib.args, i ? " " : ""), args->argv[i]);
	return lib.refused ? NULL : (struct fuse_session *)&a_session;
}

static struct gsym_diag diag;

static int make(void)
{
	fs.session = NULL;
	diag.text[0] = 0;
	fuse_opt_free_args(&fs.options.fuse);
	assert_int_equal(__real_fuse_opt_add_arg(&fs.options.fuse, "gsymfs"), 0);
	return session_make(&fs, &diag);
}

static int set_up(void **state)
{
	(void)state;
	memset(&fs, 0, sizeof(fs));
	memset(&lib, 0, sizeof(lib));
	mutex_init(&fs.images.lock, LOCK_IMAGES);
	fs.remote.images = &fs.images;
	fs.options.foreground = true;
	fs.options.jobs = 3;
	fs.source_names = (char *)"/src";
	fs.mountpoint = (char *)"/m";
	fs.cache.path = (char *)"/cache";
	fs.session = (struct fuse_session *)&a_session;
	fs.stop_fd = 77;
	n_events = 0;
	failing = NULL;
	while_serving = NULL;
	logged[0] = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fuse_opt_free_args(&fs.options.fuse);
	mutex_destroy(&fs.images.lock);
	return 0;
}

TEST(options)
{
	static const struct {
		bool debug, has_fsname;
		const char *names, *args;
	} rows[] = {
		{false, false, "/src", "gsymfs -o fsname=/src -o subtype=gsymfs"},
		{true, false, "/src", "gsymfs -o debug -o fsname=/src -o subtype=gsymfs"},
		{false, true, "/src", "gsymfs -o subtype=gsymfs"},
		{true, true, "/src", "gsymfs -o debug -o subtype=gsymfs"},
		{false, false, "/a,b:/c", "gsymfs -o fsname=/a\\,b:/c -o subtype=gsymfs"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fs.options.debug = rows[i].debug;
		fs.options.has_fsname = rows[i].has_fsname;
		fs.source_names = (char *)rows[i].names;
		assert_int_equal(make(), 0);
		assert_ptr_equal(fs.session, &a_session);
		assert_string_equal(lib.args, rows[i].args);
		assert_int_equal(lib.made, i + 1);
	}
}

TEST(not_made)
{
	fs.options.debug = true;
	lib.refused = true;
	assert_int_equal(make(), -EINVAL);
	assert_non_null(strstr(diag.text, "rejected an option"));
	assert_null(fs.session);
	lib.refused = false;
	lib.made = 0;
	/* Three options, of which each is a list, "-o" and that. */
	for (unsigned n = 1; n <= 9; n++) {
		lib.until_failure = n;
		assert_int_equal(make(), -ENOMEM);
		assert_non_null(strstr(diag.text, "no memory"));
		assert_int_equal(lib.made, 0);
	}
	lib.until_failure = 0;
	assert_int_equal(make(), 0);
}

/* ---- Serving ---- */

static const char *const starting[] = {"runners", "names",  "tables",  "share",
				       "queue",   "remote", "scanner", "signals"};
static const char *const waking[] = {"queue stopped", "runners woken", "names woken", "tables woken",
				     "streams woken", "images woken",  "remote woken"};
static const char *const ending[] = {"runners joined", "names joined",  "tables joined",  "queue joined",
				     "share stopped",  "remote joined", "scanner stopped"};

/* Calls fail before anything waits for threads, and all of it before what is to come. */
static void stopped(unsigned n, const char *then)
{
	happened("stop", n);
	happened("calls ended", n);
	for (size_t i = 0; i < ARRAY_SIZE(waking); i++) {
		happened(waking[i], n);
		before(waking[i], then);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
		happened(ending[i], n);
		before(ending[i], then);
		if (n > 1)
			continue;
		before("stop", ending[i]);
		before("calls ended", ending[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(waking) && n == 1; i++)
		before(waking[i], "calls ended");
}

TEST(served)
{
	struct timespec begin;
	clock_gettime(CLOCK_REALTIME, &begin);
	assert_int_equal(session_run(&fs), 0);
	before("block", "init");
	before("init", "mount");
	before("mount", "parallel");
	for (size_t i = 0; i < ARRAY_SIZE(starting); i++) {
		happened(starting[i], 1);
		before("parallel", starting[i]);
		before(starting[i], "serve");
		if (strcmp(starting[i], "signals") != 0)
			before(starting[i], "signals"); /* a signal stops them */
	}
	before("serving", "served");
	before("READY=1", "served");
	before("served", "signals stopped");
	before("served", "STOPPING=1");
	before("STOPPING=1", "stop");
	stopped(1, "unmount");
	before("unmount", "deinit");
	static const char *const once[] = {"block",   "init",       "mount",          "parallel", "serving",
					   "READY=1", "serve",      "served",         "info",     "unmount",
					   "deinit",  "STOPPING=1", "signals stopped"};
	for (size_t i = 0; i < ARRAY_SIZE(once); i++)
		happened(once[i], 1);
	static const char *const never[] = {"leave", "syslog", "libfuse's log", "error", "state"};
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		happened(never[i], 0);
	assert_non_null(strstr(logged, "'/src'"));
	assert_non_null(strstr(logged, "'/m'"));
	assert_non_null(strstr(logged, "'/cache'"));
	assert_ptr_equal(fs.tree.session, &a_session);
	assert_true(fs.tree.mounted_at.tv_sec >= begin.tv_sec);
}

TEST(threads_and_jobs)
{
	assert_int_equal(session_run(&fs), 0);
	assert_int_equal(threads, REQUEST_THREADS_MAX);
	assert_int_equal(jobs, 3);
	n_events = 0;
	fs.options.single_thread = true;
	fs.converter.share = &fs.share;
	assert_int_equal(session_run(&fs), 0);
	assert_int_equal(threads, 1);
	assert_int_equal(jobs, 3 + 8); /* those that wait for the store convert nothing */
}

/* Threads would not survive the fork. */
TEST(in_the_background)
{
	fs.options.foreground = false;
	assert_int_equal(session_run(&fs), 0);
	happened("leave", 1);
	happened("syslog", 1);
	happened("libfuse's log", 1);
	before("parallel", "leave");
	before("leave", "syslog");
	for (size_t i = 0; i < ARRAY_SIZE(starting); i++)
		before("libfuse's log", starting[i]);
}

static void say(enum fuse_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(enum fuse_log_level level, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	libfuse_log(level, fmt, args);
	va_end(args);
}

/* What libfuse says goes where the daemon's messages go. */
TEST(messages_of_libfuse)
{
	fs.options.foreground = false;
	assert_int_equal(session_run(&fs), 0);
	say(FUSE_LOG_ERR, "error %d", 5);
	assert_int_equal(syslog_level, LOG_ERR);
	assert_string_equal(logged, "error 5");
	say(FUSE_LOG_DEBUG, "%s", "detail");
	assert_int_equal(syslog_level, LOG_DEBUG);
	assert_string_equal(logged, "detail");
}

/* ---- Signals ---- */

static void take_signals(void)
{
	fs.signals.asked(fs.signals.user);
	happened("state", 1);
	fs.signals.ending(fs.signals.user);
}

/* A signal ends calls while requests are still served; at the end all is stopped again. */
TEST(signalled)
{
	while_serving = take_signals;
	assert_int_equal(session_run(&fs), 0);
	stopped(2, "unmount");
	size_t served_at = 0, first = n_events;
	for (size_t i = 0; i < n_events; i++) {
		if (strcmp(events[i], "served") == 0)
			served_at = i;
		if (strcmp(events[i], "scanner stopped") == 0 && first == n_events)
			first = i;
	}
	assert_true(first < served_at);
}

/* ---- What fails ---- */

/* A thread that cannot be started ends it, and what was started. */
TEST(not_started)
{
	for (size_t i = 0; i < ARRAY_SIZE(starting); i++) {
		n_events = 0;
		logged[0] = 0;
		failing = starting[i];
		assert_int_equal(session_run(&fs), -EMFILE);
		for (size_t k = 0; k < ARRAY_SIZE(starting); k++)
			happened(starting[k], k <= i);
		happened("serve", 0);
		happened("info", 0);
		happened("error", 1);
		assert_non_null(strstr(logged, strerror(EMFILE)));
		stopped(1, "unmount");
		before("signals stopped", "stop");
		happened("STOPPING=1", 1);
		happened("unmount", 1);
		happened("deinit", 1);
	}
}

TEST(not_mounted)
{
	static const struct {
		const char *what;
		int err;
		unsigned errors, mounts, unmounts;
		const char *text;
	} rows[] = {
		{"init", -EMFILE, 1, 0, 0, "no memory"},
		{"mount", -EIO, 0, 1, 0, ""},
		{"parallel", -EMFILE, 0, 1, 1, ""},
		{"leave", -EMFILE, 1, 1, 1, "cannot go to the background: Too many open files"},
	};
	fs.options.foreground = false;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		n_events = 0;
		logged[0] = 0;
		failing = rows[i].what;
		assert_int_equal(session_run(&fs), rows[i].err);
		happened("error", rows[i].errors);
		assert_non_null(strstr(logged, rows[i].text));
		happened("mount", rows[i].mounts);
		happened("unmount", rows[i].unmounts);
		happened("deinit", 1);
		happened("syslog", 0);
		happened("libfuse's log", 0);
		happened("runners", 0);
		happened("serve", 0);
		happened("stop", 0);
	}
}

/* What the loop ends with is the result; workers that cannot be told do not keep the rest from ending. */
TEST(failed_loop)
{
	failing = "served";
	assert_int_equal(session_run(&fs), -EMFILE);
	happened("error", 0); /* logged by the loop */
	stopped(1, "unmount");
	n_events = 0;
	failing = "stop";
	assert_int_equal(session_run(&fs), 0);
	happened("error", 1);
	assert_non_null(strstr(logged, strerror(EBADF)));
	stopped(1, "unmount");
}

EACH_TEST(set_up, tear_down)
