#include "object_share_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/cache/cache_lock.h"
#include "cli/command/bundle.h"
#include "cli/lookup/object_lookup.h"
#include "work/run/convert_run.h"
#include "store/share/share_object.h"
#include "store/share/share_turn.h"
#include "store/client/file_digest.h"
#include "gsym/base/diag.h"
#include "tests/unit/fs/captured_stderr.h"
#include "tests/unit/wrap_asprintf.h"

enum { FILE_FD = 71, FILE_SIZE = 4711 };

struct object_share_script with;
char did[1024], searched[1024];
int lock_fd;
unsigned n_signals;
struct object_share o;
struct option_list debug_dirs, sources;
struct object_share_options options;

static char dir[64];
static char one_handle, one_offer, one_turn;
static struct cache one_cache;
static const struct cache_key one_key;
static unsigned n_looks, n_results;
static volatile sig_atomic_t delivered;
static size_t n_open; /* descriptors before, */
static long n_live;   /* and allocations */

struct handle *const any_handle = (struct handle *)&one_handle;

/* ---- In place of the store and the converter ---- */

int __wrap_signalfd(int fd, const sigset_t *mask, int flags);
int __real_signalfd(int fd, const sigset_t *mask, int flags);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
char *__wrap_realpath(const char *path, char *ret);
char *__real_realpath(const char *path, char *ret);
int __wrap_rename(const char *from, const char *to);
int __real_rename(const char *from, const char *to);
uint64_t __wrap_fetch_servers_hash(const char *urls);
int __wrap_share_open(struct share *share, const struct share_options *options, const char *program,
		      int stop_fd, struct cache *cache, const struct log *log, struct gsym_diag *diag);
int __wrap_share_start(struct share *share);
void __wrap_share_flush(struct share *share);
void __wrap_share_stop(struct share *share);
void __wrap_share_close(struct share *share);
void __wrap_share_give(struct share *share, struct share_offer *offer);
void __wrap_share_turn_end(struct share *share, struct share_turn *turn);
int __wrap_share_object_key(const struct converter *converter, const struct convert_request *request, int fd,
			    struct store_key *ret);
int __wrap_share_object_take(const struct converter *converter, const struct convert_request *request, int fd,
			     struct store_reply *reply, struct handle **ret, struct gsym_diag *diag);
int __wrap_share_object_offer(const struct converter *converter, const struct convert_request *request,
			      int fd, struct handle *handle, struct share_offer **ret,
			      struct gsym_diag *diag);
int __wrap_file_digest(int fd, uint64_t size, bool (*more)(void *user), void *user,
		       uint8_t ret[static STORE_DIGEST]);
void __wrap_cache_admit(struct cache *cache, uint64_t limit, uint64_t spare);
int __wrap_cache_lock_try(const struct cache *cache, const struct cache_key *key, int *ret);
bool __wrap_convert_from_cache(const struct converter *converter, const struct convert_request *request,
			       bool is_known, struct outcome *ret);
void __wrap_convert_run(const struct converter *converter, const struct convert_request *request,
			struct outcome *ret);
void __wrap_handle_put(struct handle *handle);

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	size_t n = strlen(did);
	va_list list;
	va_start(list, fmt);
	if (n)
		did[n++] = ' ';
	vsnprintf(did + n, sizeof(did) - n, fmt, list);
	va_end(list);
}

int __wrap_signalfd(int fd, const sigset_t *mask, int flags)
{
	errno = -with.signalfd_err;
	return with.signalfd_err ? -1 : __real_signalfd(fd, mask, flags);
}

