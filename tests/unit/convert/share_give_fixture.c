#include "share_give_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "work/run/inputs.h"
#include "store/share/share_inputs.h"
#include "store/share/share_payload.h"
#include "store/client/store_object.h"
#include "gsym/base/diag.h"
#include "gsym/base/file_io.h"
#include "gsym/base/vec.h"
#include "tests/unit/wrap_malloc.h"

enum {
	THINGS = 512,
	LOCKS = 10000,
	SOURCE_FD = 50,
	LARGE = SMALL + 1,
	HEAD_MS = 5000,
	PUT_MS = 600000,
	REST_US = 5000
};

struct give_script with;
char did[4096];
const char *logged;
int64_t now;
unsigned n_live, n_given;
struct share share;

static struct thing things[THINGS];
static atomic_uint n_things;
static struct cache cache;
static const struct log one_log;
static unsigned locks, n_temps, n_maps, temps, file_looks, neighbour_looks, replies;
static int temp_fd;        /* of the object, or -1 */
static char written_under; /* the key of the object in it */
static char log_text[256];
static _Thread_local bool holds_lock; /* that of the share, which is never held over anything else */

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *fmt, ...)
{
	size_t n = strlen(did);
	va_list list;
	if (with.is_many_threads)
		return;
	va_start(list, fmt);
	if (n)
		did[n++] = ' ';
	assert_true(vsnprintf(did + n, sizeof(did) - n, fmt, list) < (int)(sizeof(did) - n));
	va_end(list);
}

/* ---- Things ---- */

static struct thing *thing_of(const struct share_offer *offer)
{
	struct thing *ret =
		(struct thing *)(void *)((char *)(uintptr_t)offer - offsetof(struct thing, offer));
	assert_true(ret >= things && ret < things + THINGS);
	return ret;
}

static struct thing *make_thing(char id)
{
	struct thing *t = &things[atomic_fetch_add(&n_things, 1)];
	assert_true(t < things + THINGS);
	*t = (struct thing){.id = {id}};
	snprintf(t->path, sizeof(t->path), "/srv/%c", id);
	t->offer.facts.id = t->id;
	t->offer.facts.arch = t->id;
	t->offer.facts.directory = t->path;
	t->offer.facts.files[SHARE_SOURCE].path = t->path;
	t->offer.facts.files[SHARE_SOURCE].state.size = SMALL;
	t->offer.fds[SHARE_SOURCE] = SOURCE_FD;
	t->offer.fds[SHARE_BINARY] = -1;
	list_init(&t->offer.link);
	__atomic_add_fetch(&n_live, 1, __ATOMIC_SEQ_CST);
	return t;
}

struct share_offer *failure_of(char id, size_t size)
{
	struct thing *t = make_thing(id);
	snprintf(t->offer.message, sizeof(t->offer.message), "no %c", id);
	t->offer.inputs.n = size;
	return &t->offer;
}

struct share_offer *offer_of(char id, uint64_t size)
{
	struct thing *t = make_thing(id);
	t->handle.map_size = (size_t)size;
	t->offer.handle = &t->handle;
	t->offer.inputs.n = 3;
	return &t->offer;
}

struct share_offer *large_offer_of(char id, uint64_t size)
{
	struct share_offer *offer = offer_of(id, size);
	offer->facts.files[SHARE_SOURCE].state.size = LARGE;
	return offer;
}

void look_for(struct share_offer *offer, char key)
{
	offer->has_key = true;
	offer->key.is_content = key == 'c';
	memset(offer->key.digest, key, sizeof(offer->key.digest));
	offer->hold = (struct share_hold *)offer;
}

/* ---- The cache ---- */

void __wrap_cache_mark(const struct cache *in, const struct handle *handle, bool pending);
int __wrap_cache_temp_open(struct cache *in, struct cache_temp *ret, struct gsym_diag *diag);
void __wrap_cache_temp_close(struct cache *in, struct cache_temp *temp);

