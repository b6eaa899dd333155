/* Images from servers: what is asked for, how much at a time, what is kept of answers, and until when. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/scan/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/cache/image_id.h"
#include "work/run/identifier.h"
#include "fs/call/runners.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "gsym/base/vec.h"
#include "tests/unit/wrap_malloc.h"

#define BUILD_ID "00112233445566778899aabbccddeeff00112233"
#define OTHER_ID "0123456789abcdef0123456789abcdef"

enum { NOW = 1000000 /* seconds */, CALLS = REMOTE_JOBS_MAX + 4, USERS = 12 };

static struct servers {
	struct images_fixture *f;
	struct fetcher fetcher;
	struct remote remote;
	struct runners runners;
	struct log log;
	char dir[32];
	struct call calls[CALLS];
	uid_t uid; /* of the next calls */
	/* Guarded by the lock of images: */
	bool closed;           /* no server answers until it is opened, */
	unsigned let_through;  /* but for so many requests */
	unsigned n_asked;      /* since the start */
	unsigned asking;       /* now */
	unsigned asking_of[4]; /* for user 0 to 3 */
	int last_fd;           /* that was given to the client */
	int answer;            /* a negative errno; 0: the file "fetched" */
	int64_t again;
	pthread_cond_t changed;
	long n_live; /* allocations before */
} t;

static _Atomic time_t now;

time_t __wrap_time(time_t *ret)
{
	assert_null(ret);
	return now;
}

/* ---- In place of libfuse, the client and the worker ---- */

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	static struct fuse_ctx contexts[USERS];
	size_t user = (size_t)(uintptr_t)req;
	assert_true(user < ARRAY_SIZE(contexts));
	contexts[user].uid = (uid_t)user;
	return &contexts[user];
}

/* Ids of users other than 0 begin with their number. */
void __wrap_fetcher_get(struct fetcher *fetcher, const uint8_t *id, size_t size, unsigned silence,
			struct fetched *ret)
{
	unsigned user = id[0] % 4;
	assert_ptr_equal(fetcher, &t.fetcher);
	assert_in_range(size, 16, IMAGE_ID_MAX);
	assert_true(silence > 0);
	mutex_lock(&t.f->images.lock);
	t.n_asked++;
	t.asking++;
	t.asking_of[user]++;
	pthread_cond_broadcast(&t.changed);
	while (t.closed && !t.let_through)
		mutex_wait(&t.f->images.lock, &t.changed);
	t.let_through -= t.closed;
	t.asking--;
	t.asking_of[user]--;
	snprintf(ret->path, sizeof(ret->path), "%s/fetched", t.dir);
	ret->fd = t.answer ? t.answer : open(ret->path, O_RDONLY | O_CLOEXEC);
	t.last_fd = ret->fd;
	ret->again = t.again;
	mutex_unlock(&t.f->images.lock);
}

static int identified_as; /* a negative errno */
static struct image_identity in_file[2];

int __wrap_identify(struct identifier *identifier, int fd, uint64_t size, uint64_t hash_max,
		    struct identified *ret, struct gsym_diag *diag)
{
	assert_string_equal(identifier->worker, "worker");
	assert_true(fd >= 0);
	assert_int_equal(size, 5);
	assert_int_equal(hash_max, 0);
	*ret = (struct identified){.n = ARRAY_SIZE(in_file)};
	memcpy(ret->images, in_file, sizeof(in_file));
	snprintf(diag->text, sizeof(diag->text), "damaged");
	return identified_as;
}

/* ---- Set up ---- */

static void in_file_is(size_t number, const char *id)
{
	in_file[number] = (struct image_identity){.kind = IMAGE_ELF, .has_dwarf = true, .arch = "x86_64"};
	in_file[number].id_size = id_parse(id, in_file[number].id);
}

static void make_fetched(void)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/new", t.dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("bytes", file);
	assert_int_equal(fclose(file), 0);
	char to[64];
	snprintf(to, sizeof(to), "%s/fetched", t.dir);
	assert_int_equal(rename(path, to), 0);
}

static void drop_fetched(void)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/fetched", t.dir);
	unlink(path);
}

