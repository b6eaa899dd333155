/* One object file and a store, for programs that end when they have it. Linked with --wrap. */
#include "store/share/share_object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/share/share_facts.h"
#include "store/share/share_found.h"
#include "store/share/share_offer.h"
#include "tests/lib/unit.h"

enum { FILE_FD = 5, GET_FD = 71, LIMIT = 4711, BY_CONTENT = 'c', BY_SAMPLE = 's' };

/* ---- In place of the store, and of what is made of its answers ---- */

static struct {
	int make_err, digest_err, temp_err, key_errs[2]; /* of keys: by content, and by sample */
	struct get_answer {
		int err, check_err;
		const char *text;    /* of the reply, or of the check */
		const char *failure; /* what the store has instead of a conversion */
	} gets[2];
	bool no_offer;
} with;

static char asked[8]; /* by which keys the store was asked, a letter each */
static unsigned n_temps, n_founds, n_offers;
static uint8_t known_digest[STORE_DIGEST];
static struct share one_share;
static struct cache one_cache = {.limit = LIMIT};
static char one_handle; /* of what the store has */

int __wrap_share_facts_make(const struct convert_job *job, struct share_facts *ret);
int __wrap_share_facts_digest(struct share_facts *facts, const struct share_digests *digests,
			      const int fds[static SHARE_FILES], uint64_t most, bool (*more)(void *user),
			      void *user);
int __wrap_share_facts_key(const struct share_facts *facts, const int fds[static SHARE_FILES],
			   struct store_key *ret);
int __wrap_cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag);
void __wrap_cache_temp_close(struct cache *cache, struct cache_temp *temp);
void __wrap_store_do(struct store *store, const struct store_request *request, unsigned ms,
		     struct store_reply *ret);
int __wrap_share_found_check(struct share_found *found, struct share *share, const struct share_facts *facts,
			     const struct store_key *key, int fd, const struct store_reply *reply,
			     struct gsym_diag *diag);
void __wrap_share_found_deinit(struct share_found *found, struct cache *cache);
struct share_offer *__wrap_share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
					   struct handle *handle, struct span inputs);
void __wrap_share_offer_free(struct share *share, struct share_offer *offer);

int __wrap_share_facts_make(const struct convert_job *job, struct share_facts *ret)
{
	assert_non_null(job->converter);
	ret->files[SHARE_SOURCE].path = strdup(job->request->source.path);
	return with.make_err;
}

/* All of the file is read. */
int __wrap_share_facts_digest(struct share_facts *facts, const struct share_digests *digests,
			      const int fds[static SHARE_FILES], uint64_t most, bool (*more)(void *user),
			      void *user)
{
	assert_ptr_equal(digests, &one_share.digests);
	assert_int_equal(fds[SHARE_SOURCE], FILE_FD);
	assert_int_equal(fds[SHARE_BINARY], -1);
	assert_true(most == UINT64_MAX && !more && !user);
	facts->files[SHARE_SOURCE].has_digest = true;
	memcpy(facts->files[SHARE_SOURCE].digest, known_digest, STORE_DIGEST);
	return with.digest_err;
}

int __wrap_share_facts_key(const struct share_facts *facts, const int fds[static SHARE_FILES],
			   struct store_key *ret)
{
	bool by_content = facts->files[SHARE_SOURCE].has_digest;
	assert_string_equal(facts->files[SHARE_SOURCE].path, "/srv/a");
	assert_int_equal(fds[SHARE_SOURCE], FILE_FD);
	assert_int_equal(fds[SHARE_BINARY], -1);
	memset(ret, by_content ? BY_CONTENT : BY_SAMPLE, sizeof(ret->digest));
	ret->is_content = by_content;
	return with.key_errs[!by_content];
}

int __wrap_cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag)
{
	assert_ptr_equal(cache, &one_cache);
	if (with.temp_err) {
		snprintf(diag->text, sizeof(diag->text), "no room");
		return with.temp_err;
	}
	*ret = CACHE_TEMP_NONE;
	ret->fd = GET_FD;
	n_temps++;
	return 0;
}

void __wrap_cache_temp_close(struct cache *cache, struct cache_temp *temp)
{
	assert_ptr_equal(cache, &one_cache);
	assert_int_equal(temp->fd, GET_FD);
	n_temps--;
}

void __wrap_store_do(struct store *store, const struct store_request *request, unsigned ms,
		     struct store_reply *ret)
{
	size_t n = strlen(asked);
	struct store_key key;
	assert_ptr_equal(store, one_share.store);
	assert_true(ms >= 3600 * 1000 && n < 2);
	assert_int_equal(request->operation, STORE_GET);
	assert_int_equal(request->condition, STORE_ALWAYS);
	assert_int_equal(request->fd, GET_FD);
	assert_int_equal(request->size, LIMIT);
	assert_true(request->object);
	assert_true(store_name_parse(request->name, &key));
	asked[n] = (char)key.digest[0];
	*ret = (struct store_reply){.err = with.gets[n].err, .etag = "tag"};
	if (ret->err && with.gets[n].text)
		snprintf(ret->text, sizeof(ret->text), "%s", with.gets[n].text);
}

