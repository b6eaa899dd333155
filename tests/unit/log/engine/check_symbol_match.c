/* The function that a kernel means by a name, an offset and a size, at the limits of what still fits. */
#include "log/engine/symbol_match.h"
#include "log/line/log_format.h"

#include "tests/unit/gsym/sample.h"

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BASE = 0x10000,
	PADDING = 64,     /* bytes that padding is shorter than */
	OVERRIDDEN = 16,  /* weak definitions in a row */
	BEFORE = 16,      /* functions of a section that are examined, with the last */
	EXAMINED = 64,    /* functions of one name whose surroundings are examined */
	MANY = 4096,      /* functions of one name that are examined at all */
	NAME_SIZE = 4096, /* of a name that is looked up, with its NUL */
};

struct symbols {
	struct sample s;
	struct gsym_reader *reader;
	void *data;
};

static int set_up(void **state)
{
	struct symbols *f = calloc(1, sizeof(*f));
	sample_init(&f->s, sample_kinds[0], BASE);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct symbols *f = *state;
	if (f->reader)
		gsym_reader_close(f->reader);
	free(f->data);
	free(f);
	return 0;
}

static void add(struct symbols *f, uint64_t off, uint32_t size, const char *name)
{
	sample_func(&f->s, off, size, name, 1);
}

static void add_in_file(struct symbols *f, uint64_t off, uint32_t size, const char *name, const char *file)
{
	const struct gsym_row row = {0, sample_file(&f->s, "/src", file), 1};
	const struct gsym_func func = {.start = BASE + off,
				       .size = size,
				       .name = sample_string(&f->s, name),
				       .rows = &row,
				       .n_rows = 1};
	assert_int_equal(gsym_writer_add(f->s.writer, &func, NULL), 0);
}

static int match_symbol(struct symbols *f, const struct kernel_symbol *symbol, struct symbol_match *ret)
{
	if (!f->reader)
		f->reader = sample_open(&f->s, &f->data);
	memset(ret, 0xa5, sizeof(*ret));
	return symbol_match(f->reader, symbol, ret);
}

/* "name+0x<off>/0x<size>" of the kernel, or of a module. */
static int match(struct symbols *f, const char *name, uint64_t off, uint64_t size, bool of_module)
{
	const struct kernel_symbol symbol = {
		.name = name, .name_size = strlen(name), .size = size, .off = off, .of_module = of_module};
	struct symbol_match found;
	return match_symbol(f, &symbol, &found);
}

static int of_kernel(struct symbols *f, const char *name, uint64_t size)
{
	return match(f, name, 0, size, false);
}

static int of_module(struct symbols *f, const char *name, uint64_t size)
{
	return match(f, name, 0, size, true);
}

/* The offset is that of code of the function. */
TEST_OF(offsets, struct symbols, f)
{
	add(f, 0, 0x20, "sized");
	add(f, 0x40, 0, "unsized");
	add(f, 0x60, 0x40, "cut");
	add(f, 0x80, 0x10, "label");
	add(f, 0x100, 0, "last");
	assert_int_equal(match(f, "sized", 0x1f, 0, false), 0);
	assert_int_equal(match(f, "sized", 0x20, 0, false), -ENOENT);
	assert_int_equal(match(f, "unsized", 0x1f, 0, false), 0);
	assert_int_equal(match(f, "unsized", 0x20, 0, false), -ENOENT);
	assert_int_equal(match(f, "cut", 0x1f, 0, false), 0);
	assert_int_equal(match(f, "cut", 0x20, 0, false), -ENOENT);
	assert_int_equal(match(f, "last", 0x100000, 0, false), 0);
	assert_int_equal(match(f, "none", 0, 0, false), -ENOENT);
}

