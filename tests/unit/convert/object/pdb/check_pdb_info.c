/* The PDB stream: the GUID, the hash table of named streams, and files that lack what is needed. */
#include "tests/unit/convert/object/pdb/made_pdb.h"

#include <errno.h>
#include <stdio.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum {
	VC70 = 20000404,
	FASTLINK = 0x494e494d,
	HEADER_SIZE = 28,
	READ_MOST = 4 << 20, /* bytes of the stream that are looked at */
};

#define DAMAGED "made.pdb: the PDB stream (1) is damaged"
#define FAST                                                                                  \
	"made.pdb: a PDB linked with /DEBUG:FASTLINK, which leaves debug data in the object " \
	"files: link with /DEBUG:FULL, or run mspdbcmf"

static const uint8_t file_guid[] = {0xa0, 0xa1, 0xa2, 0xa3, 0xb4, 0xb5, 0xc6, 0xc7,
				    0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf};

static struct made_stream *info_stream(struct made_pdb *m)
{
	m->n_streams = m->n_streams ? m->n_streams : 2;
	return &m->streams[PDB_STREAM_INFO];
}

static void add_header(struct made_stream *s, uint32_t version, const uint8_t *guid)
{
	made_u32(s, version);
	made_u32(s, 0xeeeeeeee);
	made_u32(s, 0xdddddddd);
	made_bytes(s, guid, GUID_SIZE);
}

/* Reads the stream of @m, and frees it. The number of "/names" is in *ret, also after an error. */
static int read_info(struct made_pdb *m, uint32_t *ret, char text[static 256])
{
	struct gsym_diag diag = {""};
	struct object_file *o = made_pdb_open(m);
	long before = live;
	pdb_of(o)->names_stream = 0x777;
	int err = pdb_read_info(o, &diag);
	assert_int_equal(live, before);
	*ret = pdb_of(o)->names_stream;
	snprintf(text, 256, "%.255s", diag.text);
	made_pdb_close(m);
	return err;
}

/* ---- Named streams ---- */

struct words {
	uint32_t v[8];
	size_t n;
};

#define WORDS(...)                                                                  \
	{                                                                           \
		{__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t) \
	}
#define TEXTS(text) text, sizeof(text) - 1

/* The names are at 0, 10 and 17; those of case 0 end with a NUL that is the literal's last byte. */
#define USUAL TEXTS("/LinkInfo\0/names\0/src\0")

struct names_case {
	const char *what;
	const char *texts;
	size_t n_texts;
	struct words used, deleted; /* bit vectors */
	struct words rest;          /* pairs, and numbers of features */
	size_t cut;                 /* bytes left out at the end */
	uint32_t want;
	int err;
};

#define NONE STREAM_NONE

