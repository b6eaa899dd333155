/* Mach-O files made in memory, of both byte orders and sizes of addresses: what is read of them. */
#include "convert/object/macho/macho.h"
#include "convert/object/object_open.h"
#include "convert/object/source_format.h"

#include "gsym/base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

/* ---- Bytes ---- */

struct sink {
	uint8_t v[1 << 16];
	size_t n;
	bool big, wide;
};

static void put_bytes(struct sink *s, const void *bytes, size_t n)
{
	assert_true(s->n + n <= sizeof(s->v));
	memcpy(s->v + s->n, bytes, n);
	s->n += n;
}

static void put8(struct sink *s, unsigned v)
{
	put_bytes(s, &(uint8_t){(uint8_t)v}, 1);
}

static void put32(struct sink *s, uint64_t v)
{
	uint8_t b[4];
	store32(b, (uint32_t)v, s->big);
	put_bytes(s, b, 4);
}

static void put_word(struct sink *s, uint64_t v)
{
	uint8_t b[8];
	store64(b, v, s->big);
	if (s->wide)
		put_bytes(s, b, 8);
	else
		put32(s, v);
}

static void put_leb(struct sink *s, uint64_t v)
{
	do {
		put8(s, (v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
}

/* ---- Architectures ---- */

TEST(architectures)
{
	static const struct {
		uint32_t type, subtype;
		const char *name;
	} table[] = {
		{7, 3, "i386"},
		{0x01000007, 3, "x86_64"},
		{0x01000007, 8, "x86_64h"},
		{0x01000007, 0x80000008, "x86_64h"},
		{0x01000007, 0x1000008, "x86_64h"},
		{0x01000007, 0x800008, "x86_64"},
		{12, 5, "armv5"},
		{12, 6, "armv6"},
		{12, 9, "armv7"},
		{12, 10, "armv7f"},
		{12, 11, "armv7s"},
		{12, 12, "armv7k"},
		{12, 14, "armv6m"},
		{12, 15, "armv7m"},
		{12, 16, "armv7em"},
		{12, 0, "arm"},
		{0x0100000c, 0, "arm64"},
		{0x0100000c, 2, "arm64e"},
		{0x0200000c, 1, "arm64_32"},
		{18, 0, "ppc"},
		{0x01000012, 0, "ppc64"},
		{0x1234567f, 0, "cpu-1234567f"},
	};
	char name[16];
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		macho_machine_name(table[i].type, table[i].subtype, name);
		assert_string_equal(name, table[i].name);
	}
}

TEST(beginnings)
{
	static const uint32_t magics[] = {0xfeedface, 0xfeedfacf, 0xfeedfacd, 0xcafebabe};
	uint8_t bytes[32] = {0};
	for (int big = 0; big < 2; big++)
		for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
			for (size_t size = 0; size <= 32; size++) {
				uint8_t *copy = malloc(size + !size);
				store32(bytes, magics[i], big);
				memcpy(copy, bytes, size);
				assert_int_equal(macho_is_thin((struct span){copy, size}),
						 (i == 0 && size >= 28) || (i == 1 && size >= 32));
				free(copy);
			}
}

/* ---- The trie of exports ---- */

struct exported {
	char name[5000];
	uint64_t addr;
	unsigned n;
	int ret;
	bool cut;
};

static int note_export(void *user, const char *name, uint64_t addr)
{
	struct exported *e = user;
	e->n++;
	e->addr += addr;
	snprintf(e->name, sizeof(e->name), "%s", name);
	return e->ret;
}

static int walk(const struct sink *s, struct exported *e)
{
	uint8_t *copy = malloc(s->n + !s->n);
	memcpy(copy, s->v, s->n);
	*e = (struct exported){.ret = e->ret};
	int err = macho_walk_exports((struct span){copy, s->n}, note_export, e, &e->cut);
	free(copy);
	return err;
}

/* A node without edges. */
static void put_leaf(struct sink *s, unsigned flags, uint64_t addr)
{
	struct sink info = {.n = 0};
	put_leb(&info, flags);
	put_leb(&info, addr);
	put8(s, (unsigned)info.n);
	put_bytes(s, info.v, info.n);
	put8(s, 0);
}

/* Kinds of exports: regular ones have an address, also if a resolver is beside it, or they are weak. */
TEST(kinds_of_exports)
{
	for (unsigned flags = 0; flags < 64; flags++) {
		static struct sink s;
		static struct exported e;
		bool has = !(flags & 8) && (flags & 3) == 0;
		s.n = 0;
		put_bytes(&s, "\0\2_a\0\10_b\0\0", 10); /* the second edge leads back: a cycle */
		s.v[8] = 0;
		s.v[5] = 9;
		s.n = 9;
		put_leaf(&s, flags, 0x1234);
		e.ret = 0;
		assert_int_equal(walk(&s, &e), 0);
		if (has) {
			assert_true(e.n >= 1 && e.addr == 0x1234 * (uint64_t)e.n);
		} else {
			assert_int_equal(e.n, 0);
		}
		e.ret = 17;
		assert_int_equal(walk(&s, &e), has ? 17 : 0);
		assert_int_equal(e.n, has);
		if (has)
			assert_string_equal(e.name, "_a");
	}
}

/* A chain of @n nodes with edges of @size bytes, at the end of which is an export. */
static void chain(struct sink *s, unsigned n, size_t size)
{
	s->n = 0;
	for (unsigned i = 0; i < n; i++) {
		put8(s, 0);
		put8(s, 1);
		for (size_t k = 0; k < size; k++)
			put8(s, 'a' + i % 26);
		put8(s, 0);
		size_t next = s->n + 3;
		put8(s, 0x80 | (next & 0x7f));
		put8(s, 0x80 | (next >> 7 & 0x7f));
		put8(s, (unsigned)(next >> 14));
	}
	put_leaf(s, 0, 5);
}

TEST(deep_tries)
{
	static struct sink s;
	static struct exported e;
	e.ret = 0;
	for (unsigned n = 510; n < 516; n++) {
		chain(&s, n, 1);
		assert_int_equal(walk(&s, &e), 0);
		assert_int_equal(e.n, n <= 512);
		assert_int_equal(e.cut, n > 512);
		assert_int_equal(strlen(e.name), n <= 512 ? n : 0);
	}
	/* Names of up to 4095 bytes, whole or in parts. */
	for (size_t size = 4094; size < 4098; size++) {
		chain(&s, 1, size);
		assert_int_equal(walk(&s, &e), 0);
		assert_int_equal(e.n, size < 4096);
		assert_int_equal(e.cut, size >= 4096);
		chain(&s, 2, size / 2);
		assert_int_equal(walk(&s, &e), 0);
		assert_int_equal(e.n, size / 2 * 2 < 4096);
	}
	/* The export of a node comes before those of its edges; a long edge is passed by, others are not. */
	s.n = 0;
	put_bytes(&s, "\2\0\7\2", 4);
	for (size_t k = 0; k < 4096; k++)
		put8(&s, 'x');
	put8(&s, 0);
	put_leb(&s, 4107);
	put_bytes(&s, "y\0", 2);
	put_leb(&s, 4107);
	assert_int_equal(s.n, 4107);
	put_leaf(&s, 0, 100);
	assert_int_equal(walk(&s, &e), 0);
	assert_int_equal(e.n, 2);
	assert_int_equal(e.addr, 107);
	assert_string_equal(e.name, "y");
}

/* Shared nodes are read as often as they are named, until four times the bytes of the trie were read. */
TEST(shared_nodes)
{
	static struct sink s;
	static struct exported e;
	e.ret = 0;
	for (unsigned n = 1; n < 255; n += 11) {
		s.n = 0;
		put8(&s, 0);
		put8(&s, n);
		for (unsigned i = 0; i < n; i++) {
			put8(&s, 0); /* an edge without a name */
			put_leb(&s, 2 + 2 * n);
		}
		if (2 + 2 * n > 127)
			continue;
		put_leaf(&s, 0, 1);
		assert_int_equal(walk(&s, &e), 0);
		assert_int_equal(e.n, n);
	}
	/* The root names itself: each time takes a byte for the node and four for the edge. */
	for (unsigned size = 8; size < 200; size += 7) {
		s.n = 0;
		put_bytes(&s, "\2\0\1\1xyz\0\0", 9);
		while (s.n < size)
			put8(&s, 0);
		assert_int_equal(walk(&s, &e), 0);
		unsigned most = (unsigned)(4 * s.n), times = (most + 4) / 5;
		assert_int_equal(e.n, times < 513 ? times : 513);
	}
}

TEST(cut_tries)
{
	static struct sink s;
	static struct exported e;
	for (size_t size = 0; size < 20; size++) {
		chain(&s, 1, 3);
		size_t whole = s.n;
		if (size > whole)
			break;
		s.n = size;
		e.ret = 0;
		assert_int_equal(walk(&s, &e), 0);
		assert_int_equal(e.n, size >= whole - 1); /* the last byte counts its edges: it has none */
	}
	/* A name that is shorter than the one before it, and edges that are cut. */
	s.n = 0;
	put_bytes(&s, "\0\2abc\0\x0ax\0\x0a", 10);
	put_leaf(&s, 0, 1);
	assert_int_equal(walk(&s, &e), 0);
	assert_int_equal(e.n, 2);
	assert_string_equal(e.name, "x");
	s.n = 0;
	put_bytes(&s, "\2\0\5\3ab", 6);
	assert_int_equal(walk(&s, &e), 0);
	assert_int_equal(e.n, 1);
	/* Information longer than what is left, and too short for an address. */
	for (unsigned k = 0; k < 3; k++) {
		s.n = 0;
		put_bytes(&s, k == 0 ? "\3\0\5\0" : k == 1 ? "\4\0\5\0" : "\2\0\x85", k == 2 ? 3 : 4);
		assert_int_equal(walk(&s, &e), 0);
		assert_int_equal(e.n, k == 0);
	}
}

/* ---- Symbols ---- */

enum { TEXT = 0x1000, TEXT_SIZE = 0x1000 };

/* A file whose parts are anywhere in its bytes. */
struct image {
	struct sink bytes;
	struct object_file object;
	struct macho macho;
	struct range text;
	struct macho_stubs stubs[2];
};

static struct image *new_image(bool big, bool wide)
{
	struct image *i = calloc(1, sizeof(*i));
	assert_non_null(i);
	i->bytes.big = big;
	i->bytes.wide = wide;
	i->text = (struct range){TEXT - 0x100, TEXT + TEXT_SIZE};
	i->macho.text_addr = TEXT;
	i->macho.has_text_addr = true;
	i->object = (struct object_file){.own = &i->macho,
					 .format = &macho_format,
					 .map = i->bytes.v,
					 .big_endian = big,
					 .addr_size = wide ? 8 : 4,
					 .text = {&i->text, 1, 1}};
	strcpy(i->object.arch, "arm64");
	put_bytes(&i->bytes, "header", 6);
	i->object.map_size = 6;
	return i;
}

static void free_image(struct image *i)
{
	vec_free(&i->object.symbols);
	vec_free(&i->object.functions);
	arena_free(&i->object.names);
	free(i);
}

static void put_symbol(struct image *i, uint32_t name, unsigned type, uint64_t value)
{
	if (!i->macho.symbols.size++)
		i->macho.symbols.off = i->bytes.n;
	put32(&i->bytes, name);
	put8(&i->bytes, type);
	put8(&i->bytes, 1);
	put_bytes(&i->bytes, "\xee\xee", 2);
	put_word(&i->bytes, value);
	i->object.map_size = i->bytes.n;
}

static struct macho_part put_part(struct image *i, const void *bytes, size_t n)
{
	struct macho_part part = {i->bytes.n, n};
	put_bytes(&i->bytes, bytes, n);
	i->object.map_size = i->bytes.n;
	return part;
}

static void put_strings(struct image *i, const void *bytes, size_t n)
{
	i->macho.strings = put_part(i, bytes, n);
	i->macho.names = name_budget_of(n + i->macho.symbols.size * 16);
}

/* "addr+size name", marks after it: g global, s start. */
static void assert_symbols(const struct object_file *o, const char *want)
{
	char text[4096] = "";
	for (size_t i = 0; i < o->symbols.n; i++) {
		const struct symbol *s = &o->symbols.v[i];
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%llx+%llx %s%s", i ? "; " : "",
			 (unsigned long long)s->addr, (unsigned long long)s->size, s->name,
			 s->global ? " g" : "");
	}
	for (size_t i = 0; i < o->functions.n; i++) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%llx s", n ? "; " : "",
			 (unsigned long long)o->functions.v[i].lo);
	}
	assert_string_equal(text, want);
}