static int set_up(void **state)
{
	void *fixture;
	(void)state;
	memset(&t, 0, sizeof(t));
	t.n_live = live;
	images_fixture_set_up(&fixture);
	t.f = fixture;
	pthread_cond_init(&t.changed, NULL);
	strcpy(t.dir, "/tmp/gsymfs-remote-XXXXXX");
	assert_non_null(mkdtemp(t.dir));
	make_fetched();
	t.log.most = LOG_LEVEL_ERROR;
	t.fetcher.servers = 1;
	t.remote = (struct remote){.images = &t.f->images,
				   .fetcher = &t.fetcher,
				   .worker = "worker",
				   .log = &t.log,
				   .stop_fd = -1};
	remote_init(&t.remote);
	runners_init(&t.runners, &t.f->images.lock, &call_runner_kind, NULL);
	now = NOW;
	identified_as = 0;
	in_file_is(0, OTHER_ID);
	in_file_is(1, BUILD_ID);
	return 0;
}

static void open_servers(bool are_open)
{
	mutex_lock(&t.f->images.lock);
	t.closed = !are_open;
	pthread_cond_broadcast(&t.changed);
	mutex_unlock(&t.f->images.lock);
}

static int tear_down(void **state)
{
	void *fixture = t.f;
	struct list woken;
	(void)state;
	list_init(&woken);
	open_servers(true);
	mutex_lock(&t.remote.images->lock);
	remote_stop(&t.remote, &woken);
	mutex_unlock(&t.remote.images->lock);
	remote_join(&t.remote);
	assert_int_equal(t.remote.n_threads, 0);
	remote_deinit(&t.remote);
	runners_deinit(&t.runners);
	pthread_cond_destroy(&t.changed);
	images_fixture_tear_down(&fixture);
	assert_int_equal(live, t.n_live);
	drop_fetched();
	return rmdir(t.dir);
}

/* ---- Calls ---- */

static int lookup(const char *id, struct wait *ret)
{
	mutex_lock(&t.remote.images->lock);
	int err = remote_lookup(&t.remote, id, ret);
	mutex_unlock(&t.remote.images->lock);
	return err;
}

static int try_lookup(const char *id)
{
	struct wait wait;
	return lookup(id, &wait);
}

/* Parks call @number of the user. */
static int park(size_t number, const char *id)
{
	struct call *call = &t.calls[number];
	*call = (struct call){
		.runners = &t.runners, .req = (fuse_req_t)(uintptr_t)t.uid, .state = CALL_PARKED};
	int err = lookup(id, &call->wait);
	if (err != -EAGAIN)
		return err;
	mutex_lock(&t.f->images.lock);
	err = call->wait.park(call->wait.object, call);
	mutex_unlock(&t.f->images.lock);
	return err;
}

/* Until @n calls are to go on, which are then taken. */
static void wait_for_calls(size_t n)
{
	mutex_lock(&t.f->images.lock);
	while (user_queues_count(&t.runners.waiting) < n)
		mutex_wait(&t.f->images.lock, &t.runners.wake);
	assert_int_equal(user_queues_count(&t.runners.waiting), n);
	while (user_queues_take(&t.runners.waiting))
		;
	mutex_unlock(&t.f->images.lock);
}

static void wait_for_asking(unsigned n)
{
	mutex_lock(&t.f->images.lock);
	while (t.asking < n)
		mutex_wait(&t.f->images.lock, &t.changed);
	mutex_unlock(&t.f->images.lock);
}

/* Asks for the id, and waits for the answer. */
static void ask(const char *id)
{
	assert_int_equal(park(0, id), 0);
	wait_for_calls(1);
}

static bool is_there(const char *id)
{
	mutex_lock(&t.f->images.lock);
	const struct image *image = images_find(&t.f->images, id);
	bool there = image && image_is_there(image);
	mutex_unlock(&t.f->images.lock);
	return there;
}

/* ---- Which ids ---- */

TEST(whole_ids)
{
	char id[2 * IMAGE_ID_MAX + 1];
	assert_int_equal(try_lookup(BUILD_ID), -ENOENT); /* there are no threads */
	assert_false(remote_asks(&t.remote));
	assert_false(remote_asks(NULL));
	assert_int_equal(remote_start(&t.remote), 0);
	assert_int_equal(t.remote.n_threads, REMOTE_THREADS);
	assert_true(remote_asks(&t.remote));
	for (size_t n = 1; n < sizeof(id); n++) {
		memset(id, 'a', n);
		id[n] = 0;
		assert_int_equal(try_lookup(id), n >= 32 && n % 2 == 0 ? -EAGAIN : -ENOENT);
	}
	assert_int_equal(try_lookup("00112233445566778899AABBCCDDEEFF"), -ENOENT);
	assert_int_equal(try_lookup("xxh3-00112233445566778899aabbccddeeff"), -ENOENT);
	assert_int_equal(t.n_asked, 0);
}