static const struct names_case names_cases[] = {
	{"one name", USUAL, WORDS(1), WORDS(0), WORDS(10, 13), 0, 13, 0},
	{"its number has 32 bits", USUAL, WORDS(1), WORDS(0), WORDS(10, 0x12345678), 0, 0x12345678, 0},
	{"others", USUAL, WORDS(3), WORDS(0), WORDS(0, 13, 17, 14), 0, NONE, 0},
	{"last of four in two words",
	 USUAL,
	 WORDS(0x80000001, 0x80000001),
	 {.n = 0},
	 WORDS(0, 5, 17, 6, 0, 7, 10, 8),
	 0,
	 8,
	 0},
	{"first of four", USUAL, WORDS(0x20008, 0x10100), {.n = 0}, WORDS(10, 8, 17, 6, 0, 7, 0, 5), 0, 8, 0},
	{"deleted buckets have no pair", USUAL, WORDS(2), WORDS(0xffff, 0xff), WORDS(0, 13, 10, 14), 0, NONE,
	 0},
	{"no bucket is used", USUAL, {.n = 0}, {.n = 0}, WORDS(10, 13), 0, NONE, 0},
	{"no bucket is used, by a vector", USUAL, WORDS(0, 0), WORDS(0), WORDS(10, 13), 0, NONE, 0},
	{"the middle of the name", USUAL, WORDS(1), WORDS(0), WORDS(11, 13), 0, NONE, 0},
	{"before the name", USUAL, WORDS(1), WORDS(0), WORDS(9, 13), 0, NONE, 0},
	{"shorter", TEXTS("/name\0s"), WORDS(1), WORDS(0), WORDS(0, 13), 0, NONE, 0},
	{"longer", TEXTS("/names2\0"), WORDS(1), WORDS(0), WORDS(0, 13), 0, NONE, 0},
	{"the end of the names", TEXTS("x\0/names\0"), WORDS(1), WORDS(0), WORDS(2, 13), 0, 13, 0},
	{"a name without its NUL", TEXTS("xx/names"), WORDS(1), WORDS(0), WORDS(2, 13), 0, NONE, 0},
	{"a name cut at its last byte", TEXTS("xx/name"), WORDS(1), WORDS(0), WORDS(2, 13), 0, NONE, 0},
	{"no texts", "", 0, WORDS(1), WORDS(0), WORDS(0, 13), 0, NONE, 0},
	{"at the end", USUAL, WORDS(1), WORDS(0), WORDS(22, 13), 0, NONE, 0},
	{"past the end", USUAL, WORDS(1), WORDS(0), WORDS(23, 13), 0, NONE, 0},
	{"far away", USUAL, WORDS(0xff), WORDS(0),
	 WORDS(UINT32_MAX, 1, UINT32_MAX - 6, 2, 0x80000000, 3, 0x7fffffff, 4), 0, NONE, 0},
	{"fewer pairs than bits", USUAL, WORDS(UINT32_MAX, UINT32_MAX), WORDS(0), WORDS(0, 1, 10, 13), 0, 13,
	 0},
	{"a pair that is cut", USUAL, WORDS(1), WORDS(0), WORDS(10, 0), 1, NONE, 0},
	{"half a pair", USUAL, WORDS(1), WORDS(0), WORDS(10), 0, NONE, 0},
	/* Features */
	{"other features", USUAL, WORDS(1), WORDS(0), WORDS(10, 13, 20091201, 20140508), 0, 13, 0},
	{"one feature alone", USUAL, WORDS(1), WORDS(0), WORDS(10, 13, FASTLINK), 0, 13, -ENOTSUP},
	{"after another", USUAL, WORDS(1), WORDS(0), WORDS(10, 13, 20140508, FASTLINK), 0, 13, -ENOTSUP},
	{"before others", USUAL, WORDS(1), WORDS(0), WORDS(10, 13, FASTLINK, 1, 2), 0, 13, -ENOTSUP},
	{"without names", USUAL, {.n = 0}, {.n = 0}, WORDS(FASTLINK), 0, NONE, -ENOTSUP},
	{"cut", USUAL, WORDS(1), WORDS(0), WORDS(10, 13, FASTLINK), 1, 13, 0},
	{"one less", USUAL, WORDS(1), WORDS(0), WORDS(10, 13, FASTLINK - 1), 0, 13, 0},
	{"one more", USUAL, WORDS(1), WORDS(0), WORDS(10, 13, FASTLINK + 1), 0, 13, 0},
	{"as a stream's number", USUAL, WORDS(1), WORDS(0), WORDS(10, FASTLINK), 0, FASTLINK, 0},
	{"as a deleted bucket", USUAL, WORDS(1), WORDS(FASTLINK), WORDS(10, 13), 0, 13, 0},
};

static void add_words(struct made_stream *s, const struct words *words)
{
	for (size_t i = 0; i < words->n; i++)
		made_u32(s, words->v[i]);
}

static void add_vector(struct made_stream *s, const struct words *words)
{
	made_u32(s, (uint32_t)words->n);
	add_words(s, words);
}

TEST(named_streams)
{
	for (size_t i = 0; i < ARRAY_SIZE(names_cases); i++) {
		const struct names_case *c = &names_cases[i];
		struct made_pdb m = {.block_size = 0};
		struct made_stream *s = info_stream(&m);
		uint32_t names;
		char text[256];
		add_header(s, VC70, file_guid);
		made_u32(s, (uint32_t)c->n_texts);
		made_bytes(s, c->texts, c->n_texts);
		made_u32(s, 0); /* entries: a NUL for texts without one */
		made_u32(s, 0x66666666);
		add_vector(s, &c->used);
		add_vector(s, &c->deleted);
		add_words(s, &c->rest);
		s->n -= c->cut;
		int err = read_info(&m, &names, text);
		if (err != c->err || names != c->want || strcmp(text, err ? FAST : ""))
			fail_msg("%s: %d, stream %u, %s", c->what, err, names, text);
	}
}