/* What is found, and what of a function whose size does not fit. */
TEST_OF(found, struct symbols, f)
{
	struct symbol_match got;
	add(f, 0, 0x10, "first");
	add(f, 0x10, 0x20, "second");
	add(f, 0x30, 0x10, "first");
	add(f, 0x40, 0x10, "end");
	struct kernel_symbol symbol = {.name = "second+", .name_size = 6, .size = 0x20, .off = 4};
	assert_int_equal(match_symbol(f, &symbol, &got), 0);
	assert_int_equal(got.index, 1);
	assert_int_equal(got.address, BASE + 0x14);
	assert_int_equal(got.size, 0x20);
	assert_int_equal(got.which, 0);
	symbol.size = 0x21;
	assert_int_equal(match_symbol(f, &symbol, &got), -ESTALE);
	assert_int_equal(got.index, 1);
	assert_int_equal(got.size, 0x20);
	symbol = (struct kernel_symbol){.name = "first", .name_size = 5, .size = 0x11};
	assert_int_equal(match_symbol(f, &symbol, &got), -ESTALE);
	assert_int_equal(got.index, 0);
	symbol.size = 0x10;
	assert_int_equal(match_symbol(f, &symbol, &got), -ENOTUNIQ);
}

/* Of several functions the one whose size fits best: without padding, if there is one. */
TEST_OF(best, struct symbols, f)
{
	struct symbol_match got;
	add(f, 0, 0x20, "a");
	add(f, 0x80, 0x30, "a");
	add(f, 0x100, 0x40, "a");
	add(f, 0x180, 0x200, "end");
	struct kernel_symbol symbol = {.name = "a", .name_size = 1, .size = 0x30};
	assert_int_equal(match_symbol(f, &symbol, &got), 0);
	assert_int_equal(got.index, 1);
	symbol.size = 0x20;
	assert_int_equal(match_symbol(f, &symbol, &got), 0);
	assert_int_equal(got.index, 0);
	symbol.size = 0x50; /* with padding it is the first or any of the others */
	assert_int_equal(match_symbol(f, &symbol, &got), -ENOTUNIQ);
	symbol.size = 0x7f;
	assert_int_equal(match_symbol(f, &symbol, &got), 0);
	assert_int_equal(got.index, 2);
	symbol.size = 0x80; /* up to the next of them */
	assert_int_equal(match_symbol(f, &symbol, &got), -ENOTUNIQ);
	symbol.size = 0;
	assert_int_equal(match_symbol(f, &symbol, &got), -ENOTUNIQ);
}

TEST_OF(padding, struct symbols, f)
{
	add(f, 0, 0x20, "wide");
	add(f, 0x100, 0x20, "narrow");
	add(f, 0x130, 0, "unsized");
	add(f, 0x200, 0x40, "cut");
	add(f, 0x210, 0x10, "label");
	add(f, 0x400, 0x20, "last");
	assert_int_equal(of_kernel(f, "wide", 0x1f), -ESTALE);
	assert_int_equal(of_kernel(f, "wide", 0x20 + PADDING - 1), 0);
	assert_int_equal(of_kernel(f, "wide", 0x20 + PADDING), -ESTALE);
	assert_int_equal(of_kernel(f, "wide", 0x100), 0); /* up to the next */
	assert_int_equal(of_kernel(f, "wide", 0x101), -ESTALE);
	assert_int_equal(of_kernel(f, "narrow", 0x2f), 0);
	assert_int_equal(of_kernel(f, "narrow", 0x30), 0);
	assert_int_equal(of_kernel(f, "narrow", 0x31), -ESTALE);
	/* Any size, up to the next function. */
	assert_int_equal(of_kernel(f, "unsized", 1), 0);
	assert_int_equal(of_kernel(f, "unsized", 0xcf), 0);
	assert_int_equal(of_kernel(f, "unsized", 0xd0), 0);
	assert_int_equal(of_kernel(f, "unsized", 0xd1), -ESTALE);
	/* A symbol inside of it ends it for the kernel. */
	assert_int_equal(of_kernel(f, "cut", 0x40), 0);
	assert_int_equal(of_kernel(f, "cut", 0x10), 0);
	assert_int_equal(of_kernel(f, "cut", 0xf), -ESTALE);
	assert_int_equal(of_kernel(f, "cut", 0x11), -ESTALE);
	assert_int_equal(of_kernel(f, "last", 0x20 + PADDING - 1), 0);
	assert_int_equal(of_kernel(f, "last", 0x20 + PADDING), -ESTALE);
}