/* Time does not pass. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	assert_int_equal(n, 1);
	assert_int_equal(fds->fd, o.signals.fd);
	assert_int_equal(fds->events, POLLIN);
	note("poll(%d)", timeout);
	if (++n_looks == with.stop_at)
		raise(SIGTERM);
	return __real_poll(fds, n, 0);
}

char *__wrap_realpath(const char *path, char *ret)
{
	errno = ENOMEM;
	return fails() ? NULL : counted(__real_realpath(path, ret));
}

int __wrap_rename(const char *from, const char *to)
{
	errno = -with.rename_err;
	return with.rename_err ? -1 : __real_rename(from, to);
}

uint64_t __wrap_fetch_servers_hash(const char *urls)
{
	assert_string_equal(urls, SERVERS);
	return SERVERS_HASH;
}

int __wrap_share_open(struct share *share, const struct share_options *how, const char *program, int stop_fd,
		      struct cache *cache, const struct log *log, struct gsym_diag *diag)
{
	assert_ptr_equal(share, &o.share);
	assert_ptr_equal(log, &o.log);
	assert_string_equal(program, "/proc/self/exe");
	assert_true(stop_fd >= 0 && stop_fd == o.signals.fd);
	assert_true(!cache && log->most == LOG_LEVEL_WARNING && strcmp(log->program, "gsym") == 0);
	assert_int_equal(how->wait_ms, 600000);
	assert_true(!how->digests.find && !how->digests.keep);
	assert_string_equal(how->sign_key, "secret");
	assert_string_equal(how->trusted_keys, "public");
	assert_ptr_equal(how->store.address, o.address);
	assert_string_equal(how->store.bearer_file, "bearer");
	note("open");
	return with.open_err ? diag_set(diag, with.open_err, "%s", with.text) : 0;
}

int __wrap_share_start(struct share *share)
{
	note("start");
	share->has_threads = !with.start_err;
	return with.start_err;
}

void __wrap_share_flush(struct share *share)
{
	assert_true(share->has_threads);
	note("flush");
}

void __wrap_share_stop(struct share *share)
{
	assert_ptr_equal(share, &o.share);
	note("stop");
}

void __wrap_share_close(struct share *share)
{
	assert_ptr_equal(share, &o.share);
	note("close");
}

/* The entry is not locked any more: the store may be slow. */
void __wrap_share_give(struct share *share, struct share_offer *offer)
{
	assert_ptr_equal(share, &o.share);
	assert_true(lock_fd < 0 || fcntl(lock_fd, F_GETFD) < 0);
	note(offer ? "give" : "give-nothing");
	if (offer && with.given)
		share_count(share, with.given);
}

void __wrap_share_turn_end(struct share *share, struct share_turn *turn)
{
	assert_ptr_equal(share, &o.share);
	assert_ptr_equal(turn, &one_turn);
	note("end-turn");
}

static void expect_request(const struct converter *converter, const struct convert_request *request, int fd)
{
	assert_ptr_equal(converter->share, &o.share);
	assert_ptr_equal(o.share.cache, &one_cache);
	assert_int_equal(converter->merged, !with.unmerged);
	assert_int_equal(converter->search.servers, o.options.debuginfod ? SERVERS_HASH : 0);
	assert_int_equal(converter->seconds, 90);
	assert_string_equal(request->id, "0123");
	assert_int_equal(request->source.digest[0], 'd');
	assert_int_equal(request->source.digest[STORE_DIGEST - 1], 'd');
	assert_int_equal(fd, FILE_FD);
}

int __wrap_share_object_key(const struct converter *converter, const struct convert_request *request, int fd,
			    struct store_key *ret)
{
	expect_request(converter, request, fd);
	memset(ret->digest, 'k', sizeof(ret->digest));
	note("key");
	return with.key_err;
}

int __wrap_share_object_take(const struct converter *converter, const struct convert_request *request, int fd,
			     struct store_reply *reply, struct handle **ret, struct gsym_diag *diag)
{
	expect_request(converter, request, fd);
	note("take");
	*reply = with.reply;
	if (!with.take_err)
		*ret = any_handle;
	if (with.text)
		diag_set(diag, 0, "%s", with.text);
	return with.take_err;
}