int __wrap_share_found_check(struct share_found *found, struct share *share, const struct share_facts *facts,
			     const struct store_key *key, int fd, const struct store_reply *reply,
			     struct gsym_diag *diag)
{
	size_t n = strlen(asked) - 1;
	const struct get_answer *get = &with.gets[n];
	assert_ptr_equal(share, &one_share);
	assert_int_equal(key->digest[0], asked[n]);
	assert_int_equal(facts->files[SHARE_SOURCE].has_digest, asked[n] == BY_CONTENT);
	assert_int_equal(fd, GET_FD);
	assert_int_equal(reply->err, 0);
	if (get->check_err && get->text)
		snprintf(diag->text, sizeof(diag->text), "%s", get->text);
	if (get->failure)
		snprintf(found->message, sizeof(found->message), "%s", get->failure);
	else
		found->handle = (struct handle *)&one_handle;
	n_founds++;
	return get->check_err;
}

void __wrap_share_found_deinit(struct share_found *found, struct cache *cache)
{
	assert_ptr_equal(cache, &one_cache);
	assert_int_equal(found->copy.fd, -1);
	n_founds = 0;
}

struct share_offer *__wrap_share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
					   struct handle *handle, struct span inputs)
{
	assert_int_equal(fds[SHARE_SOURCE], FILE_FD);
	assert_int_equal(fds[SHARE_BINARY], -1);
	assert_true(handle && inputs.data == handle->inputs.data);
	struct share_offer *offer = with.no_offer ? NULL : calloc(1, sizeof(*offer));
	if (!offer)
		return NULL;
	offer->facts = *facts;
	offer->handle = handle;
	*facts = (struct share_facts){.id = NULL};
	n_offers++;
	return offer;
}

void __wrap_share_offer_free(struct share *share, struct share_offer *offer)
{
	assert_ptr_equal(share, &one_share);
	if (!offer)
		return;
	share_facts_deinit(&offer->facts);
	free(offer);
	n_offers--;
}

static const struct converter converter = {.share = &one_share};
static const struct convert_request request = {.id = "0123", .source = {.path = "/srv/a"}};

static int make_share(void **state)
{
	(void)state;
	one_share.store = (struct store *)&one_share;
	one_share.cache = &one_cache;
	return 0;
}

static void reset(void)
{
	memset(&with, 0, sizeof(with));
	memset(asked, 0, sizeof(asked));
}

/* ---- The name ---- */

TEST(name_of_the_content)
{
	static const struct {
		int make_err, digest_err, key_err, want;
	} table[] = {
		{0, 0, 0, 0},
		{-ENOMEM, -EIO, -ELIBACC, -ENOMEM},
		{0, -ESTALE, -ELIBACC, -ESTALE},
		{0, 0, -ELIBACC, -ELIBACC},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct store_key key = {.is_content = false};
		reset();
		with.make_err = table[i].make_err;
		with.digest_err = table[i].digest_err;
		with.key_errs[0] = table[i].key_err;
		assert_int_equal(share_object_key(&converter, &request, FILE_FD, &key), table[i].want);
		assert_true(table[i].want || (key.is_content && key.digest[0] == BY_CONTENT));
		assert_string_equal(asked, "");
	}
}

/* ---- Taking ---- */