/* Functions after f() that others override: each name stands twice. */
static void add_overridden(struct symbols *f, unsigned n)
{
	char name[16];
	f->s.base += 0x1000;
	add(f, 0, 0x10, "f");
	for (unsigned i = 0; i <= n; i++) {
		snprintf(name, sizeof(name), i < n ? "weak%u" : "end", i);
		add(f, 0x20 + 0x20 * i, 0x10, name);
	}
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "weak%u", i);
		add(f, 0x10000 + 0x10 * i, 0x10, name);
	}
}

/* The size in the log may end with any of the weak definitions after the function, and with their padding. */
TEST_OF(overridden, struct symbols, f)
{
	add_overridden(f, 2);
	assert_int_equal(of_kernel(f, "f", 0x2f), -ESTALE);
	assert_int_equal(of_kernel(f, "f", 0x30), 0);
	assert_int_equal(of_kernel(f, "f", 0x31), 0);
	assert_int_equal(of_kernel(f, "f", 0x40), 0);
	assert_int_equal(of_kernel(f, "f", 0x41), -ESTALE);
	assert_int_equal(of_kernel(f, "f", 0x4f), -ESTALE);
	assert_int_equal(of_kernel(f, "f", 0x50), 0);
	assert_int_equal(of_kernel(f, "f", 0x60), 0);
	assert_int_equal(of_kernel(f, "f", 0x61), -ESTALE);
	assert_int_equal(of_kernel(f, "f", 0x70), -ESTALE); /* end() is its own */
}

TEST_OF(most_overridden, struct symbols, f)
{
	add_overridden(f, OVERRIDDEN);
	assert_int_equal(of_kernel(f, "f", 0x20 + 0x20 * OVERRIDDEN), 0);
}

/* Names that are too long are not looked up. */
TEST_OF(long_overridden, struct symbols, f)
{
	static char longest[NAME_SIZE], longer[NAME_SIZE + 1];
	memset(longest, 'a', sizeof(longest) - 1);
	memset(longer, 'a', sizeof(longer) - 1);
	add(f, 0, 0x10, "f");
	add(f, 0x10, 0x10, longest);
	add(f, 0x20, 0x10, longest);
	add(f, 0x30, 0x10, "g");
	add(f, 0x40, 0x10, longer);
	add(f, 0x50, 0x10, longer);
	add(f, 0x60, 0x10, "end");
	assert_int_equal(of_kernel(f, "f", 0x30), 0);
	assert_int_equal(of_kernel(f, "g", 0x30), -ESTALE);
}

TEST_OF(too_many_overridden, struct symbols, f)
{
	add_overridden(f, OVERRIDDEN + 1);
	assert_int_equal(of_kernel(f, "f", 0x20 + 0x20 * OVERRIDDEN), 0);
	assert_int_equal(of_kernel(f, "f", 0x20 + 0x20 * (OVERRIDDEN + 1)), -ESTALE);
}

/* A label of assembly may end the function for the kernel. */
TEST_OF(labels, struct symbols, f)
{
	add_in_file(f, 0, 0x10, "a", "a.S");
	add_in_file(f, 0x20, 0x10, "b", "b.s");
	add_in_file(f, 0x40, 0x10, "c", "c.asm");
	add_in_file(f, 0x60, 0x10, "d", "d.c");
	add_in_file(f, 0x80, 0x10, "e", ".S");
	add_in_file(f, 0xa0, 0x10, "g", "gS");
	add_in_file(f, 0xc0, 0x10, "h", "h.S.c");
	sample_func(&f->s, 0xe0, 0x10, "i", 0);
	add_in_file(f, 0x100, 0x10, "last", "a.S");
	assert_int_equal(of_kernel(f, "a", 1), 0);
	assert_int_equal(of_kernel(f, "a", 0xf), 0);
	assert_int_equal(of_kernel(f, "a", 0x21), -ESTALE);
	assert_int_equal(of_kernel(f, "b", 8), 0);
	assert_int_equal(of_kernel(f, "c", 8), 0);
	assert_int_equal(of_kernel(f, "d", 8), -ESTALE);
	assert_int_equal(of_kernel(f, "e", 8), -ESTALE);
	assert_int_equal(of_kernel(f, "g", 8), -ESTALE);
	assert_int_equal(of_kernel(f, "h", 8), -ESTALE);
	assert_int_equal(of_kernel(f, "i", 8), -ESTALE);
	assert_int_equal(of_kernel(f, "last", 0x10 + PADDING), -ESTALE);
}