int __wrap_share_object_offer(const struct converter *converter, const struct convert_request *request,
			      int fd, struct handle *handle, struct share_offer **ret, struct gsym_diag *diag)
{
	expect_request(converter, request, fd);
	assert_ptr_equal(handle, any_handle);
	note("offer");
	if (!with.offer_err)
		*ret = (struct share_offer *)&one_offer;
	if (with.text)
		diag_set(diag, 0, "%s", with.text);
	return with.offer_err;
}

/* Two blocks. */
int __wrap_file_digest(int fd, uint64_t size, bool (*more)(void *user), void *user,
		       uint8_t ret[static STORE_DIGEST])
{
	assert_int_equal(fd, FILE_FD);
	assert_int_equal(size, FILE_SIZE);
	note("digest");
	if (!more(user) || !more(user))
		return -ECANCELED;
	memset(ret, 'd', STORE_DIGEST);
	return with.digest_err;
}

void __wrap_cache_admit(struct cache *cache, uint64_t limit, uint64_t spare)
{
	assert_ptr_equal(cache, &one_cache);
	note("admit(%u,%u)", (unsigned)(limit >> 30), (unsigned)(spare >> 30));
}

int __wrap_cache_lock_try(const struct cache *cache, const struct cache_key *key, int *ret)
{
	assert_ptr_equal(cache, &one_cache);
	assert_ptr_equal(key, &one_key);
	note(with.busy ? "busy" : "lock");
	if (with.busy) {
		with.busy--;
		return -EAGAIN;
	}
	lock_fd = with.no_lock ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
	*ret = lock_fd;
	return 0;
}

static void set_outcome(struct outcome *ret)
{
	const struct put_result *result = &with.results[n_results++];
	memset(ret, 0, sizeof(*ret));
	ret->verdict = result->verdict;
	ret->err = result->err;
	ret->handle = result->has_handle ? any_handle : NULL;
	ret->offer = result->has_offer ? (struct share_offer *)&one_offer : NULL;
	ret->adopted = result->adopted;
	ret->wait_ms = result->wait_ms;
	if (result->text)
		diag_set(&ret->diag, 0, "%s", result->text);
}

bool __wrap_convert_from_cache(const struct converter *converter, const struct convert_request *request,
			       bool is_known, struct outcome *ret)
{
	expect_request(converter, request, FILE_FD);
	assert_true(!is_known && (lock_fd >= 0 || with.no_lock));
	note("cache");
	if (!with.is_cached)
		return false;
	set_outcome(ret);
	ret->inputs = strdup("inputs");
	return true;
}

/* Its way through the store is that of the first time. */
void __wrap_convert_run(const struct converter *converter, const struct convert_request *request,
			struct outcome *ret)
{
	expect_request(converter, request, FILE_FD);
	assert_true(lock_fd < 0 || fcntl(lock_fd, F_GETFD) >= 0);
	assert_ptr_equal(*request->turn, n_results ? &one_turn : NULL);
	*request->turn = (struct share_turn *)&one_turn;
	note("convert");
	set_outcome(ret);
	if (ret->verdict != VERDICT_ELSEWHERE)
		ret->inputs = strdup("inputs");
}

void __wrap_handle_put(struct handle *handle)
{
	note(handle ? "put" : "put-nothing");
}

int bundle_resolve(const char *path, char ret[static PATH_MAX], struct gsym_diag *diag)
{
	if (with.bundle_err && with.text)
		diag_set(diag, with.bundle_err, "%s", with.text);
	snprintf(ret, PATH_MAX, "%s", with.bundle ? with.bundle : path);
	return with.bundle_err;
}

/* What is searched where: "<path> <directories, with colons> <number of sources> <arch> <cache>". */
static void note_search(const char *path, const struct object_options *how)
{
	size_t n = (size_t)snprintf(searched, sizeof(searched), "%s ", path);
	for (const char *const *at = how->search->dirs; *at; at++)
		n += (size_t)snprintf(searched + n, sizeof(searched) - n, "%s:", *at);
	snprintf(searched + n, sizeof(searched) - n, " %zu %s %s", how->search->n_sources,
		 how->arch ? how->arch : "-", how->cache ? how->cache : "-");
}