TEST(symbol_tables)
{
	static const char strings[] = "\0_one\0two\0_\0___three\0_four";
	for (int k = 0; k < 4; k++) {
		struct image *i = new_image(k & 1, k & 2);
		struct object_file *sources[] = {&i->object};
		struct macho_symbol s;
		put_symbol(i, 1, 0x0f, 0x1000);
		put_symbol(i, 6, 0x0e, 0x1010);
		put_symbol(i, 10, 0x0e, 0x1020); /* no name */
		put_symbol(i, 12, 0x1e, 0x1fff); /* private extern */
		put_symbol(i, 1, 0x0e, 0xfff);   /* before __TEXT */
		put_symbol(i, 1, 0x0e, 0x2000);  /* in no code */
		put_symbol(i, 1, 0x2e, 0x1030);  /* stabs */
		put_symbol(i, 1, 0x8e, 0x1030);
		put_symbol(i, 1, 0x4e, 0x1030);
		put_symbol(i, 1, 0x01, 0x1030); /* undefined, absolute, indirect */
		put_symbol(i, 1, 0x02, 0x1030);
		put_symbol(i, 1, 0x0a, 0x1030);
		put_symbol(i, 0, 0x0e, 0x1040);
		put_symbol(i, 21, 0x0e, 0x1050);
		put_symbol(i, sizeof(strings), 0x0e, 0x1060);
		put_symbol(i, UINT32_MAX, 0x0e, 0x1070);
		put_strings(i, strings, sizeof(strings));
		assert_int_equal(macho_load_symbols(&i->object, sources, 1), 0);
		assert_symbols(&i->object, "1000+0 one g; 1010+0 two; 1fff+0 __three; 1050+0 four");
		assert_false(i->object.symbols_damaged);
		assert_true(macho_read_symbol(&i->object, 15, &s));
		assert_int_equal(s.name, UINT32_MAX);
		assert_int_equal(s.type, 0x0e);
		assert_int_equal(s.section, 1);
		assert_int_equal(s.value, 0x1070);
		assert_false(macho_read_symbol(&i->object, 16, &s));
		/* Without a last NUL the name is none. */
		i->object.symbols.n = i->object.functions.n = 0;
		i->macho.strings.size -= 2;
		assert_int_equal(macho_load_symbols(&i->object, sources, 1), 0);
		assert_symbols(&i->object, "1000+0 one g; 1010+0 two; 1fff+0 __three");
		/* A table that the file has not whole is not read. */
		i->object.symbols.n = i->object.functions.n = 0;
		i->object.map_size = i->macho.symbols.off + 16 * (k & 2 ? 16 : 12) - 1;
		i->object.symbols_damaged = false;
		assert_int_equal(macho_load_symbols(&i->object, sources, 1), 0);
		assert_int_equal(i->object.symbols.n, 0);
		assert_true(i->object.symbols_damaged);
		free_image(i);
	}
}