TEST(without_servers)
{
	struct request request = {.kind = REQUEST_ID, .id = BUILD_ID};
	struct image *image;
	struct wait wait;
	scanned(t.f, 0);
	t.fetcher.servers = 0;
	assert_int_equal(remote_start(&t.remote), 0);
	assert_int_equal(t.remote.n_threads, 0);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(remote_find_image(NULL, &t.f->images, &request, &image, &wait), -ENOENT);
	assert_int_equal(remote_find_image(&t.remote, &t.f->images, &request, &image, &wait), -ENOENT);
	mutex_unlock(&t.f->images.lock);
	t.fetcher.servers = 1;
	assert_int_equal(remote_start(&t.remote), 0);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(remote_find_image(NULL, &t.f->images, &request, &image, &wait), -ENOENT);
	assert_int_equal(remote_find_image(&t.remote, &t.f->images, &request, &image, &wait), -EAGAIN);
	assert_string_equal(wait.id, BUILD_ID);
	mutex_unlock(&t.f->images.lock);
	put_as(t.f, BUILD_ID, WITH(debug_file(), w.ino = 9));
	mutex_lock(&t.f->images.lock);
	assert_int_equal(remote_find_image(&t.remote, &t.f->images, &request, &image, &wait), 0);
	mutex_unlock(&t.f->images.lock);
}

/* ---- What comes of it ---- */

TEST(found)
{
	remote_start(&t.remote);
	ask(BUILD_ID);
	assert_true(is_there(BUILD_ID));
	assert_false(is_there(OTHER_ID));
	mutex_lock(&t.f->images.lock);
	const struct source *source = &images_find(&t.f->images, BUILD_ID)->sources.v[0];
	assert_true(source->fetched);
	assert_int_equal(source->mode, 0444);
	assert_int_equal(source->richness, SOURCE_DWARF);
	assert_int_equal(source->kind, IMAGE_ELF);
	assert_int_equal(source->size, 5);
	assert_string_equal(source->arch, "x86_64");
	assert_int_equal(t.remote.n_jobs, 0);
	mutex_unlock(&t.f->images.lock);
	assert_true(fcntl(t.last_fd, F_GETFD) < 0);   /* closed */
	assert_int_equal(park(0, BUILD_ID), -EAGAIN); /* it is there */
	assert_int_equal(t.n_asked, 1);
}

TEST(not_found)
{
	static const struct {
		int answer, err;
	} cases[] = {
		{-ENOENT, -ENOENT}, {-EFBIG, -ENOENT}, {-ETIMEDOUT, -ETIMEDOUT}, {-EREMOTEIO, -EHOSTUNREACH}};
	remote_start(&t.remote);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char id[] = OTHER_ID;
		id[0] = (char)('1' + i);
		t.answer = cases[i].answer;
		t.again = NOW + 1;
		ask(id);
		assert_int_equal(try_lookup(id), cases[i].err);
		assert_int_equal(park(0, id), cases[i].err);
		/* Once it is due it may be asked for again. */
		id[0] = (char)('5' + i);
		t.again = NOW;
		ask(id);
		assert_int_equal(try_lookup(id), -EAGAIN);
	}
	assert_int_equal(t.n_asked, 2 * ARRAY_SIZE(cases));
}

/* Refused meanwhile: there is nothing to wait for. */
TEST(refused_meanwhile)
{
	struct call late = {.runners = &t.runners};
	remote_start(&t.remote);
	assert_int_equal(lookup(BUILD_ID, &late.wait), -EAGAIN);
	t.answer = -ENOENT;
	t.again = NOW + 1;
	ask(BUILD_ID);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(late.wait.park(late.wait.object, &late), -EAGAIN);
	assert_int_equal(t.remote.n_jobs, 0);
	mutex_unlock(&t.f->images.lock);
}