void __wrap_cache_mark(const struct cache *in, const struct handle *handle, bool pending)
{
	assert_ptr_equal(in, &cache);
	assert_false(holds_lock);
	const struct thing *t = (const void *)((const char *)handle - offsetof(struct thing, handle));
	note("%s%c", t->id, pending ? '+' : '-');
}

int __wrap_cache_temp_open(struct cache *in, struct cache_temp *ret, struct gsym_diag *diag)
{
	assert_ptr_equal(in, &cache);
	if (++temps == with.temp_fails_at)
		return diag_set(diag, with.temp_err, "%s", with.text ? with.text : "");
	*ret = CACHE_TEMP_NONE;
	ret->fd = memfd_create("temp", MFD_CLOEXEC);
	assert_true(ret->fd >= 0);
	if (!n_temps++)
		temp_fd = ret->fd;
	if (with.no_memory)
		allowed = 0;
	return 0;
}

void __wrap_cache_temp_close(struct cache *in, struct cache_temp *temp)
{
	assert_ptr_equal(in, &cache);
	assert_true(n_temps-- > 0 && n_maps == 0);
	assert_int_equal(close(temp->fd), 0);
}

/* ---- Files and neighbours ---- */

int __wrap_file_state_check(int fd, const struct file_state *state);
int __wrap_inputs_check(struct span inputs, const struct search_path *search);
int __wrap_share_inputs_write(const struct share_place *place, struct span local, struct text_buf *ret);
int __wrap_share_facts_digest(struct share_facts *facts, const struct share_digests *digests,
			      const int fds[static SHARE_FILES], uint64_t most, bool (*more)(void *user),
			      void *user);
int __wrap_share_facts_key(const struct share_facts *facts, const int fds[static SHARE_FILES],
			   struct store_key *ret);
int __wrap_usleep(useconds_t us);

static const struct share_offer *offer_with(const struct share_facts *facts)
{
	return (const void *)((const char *)facts - offsetof(struct share_offer, facts));
}

/* Of the source or of the binary, which has the next number. */
int __wrap_file_state_check(int fd, const struct file_state *state)
{
	const struct share_file *file =
		(const void *)((const char *)state - offsetof(struct share_file, state));
	assert_true(fd == SOURCE_FD || fd == SOURCE_FD + 1 || fd == STDIN_FILENO);
	if (fd == SOURCE_FD + 1)
		file--;
	const struct share_offer *offer =
		offer_with((const void *)((const char *)file - offsetof(struct share_facts, files)));
	assert_string_equal(thing_of(offer)->id, offer->facts.id);
	return ++file_looks == with.file_changes_at ? with.file_err : 0;
}

int __wrap_inputs_check(struct span inputs, const struct search_path *search)
{
	const struct share_facts *facts =
		(const void *)((const char *)search - offsetof(struct share_facts, search));
	assert_int_equal(inputs.size, offer_with(facts)->inputs.n);
	if (++neighbour_looks != with.neighbour_changes_at)
		return 0;
	return with.neighbour_err ? with.neighbour_err : -ESTALE;
}

int __wrap_share_inputs_write(const struct share_place *place, struct span local, struct text_buf *ret)
{
	const struct share_facts *facts =
		(const void *)((const char *)place->search - offsetof(struct share_facts, search));
	assert_ptr_equal(place->source, &facts->files[SHARE_SOURCE].state);
	assert_ptr_equal(place->directory, facts->directory);
	assert_int_equal(local.size, offer_with(facts)->inputs.n);
	assert_int_equal(ret->n, 0);
	note("inputs");
	text_str(ret, "portable-");
	text_str(ret, facts->id);
	return with.inputs_err;
}

/* A large file is read in blocks. */
static int read_blocks(const struct share_file *file, bool (*more)(void *user), void *user)
{
	unsigned n = file->path && file->state.size > SMALL ? with.blocks : 0;
	for (unsigned i = 0; i < n; i++) {
		note("block");
		if (with.at_block)
			with.at_block(i);
		if (!more(user))
			return -ECANCELED;
	}
	return 0;
}