TEST(taking)
{
	static const struct {
		int key_errs[2], temp_err;
		struct get_answer gets[2];
		int want, want_reply;
		const char *asked, *text;
	} table[] = {
		{.gets = {{0}}, .asked = "c"},
		/* Only where there is none it is looked for as by hosts that do not know the digest. */
		{.gets = {{-ENOENT}, {0}}, .asked = "cs"},
		{.gets = {{-ENOENT}, {-ENOENT}}, .asked = "cs", .want = -ENOENT, .want_reply = -ENOENT},
		{.gets = {{-ENOENT}, {-EACCES}}, .asked = "cs", .want = -EACCES, .want_reply = -EACCES},
		{.gets = {{-ENOENT}, {0, -EBADMSG}}, .asked = "cs", .want = -EBADMSG},
		{.gets = {{-ENOENT}},
		 .key_errs = {0, -EPERM},
		 .asked = "c",
		 .want = -ENOENT,
		 .want_reply = -ENOENT},
		{.gets = {{-EACCES}}, .asked = "c", .want = -EACCES, .want_reply = -EACCES},
		{.gets = {{-ENETDOWN}}, .asked = "c", .want = -ENETDOWN, .want_reply = -ENETDOWN},
		{.gets = {{0, -EBADMSG, "damaged"}}, .asked = "c", .want = -EBADMSG, .text = "damaged"},
		{.gets = {{0, -ESTALE}}, .asked = "c", .want = -ESTALE},
		{.gets = {{0, -ENOENT, "a file of this host"}},
		 .asked = "c",
		 .want = -ENOENT,
		 .text = "a file of this host"},
		{.gets = {{.failure = "it is damaged"}}, .asked = "c", .want = -EIO, .text = "it is damaged"},
		{.gets = {{-ENOENT}, {.failure = "it is damaged"}},
		 .asked = "cs",
		 .want = -EIO,
		 .text = "it is damaged"},
		{.key_errs = {-ELIBACC}, .asked = "", .want = -ELIBACC},
		{.temp_err = -ENOSPC, .asked = "", .want = -ENOSPC, .text = "no room"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct gsym_diag diag = {""};
		struct store_reply reply = {.err = -EBUSY};
		struct handle *handle = NULL;
		reset();
		memcpy(with.gets, table[i].gets, sizeof(with.gets));
		memcpy(with.key_errs, table[i].key_errs, sizeof(with.key_errs));
		with.temp_err = table[i].temp_err;
		int err = share_object_take(&converter, &request, FILE_FD, &reply, &handle, &diag);
		assert_int_equal(err, table[i].want);
		assert_int_equal(reply.err, table[i].want_reply);
		assert_ptr_equal(handle, err ? NULL : &one_handle);
		assert_string_equal(asked, table[i].asked);
		assert_string_equal(diag.text, table[i].text ? table[i].text : "");
		assert_true(n_temps == 0 && n_founds == 0);
	}
}

/* ---- Giving ---- */

#define PUBLISHED "was not published"
#define UNUSABLE  "was not published; what the store has cannot be used"

TEST(offering)
{
	static const struct {
		int key_err;
		bool no_offer;
		struct get_answer get;
		int want;
		bool replaces;
		const char *asked, *text;
	} table[] = {
		{.get = {0}, .asked = "c", .want = -EEXIST},
		{.get = {-ENOENT}, .asked = "c"},
		{.get = {0, -ETIME}, .asked = "c", .replaces = true},
		{.get = {0, -ESTALE}, .asked = "c", .replaces = true},
		{.get = {0, -EBADMSG}, .asked = "c", .replaces = true},
		{.get = {-EBADMSG}, .asked = "c", .replaces = true},
		{.get = {0, -EPROTO}, .asked = "c", .replaces = true},
		{.get = {0, -EXDEV},
		 .asked = "c",
		 .want = -EXDEV,
		 .text = UNUSABLE ": made by a host that searches other directories for debug files"},
		{.get = {-EACCES, 0, "403 Forbidden"},
		 .asked = "c",
		 .want = -EACCES,
		 .text = PUBLISHED ": 403 Forbidden"},
		{.get = {-ENETDOWN}, .asked = "c", .want = -ENETDOWN, .text = PUBLISHED ": Network is down"},
		{.get = {0, -EPERM, "no trusted key"},
		 .asked = "c",
		 .want = -EPERM,
		 .text = UNUSABLE ": no trusted key"},
		{.get = {0, -EPERM},
		 .asked = "c",
		 .want = -EPERM,
		 .text = UNUSABLE ": Operation not permitted"},
		{.no_offer = true,
		 .asked = "",
		 .want = -ENOMEM,
		 .text = "no memory or descriptor for the offer"},
		{.key_err = -ELIBACC, .asked = "", .want = -ELIBACC},
	};
	struct handle *handle = calloc(1, sizeof(*handle));
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct gsym_diag diag = {""};
		struct share_offer *offer = NULL;
		reset();
		with.gets[0] = table[i].get;
		with.key_errs[0] = table[i].key_err;
		with.no_offer = table[i].no_offer;
		int err = share_object_offer(&converter, &request, FILE_FD, handle, &offer, &diag);
		assert_int_equal(err, table[i].want);
		assert_string_equal(asked, table[i].asked);
		assert_string_equal(diag.text, table[i].text ? table[i].text : "");
		assert_true(n_temps == 0 && n_founds == 0);
		assert_int_equal(n_offers, !err);
		assert_true(!err == !!offer);
		if (err)
			continue;
		assert_true(offer->has_key && offer->key.is_content && offer->key.digest[0] == BY_CONTENT);
		assert_int_equal(offer->replaces, table[i].replaces);
		assert_string_equal(offer->etag, table[i].replaces ? "tag" : "");
		assert_ptr_equal(offer->handle, handle);
		__wrap_share_offer_free(&one_share, offer);
	}
	free(handle);
}

ALL_TESTS(make_share, NULL)