/* Files that are not what was asked for are not taken, and not asked for at once again. */
TEST(wrong_files)
{
	remote_start(&t.remote);
	in_file_is(1, "ffffffffffffffffffffffffffffffff");
	ask(BUILD_ID);
	assert_false(is_there(BUILD_ID));
	assert_int_equal(try_lookup(BUILD_ID), -EIO);
	in_file[0].id_is_truncated = true;
	ask(OTHER_ID);
	assert_false(is_there(OTHER_ID));
	assert_int_equal(try_lookup(OTHER_ID), -EIO);
	identified_as = -EBADMSG;
	ask("ffffffffffffffffffffffffffffffff");
	assert_false(is_there("ffffffffffffffffffffffffffffffff"));
	assert_int_equal(try_lookup("ffffffffffffffffffffffffffffffff"), -EIO);
	assert_int_equal(t.remote.files.n, 0);
	now = NOW + 9;
	assert_int_equal(try_lookup(BUILD_ID), -EIO);
	now = NOW + 10;
	assert_int_equal(try_lookup(BUILD_ID), -EAGAIN);
}

/* ---- How much at a time ---- */

static void of_user(char ret[static 33], unsigned user, unsigned number)
{
	snprintf(ret, 33, "%02x%030x", user, number);
}

/* The servers have nothing, and say so once they are opened. */
static void start_closed(void)
{
	t.closed = true;
	t.answer = -ENOENT;
	t.again = NOW + 1;
	remote_start(&t.remote);
}

/* Parks @n calls of the user from call @first on, each for an id of its own. */
static void park_of_user(unsigned user, size_t first, size_t n)
{
	char id[33];
	t.uid = user;
	for (unsigned i = 0; i < n; i++) {
		of_user(id, user, i);
		assert_int_equal(park(first + i, id), 0);
	}
}

/* Two requests of a user, four of all; calls for the same id share one. */
TEST(shares_of_users)
{
	char id[33];
	start_closed();
	for (unsigned i = 0; i < 12; i++) {
		t.uid = 1 + i % 3 / 2; /* of user 1 most */
		of_user(id, t.uid, i);
		assert_int_equal(park(i, id), 0);
	}
	of_user(id, 1, 0);
	t.uid = 1;
	assert_int_equal(park(12, id), 0);
	wait_for_asking(4);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.asking, 4);
	assert_int_equal(t.asking_of[1], 2);
	assert_int_equal(t.asking_of[2], 2);
	assert_int_equal(t.remote.n_jobs, 12);
	mutex_unlock(&t.f->images.lock);
	open_servers(true);
	wait_for_calls(13);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.n_asked, 12);
	mutex_unlock(&t.f->images.lock);
}

/* One user has two requests, however many threads there are, and then the others. */
TEST(one_user)
{
	start_closed();
	park_of_user(3, 0, 8);
	wait_for_asking(2);
	park_of_user(2, 8, 1);
	wait_for_asking(3);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.asking_of[3], 2);
	assert_int_equal(t.asking_of[2], 1);
	mutex_unlock(&t.f->images.lock);
	open_servers(true);
	wait_for_calls(9);
}

/* What another user has asked for already does not wait for that user's share. */
TEST(joined_by_another_user)
{
	char id[33];
	start_closed();
	park_of_user(0, 0, 2);
	park_of_user(3, 2, 2);
	wait_for_asking(4); /* each thread has begun, and then waits */
	open_servers(true);
	wait_for_calls(4);
	open_servers(false);
	park_of_user(1, 0, 5);
	of_user(id, 1, 4);
	wait_for_asking(2);
	t.uid = 2;
	assert_int_equal(park(5, id), 0);
	wait_for_asking(3);
	/* It took half of the share of the second user. */
	of_user(id, 2, 0);
	assert_int_equal(park(6, id), 0);
	wait_for_asking(4);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.asking_of[1], 3);
	assert_int_equal(t.asking_of[2], 1);
	assert_int_equal(t.remote.n_jobs, 6);
	mutex_unlock(&t.f->images.lock);
	open_servers(true);
	wait_for_calls(7);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.n_asked, 10);
	mutex_unlock(&t.f->images.lock);
}

/* Two users with many ids leave no thread free, but the next one is a third user's. */
TEST(user_without_a_request)
{
	start_closed();
	park_of_user(1, 0, 4);
	park_of_user(2, 4, 4);
	wait_for_asking(4);
	park_of_user(3, 8, 1);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.asking_of[3], 0);
	t.let_through = 1;
	pthread_cond_broadcast(&t.changed);
	while (t.n_asked < 5)
		mutex_wait(&t.f->images.lock, &t.changed);
	assert_int_equal(t.asking_of[3], 1);
	mutex_unlock(&t.f->images.lock);
	open_servers(true);
	wait_for_calls(9);
}