int __wrap_share_facts_digest(struct share_facts *facts, const struct share_digests *digests,
			      const int fds[static SHARE_FILES], uint64_t most, bool (*more)(void *user),
			      void *user)
{
	assert_ptr_equal(digests, &share.digests);
	assert_ptr_equal(fds, offer_with(facts)->fds);
	if (more) {
		assert_true(most == UINT64_MAX && user == &share);
		note("digest-all");
	} else {
		assert_int_equal(most, SMALL);
		note("digest");
	}
	if (with.at_digest)
		with.at_digest();
	int err = with.digest_err;
	for (size_t i = 0; i < SHARE_FILES && !err; i++) {
		err = more ? read_blocks(&facts->files[i], more, user) : 0;
		facts->files[i].has_digest = !err && facts->files[i].state.size <= most;
	}
	return err;
}

int __wrap_share_facts_key(const struct share_facts *facts, const int fds[static SHARE_FILES],
			   struct store_key *ret)
{
	assert_ptr_equal(fds, offer_with(facts)->fds);
	ret->is_content = facts->files[SHARE_SOURCE].has_digest && facts->files[SHARE_BINARY].has_digest;
	memset(ret->digest, ret->is_content ? 'c' : 's', sizeof(ret->digest));
	return !ret->is_content && with.is_forgeable ? -EPERM : with.key_err;
}

int __wrap_usleep(useconds_t us)
{
	assert_int_equal(us, REST_US);
	note("rest");
	return 0;
}

/* ---- Objects ---- */

int __wrap_share_payload_write(int fd, const struct store_key *key, const char *id,
			       const struct handle *handle, struct span inputs, uint64_t *ret_size);
void *__real_file_map(int fd, uint64_t size, int flags);
void *__wrap_file_map(int fd, uint64_t size, int flags);
int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_object_write(int fd, const struct store_key *key, enum object_kind kind, struct span payload,
			bool compress, struct store_trust *trust, uint64_t *ret_size, struct gsym_diag *diag);