/* What an earlier table names is not named again; files of other formats have no such table. */
TEST(several_tables)
{
	struct image *i = new_image(false, true), *first = new_image(false, false);
	struct object_file other = {0}, *sources[] = {&other, &first->object, &i->object};
	static const uint8_t starts[] = {0x10, 0x10, 0};
	put_symbol(first, 1, 0x0e, 0x1020);
	put_symbol(first, 1, 0x0e, 0x1000);
	put_symbol(first, 1, 0x0e, 0x1010);
	put_strings(first, "\0_first", 8);
	first->macho.starts = put_part(first, starts, 3);
	for (uint64_t addr = 0x0ff0; addr < 0x1050; addr += 8)
		put_symbol(i, 1, 0x0f, addr);
	put_symbol(i, 1, 0x0f, 0x1048);
	put_strings(i, "\0_i", 4);
	i->macho.starts = put_part(i, starts, 2);
	assert_int_equal(macho_load_symbols(&i->object, sources, 3), 0);
	assert_symbols(&i->object,
		       "1020+0 first; 1000+0 first; 1010+0 first; 1008+0 i g; 1018+0 i g; 1028+0 i g; "
		       "1030+0 i g; 1038+0 i g; 1040+0 i g; 1048+0 i g; 1048+0 i g; "
		       "1010 s; 1010 s; 1020 s; 1020 s");
	assert_false(i->object.symbols_damaged);
	/* Not among the sources, its own starts are read all the same. */
	i->object.symbols.n = i->object.functions.n = 0;
	assert_int_equal(macho_load_symbols(&i->object, sources, 1), 0);
	assert_symbols(&i->object, "1010 s; 1020 s");
	first->macho.symbols.size = i->macho.symbols.size = 0;
	i->macho.starts.size = 1;
	for (int k = 1; k < 3; k++) { /* each of the two alone */
		i->object.symbols.n = i->object.functions.n = 0;
		assert_int_equal(macho_load_symbols(&i->object, sources + k, 1), 0);
		assert_symbols(&i->object, k == 1 ? "1010 s; 1010 s; 1020 s" : "1010 s");
	}
	free_image(first);
	free_image(i);
}