/*
 * Sizes that the stream does not have: nothing after them can be found, neither the names nor the features,
 * which follow here, and no time is spent on what is not there.
 */
TEST(impossible_sizes)
{
	enum { TEXTS_SIZE, USED, DELETED, PLACES };
	static const uint32_t sizes[] = {UINT32_MAX, UINT32_MAX - 3, 0xf0000000, 0x80000000,
					 0x40000000, 0x3fffffff,     0x40000001};
	for (int place = 0; place < PLACES; place++)
		for (size_t i = 0; i < ARRAY_SIZE(sizes) + 2; i++) {
			struct made_pdb m = {.block_size = 0};
			struct made_stream *s = info_stream(&m);
			size_t at[PLACES];
			uint32_t names;
			char text[256];
			add_header(s, VC70, file_guid);
			at[TEXTS_SIZE] = s->n;
			made_u32(s, 8);
			made_bytes(s, "/names\0", 8);
			made_fill(s, 0, 8);
			at[USED] = s->n;
			made_u32(s, 1);
			made_u32(s, 1);
			at[DELETED] = s->n;
			made_u32(s, 0);
			made_u32(s, 0);
			made_u32(s, 5);
			made_u32(s, FASTLINK);
			/* As many as there are, one more, and far more. */
			uint32_t left = (uint32_t)(s->n - at[place] - 4) / (place == TEXTS_SIZE ? 1 : 4);
			store32(s->bytes + at[place], i < 2 ? left + (uint32_t)i : sizes[i - 2], false);
			assert_int_equal(read_info(&m, &names, text), 0);
			assert_string_equal(text, "");
			assert_int_equal(names, STREAM_NONE);
		}
}

/* A bit vector that takes all but what must follow it. */
TEST(long_vectors)
{
	for (int deleted = 0; deleted < 2; deleted++) {
		struct made_pdb m = {.block_size = 0};
		struct made_stream *s = info_stream(&m);
		uint32_t names;
		char text[256];
		add_header(s, VC70, file_guid);
		made_u32(s, 7);
		made_bytes(s, "/names", 7);
		made_fill(s, 0, 8);
		made_u32(s, deleted ? 1 : 100);
		made_u32(s, 1);
		made_fill(s, 0, deleted ? 0 : 99 * 4);
		made_u32(s, deleted ? 100 : 0);
		made_fill(s, 0xff, deleted ? 100 * 4 : 0);
		made_u32(s, 0);
		made_u32(s, 9);
		assert_int_equal(read_info(&m, &names, text), 0);
		assert_int_equal(names, 9);
	}
}

/* ---- The header ---- */

TEST(guid)
{
	static const uint8_t want[] = {0xa3, 0xa2, 0xa1, 0xa0, 0xb5, 0xb4, 0xc7, 0xc6,
				       0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf};
	struct made_pdb m = {.block_size = 0};
	add_header(info_stream(&m), VC70, file_guid);
	struct object_file *o = made_pdb_open(&m);
	pdb_of(o)->age = 0x5a5a5a5a; /* of the DBI stream, not of this one */
	assert_int_equal(pdb_read_info(o, NULL), 0);
	assert_int_equal(pdb_of(o)->age, 0x5a5a5a5a);
	assert_int_equal(o->id_size, sizeof(want));
	assert_memory_equal(o->id, want, sizeof(want));
	made_pdb_close(&m);
}

/* All zeros are none; any other byte makes it one. */
TEST(no_guid)
{
	for (size_t other = 0; other <= GUID_SIZE; other++) {
		uint8_t zeros[GUID_SIZE + 1] = {0};
		struct made_pdb m = {.block_size = 0};
		zeros[other] = 1;
		add_header(info_stream(&m), VC70, zeros);
		struct object_file *o = made_pdb_open(&m);
		assert_int_equal(pdb_read_info(o, NULL), 0);
		assert_int_equal(o->id_size, other < GUID_SIZE ? GUID_SIZE : 0);
		made_pdb_close(&m);
	}
}