static bool span_is(struct span span, const char *text)
{
	return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

int __wrap_share_payload_write(int fd, const struct store_key *key, const char *id,
			       const struct handle *handle, struct span inputs, uint64_t *ret_size)
{
	char text[PAYLOAD];
	const struct thing *t = (const void *)((const char *)handle - offsetof(struct thing, handle));
	assert_true(fd != temp_fd && n_temps == 2);
	written_under = (char)key->digest[0];
	assert_ptr_equal(id, t->id);
	snprintf(text, sizeof(text), "portable-%s", id);
	assert_true(span_is(inputs, text));
	snprintf(text, sizeof(text), "conversion-%s", id);
	*ret_size = strlen(text);
	assert_int_equal(write_all(fd, text, strlen(text), 0), 0);
	return with.payload_err;
}

void *__wrap_file_map(int fd, uint64_t size, int flags)
{
	assert_true(fd != temp_fd && flags == MAP_PRIVATE);
	if (with.map_err) {
		errno = -with.map_err;
		return MAP_FAILED;
	}
	n_maps++;
	return __real_file_map(fd, size, flags);
}

int __wrap_munmap(void *at, size_t size)
{
	assert_true(n_maps-- > 0 && size == strlen("conversion-a"));
	return __real_munmap(at, size);
}

int __wrap_object_write(int fd, const struct store_key *key, enum object_kind kind, struct span payload,
			bool compress, struct store_trust *trust, uint64_t *ret_size, struct gsym_diag *diag)
{
	char text[PAYLOAD * 2], id = (char)payload.data[payload.size - 1];
	assert_true(fd == temp_fd && compress && trust == share.trust);
	if (kind == OBJECT_CONVERSION) {
		assert_int_equal(key->digest[0], written_under);
		snprintf(text, sizeof(text), "conversion-%c", id);
	} else {
		assert_int_equal(kind, OBJECT_FAILURE);
		snprintf(text, sizeof(text), "gsymfs-failure 1\nno %c\nportable-%c", id, id);
	}
	assert_true(span_is(payload, text));
	written_under = (char)key->digest[0];
	*ret_size = OBJECT;
	return with.object_err ? diag_set(diag, with.object_err, "%s", with.text ? with.text : "") : 0;
}

/* ---- The store ---- */

void __wrap_store_abilities(struct store *store, struct store_abilities *ret);
bool __wrap_store_is_up(struct store *store);
const char *__wrap_store_title(const struct store *store);
void __wrap_store_do(struct store *store, const struct store_request *request, unsigned ms,
		     struct store_reply *ret);
void __wrap_share_complain(struct share *in, enum share_complaint kind, const char *name, const char *text);
void __wrap_share_hold_end(struct share *in, struct share_hold *hold);
void __wrap_share_offer_free(struct share *in, struct share_offer *offer);
void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void __wrap_store_abilities(struct store *store, struct store_abilities *ret)
{
	assert_ptr_equal(store, share.store);
	*ret = (struct store_abilities){
		.is_known = true, .has_leases = true, .is_read_only = with.is_read_only};
}

bool __wrap_store_is_up(struct store *store)
{
	assert_ptr_equal(store, share.store);
	return !with.is_down;
}

const char *__wrap_store_title(const struct store *store)
{
	assert_ptr_equal(store, share.store);
	return "title";
}

/* The letter of the key that the object is named after. */
static char key_of(const char *name)
{
	struct store_key key;
	char same[STORE_NAME_SIZE];
	assert_true(store_name_parse(name, &key));
	store_name(&key, STORE_CONVERSION, share.bazel, same);
	assert_string_equal(name, same);
	return (char)key.digest[0];
}

static void note_put(const struct store_request *request)
{
	static const char *const conditions[] = {"always", "absent", "match="};
	bool matches = request->condition == STORE_IF_MATCH;
	assert_int_equal(key_of(request->name), written_under);
	note("put:%c:%s%s", key_of(request->name), conditions[request->condition],
	     matches ? request->etag : "");
}

void __wrap_store_do(struct store *store, const struct store_request *request, unsigned ms,
		     struct store_reply *ret)
{
	assert_ptr_equal(store, share.store);
	assert_false(request->object || holds_lock);
	if (request->operation == STORE_HEAD) {
		assert_true(request->fd == -1 && ms == HEAD_MS && request->condition == STORE_ALWAYS);
		note("head:%c", key_of(request->name));
	} else {
		assert_int_equal(request->operation, STORE_PUT);
		assert_true(request->fd == temp_fd && request->size == OBJECT && ms == PUT_MS);
		assert_int_equal(n_temps, 1);
		note_put(request);
		if (with.at_put)
			with.at_put();
	}
	*ret = replies < REPLIES ? with.replies[replies] : (struct store_reply){.err = 0};
	replies++;
}

/* Who sees something counted finds its cause. */
void __wrap_share_complain(struct share *in, enum share_complaint kind, const char *name, const char *text)
{
	static const char *const kinds[COMPLAINTS] = {[COMPLAINT_WRITING] = "writing",
						      [COMPLAINT_FORBIDDEN] = "forbidden",
						      [COMPLAINT_FULL_QUEUE] = "full"};
	assert_true(in == &share && kinds[kind]);
	if (!with.is_many_threads)
		assert_int_equal(results(SHARE_DROPPED), 0);
	if (kind == COMPLAINT_FULL_QUEUE)
		assert_int_equal(strlen(name), 1);
	else
		key_of(name);
	note("!%s(%s)", kinds[kind], text);
}

void __wrap_share_hold_end(struct share *in, struct share_hold *hold)
{
	assert_ptr_equal(in, &share);
	if (hold)
		note("unhold:%s", thing_of((struct share_offer *)hold)->id);
}

void __wrap_share_offer_free(struct share *in, struct share_offer *offer)
{
	struct thing *t = thing_of(offer);
	assert_true(in == &share && *t->id && !holds_lock);
	__wrap_share_hold_end(in, offer->hold);
	note("free:%s", t->id);
	text_deinit(&offer->portable);
	*t->id = 0;
	__atomic_sub_fetch(&n_live, 1, __ATOMIC_SEQ_CST);
}

void __wrap_log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	va_list list;
	assert_ptr_equal(log, &one_log);
	assert_int_equal(level, LOG_LEVEL_INFO);
	va_start(list, fmt);
	vsnprintf(log_text, sizeof(log_text), fmt, list);
	va_end(list);
	logged = log_text;
}

