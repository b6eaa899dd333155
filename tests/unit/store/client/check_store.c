/* The client of a store and its real process, with a directory: requests, conditions, and what is refused. */
#include "tests/unit/store/client/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/os/monotonic.h"
#include "store/client/store_address.h"
#include "store/client/store_object.h"
#include "gsym/base/file_io.h"
#include "work/cache/handle.h"
#include "gsym/base/sanitizer.h"
#include "gsym/base/vec.h"
#include "gsym/read/reader.h"
#include "tests/unit/gsym/sample.h"

TEST_OF(get_and_put, struct fixture, f)
{
	static char large[3 << 20];
	struct store_reply written, reply;
	assert_int_equal(get(f->store, "gsymfs1/ab/abcd.gsym", 100, f->fd, NULL), -ENOENT);
	assert_int_equal(head(f->store, "gsymfs1/ab/abcd.gsym", NULL), -ENOENT);
	assert_int_equal(put(f->store, "gsymfs1/ab/abcd.gsym", "hello", STORE_ALWAYS, NULL, NULL), 0);
	assert_int_equal(head(f->store, "gsymfs1/ab/abcd.gsym", &written), 0);
	assert_int_equal(get(f->store, "gsymfs1/ab/abcd.gsym", 100, f->fd, &reply), 0);
	assert_true(file_is(f->fd, "hello", 5));
	assert_int_equal(reply.size, 5);
	assert_string_equal(reply.etag, written.etag);
	assert_int_equal(reply.modified, written.modified);
	/* It was written just now, by one clock. */
	assert_true(written.now >= written.modified && written.modified > 0);
	assert_in_range(reply.now - reply.modified, 0, 3600);
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)('a' + i % 23);
	large[sizeof(large) - 1] = 0;
	assert_int_equal(put(f->store, "gsymfs1/ab/abcd.gsym", large, STORE_ALWAYS, NULL, NULL), 0);
	assert_int_equal(head(f->store, "gsymfs1/ab/abcd.gsym", &reply), 0);
	assert_int_equal(reply.size, sizeof(large) - 1);
	assert_string_not_equal(reply.etag, written.etag);
	int other = file_of("", 0);
	assert_int_equal(get(f->store, "gsymfs1/ab/abcd.gsym", sizeof(large), other, NULL), 0);
	assert_true(file_is(other, large, sizeof(large) - 1));
	assert_int_equal(f->counters.requests[STORE_GET][STORE_OK], 2);
	assert_int_equal(f->counters.requests[STORE_GET][STORE_MISSING], 1);
	assert_int_equal(f->counters.requests[STORE_HEAD][STORE_MISSING], 1);
	assert_int_equal(f->counters.requests[STORE_PUT][STORE_OK], 2);
	assert_int_equal(f->counters.sent, 5 + sizeof(large) - 1);
	assert_int_equal(f->counters.received, 5 + sizeof(large) - 1);
	close(other);
}

static int delete_object(struct store *store, const char *name)
{
	struct store_reply reply;
	const struct store_request request = {.operation = STORE_DELETE, .name = name};
	store_do(store, &request, SOON_MS, &reply);
	return reply.err;
}

TEST_OF(conditions, struct fixture, f)
{
	struct store_reply first, second;
	assert_int_equal(put(f->store, "a/x", "1", STORE_IF_MATCH, "\"none\"", NULL), -ENOENT);
	assert_int_equal(put(f->store, "a/x", "1", STORE_IF_ABSENT, NULL, NULL), 0);
	assert_int_equal(head(f->store, "a/x", &first), 0);
	assert_int_equal(put(f->store, "a/x", "2", STORE_IF_ABSENT, NULL, NULL), -EEXIST);
	assert_int_equal(put(f->store, "a/x", "2", STORE_IF_MATCH, "\"other\"", NULL), -EEXIST);
	assert_int_equal(put(f->store, "a/x", "2", STORE_IF_MATCH, first.etag, NULL), 0);
	assert_int_equal(put(f->store, "a/x", "3", STORE_IF_MATCH, first.etag, NULL), -EEXIST);
	assert_int_equal(head(f->store, "a/x", &second), 0);
	assert_string_not_equal(first.etag, second.etag);
	assert_int_equal(delete_object(f->store, "a/x"), 0);
	assert_int_equal(delete_object(f->store, "a/x"), -ENOENT);
	assert_int_equal(delete_object(f->store, "b/x"), -ENOENT);
}