/* More than an id keeps, which the sanitizers' builds tell. */
TEST(many_users_of_one_id)
{
	char id[33];
	start_closed();
	park_of_user(1, 0, 2);
	park_of_user(2, 2, 2);
	wait_for_asking(4);
	of_user(id, 3, 0);
	for (t.uid = 0; t.uid < USERS; t.uid++)
		assert_int_equal(park(4 + t.uid, id), 0);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.remote.n_jobs, 5);
	mutex_unlock(&t.f->images.lock);
	open_servers(true);
	wait_for_calls(4 + USERS);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.n_asked, 5);
	mutex_unlock(&t.f->images.lock);
}

enum { JOBS_OF_FIRST = REMOTE_JOBS_MAX / 2, JOBS_OF_SECOND = REMOTE_JOBS_MAX / 4 };

/* Parks calls of the user for ids of its own, as many as there is room for. */
static void park_most(unsigned user, size_t first, size_t n)
{
	char id[33];
	park_of_user(user, first, n);
	of_user(id, user, (unsigned)n - 1);
	assert_int_equal(park(first + n, id), 0); /* for what is waited for already */
	of_user(id, user, (unsigned)n);
	assert_int_equal(park(CALLS - 1, id), -EBUSY);
}

TEST(most_jobs)
{
	char id[33];
	start_closed();
	park_most(1, 0, JOBS_OF_FIRST);
	wait_for_asking(2);
	/* One that no call waits for any more makes room, and is not asked for. */
	mutex_lock(&t.f->images.lock);
	list_remove(&t.calls[5].link);
	mutex_unlock(&t.f->images.lock);
	of_user(id, 1, JOBS_OF_FIRST);
	assert_int_equal(park(5, id), 0);
	assert_int_equal(t.remote.n_jobs, JOBS_OF_FIRST);
	park_most(2, JOBS_OF_FIRST + 1, JOBS_OF_SECOND);
	wait_for_asking(4);
	assert_int_equal(t.remote.n_jobs, JOBS_OF_FIRST + JOBS_OF_SECOND);
	mutex_lock(&t.f->images.lock);
	for (unsigned i = 0; i < JOBS_OF_FIRST + JOBS_OF_SECOND + 2; i++)
		if (i > 1 && i != JOBS_OF_FIRST + 1 && i != JOBS_OF_FIRST + 2) /* these four are asked for */
			list_remove(&t.calls[i].link);
	mutex_unlock(&t.f->images.lock);
	open_servers(true);
	wait_for_calls(4);
	t.uid = 0;
	ask(OTHER_ID);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.n_asked, 5);
	assert_int_equal(t.remote.n_jobs, 0);
	mutex_unlock(&t.f->images.lock);
}

TEST(calls_that_end)
{
	struct call tired = {.runners = &t.runners, .works = CALL_WORKS_MAX};
	struct list woken;
	list_init(&woken);
	t.closed = true;
	remote_start(&t.remote);
	assert_int_equal(lookup(BUILD_ID, &tired.wait), -EAGAIN);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(tired.wait.park(tired.wait.object, &tired), -EIO);
	assert_int_equal(t.remote.n_jobs, 0);
	tired.works = CALL_WORKS_MAX - 1;
	tired.state = CALL_PARKED;
	assert_int_equal(tired.wait.park(tired.wait.object, &tired), 0);
	mutex_unlock(&t.f->images.lock);
	wait_for_asking(1);
	mutex_lock(&t.remote.images->lock);
	remote_stop(&t.remote, &woken);
	assert_ptr_equal(list_take(&woken), &tired.link);
	assert_true(list_empty(&woken));
	tired.works = 0;
	assert_int_equal(tired.wait.park(tired.wait.object, &tired), -ENOTCONN);
	mutex_unlock(&t.remote.images->lock);
}

/* The calls that wait for the servers' answer on it continue, and no others. */
TEST(found_in_source_meanwhile)
{
	const struct source s = debug_file();
	const struct finding finding = {
		.id = BUILD_ID, .at = {s.path, t.f->top, true, t.f->pass}, .source = s};
	struct list woken;
	list_init(&woken);
	start_closed();
	assert_int_equal(park(0, BUILD_ID), 0);
	assert_int_equal(park(1, OTHER_ID), 0);
	wait_for_asking(2);
	assert_int_equal(images_add(&t.f->images, &finding, &woken), 0);
	assert_ptr_equal(list_take(&woken), &t.calls[0].link);
	assert_true(list_empty(&woken));
	open_servers(true);
	wait_for_calls(1); /* the other one */
}