/* All names together may have eight times the bytes of their tables. */
TEST(shared_names)
{
	struct image *i = new_image(false, true);
	char strings[1001] = "";
	memset(strings + 1, 'x', 999);
	for (int k = 0; k < 100; k++)
		put_symbol(i, 1, 0x0e, TEXT + k);
	put_strings(i, strings, sizeof(strings));
	i->macho.names = name_budget_of(1000); /* 8 names of 1000 bytes with their NUL */
	assert_int_equal(macho_load_symbols(&i->object, &(struct object_file *){&i->object}, 1), 0);
	assert_int_equal(i->object.symbols.n, 8);
	assert_true(i->macho.names.exceeded);
	free_image(i);
}

TEST(function_starts)
{
	static const struct {
		const char *bytes, *want;
		size_t size;
	} table[] = {
		{"", "", 0},
		{"\x10\0\x10", "1010 s", 3},
		{"\1\x80\2\x80\x80", "1001 s; 1101 s", 5},
		{"\x05\xff\x1f\x05", "1005 s", 4}, /* the last two are past the code */
	};
	for (int thumb = 0; thumb < 2; thumb++)
		for (size_t t = 0; t < ARRAY_SIZE(table); t++) {
			struct image *i = new_image(false, false);
			strcpy(i->object.arch, thumb ? "armv7" : "arm64");
			i->macho.starts = put_part(i, table[t].bytes, table[t].size);
			assert_int_equal(macho_load_symbols(&i->object, NULL, 0), 0);
			if (!thumb)
				assert_symbols(&i->object, table[t].want);
			for (size_t k = 0; thumb && k < i->object.symbols.n; k++)
				assert_int_equal(i->object.symbols.v[k].addr % 2, 0);
			i->object.symbols.n = i->object.functions.n = 0;
			i->macho.starts.size++;
			assert_int_equal(macho_load_symbols(&i->object, NULL, 0), 0);
			assert_int_equal(i->object.symbols.n, 0);
			free_image(i);
		}
}

