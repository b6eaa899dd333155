#include "convert/run/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/record/convert_types.h"
#include "gsym/base/diag.h"
#include "convert/os/guard.h"
#include "convert/run/inputs.h"
#include "convert/cache/publish.h"
#include "convert/cache/sampled_hash.h"

enum {
	DIGITS = 16,
	NEIGHBOURS_MAX = 256, /* existing ones: every host opens each of them to compare it */
	SHARE_REVISION = 1,   /* of keys and of inputs */
};

struct share_offer {
	struct cache_key key;
	struct handle *handle;
	struct text_buf inputs;
};

static bool is_sharing(const struct convert_job *job)
{
	const struct shared_dir *shared = job->converter->shared;
	return shared && shared->dir >= 0 && !job->in_memory;
}

/* ---- Keys ---- */

/* Whether only root or the daemon's user can have written the file. */
static bool is_trusted(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static void add_number(struct text_buf *out, uint64_t number)
{
	text_dec(out, number);
	text_char(out, '\n');
}

/* Appends what identifies an object file on all hosts. False if it must not be shared. */
static bool add_file(struct text_buf *out, int fd, const struct convert_input *source)
{
	struct stat st;
	XXH128_hash_t sample;
	if (fstat(fd, &st) || !is_trusted(&st) || sampled_hash(fd, (uint64_t)st.st_size, &sample))
		return false;
	add_number(out, sample.high64);
	add_number(out, sample.low64);
	add_number(out, source->state.uid);
	add_number(out, source->state.gid);
	add_number(out, source->state.mode);
	text_bytes(out, source->path, strlen(source->path) + 1);
	return true;
}

/* False when it is not to be shared. */
static bool make_key(const struct convert_job *job, struct cache_key *ret)
{
	struct text_buf all = {0};
	const struct converter *c = job->converter;
	const struct convert_request *request = job->request;
	add_number(&all, CONVERT_REVISION);
	add_number(&all, CACHE_LAYOUT_REVISION);
	add_number(&all, SHARE_REVISION);
	add_number(&all, IMAGE_GSYM_VERSION);
	add_number(&all, c->merged);
	add_number(&all, search_path_fingerprint(&c->search));
	bool good = add_file(&all, job->input, &request->source);
	if (good && request->binary.path)
		good = add_file(&all, job->binary, &request->binary);
	good = good && !all.failed;
	if (good) {
		XXH128_hash_t sum = XXH3_128bits(all.v, all.n);
		snprintf(ret->text, sizeof(ret->text), "%s-%016llx%016llx", request->id,
			 (unsigned long long)sum.high64, (unsigned long long)sum.low64);
	}
	text_deinit(&all);
	return good;
}

/* ---- Neighbours ---- */

/* Converts inputs between the cache's and the portable form, line by line. */
struct translation {
	struct span from;
	const struct search_path *search;
	const struct file_state *source;
	struct text_buf *local;    /* lines as in the cache */
	struct text_buf *portable; /* lines as in the shared directory */
	size_t n;                  /* neighbours that exist */
};

/* The portable fingerprint of a neighbour. False if it must not be shared. */
static bool describe(int fd, const struct neighbour *file, char ret[static DIGITS + 1])
{
	XXH128_hash_t sample;
	memset(ret, fd == -EPERM ? '+' : '-', DIGITS);
	ret[DIGITS] = 0;
	if (fd < 0)
		return true;
	if (!is_trusted(&file->st) || sampled_hash(fd, (uint64_t)file->st.st_size, &sample))
		return false;
	snprintf(ret, DIGITS + 1, "%016llx", (unsigned long long)sample.low64);
	return true;
}

static bool translate_path(struct translation *t, const char *path)
{
	char print[DIGITS + 1];
	struct neighbour file;
	int fd = neighbour_open(t->search, t->source, path, &file);
	bool there = fd >= 0 || fd == -EPERM;
	t->n += there;
	bool good = t->n <= NEIGHBOURS_MAX && describe(fd, &file, print);
	if (fd >= 0)
		close(fd);
	if (!good)
		return false;
	text_str(t->portable, print);
	text_char(t->portable, ' ');
	text_str(t->portable, path);
	text_char(t->portable, '\n');
	return inputs_add(t->local, path, there ? &file : NULL);
}

static int translate_lines(void *arg)
{
	struct translation *t = arg;
	char path[4096];
	const char *at = (const char *)t->from.data, *end = at + t->from.size;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t size = stop ? (size_t)(stop - at) : 0;
		if (size < DIGITS + 2 || size - DIGITS - 1 >= sizeof(path))
			return -EBADMSG;
		snprintf(path, sizeof(path), "%.*s", (int)(size - DIGITS - 1), at + DIGITS + 1);
		if (!translate_path(t, path))
			return -EPERM;
		at = stop + 1;
	}
	return t->portable->failed ? -ENOMEM : 0;
}