TEST(versions)
{
	static const struct {
		uint32_t version;
		bool old;
	} cases[] = {{0, true},         {19950623, true},    {19990604, true},
		     {VC70 - 1, true},  {VC70, false},       {VC70 + 1, false},
		     {20140508, false}, {0x80000000, false}, {UINT32_MAX, false}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_pdb m = {.block_size = 0};
		struct gsym_diag diag = {""};
		char want[256] = "";
		add_header(info_stream(&m), cases[i].version, file_guid);
		struct object_file *o = made_pdb_open(&m);
		int err = pdb_read_info(o, &diag);
		assert_int_equal(err, cases[i].old ? -ENOTSUP : 0);
		if (err)
			snprintf(want, sizeof(want),
				 "made.pdb: a PDB of version %u, before Visual C++ 7.0, which has no GUID",
				 cases[i].version);
		assert_string_equal(diag.text, want);
		assert_int_equal(o->id_size, err ? 0 : GUID_SIZE);
		made_pdb_close(&m);
	}
}

/* Any part of the stream, in the file as it is, or copied to a place of its size. */
TEST(cut_anywhere)
{
	for (int scattered = 0; scattered < 2; scattered++)
		for (size_t size = 0;; size++) {
			struct made_pdb m = {.scattered = scattered};
			struct made_stream *s = info_stream(&m);
			uint32_t names;
			char text[256];
			add_header(s, VC70, file_guid);
			made_u32(s, scattered ? 512 : 7);
			made_bytes(s, "/names", 7);
			made_fill(s, 'x', scattered ? 505 : 0);
			made_fill(s, 0, 8);
			made_u32(s, 1);
			made_u32(s, 1);
			made_u32(s, 0);
			made_u32(s, 0);
			made_u32(s, 9);
			size_t whole = s->n;
			s->n = size;
			int err = read_info(&m, &names, text);
			assert_int_equal(err, size < HEADER_SIZE ? -EBADMSG : 0);
			assert_string_equal(text, err ? DAMAGED : "");
			assert_int_equal(names, size < whole ? STREAM_NONE : 9);
			if (size == whole)
				break;
		}
}

TEST(no_stream)
{
	enum { GONE, NOT_LISTED, OUTSIDE, CASES };
	for (int k = 0; k < CASES; k++) {
		struct made_pdb m = {.n_streams = k == NOT_LISTED ? 1 : 2};
		struct gsym_diag diag = {""};
		add_header(info_stream(&m), VC70, file_guid);
		m.streams[PDB_STREAM_INFO].gone = k == GONE;
		struct object_file *o = made_pdb_open(&m);
		if (k == OUTSIDE) /* the number of its block */
			store32(made_directory(&m) + 12, 4, false);
		assert_int_equal(pdb_read_info(o, &diag), -EBADMSG);
		assert_string_equal(diag.text, DAMAGED);
		assert_int_equal(o->id_size, 0);
		assert_int_equal(pdb_of(o)->names_stream, STREAM_NONE);
		made_pdb_close(&m);
	}
}

/* ---- Limits ---- */

/* A feature in the last bytes that are read, and behind them. */
TEST(large_stream)
{
	for (size_t past = 0; past <= 4; past += 4) {
		struct made_pdb m = {.block_size = 65536};
		struct made_stream *s = info_stream(&m);
		uint32_t names;
		char text[256];
		add_header(s, VC70, file_guid);
		made_fill(s, 0, READ_MOST - 4 - HEADER_SIZE + past);
		made_u32(s, FASTLINK);
		made_fill(s, 0, 100);
		assert_int_equal(read_info(&m, &names, text), past ? 0 : -ENOTSUP);
		assert_string_equal(text, past ? "" : FAST);
	}
}

TEST(no_memory)
{
	struct made_pdb m = {.scattered = true};
	struct made_stream *s = info_stream(&m);
	add_header(s, VC70, file_guid);
	made_fill(s, 0, 600);
	struct object_file *o = made_pdb_open(&m);
	long n = 0;
	for (int err = -ENOMEM; err; n++) {
		struct gsym_diag diag = {""};
		long before = live;
		allowed = n;
		err = pdb_read_info(o, &diag);
		allowed = -1;
		assert_int_equal(err, err ? -ENOMEM : 0);
		assert_string_equal(diag.text, err ? "made.pdb: out of memory" : "");
		assert_int_equal(o->id_size, err ? 0 : GUID_SIZE);
		assert_int_equal(live, before);
	}
	assert_true(n > 1);
	made_pdb_close(&m);
}