/* ---- The thread ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __real_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
void __real_mutex_wait(struct mutex *mutex, pthread_cond_t *cond);
void __wrap_mutex_wait(struct mutex *mutex, pthread_cond_t *cond);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*ret = (struct timespec){.tv_sec = now / 1000, .tv_nsec = now % 1000 * 1000000};
	return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	assert_false(holds_lock);
	assert_true(with.is_many_threads || ++locks < LOCKS); /* it does not turn for ever */
	holds_lock = true;
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	assert_true(holds_lock);
	holds_lock = false;
	return __real_pthread_mutex_unlock(mutex);
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	assert_ptr_equal(cond, &share.given);
	assert_true(holds_lock);
	note("given");
	n_given++;
	return __real_pthread_cond_signal(cond);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	note(cond == &share.idle ? "idle" : "given");
	assert_true(holds_lock && (cond == &share.idle || cond == &share.given));
	return __real_pthread_cond_broadcast(cond);
}

void __wrap_mutex_wait(struct mutex *mutex, pthread_cond_t *cond) NOT_ANALYZED
{
	assert_ptr_equal(mutex, &share.lock);
	assert_true(cond == &share.given || cond == &share.idle);
	assert_true(holds_lock);
	if (with.is_many_threads) {
		__real_mutex_wait(mutex, cond);
		return;
	}
	note(cond == &share.given ? "wait" : "wait-idle");
	mutex_unlock(&share.lock);
	if (with.at_wait)
		with.at_wait();
	else
		atomic_store(&share.stopping, true);
	mutex_lock(&share.lock);
}

void run_giver(void)
{
	assert_null(share_giver(&share));
	assert_int_equal(n_temps, 0);
	if (with.leaves_some)
		return;
	assert_int_equal(queued(&share.offers) + queued(&share.late), 0);
	assert_int_equal(queued_bytes(&share.offers) + queued_bytes(&share.late), 0);
}

void give_now(struct share_offer *offer)
{
	share_give(&share, offer);
	run_giver();
	assert_int_equal(n_live, 0);
}

unsigned results(enum share_result result)
{
	return (unsigned)atomic_load(&share.counters.shares[result]);
}

unsigned queued(const struct share_offers *offers)
{
	mutex_lock(&share.lock);
	unsigned n = offers->n;
	mutex_unlock(&share.lock);
	return n;
}

uint64_t queued_bytes(const struct share_offers *offers)
{
	mutex_lock(&share.lock);
	uint64_t bytes = offers->bytes;
	mutex_unlock(&share.lock);
	return bytes;
}

int set_up(void **state)
{
	(void)state;
	memset(&with, 0, sizeof(with));
	memset(&share, 0, sizeof(share));
	share.store = (struct store *)&share.counters;
	share.trust = (struct store_trust *)&share.digests;
	share.cache = &cache;
	share.log = &one_log;
	mutex_init(&share.lock, LOCK_SHARE);
	list_init(&share.offers.list);
	list_init(&share.late.list);
	pthread_cond_init(&share.given, NULL);
	pthread_cond_init(&share.idle, NULL);
	now = NOW;
	n_things = locks = n_temps = n_maps = temps = file_looks = neighbour_looks = replies = n_live =
		n_given = 0;
	temp_fd = -1;
	holds_lock = false;
	*did = 0;
	logged = "";
	live = 0;
	allowed = -1;
	return 0;
}

int tear_down(void **state)
{
	(void)state;
	assert_int_equal(n_live, 0);
	assert_int_equal(live, 0);
	mutex_destroy(&share.lock);
	pthread_cond_destroy(&share.given);
	pthread_cond_destroy(&share.idle);
	return 0;
}