/* ---- Races ---- */

enum { RACERS = 8, ROUNDS = 200 };

struct race {
	struct store *stores[2];
	pthread_barrier_t barrier;
	char etag[STORE_ETAG_SIZE]; /* of the lease that all see; set by the winner of the round */
	atomic_uint won[2 * ROUNDS];
	atomic_uint odd; /* results other than winning and losing */
};

struct racer {
	struct race *race;
	unsigned number;
	pthread_t thread;
};

/* First all make the same lease, then all take it over. */
static void *run_racer(void *arg)
{
	const struct racer *racer = arg;
	struct race *race = racer->race;
	char name[64], text[64], seen[STORE_ETAG_SIZE];
	struct store_reply reply;
	for (unsigned round = 0; round < 2 * ROUNDS; round++) {
		bool takes_over = round % 2;
		snprintf(name, sizeof(name), "gsymfs1/00/%u.lease", round / 2);
		snprintf(text, sizeof(text), "%u of %u", racer->number, round);
		pthread_barrier_wait(&race->barrier);
		memcpy(seen, race->etag, sizeof(seen));
		pthread_barrier_wait(&race->barrier);
		int err = put(race->stores[racer->number % 2], name, text,
			      takes_over ? STORE_IF_MATCH : STORE_IF_ABSENT, seen, NULL);
		if (!err) {
			atomic_fetch_add(&race->won[round], 1);
			while (head(race->stores[0], name, &reply)) /* another may compare it just now */
				;
			memcpy(race->etag, reply.etag, sizeof(reply.etag));
		} else if (err != -EEXIST && !(takes_over && err == -ENOENT)) {
			atomic_fetch_add(&race->odd, 1);
		}
	}
	return NULL;
}

TEST_OF(races, struct fixture, f)
{
	struct racer racers[RACERS];
	struct race *race = calloc(1, sizeof(*race));
	assert_non_null(race);
	race->stores[0] = f->store;
	race->stores[1] = fixture_store(f);
	pthread_barrier_init(&race->barrier, NULL, RACERS);
	for (unsigned i = 0; i < RACERS; i++) {
		racers[i] = (struct racer){.race = race, .number = i};
		assert_int_equal(pthread_create(&racers[i].thread, NULL, run_racer, &racers[i]), 0);
	}
	for (unsigned i = 0; i < RACERS; i++)
		pthread_join(racers[i].thread, NULL);
	assert_int_equal(race->odd, 0);
	for (unsigned i = 0; i < 2 * ROUNDS; i++)
		assert_int_equal(race->won[i], 1);
	store_close(race->stores[1]);
	pthread_barrier_destroy(&race->barrier);
	free(race);
}

/* ---- Callers that leave ---- */

enum { HURRIED = 300 };

static void *leave_early(void *arg)
{
	struct store *store = arg;
	unsigned seed = (unsigned)(uintptr_t)&seed;
	for (unsigned i = 0; i < HURRIED; i++) {
		const struct store_request request = {
			.operation = STORE_GET, .name = "x", .fd = file_of("", 0), .size = 100};
		struct store_reply reply = {.err = 1};
		struct store_call *call = store_start(store, &request, &reply.err);
		bool is_done = call && store_wait(call, monotonic_ms() + rand_r(&seed) % 2, &reply);
		store_call_end(call);
		close(request.fd);
		/* On a machine so slow that they are overdue when they are left, the breaker may open. */
		if ((!call || is_done) && reply.err && reply.err != -ENETDOWN)
			return arg;
	}
	return NULL;
}