/* A label of the function around it is not one of its own. */
TEST_OF(labels_around, struct symbols, f)
{
	add_in_file(f, 0, 0x1000, "around", "a.S");
	add_in_file(f, 0x100, 0x10, "f", "a.S");
	add(f, 0x400, 0x10, "end");
	assert_int_equal(of_kernel(f, "f", 8), 0);
	assert_int_equal(of_kernel(f, "f", 0x100), -ESTALE);
}

/*
 * The last function of a section of a module ends with a page, counted from where the section begins: with
 * the function, or with one of those before it.
 */
TEST_OF(pages, struct symbols, f)
{
	char name[16];
	for (unsigned i = 0; i <= BEFORE; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		add(f, 0x10 * i, 0x10, name);
	}
	add(f, 0x110, 0x10, "padded");
	add(f, 0x20000, 0xff0, "long");
	add(f, 0x20ff0, 0x10, "short");
	add(f, 0x21000, 0x20, "last");
	/* Of f16(), at 0x100, the section begins with f1() at the earliest, which is the 16th before it. */
	assert_int_equal(of_kernel(f, "f16", 0x1000), -ESTALE);
	assert_int_equal(of_module(f, "f16", 0x1000), 0);
	assert_int_equal(of_module(f, "f16", 0xff0), 0);
	assert_int_equal(of_module(f, "f16", 0xf10), 0);
	assert_int_equal(of_module(f, "f16", 0xf00), -ESTALE);
	assert_int_equal(of_module(f, "f16", 0xff8), -ESTALE);
	assert_int_equal(of_module(f, "f16", 0x1010), -ESTALE);
	assert_int_equal(of_module(f, "f16", 8), -ESTALE);
	assert_int_equal(of_module(f, "f16", 0x3000), -ESTALE);
	assert_int_equal(of_module(f, "f16", 0x4000), 0);
	assert_int_equal(of_module(f, "f16", 0x3f10), 0);
	assert_int_equal(of_module(f, "f16", 0x8000), -ESTALE);
	assert_int_equal(of_module(f, "f16", 0x10000), 0);
	assert_int_equal(of_module(f, "f16", 0xff00), -ESTALE);
	assert_int_equal(of_module(f, "f0", 0xff0), -ESTALE);
	/* Not the last of a section: it would end right where the next begins. */
	assert_int_equal(of_module(f, "padded", 0x1000), -ESTALE);
	/* Less than a page after the function. */
	assert_int_equal(of_module(f, "short", 0x1000), 0);
	assert_int_equal(of_module(f, "short", 0x1010), -ESTALE);
	/* The last of all: of any size below that of a page. */
	assert_int_equal(of_module(f, "last", 0x20 + 0xfff), 0);
	assert_int_equal(of_module(f, "last", 0x20 + 0x1000), -ESTALE);
	assert_int_equal(of_module(f, "last", 0x10000), 0);
	assert_int_equal(of_module(f, "last", 0x10020), -ESTALE);
	assert_int_equal(of_module(f, "last", 0x1f), -ESTALE);
	assert_int_equal(of_kernel(f, "last", 0x20 + 0xfff), -ESTALE);
}

/* Functions of one name: @n of 0x10 bytes, and then one of assembly. */
static void add_namesakes(struct symbols *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		add(f, 0x100 * i, 0x10, "a");
	add_in_file(f, 0x100 * n, 0x40, "a", "a.S");
	add(f, 0x100 * (n + 1), 0x10, "end");
}

TEST_OF(as_many_namesakes, struct symbols, f)
{
	add_namesakes(f, EXAMINED - 1);
	assert_int_equal(of_kernel(f, "a", 8), 0);
}

TEST_OF(too_many_namesakes, struct symbols, f)
{
	add_namesakes(f, EXAMINED);
	assert_int_equal(of_kernel(f, "a", 8), -ESTALE);
}

TEST_OF(as_many_names, struct symbols, f)
{
	add_namesakes(f, MANY - 1);
	assert_int_equal(of_kernel(f, "a", 0x40 + PADDING - 1), 0);
}