TEST(exported_symbols)
{
	static struct sink trie;
	for (int k = 0; k < 3; k++) {
		struct image *i = new_image(false, true);
		struct object_file *sources[] = {&i->object};
		i->macho.text_addr = k == 2 ? UINT64_MAX - 5 : TEXT;
		i->macho.has_text_addr = k != 2;
		trie.n = 0;
		put_bytes(&trie, "\0\4_a\0\x16_b\0\x1bno\0\x20_c\0\x25", 18);
		put_bytes(&trie, "\0\0\0\0", 4);
		put_bytes(&trie, "\3\0\x80\2\0", 5);   /* 0x100 */
		put_bytes(&trie, "\3\0\x90\2\0", 5);   /* 0x110, which is known */
		put_bytes(&trie, "\3\0\xa0\2\0", 5);   /* 0x120 */
		put_bytes(&trie, "\3\0\x80\x40\0", 5); /* 0x2000: in no code */
		put_symbol(i, 1, 0x0e, TEXT + 0x110);
		put_strings(i, "\0known", 7);
		i->macho.exports = put_part(i, trie.v, trie.n);
		if (k == 1)
			i->macho.exports.size++;
		assert_int_equal(macho_load_symbols(&i->object, sources, 1), 0);
		assert_symbols(&i->object, k == 0   ? "1110+0 known; 1100+0 a g; 1120+0 no g"
					   : k == 1 ? "1110+0 known"
						    : "1110+0 known");
		free_image(i);
	}
}