int object_lookup_open(const char *path, const struct object_options *how, struct lookup_image *ret,
		       struct gsym_diag *diag)
{
	const struct convert_request request = {
		.id = "0123", .source = {.path = "a", .state = {.size = FILE_SIZE}}, .key = &one_key};
	const struct converter converter = {.cache = &one_cache, .seconds = 90, .search = *how->search};
	(void)ret;
	assert_true(!how->debug_dirs && !how->asked && !how->early);
	assert_true(!how->search->all && !how->search->mountpoint && !how->search->servers);
	note_search(path, how);
	if (with.lookup_err)
		return with.text ? diag_set(diag, with.lookup_err, "%s", with.text) : with.lookup_err;
	return how->use(how->user, &converter, &request, FILE_FD, diag);
}

/* ---- A command ---- */

static const struct session_options session = {
	.sign_key = "secret", .trusted_keys = "public", .bearer_file = "bearer"};
static void count_signal(int number)
{
	(void)number;
	delivered++;
}

size_t count_descriptors(void)
{
	size_t n = 0;
	for (int fd = 0; fd < 200; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

const char *in_directory(const char *name)
{
	static char paths[8][128];
	static unsigned n;
	char *path = paths[n++ % 8];
	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void make_file(const char *name)
{
	int fd = open(in_directory(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
}

void object_share_reset(void)
{
	memset(&with, 0, sizeof(with));
	memset(&options, 0, sizeof(options));
	options = (struct object_share_options){.debug_dirs = &debug_dirs, .sources = &sources};
	debug_dirs.n = sources.n = 0;
	n_looks = n_results = 0;
	delivered = 0;
	n_signals = 0;
	lock_fd = -1;
	*did = *searched = 0;
}

int object_share_set_up(void **state)
{
	(void)state;
	n_open = count_descriptors();
	n_live = live;
	strcpy(dir, "/tmp/check_object_share.XXXXXX");
	assert_non_null(mkdtemp(dir));
	char *real = realpath(dir, NULL);
	strcpy(dir, real);
	free(real);
	assert_int_equal(mkdir(in_directory("debug"), 0755) | mkdir(in_directory("source"), 0755) |
				 symlink("debug", in_directory("link")),
			 0);
	make_file("source/object");
	assert_int_equal(chdir(dir), 0);
	object_share_reset();
	unsetenv("DEBUGINFOD_URLS");
	signal(SIGTERM, count_signal);
	return 0;
}

int object_share_tear_down(void **state)
{
	char command[96];
	(void)state;
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(count_descriptors(), n_open);
	assert_int_equal(live, n_live);
	return 0;
}

void fail_allocation(long n)
{
	allowed = n;
}

bool has_failed_allocation(void)
{
	return allowed < 0;
}

void open_share(const char *want)
{
	char said[1024];
	struct captured_stderr captured = capture_begin();
	memset(&o, 0xff, sizeof(o));
	int status = object_share_open(&o, "http://h/a", &session, &options);
	capture_end(&captured, said, sizeof(said));
	assert_string_equal(said, want);
	assert_int_equal(status, *want ? STATUS_FAILED : STATUS_OK);
}

static bool is_blocked(int number)
{
	sigset_t set;
	sigprocmask(SIG_SETMASK, NULL, &set);
	return sigismember(&set, number);
}

void close_share(void)
{
	bool has_threads = o.share.has_threads;
	*did = 0;
	assert_true(is_blocked(SIGTERM));
	object_share_close(&o);
	assert_string_equal(did, has_threads ? "flush stop close" : "stop close");
	assert_false(is_blocked(SIGTERM));
	assert_null(o.dirs.v);
	n_signals = (unsigned)delivered;
	*did = 0;
}
