/* Annotations of inlined calls, as compilers write them, and the calls that are made of them. */

#include "convert/codeview/cv_parts.h"

#include <string.h>

#include "tests/lib/unit.h"

enum { SIZE = 0x60 /* of the function */ };

struct fixture {
	struct cv_sites sites;
	struct cv_lines lines;
	struct budget budget;
	struct arena arena;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	f->budget = budget_of(1 << 20);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	cv_sites_deinit(&f->sites);
	cv_lines_deinit(&f->lines);
	arena_free(&f->arena);
	free(f);
	return 0;
}

/* Adds a site whose function begins at line 100 of file 2. */
static int add_site(struct fixture *f, uint32_t parent, const char *bytes, size_t size)
{
	uint32_t depth = parent == NO_SITE ? 1 : f->sites.sites.v[parent].depth + 1;
	struct cv_site site = {.parent = parent, .depth = depth, .first_call = NO_CALL};
	assert_int_equal(vec_push(&f->sites.sites, site), 0);
	return cv_annotations_read(&f->sites, &f->lines, (uint32_t)f->sites.sites.n - 1,
				   (struct span){(const uint8_t *)bytes, size},
				   (struct cv_inlinee){.file = 2, .line = 100}, SIZE, &f->budget);
}

#define ADD_SITE(f, parent, text) add_site(f, parent, text, sizeof(text) - 1)

static void assert_parts(const struct fixture *f, size_t n, const uint32_t (*expected)[3])
{
	assert_int_equal(f->sites.parts.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct cv_site_part *p = &f->sites.parts.v[i];
		assert_int_equal(p->lo, expected[i][0]);
		assert_int_equal(p->hi, expected[i][1]);
		assert_int_equal(p->line, expected[i][2]);
	}
}

/* clang: a length ends the part before it, and is counted on. */
TEST(length_moves_on)
{
	static const uint32_t expected[][3] = {{0x10, 0x18, 102}, {0x18, 0x20, 101}, {0x28, 0x2a, 101}};
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\6\4\3\x10\x0b\x38\4\x08\x0b\x08\4\2\0\0"), 0);
	assert_parts(*state, 3, expected);
}

/* Visual C++: the length comes with the offset, and the next offset counts from the part's start. */
TEST(length_with_offset_stays)
{
	static const uint32_t expected[][3] = {
		{0x25, 0x2a, 100}, {0x2a, 0x36, 102}, {0x36, 0x3a, 104}, {0x40, 0x42, 104}};
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\3\x25\x0b\x45\6\4\x0c\4\x0c\x0c\2\x0a\0"), 0);
	assert_parts(*state, 4, expected);
}

/* What a function does not have is cut off; numbers have up to 4 bytes. */
TEST(parts_are_in_the_function)
{
	static const uint32_t expected[][3] = {{0x50, SIZE, 100}};
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\3\x80\x50\4\xc0\0\x40\0\3\4\4\4"), 0);
	assert_parts(*state, 1, expected);
}

/* Numbers of 1, 2 and 4 bytes: the highest, and one whose bytes all differ. */
TEST(numbers)
{
	static const uint32_t expected[][3] = {{1, 2, 100 + 63},
					       {3, 4, 100 + 63 + 8191},
					       {5, 6, 100 + 63 + 8191 + 0x810182},
					       {7, 8, 100 + 63 + 8191 + 0x810182 + 0xffffffe},
					       {9, 10, 100 + 63 + 8191 + 0x810182}};
	assert_int_equal(ADD_SITE(*state, NO_SITE,
				  "\6\x7e\3\1\4\1"
				  "\6\xbf\xfe\3\1\4\1"
				  "\6\xc1\2\3\4\3\1\4\1"
				  "\6\xdf\xff\xff\xfc\3\1\4\1"
				  "\6\xdf\xff\xff\xfd\3\1\4\1"),
			 0);
	assert_parts(*state, 5, expected);
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\6\xe0\0\0\0\3\1\4\1"), -EBADMSG);
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\6\xc0\0\0"), -EBADMSG);
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\6\x80"), -EBADMSG);
}

/* A line below 1 is none; it counts on all the same. */
TEST(lines_below_one)
{
	static const uint32_t expected[][3] = {{1, 2, 1}, {2, 3, 0}, {3, 4, 0}, {4, 5, 1}};
	assert_int_equal(ADD_SITE(*state, NO_SITE,
				  "\6\x80\xc7\3\1"
				  "\6\3\3\1"
				  "\6\3\3\1"
				  "\6\4\3\1\4\1"),
			 0);
	assert_parts(*state, 4, expected);
}

/* What names no code: ends of lines, columns, kinds of ranges; and parts of statements have lines already. */
TEST(other_operations)
{
	static const uint32_t expected[][3] = {{1, 3, 100}, {9, 10, 100}};
	assert_int_equal(ADD_SITE(*state, NO_SITE,
				  "\7\4\x09\7\x0a\6\x0d\2\x08\1\3\1\4\2"
				  "\x08\0\3\2\4\2\x08\1\3\2\4\1"),
			 0);
	assert_parts(*state, 2, expected);
}

TEST(damage_ends_the_list)
{
	static const uint32_t expected[][3] = {{1, 2, 100}};
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\3\1\4\1\3\xff"), -EBADMSG);
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\x0e\1"), -EBADMSG);
	assert_int_equal(ADD_SITE(*state, NO_SITE, "\2\1\3\1\4\1"), -ENOTSUP);
	assert_parts(*state, 1, expected);
}

/* A site in another one, under which the caller's line changes: the outer site is two calls. */
TEST_OF(lines_below_split_calls, struct fixture, f)
{
	struct func_record record = {.start = 0, .end = SIZE};
	const struct pdb_piece whole = {.size = SIZE};
	const struct cv_stretch own[] = {{0, 0x20, 1, 7, NO_CALL}, {0x20, SIZE, 1, 8, NO_CALL}};
	assert_int_equal(ADD_SITE(f, NO_SITE, "\3\x10\4\x20"), 0);
	assert_int_equal(ADD_SITE(f, 0, "\3\x08\4\x10"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		assert_int_equal(cv_append_stretch(&f->sites.flat, own[i]), 0);
	assert_int_equal(cv_sites_overlay(&f->sites, &f->budget), 0);
	assert_int_equal(cv_sites_write(&f->sites, &whole, 1, &f->arena, &f->budget, &record), 0);
	assert_int_equal(record.n_rows, 3);
	assert_int_equal(record.rows[1].off, 0x10);
	assert_int_equal(record.rows[1].line, 100);
	assert_int_equal(record.rows[2].off, 0x30);
	assert_int_equal(record.n_inlines, 3);
	static const uint32_t calls[][4] = {{1, 7, 0x10, 0x10}, {2, 100, 0x10, 8}, {1, 8, 0x20, 0x10}};
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct gsym_inline *call = &record.inlines[i];
		assert_int_equal(call->n_ranges, 1);
		assert_int_equal(call->depth, calls[i][0]);
		assert_int_equal(call->call_line, calls[i][1]);
		assert_int_equal(record.ranges[call->first_range].off, calls[i][2]);
		assert_int_equal(record.ranges[call->first_range].size, calls[i][3]);
	}
}

EACH_TEST(setup, teardown)