/* Calls that named it by the beginning of its id continue once the look is over. */
TEST(found_in_source_by_its_beginning)
{
	const struct source s = debug_file();
	const struct finding finding = {
		.id = BUILD_ID, .at = {s.path, t.f->top, true, t.f->pass}, .source = s};
	char beginning[33];
	struct call late = {.runners = &t.runners};
	struct list woken;
	scanned(t.f, 0);
	list_init(&woken);
	start_closed();
	snprintf(beginning, sizeof(beginning), "%.32s", BUILD_ID);
	assert_int_equal(park(0, beginning), 0);
	assert_int_equal(park(1, OTHER_ID), 0);
	wait_for_asking(2);
	assert_int_equal(lookup(beginning, &late.wait), -EAGAIN);
	assert_int_equal(images_add(&t.f->images, &finding, &woken), 0);
	assert_true(list_empty(&woken));
	images_looked(&t.f->images, &woken);
	assert_ptr_equal(list_take(&woken), &t.calls[0].link);
	assert_true(list_empty(&woken));
	/* Found between the attempt and parking. */
	mutex_lock(&t.f->images.lock);
	assert_int_equal(late.wait.park(late.wait.object, &late), -EAGAIN);
	mutex_unlock(&t.f->images.lock);
	/* Likewise by a scan. */
	const struct source s2 = WITH(debug_file(), w.ino = 9, w.pass = t.f->pass);
	const struct finding second = {
		.id = OTHER_ID "ff", .at = {s2.path, t.f->top, true, t.f->pass}, .source = s2};
	assert_int_equal(images_add(&t.f->images, &second, &woken), 0);
	assert_true(list_empty(&woken));
	images_scanned(&t.f->images, t.f->pass, &(struct scan_report){.err = 0}, &woken);
	assert_ptr_equal(list_take(&woken), &t.calls[1].link);
	assert_true(list_empty(&woken));
}

/* ---- Files ---- */

static void recheck(size_t n_left)
{
	remote_recheck(&t.remote);
	mutex_lock(&t.f->images.lock);
	assert_int_equal(t.remote.files.n, n_left);
	mutex_unlock(&t.f->images.lock);
}

TEST(files_that_are_gone)
{
	remote_start(&t.remote);
	ask(BUILD_ID);
	ask(OTHER_ID);
	recheck(2);
	assert_true(is_there(BUILD_ID) && is_there(OTHER_ID));
	/* Another file of that name. */
	char kept[64], path[64];
	snprintf(path, sizeof(path), "%s/fetched", t.dir);
	snprintf(kept, sizeof(kept), "%s/kept", t.dir);
	assert_int_equal(link(path, kept), 0);
	make_fetched();
	recheck(0);
	assert_false(is_there(BUILD_ID) || is_there(OTHER_ID));
	unlink(kept);
	/* It is asked for again, and gone again. */
	ask(OTHER_ID);
	make_fetched();
	ask(BUILD_ID); /* in the new file */
	recheck(1);
	assert_true(is_there(BUILD_ID));
	assert_false(is_there(OTHER_ID));
	drop_fetched();
	recheck(0);
	assert_false(is_there(BUILD_ID));
	assert_int_equal(t.n_asked, 4);
}

/* The oldest one makes room. */
TEST(most_files)
{
	remote_start(&t.remote);
	ask(OTHER_ID);
	mutex_lock(&t.f->images.lock);
	while (t.remote.files.n < REMOTE_FILES_MAX - 1) {
		struct remote_file file = {.path = strdup("none"), .id = "none"};
		assert_int_equal(vec_push(&t.remote.files, file), 0);
	}
	mutex_unlock(&t.f->images.lock);
	in_file_is(0, "ffffffffffffffffffffffffffffffff");
	ask("ffffffffffffffffffffffffffffffff");
	assert_int_equal(t.remote.files.n, REMOTE_FILES_MAX);
	assert_true(is_there(OTHER_ID));
	ask(BUILD_ID);
	assert_int_equal(t.remote.files.n, REMOTE_FILES_MAX);
	assert_false(is_there(OTHER_ID));
	assert_true(is_there(BUILD_ID));
	assert_string_equal(t.remote.files.v[REMOTE_FILES_MAX - 1].id, BUILD_ID);
	assert_string_equal(t.remote.files.v[0].id, "none");
}

EACH_TEST(set_up, tear_down)