/* The names of exports share beginnings; expanded they may have 32 times the bytes of the trie. */
TEST(long_exports)
{
	static struct sink trie;
	struct image *i = new_image(false, true);
	enum { EXPORTS = 60, PREFIX = 826, FIRST = PREFIX + 5 }; /* the second node follows the first */
	trie.n = 0;
	put_bytes(&trie, "\0\1", 2);
	for (unsigned k = 0; k < PREFIX; k++)
		put8(&trie, 'p');
	put8(&trie, 0);
	put_leb(&trie, FIRST);
	put8(&trie, 0);
	put8(&trie, EXPORTS);
	for (unsigned k = 0; k < EXPORTS; k++) {
		char edge[3] = {(char)('a' + k / 8), (char)('a' + k % 8), 0};
		put_bytes(&trie, edge, 3);
		put_leb(&trie, FIRST + 2 + 5 * EXPORTS + 4 * k);
	}
	for (unsigned k = 0; k < EXPORTS; k++)
		put_leaf(&trie, 0, k);
	i->macho.exports = put_part(i, trie.v, trie.n);
	uint64_t left = trie.n * 32, n = 0, size = PREFIX + 2;
	for (; left > size; n++)
		left -= size + 1;
	assert_int_equal(left, size); /* for one more a byte is missing: its NUL */
	assert_int_equal(macho_load_symbols(&i->object, &(struct object_file *){&i->object}, 1), 0);
	assert_int_equal(i->object.symbols.n, n);
	free_image(i);
}

/* ---- Stubs ---- */

static void put_indirect(struct image *i, const uint32_t *v, size_t n)
{
	i->macho.indirect = (struct macho_part){i->bytes.n, n};
	for (size_t k = 0; k < n; k++)
		put32(&i->bytes, v[k]);
	i->object.map_size = i->bytes.n;
	i->macho.stubs.v = i->stubs;
	i->macho.stubs.n = 2;
}

