#include "work/cache/cache_key.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "work/types/convert_revision.h"
#include "gsym/base/bytes.h"

/* Identifies the file by attributes which its author cannot choose: XXH3 is not collision resistant. */
static uint64_t file_fingerprint(const struct cache_input *input)
{
	const struct file_state *const files[] = {&input->file, &input->binary};
	uint8_t fields[2][36];
	for (size_t i = 0; i < 2; i++) {
		store64(fields[i], files[i]->dev, false);
		store64(fields[i] + 8, files[i]->ino, false);
		store64(fields[i] + 16, (uint64_t)files[i]->ctime_ns, false);
		store32(fields[i] + 24, files[i]->uid, false);
		store32(fields[i] + 28, files[i]->gid, false);
		store32(fields[i] + 32, files[i]->mode, false);
	}
	return XXH3_64bits(fields, sizeof(fields));
}

/* Identifies the content: the object file's state and all options that change the output. */
static uint64_t content_fingerprint(const struct cache_input *input, uint64_t places)
{
	uint8_t fields[60];
	char revision[REVISION_TEXT_SIZE];
	convert_revision(input->kind, input->binary_kind, revision);
	store64(fields, XXH3_64bits(revision, strlen(revision)), false);
	store32(fields + 8, CACHE_LAYOUT_REVISION, false);
	store32(fields + 12, input->version, false);
	store32(fields + 16, input->merged, false);
	store64(fields + 20, input->file.size, false);
	store64(fields + 28, (uint64_t)input->file.mtime_ns, false);
	store64(fields + 36, input->binary.size, false);
	store64(fields + 44, (uint64_t)input->binary.mtime_ns, false);
	store64(fields + 52, places, false);
	return XXH3_64bits(fields, sizeof(fields));
}

void cache_key_make(const struct cache_input *input, struct cache_key *ret)
{
	snprintf(ret->text, sizeof(ret->text), "%s-%08x%016llx%016llx", input->id, input->file.uid,
		 (unsigned long long)file_fingerprint(input),
		 (unsigned long long)content_fingerprint(input, input->places));
	snprintf(ret->alone, sizeof(ret->alone), "%016llx",
		 (unsigned long long)content_fingerprint(input, 0));
}

void cache_link_name(char name[static CACHE_LINK_SIZE], const char *key)
{
	const char *dash = strrchr(key, '-');
	snprintf(name, CACHE_LINK_SIZE, CACHE_LINK_PREFIX "%.*s", OWNER_DIGITS + FILE_DIGITS,
		 dash ? dash + 1 : "");
}
