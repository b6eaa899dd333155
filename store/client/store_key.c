#include "store/client/store_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "work/cache/cache_key.h"
#include "work/types/convert_revision.h"
#include "store/client/sodium.h"
#include "gsym/base/ascii.h"
#include "gsym/base/escape.h"

#define DIRECTORY      "gsymfs1/"
#define CONVERSION_END ".gsym"
#define LEASE_END      ".lease"

enum { DIGITS = 2 * STORE_DIGEST };

/* ---- The record ---- */

static void add_file(struct text_buf *out, const char *role, const struct store_file *file)
{
	char line[64 + FILE_PRINT_SIZE];
	snprintf(line, sizeof(line), "%s %llu %s\n", role, (unsigned long long)file->size, file->print);
	if (*file->print)
		text_str(out, line);
}

void store_record(const struct store_facts *facts, struct text_buf *out)
{
	char head[256 + REVISION_TEXT_SIZE], revision[REVISION_TEXT_SIZE];
	snprintf(head, sizeof(head),
		 "gsymfs-key 3\nformat %d\nconverter %s\ncache %d\ngsym %u\nmerged %d\nservers %0*llx\nid ",
		 OBJECT_REVISION, convert_revision(facts->source.kind, facts->binary.kind, revision),
		 CACHE_LAYOUT_REVISION, facts->version, facts->merged, facts->servers ? 16 : 1,
		 (unsigned long long)facts->servers);
	text_str(out, head);
	/* Escaped: no text can look like another line. */
	escape_str(out, facts->id, ESCAPE_TSV);
	text_lit(out, "\narch ");
	escape_str(out, facts->arch, ESCAPE_TSV);
	text_char(out, '\n');
	add_file(out, "source", &facts->source);
	add_file(out, "binary", &facts->binary);
}

int store_key_make(const struct store_facts *facts, struct store_key *ret)
{
	const struct sodium *sodium = sodium_library(NULL);
	struct text_buf record = {0};
	if (!sodium)
		return -ELIBACC;
	store_record(facts, &record);
	int err = record.failed ? -ENOMEM : 0;
	if (!err)
		sodium->sha256(ret->digest, (const unsigned char *)record.v, record.n);
	text_deinit(&record);
	return err;
}

/* ---- Names ---- */

void store_name(const struct store_key *key, enum store_kind kind, char ret[static STORE_NAME_SIZE])
{
	char digits[DIGITS + 1];
	hex_write(digits, key->digest, STORE_DIGEST);
	snprintf(ret, STORE_NAME_SIZE, DIRECTORY "%.2s/%s%s", digits, digits,
		 kind == STORE_LEASE ? LEASE_END : CONVERSION_END);
}

bool store_name_parse(const char *name, struct store_key *ret)
{
	struct store_key key;
	char made[STORE_NAME_SIZE];
	const size_t skipped = strlen(DIRECTORY "00/");
	if (strnlen(name, skipped + DIGITS) < skipped + DIGITS)
		return false;
	for (size_t i = 0; i < STORE_DIGEST; i++) {
		int high = hex_value(name[skipped + 2 * i]), low = hex_value(name[skipped + 2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		key.digest[i] = (uint8_t)(high << 4 | low);
	}
	store_name(&key, STORE_CONVERSION, made);
	if (strcmp(made, name) != 0)
		return false;
	*ret = key;
	return true;
}
