/*
 * A link's content is "<content>-<id>": the hash of the state that the id is of, since the name of the link
 * has only what stays the same when a file is written to.
 */
#include "work/cache/cache_find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CONTENT_SIZE = CONTENT_DIGITS + 1 }; /* with the dash */

/* The name of the link, and what it has before the id. */
static void describe(const struct cache_input *input, char name[static CACHE_LINK_SIZE],
		     char content[static CONTENT_SIZE + 1])
{
	struct cache_input nameless = *input;
	struct cache_key key;
	nameless.id = "";
	cache_key_make(&nameless, &key);
	cache_link_name(name, key.text);
	snprintf(content, CONTENT_SIZE + 1, "%s-", key.alone);
}

static bool is_id(const char *text, size_t size)
{
	return size && size < ID_TEXT_SIZE && strspn(text, "0123456789abcdefxh-") == size;
}

int cache_find(const struct cache *cache, const struct cache_input *input, char ret_id[ID_TEXT_SIZE])
{
	char name[CACHE_LINK_SIZE], content[CONTENT_SIZE + 1], found[CONTENT_SIZE + ID_TEXT_SIZE + 1];
	describe(input, name, content);
	ssize_t n = readlinkat(cache->dir, name, found, sizeof(found) - 1);
	if (n < CONTENT_SIZE || memcmp(found, content, CONTENT_SIZE) != 0)
		return -ENOENT;
	found[n] = 0;
	if (!is_id(found + CONTENT_SIZE, (size_t)n - CONTENT_SIZE))
		return -ENOENT;
	strcpy(ret_id, found + CONTENT_SIZE);
	return 0;
}

void cache_remember(const struct cache *cache, const struct cache_input *input)
{
	char name[CACHE_LINK_SIZE], content[CONTENT_SIZE + 1], text[CONTENT_SIZE + ID_TEXT_SIZE];
	describe(input, name, content);
	snprintf(text, sizeof(text), "%s%s", content, input->id);
	if (symlinkat(text, cache->dir, name) == 0 || errno != EEXIST)
		return;
	/* Of another state. If another process is as far as this one, one of them fails, and the file is
	 * identified again. */
	unlinkat(cache->dir, name, 0);
	if (symlinkat(text, cache->dir, name))
		return;
}
