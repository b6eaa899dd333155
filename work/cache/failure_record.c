/*
 * Records of failed conversions.
 */
#include "work/cache/failure_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/file_io.h"
#include "work/cache/cache_dir.h"
#include "work/cache/cache_entry.h"
#include "work/cache/cache_temp.h"

enum { SUM_DIGITS = 16 }; /* of the checksum at the end of a record */

void failure_record_store(struct cache *cache, const struct cache_key *key, int err, const char *text,
			  struct span inputs)
{
	char name[CACHE_NAME_SIZE];
	struct gsym_diag diag = {""};
	struct text_buf out = {0};
	cache_file_name(name, key->text, CACHE_FAILED_SUFFIX);
	text_str(&out, key->text);
	text_char(&out, '\t');
	text_dec(&out, (uint64_t)-err);
	text_char(&out, '\t');
	text_bytes(&out, text, strnlen(text, FAILURE_TEXT_SIZE - 1));
	text_char(&out, '\n');
	text_bytes(&out, inputs.data, inputs.size);
	text_hex(&out, XXH3_64bits(out.v, out.n), SUM_DIGITS);
	if (!out.failed && cache_write_file(cache, name, out.v, out.n, &diag))
		log_warning(cache->log, "%s; the conversion will be retried after a restart", diag.text);
	text_deinit(&out);
}

/* The whole file, NUL-terminated; NULL if there is none or it is too large. */
static char *read_failure(const struct cache *cache, const char *name)
{
	struct stat st;
	int fd = cache_entry_open(cache->dir, name);
	if (fd < 0)
		return NULL;
	const uint64_t most = CACHE_NAME_SIZE + FAILURE_TEXT_SIZE + 32 + INPUTS_MAX;
	size_t size = 0;
	char *text = NULL;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size <= most) {
		size = (size_t)st.st_size;
		text = malloc(size + 1);
	}
	if (text && read_all(fd, text, size, 0))
		size = 0; /* it has shrunk: no record */
	close(fd);
	if (text)
		text[size] = 0;
	return text;
}

/* What follows the key in the @record of a failure; NULL if it is damaged or that of another key. */
static char *check_failure(char *record, const char *key)
{
	size_t size = strlen(record), key_size = strlen(key);
	char sum[SUM_DIGITS + 1];
	if (size < key_size + 1 + SUM_DIGITS)
		return NULL;
	size -= SUM_DIGITS;
	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)XXH3_64bits(record, size));
	if (strcmp(record + size, sum) != 0 || memcmp(record, key, key_size) != 0 || record[key_size] != '\t')
		return NULL;
	record[size] = 0;
	return record + key_size + 1;
}

int failure_record_load(struct cache *cache, const struct cache_key *key, char text[FAILURE_TEXT_SIZE],
			char **ret_inputs)
{
	char name[CACHE_NAME_SIZE], *tab;
	cache_file_name(name, key->text, CACHE_FAILED_SUFFIX);
	CLEANUP(freep) char *all = read_failure(cache, name);
	if (!all)
		return 0;
	char *record = check_failure(all, key->text);
	long err = record ? strtol(record, &tab, 10) : 0;
	if (err <= 0 || err >= 4096 || *tab != '\t') {
		log_warning(cache->log, "cache: %s: damaged, or the failure of another image; deleted", name);
		unlinkat(cache->dir, name, 0);
		return 0;
	}
	size_t words = strcspn(tab + 1, "\n");
	const char *inputs = tab[1 + words] ? tab + 2 + words : "";
	snprintf(text, FAILURE_TEXT_SIZE, "%.*s",
		 (int)(words < FAILURE_TEXT_SIZE ? words : FAILURE_TEXT_SIZE), tab + 1);
	*ret_inputs = strdup(inputs);
	return *ret_inputs ? (int)-err : 0;
}