TEST_OF(too_many_names, struct symbols, f)
{
	add_namesakes(f, MANY);
	assert_int_equal(of_kernel(f, "a", 0x40 + PADDING - 1), -ESTALE);
}

/* ---- What a line says of the function at an address ---- */

static enum claim_verdict check(struct symbols *f, uint64_t address, const char *name, uint64_t off,
				bool is_function, bool is_whole)
{
	const struct log_claim claim = {.name = name,
					.name_size = strlen(name),
					.is_function = is_function,
					.is_whole = is_whole,
					.off = off};
	enum claim_verdict verdict = CLAIM_UNKNOWN;
	if (!f->reader)
		f->reader = sample_open(&f->s, &f->data);
	assert_int_equal(symbol_claim_check(f->reader, &claim, address, &verdict), 0);
	return verdict;
}

/* A function that starts there, or a byte beside it, fits whatever it is called. */
TEST_OF(claimed_starts, struct symbols, f)
{
	add(f, 0, 0x10, "first");
	add(f, 0x40, 0x20, "f");
	assert_int_equal(check(f, BASE + 0x50, "first", 0x10, true, true), CLAIM_FITS);
	assert_int_equal(check(f, BASE + 0x50, "first", 0x11, true, true), CLAIM_FITS);
	assert_int_equal(check(f, BASE + 0x50, "first", 0xf, true, true), CLAIM_FITS);
	assert_int_equal(check(f, BASE + 0x50, "first", 0x12, true, true), CLAIM_DIFFERS);
	assert_int_equal(check(f, BASE + 0x50, "first", 0xe, true, true), CLAIM_DIFFERS);
	/* The first function has none before it. */
	assert_int_equal(check(f, BASE + 4, "other", 4, true, true), CLAIM_FITS);
	assert_int_equal(check(f, BASE + 4, "other", 3, true, true), CLAIM_FITS);
	assert_int_equal(check(f, BASE + 4, "other", 2, true, true), CLAIM_DIFFERS);
	assert_int_equal(check(f, BASE + 4, "other", 5, true, true), CLAIM_DIFFERS);
	assert_int_equal(check(f, UINT64_MAX, "f", 0, true, true), CLAIM_UNKNOWN);
	assert_int_equal(check(f, BASE - 1, "f", 0, true, true), CLAIM_UNKNOWN);
}

/* What is called so at the address, but starts elsewhere. */
TEST_OF(claimed_names, struct symbols, f)
{
	add(f, 0, 0x10, "word");
	add(f, 0x100, 0x100, "function");
	/* Part of the name: it may be that of a component. */
	assert_int_equal(check(f, BASE + 0x150, "func", 0x20, true, true), CLAIM_UNKNOWN);
	assert_int_equal(check(f, BASE + 0x150, "functions", 0x20, true, true), CLAIM_DIFFERS);
	/* The very name, up to a call from where the log says. */
	assert_int_equal(check(f, BASE + 0x150, "function", 0x48, false, true), CLAIM_UNKNOWN);
	assert_int_equal(check(f, BASE + 0x150, "function", 0x58, false, true), CLAIM_UNKNOWN);
	assert_int_equal(check(f, BASE + 0x150, "function", 0x47, false, true), CLAIM_DIFFERS);
	assert_int_equal(check(f, BASE + 0x150, "function", 0x59, false, true), CLAIM_DIFFERS);
	assert_int_equal(check(f, BASE + 0x150, "function", 0x20, true, true), CLAIM_UNKNOWN);
	assert_int_equal(check(f, BASE + 0x150, "function", 0x20, false, false), CLAIM_UNKNOWN);
	/* Another name is that of a function, or any word. */
	assert_int_equal(check(f, BASE + 0x150, "word", 0x20, false, true), CLAIM_DIFFERS);
	assert_int_equal(check(f, BASE + 0x150, "words", 0x20, false, true), CLAIM_UNKNOWN);
	assert_int_equal(check(f, BASE + 0x150, "words", 0x20, true, true), CLAIM_DIFFERS);
	/* In no function. */
	assert_int_equal(check(f, BASE + 0x80, "word", 0x20, true, true), CLAIM_UNKNOWN);
}

EACH_TEST(set_up, tear_down)
