#include "work/cache/cache_names.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "gsym/base/search.h"
#include "gsym/base/sort.h"
#include "work/cache/cache_entry.h"

static void close_dir(struct cache_names *names)
{
	if (names->dir)
		closedir(names->dir);
	names->dir = NULL;
}

static int complete(struct cache_names *names)
{
	uint64_t *scratch = malloc((names->hashes.n + 1) * sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	sort_u64(names->hashes.v, scratch, names->hashes.n, 0);
	free(scratch);
	close_dir(names);
	names->complete = true;
	return 0;
}

/* Names of other files are of no key, and do no harm. */
static int add_name(struct cache_names *names, const char *name)
{
	const char *suffix = strrchr(name, '.');
	if (!suffix || strcmp(suffix, CACHE_GSYM_SUFFIX) != 0)
		return 0;
	return vec_push(&names->hashes, XXH3_64bits(name, (size_t)(suffix - name)));
}

int cache_names_read(struct cache_names *names, const struct cache *cache, size_t max)
{
	if (!names->dir && cache->dir >= 0)
		names->dir = cache_dir_list(cache->dir);
	names->unknown = !names->dir && cache->dir >= 0;
	if (!names->dir)
		return complete(names);
	for (; max; max--) {
		errno = 0;
		const struct dirent *e = readdir(names->dir);
		if (!e) {
			names->unknown = errno;
			return complete(names);
		}
		int err = add_name(names, e->d_name);
		if (err)
			return err;
	}
	return 0;
}

bool cache_names_may_have(const struct cache_names *names, const struct cache_key *key)
{
	const uint64_t *v = names->hashes.v;
	const size_t n = names->hashes.n;
	for (int alone = 0; alone < 2 && !names->unknown; alone++) {
		char text[CACHE_KEY_SIZE];
		cache_entry_key(text, key, alone);
		const uint64_t hash = XXH3_64bits(text, strlen(text));
		const size_t at = PARTITION_POINT(0, n, i, v[i] < hash);
		if (at < n && v[at] == hash)
			return true;
	}
	return names->unknown;
}

size_t cache_names_bytes(const struct cache_names *names)
{
	return names->hashes.cap * sizeof(*names->hashes.v);
}

void cache_names_deinit(struct cache_names *names)
{
	close_dir(names);
	vec_free(&names->hashes);
}