TEST(stubs)
{
	static const uint32_t table[] = {99, 1, 0x80000000, 0x40000000, 0, 2, 3, 1, 0xc0000000};
	for (int k = 0; k < 4; k++) {
		struct image *i = new_image(k & 1, k & 2), *symtab = new_image(k & 1, k & 2);
		for (int f = 0; f < 2; f++) {
			struct image *at = f ? symtab : i;
			put_symbol(at, 1, 0x01, 0);
			put_symbol(at, 4, 0x01, 0);
			put_symbol(at, 0, 0x01, 0);
			put_strings(at, f ? "\0_A\0_B" : "\0_a\0_b", 7);
			at->stubs[0] = (struct macho_stubs){TEXT + 0x20, 40, 6, 1};
			at->stubs[1] = (struct macho_stubs){TEXT + 0x80, 19, 4, 7};
			put_indirect(at, table, ARRAY_SIZE(table));
		}
		assert_int_equal(macho_load_plt(&i->object, &symtab->object), 0);
		assert_symbols(&i->object, "1020+6 symbol stub for: b; 1032+6 symbol stub for: a; "
					   "1080+4 symbol stub for: b");
		/* Those of the other file, where this one has none. */
		i->object.symbols.n = i->object.functions.n = 0;
		i->macho.indirect.size = 0;
		assert_int_equal(macho_load_plt(&i->object, &symtab->object), 0);
		assert_symbols(&i->object, "1020+6 symbol stub for: B; 1032+6 symbol stub for: A; "
					   "1080+4 symbol stub for: B");
		size_t n = i->object.symbols.n;
		assert_int_equal(macho_load_plt(&i->object, NULL), 0);
		struct object_file other = {.format = &elf_format};
		assert_int_equal(macho_load_plt(&i->object, &other), 0);
		assert_int_equal(i->object.symbols.n, n);
		/* No stub has a size of 0, and entries that two sections share are named once. */
		symtab->stubs[0].stub_size = 0;
		i->object.symbols.n = i->object.functions.n = 0;
		assert_int_equal(macho_load_plt(&i->object, &symtab->object), 0);
		assert_symbols(&i->object, "1080+4 symbol stub for: B");
		symtab->stubs[0] = (struct macho_stubs){TEXT + 0x20, 4000, 4, 0};
		symtab->stubs[1] = (struct macho_stubs){TEXT + 0x80, 4000, 4, 0};
		i->object.symbols.n = i->object.functions.n = 0;
		assert_int_equal(macho_load_plt(&i->object, &symtab->object), 0);
		assert_symbols(&i->object, "1024+4 symbol stub for: B; 1030+4 symbol stub for: A; "
					   "103c+4 symbol stub for: B");
		free_image(symtab);
		free_image(i);
	}
}

/* All names of stubs have no more bytes than the file. */
TEST(stubs_of_one_name)
{
	static uint32_t table[400];
	struct image *i = new_image(false, true);
	char strings[200] = "";
	memset(strings + 1, 'x', 198);
	put_symbol(i, 1, 0x01, 0);
	put_strings(i, strings, sizeof(strings));
	i->macho.names = name_budget_of(1 << 20);
	i->stubs[0] = (struct macho_stubs){TEXT, 400 * 4, 4, 0};
	put_indirect(i, table, 400);
	assert_int_equal(macho_load_plt(&i->object, NULL), 0);
	assert_int_equal(i->object.symbols.n, i->object.map_size / 198);
	free_image(i);
}

TEST(no_memory)
{
	static const uint32_t table[] = {0, 0};
	for (int plt = 0; plt < 2; plt++) {
		long n = 0, before = live;
		for (int err = -ENOMEM; err; n++) {
			static struct sink trie;
			struct image *i = new_image(false, true), *first = new_image(false, true);
			struct object_file *sources[] = {&first->object, &i->object};
			put_symbol(first, 1, 0x0f, TEXT + 8);
			put_strings(first, "\0_a", 4);
			put_symbol(i, 1, 0x0f, TEXT);
			put_strings(i, "\0_a", 4);
			trie.n = 0;
			put_bytes(&trie, "\0\1_e\0\6", 6);
			put_leaf(&trie, 0, 0x40);
			i->macho.exports = put_part(i, trie.v, trie.n);
			i->macho.starts = put_part(i, "\x10", 2);
			i->stubs[0] = (struct macho_stubs){TEXT, 8, 4, 0};
			put_indirect(i, table, 2);
			allowed = n;
			err = plt ? macho_load_plt(&i->object, NULL)
				  : macho_load_symbols(&i->object, sources, 2);
			allowed = -1;
			assert_int_equal(err, err ? -ENOMEM : 0);
			if (!err)
				assert_int_equal(i->object.symbols.n, plt ? 2 : 3);
			free_image(first);
			free_image(i);
			if (!plt) /* which frees what asprintf(3) allocated */
				assert_int_equal(live, before);
		}
		assert_true(n > 2);
	}
	/* The first symbol of all is the start of a function. */
	struct image *i = new_image(false, true);
	i->macho.starts = put_part(i, "\x10", 2);
	allowed = 0;
	assert_int_equal(macho_load_symbols(&i->object, NULL, 0), -ENOMEM);
	allowed = -1;
	free_image(i);
}