/* Fingerprints the neighbours that @inputs name in both forms. 0, or a negative errno: must not be shared. */
static int translate(const struct convert_job *job, struct span inputs, struct text_buf *local,
		     struct text_buf *portable)
{
	struct translation t = {inputs, &job->converter->search, &job->request->source.state, local, portable,
				0};
	return guard_run(translate_lines, &t);
}

/* ---- Taking ---- */

static uint64_t bytes_most(const struct convert_job *job)
{
	return job->converter->cache->limit;
}

static bool is_same(const struct text_buf *portable, struct span inputs)
{
	return portable->n == inputs.size &&
	       (!inputs.size || memcmp(portable->v, inputs.data, inputs.size) == 0);
}

/* Publishes the copy in job->temp in the cache, if its inputs match the local files. */
static int adopt(struct convert_job *job, const struct handle *copied)
{
	struct text_buf portable = {0};
	struct cache *cache = job->converter->cache;
	struct gsym_diag diag;
	uint64_t size = copied->gsym.size;
	int err = translate(job, copied->inputs, &job->inputs, &portable);
	if (!err && (!is_same(&portable, copied->inputs) || !job_input_is_unchanged(job)))
		err = -ESTALE;
	text_deinit(&portable);
	text_bytes(&job->notes, copied->notes.data, copied->notes.size);
	if (!err && (job->notes.failed || ftruncate(job->temp.fd, (off_t)size)))
		err = -ENOMEM;
	return err ? err
		   : cache_publish(cache, &job->temp, job->request->key, false, size, text_span(&job->notes),
				   text_span(&job->inputs), &job->out->handle, &diag);
}

static int fetch(struct convert_job *job, const struct cache_key *key)
{
	struct shared_dir *shared = job->converter->shared;
	struct handle *copied;
	struct gsym_diag diag;
	int err = shared_dir_read(shared, key, bytes_most(job), job->temp.fd);
	if (err == -ENOENT)
		return err;
	if (err) {
		shared_dir_complain(shared, SHARED_READ, err);
		return err;
	}
	err = handle_open(job->temp.fd, key->text, &copied, &diag);
	if (err == -EBADMSG) {
		log_warning(shared->log, "shared directory '%s': %s: %s; deleting it", shared->path,
			    key->text, diag.text);
		shared_dir_forget(shared, key);
	}
	if (err)
		return err;
	err = adopt(job, copied);
	handle_put(copied);
	return err;
}

bool share_take(struct convert_job *job)
{
	struct cache_key key;
	struct run_counters *counters = job->converter->counters;
	if (!is_sharing(job) || !make_key(job, &key))
		return false;
	int err = fetch(job, &key);
	counter_add(&counters->shared[!err ? SHARED_HIT : err == -ENOENT ? SHARED_MISS : SHARED_UNUSABLE], 1);
	job->out->adopted = !err;
	if (!err)
		return true;
	/* Undo everything: a worker is going to use the job. */
	text_reset(&job->notes);
	text_reset(&job->inputs);
	if (ftruncate(job->temp.fd, 0))
		log_debug(job->converter->log, "cannot truncate a temporary file of the cache: %s",
			  strerror(errno));
	return false;
}

/* ---- Giving ---- */

static void offer_free(struct share_offer *offer)
{
	handle_put(offer->handle);
	text_deinit(&offer->inputs);
	free(offer);
}

struct share_offer *share_offer(const struct convert_job *job)
{
	struct text_buf unused = {0};
	/* Replies of debuginfod servers may differ between hosts. */
	bool wanted = is_sharing(job) && !job->fetches;
	struct share_offer *offer = wanted ? calloc(1, sizeof(*offer)) : NULL;
	if (!offer)
		return NULL;
	offer->handle = handle_get(job->out->handle);
	bool good = make_key(job, &offer->key) &&
		    !translate(job, text_span(&job->inputs), &unused, &offer->inputs);
	text_deinit(&unused);
	if (good)
		return offer;
	offer_free(offer);
	return NULL;
}

void share_give(struct shared_dir *shared, struct run_counters *counters, struct share_offer *offer)
{
	if (!offer)
		return;
	int err = shared_dir_write(shared, &offer->key, offer->handle, text_span(&offer->inputs));
	if (err)
		shared_dir_complain(shared, SHARED_WRITE, err);
	else
		counter_add(&counters->shared[SHARED_GIVEN], 1);
	offer_free(offer);
}