/* Requests that end at any moment leave nothing that the next could stumble over. */
TEST_OF(hurried, struct fixture, f)
{
	pthread_t threads[RACERS];
	void *failed;
	uint64_t ended = 0;
	assert_int_equal(put(f->store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
	for (unsigned i = 0; i < RACERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, leave_early, f->store), 0);
	for (unsigned i = 0; i < RACERS; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	for (unsigned i = 0; i < STORE_RESULTS; i++)
		ended += f->counters.requests[STORE_GET][i];
	assert_int_equal(ended, RACERS * HURRIED);
	while (get(f->store, "x", 100, f->fd, NULL) != 0)
		poll(NULL, 0, 10);
}

/* What is used changes neither its tag nor its time. */
TEST_OF(use, struct fixture, f)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 3}};
	struct store_reply before, after;
	struct stat st;
	char path[512];
	assert_int_equal(put(f->store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
	path_of(f, "x", path);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_int_equal(get(f->store, "x", 100, f->fd, &before), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_atim.tv_sec > 1000);
	assert_true(st.st_mtim.tv_sec == 2000 && st.st_mtim.tv_nsec == 3);
	assert_int_equal(head(f->store, "x", &after), 0);
	assert_string_equal(before.etag, after.etag);
	assert_int_equal(after.modified, 2000);
}

/* ---- What is refused ---- */

TEST_OF(limits, struct fixture, f)
{
	struct store_reply reply;
	char name[STORE_NAME_SIZE + 1];
	assert_int_equal(put(f->store, "x", "12345", STORE_ALWAYS, NULL, NULL), 0);
	assert_int_equal(get(f->store, "x", 4, f->fd, NULL), -EFBIG);
	assert_true(file_is(f->fd, "", 0));
	assert_int_equal(get(f->store, "x", 5, f->fd, NULL), 0);
	assert_int_equal(get(f->store, "../x", 5, f->fd, NULL), -EINVAL);
	assert_int_equal(get(f->store, ".tmp-x", 5, f->fd, NULL), -EINVAL);
	assert_int_equal(put(f->store, "x", "1", STORE_IF_MATCH, NULL, NULL), -EINVAL);
	assert_int_equal(put(f->store, "x", "1", STORE_IF_MATCH, "a\r\nb", NULL), -EINVAL);
	memset(name, 'x', sizeof(name));
	name[STORE_NAME_SIZE] = 0;
	assert_int_equal(get(f->store, name, 5, f->fd, NULL), -EINVAL);
	/* A file that is shorter than its request says is a fault of this machine, not of the store. */
	const struct store_request request = {.operation = STORE_PUT, .name = "y", .fd = f->fd, .size = 1000};
	store_do(f->store, &request, SOON_MS, &reply);
	assert_int_equal(reply.err, -EIO);
	assert_int_equal(head(f->store, "y", NULL), -ENOENT);
	assert_true(store_is_up(f->store));
}

/* What a name leads to that is no object: none of it is waited for, read, or followed. */
TEST_OF(no_objects, struct fixture, f)
{
	static const char *const names[] = {"fifo", "dir", "link", "socket"};
	char path[512];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	path_of(f, "fifo", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	path_of(f, "dir", path);
	assert_int_equal(mkdir(path, 0700), 0);
	path_of(f, "link", path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", f->directory);
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(get(f->store, names[i], 100000, f->fd, NULL), -EBADMSG);
		assert_int_equal(head(f->store, names[i], NULL), -EBADMSG);
		assert_int_equal(put(f->store, names[i], "1", STORE_IF_ABSENT, NULL, NULL), -EEXIST);
		assert_int_equal(put(f->store, names[i], "1", STORE_ALWAYS, NULL, NULL),
				 i == 1 ? -EBADMSG : 0);
	}
	assert_int_equal(get(f->store, "fifo", 100, f->fd, NULL), 0);
	assert_true(file_is(f->fd, "1", 1));
	assert_true(store_is_up(f->store));
	close(sock);
}

/* ---- Objects ---- */

static int get_object(struct store *store, const char *name, uint64_t most, int fd, uint64_t *ret_size)
{
	struct store_reply reply;
	const struct store_request request = {
		.operation = STORE_GET, .name = name, .fd = fd, .size = most, .object = true};
	store_do(store, &request, SOON_MS, &reply);
	*ret_size = reply.size;
	return reply.err;
}

static void put_object(struct store *store, enum object_kind kind, struct span payload, bool compress)
{
	const struct store_key key = {.digest = {1, 2, 3}};
	struct store_reply reply;
	struct store_request request = {.operation = STORE_PUT, .name = "x", .fd = file_of("", 0)};
	struct gsym_diag diag = {""};
	if (object_write(request.fd, &key, kind, payload, compress, NULL, &request.size, &diag))
		fail_msg("%s", diag.text);
	store_do(store, &request, SOON_MS, &reply);
	assert_int_equal(reply.err, 0);
	close(request.fd);
}

TEST_OF(objects, struct fixture, f)
{
	static uint8_t zeros[100000];
	const struct span text = {zeros, sizeof(zeros)};
	uint64_t size;
	put(f->store, "x", "no object", STORE_ALWAYS, NULL, NULL);
	assert_int_equal(get_object(f->store, "x", 1 << 20, f->fd, &size), -EBADMSG);
	put_object(f->store, OBJECT_FAILURE, text, true);
	assert_int_equal(get_object(f->store, "x", 1 << 20, f->fd, &size), 0);
	assert_int_equal(size, sizeof(zeros) + OBJECT_TRAILER);
	struct object_trailer trailer;
	const struct store_key key = {.digest = {1, 2, 3}};
	assert_int_equal(object_check(f->fd, size, &key, NULL, &trailer, NULL), 0);
	/* It is small, but what it holds is not. */
	int other = file_of("", 0);
	assert_int_equal(get_object(f->store, "x", sizeof(zeros), other, &size), -EFBIG);
	put_object(f->store, OBJECT_CONVERSION, text, false);
	assert_int_equal(get_object(f->store, "x", 1 << 20, other, &size), -EBADMSG);
	assert_true(store_is_up(f->store));
	close(other);
}

/* GSYM of one function, and where its name is. */
static void make_gsym(void **ret_data, size_t *ret_size, uint64_t *ret_name)
{
	struct sample sample;
	struct gsym_reader *reader;
	sample_init(&sample, sample_kinds[0], 0x1000);
	sample_func(&sample, 0x10, 0x10, "work", 7);
	sample_finish(&sample, ret_data, ret_size);
	assert_int_equal(gsym_reader_open_memory(*ret_data, *ret_size, &reader, NULL), 0);
	struct cursor record = reader_record(reader, 0);
	*ret_name = cursor_off(&record) + 4;
	gsym_reader_close(reader);
}

/* A file of the cache that begins with @gsym. */
static void put_entry(struct store *store, struct span gsym)
{
	int fd = file_of(gsym.data, gsym.size);
	assert_int_equal(trailer_write(fd, "key", gsym.size, (struct span){0}, (struct span){0}), 0);
	const off_t size = lseek(fd, 0, SEEK_END);
	void *entry = file_map(fd, (uint64_t)size, MAP_PRIVATE);
	assert_ptr_not_equal(entry, MAP_FAILED);
	put_object(store, OBJECT_CONVERSION, (struct span){entry, (size_t)size}, true);
	munmap(entry, (size_t)size);
	close(fd);
}

/* A conversion with a record that cannot be decoded does not pass. */
TEST_OF(conversions, struct fixture, f)
{
	void *data;
	size_t size;
	uint64_t got, name;
	make_gsym(&data, &size, &name);
	put_entry(f->store, (struct span){data, size});
	assert_int_equal(get_object(f->store, "x", 1 << 20, f->fd, &got), 0);
	assert_in_range(got, size + OBJECT_TRAILER + 1, size + OBJECT_TRAILER + 256);
	int other = file_of("", 0);
	put_object(f->store, OBJECT_CONVERSION, (struct span){data, size}, true); /* no trailer */
	assert_int_equal(get_object(f->store, "x", 1 << 20, other, &got), -EBADMSG);
	close(other);
	memset((char *)data + name, 0xff, 4);
	put_entry(f->store, (struct span){data, size});
	other = file_of("", 0);
	assert_int_equal(get_object(f->store, "x", 1 << 20, other, &got), -EBADMSG);
	free(data);
	close(other);
}

/* ---- Addresses and directories ---- */

static int check(const char *address)
{
	const struct store_options options = {.address = address};
	return store_options_check(&options, NULL);
}

TEST(addresses)
{
	static const char *const good[] = {"/dir",
					   "/dir with spaces/\xc3\xa9",
					   "https://store.example",
					   "https://store.example/",
					   "https://store.example:8443/a/b_c/",
					   "http://[::1]:80/a",
					   "s3://bucket",
					   "s3://bucket.a/prefix/"};
	static const char *const bad[] = {"",
					  "dir",
					  "ftp://host/",
					  "https://",
					  "https:///path",
					  "https://user:password@host/",
					  "https://host/a?b",
					  "https://host/a#b",
					  "https://host/a b",
					  "https://host/../a",
					  "https://host//a",
					  "https://ho\nst/",
					  "s3://bucket:80/",
					  "s3:///prefix"};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(check(good[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(check(bad[i]), -EINVAL);
	assert_int_equal(store_scheme_of("s3://bucket"), STORE_S3);
	assert_int_equal(store_scheme_of("/s3://bucket"), STORE_DIRECTORY);
	assert_int_equal(store_scheme_of("http://host"), STORE_HTTP);
}

TEST(options)
{
	static char path[5000];
	const struct store_options token = {.address = "/dir", .bearer_file = "/token"},
				   relative = {.address = "https://host", .bearer_file = "token"},
				   key = {.address = "https://host", .key_file = "/key"},
				   whole = {.address = "https://host",
					    .bearer_file = "/token",
					    .cert_file = "/cert",
					    .key_file = "/key",
					    .ca_file = "/ca"};
	assert_int_equal(store_options_check(&token, NULL), -EINVAL);
	assert_int_equal(store_options_check(&relative, NULL), -EINVAL);
	assert_int_equal(store_options_check(&key, NULL), -EINVAL);
	assert_int_equal(store_options_check(&whole, NULL), 0);
	memset(path, '/', sizeof(path) - 1);
	assert_int_equal(check(path), -ENAMETOOLONG);
}

/* Who can write to the directory could forge the answers of all hosts. */
TEST_OF(owners, struct fixture, f)
{
	struct store *store;
	char path[512];
	const struct store_options here = {.address = f->directory}, none = {.address = path};
	assert_int_equal(chmod(f->directory, 0770), 0);
	assert_int_equal(store_open(&here, fixture_program, f->stop[0], &f->log, &f->counters, &store, NULL),
			 -EPERM);
	assert_int_equal(chmod(f->directory, 0700), 0);
	path_of(f, "none", path);
	assert_int_equal(store_open(&none, fixture_program, f->stop[0], &f->log, &f->counters, &store, NULL),
			 -ENOENT);
	if (geteuid() == 0) {
		assert_int_equal(chown(f->directory, 65534, 0), 0);
		assert_int_equal(
			store_open(&here, fixture_program, f->stop[0], &f->log, &f->counters, &store, NULL),
			-EPERM);
		assert_int_equal(chown(f->directory, 0, 0), 0);
	}
}

/* ---- Abilities ---- */

TEST_OF(abilities, struct fixture, f)
{
	struct store_abilities known;
	assert_int_equal(head(f->store, "x", NULL), -ENOENT);
	assert_int_equal(put(f->store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
	store_abilities(f->store, &known);
	assert_false(known.is_known);
	assert_true(known.has_leases); /* until the contrary is known */
	assert_int_equal(put(f->store, "x", "1", STORE_IF_ABSENT, NULL, NULL), -EEXIST);
	store_abilities(f->store, &known);
	assert_true(known.is_known && known.has_leases && !known.is_read_only);
}

/* The process has no capabilities, so that not even root's writes where it may not. */
TEST_OF(read_only, struct fixture, f)
{
	struct store_abilities known;
	if (SANITIZER && geteuid() == 0)
		skip();
	assert_int_equal(put(f->store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
	assert_int_equal(chmod(f->directory, 0500), 0);
	assert_int_equal(put(f->store, "y", "1", STORE_ALWAYS, NULL, NULL), -EACCES);
	store_abilities(f->store, &known);
	assert_true(known.is_read_only);
	assert_int_equal(head(f->store, "x", NULL), 0);
	assert_true(store_is_up(f->store));
	assert_int_equal(chmod(f->directory, 0700), 0);
	assert_int_equal(put(f->store, "y", "1", STORE_ALWAYS, NULL, NULL), -EACCES); /* not tried */
	assert_int_equal(head(f->store, "y", NULL), -ENOENT);
}

/* ---- The end ---- */

TEST_OF(stops, struct fixture, f)
{
	int err = 0;
	assert_int_equal(put(f->store, "x", "1", STORE_ALWAYS, NULL, NULL), 0);
	assert_int_equal(write(f->stop[1], "", 1), 1);
	assert_int_equal(get(f->store, "x", 100, f->fd, NULL), -ECANCELED);
	assert_int_equal(head(f->store, "x", NULL), -ECANCELED);
	assert_int_equal(put(f->store, "x", "1", STORE_ALWAYS, NULL, NULL),
			 0);                               /* what was converted is given */
	assert_int_equal(delete_object(f->store, "x"), 0); /* a lease is given back */
	/* What was to be written when the client ends, is; its result can be had later. */
	const struct store_request request = {.operation = STORE_DELETE, .name = "y"};
	struct store_reply reply;
	struct store_call *call = store_start(f->store, &request, &err);
	assert_non_null(call);
	const int64_t begin = monotonic_ms();
	store_close(f->store);
	const int64_t took = monotonic_ms() - begin;
	f->store = NULL;
	assert_true(store_wait(call, 0, &reply));
	/* The process has a second, which may be too little on a busy machine. */
	if (reply.err != -ECANCELED || took < 1000)
		assert_int_equal(reply.err, -ENOENT);
	store_call_end(call);
}

TEST_OF(limits_waits, struct fixture, f)
{
	struct store_reply reply;
	int err = 0;
	const struct store_request request = {.operation = STORE_GET, .name = "x", .fd = f->fd, .size = 100};
	assert_int_equal(head(f->store, "x", NULL), -ENOENT);
	pid_t pid = store_process();
	stop_process(pid);
	struct store_call *call = store_start(f->store, &request, &err);
	assert_non_null(call);
	store_limit_waits(f->store, monotonic_ms() + 10);
	assert_false(store_wait(call, INT64_MAX, &reply));
	store_call_end(call);
	assert_int_equal(kill(pid, SIGCONT), 0);
}

/* Neither process nor thread is there before the first request. */
TEST_OF(starts_late, struct fixture, f)
{
	pid_t found[4];
	assert_int_equal(children(found, 4), 0);
	store_close(f->store);
	f->store = fixture_store(f);
	assert_int_equal(head(f->store, "x", NULL), -ENOENT);
	assert_int_equal(children(found, 4), 1);
	store_close(f->store);
	f->store = NULL;
	assert_int_equal(children(found, 4), 0);
}

EACH_TEST(fixture_set_up, fixture_tear_down)

int main(int argc, char **argv)
{
	fixture_program = argc > 1 ? argv[1] : "gsym";
	return unit_run();
}
