/* Call sites: round trip in both widths and byte orders, and damage. */
#include "gsym/codec/callsite.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

static const uint64_t patterns[] = {1, 5, 9};
static const struct gsym_callsite sites[] = {
	{.return_off = 0x18, .first_pattern = 0, .n_patterns = 2, .flags = GSYM_CALLSITE_INTERNAL},
	{.return_off = 0x2000000000, .first_pattern = 2, .n_patterns = 0, .flags = 0},
	{.return_off = 0x44, .first_pattern = 2, .n_patterns = 1, .flags = 3},
};
static const struct gsym_func func = {
	.callsites = sites,
	.n_callsites = 3,
	.patterns = patterns,
	.n_patterns = 3,
};

TEST(round_trip)
{
	for (int i = 0; i < 4; i++) {
		struct gsym_tables tables = {.strp_size = i & 1 ? 4 : 8, .strtab_size = 10};
		struct buf buf = {.big = i & 2};
		struct gsym_decoder *d = gsym_decoder_new();
		assert_int_equal(callsite_encode(&buf, &func, &tables, NULL), 0);
		assert_int_equal(buf.bytes.n, 4 + 3 * 13 + 3 * tables.strp_size);
		struct cursor c = cursor_new(buf.bytes.v, buf.bytes.n, buf.big);
		assert_int_equal(callsite_decode(&c, &tables, d, NULL), 0);
		assert_int_equal(cursor_left(&c), 0);
		struct gsym_func back = {.callsites = d->callsites.v,
					 .n_callsites = d->callsites.n,
					 .patterns = d->patterns.v,
					 .n_patterns = d->patterns.n};
		assert_func_equal(&func, &back);
		buf_free(&buf);
		gsym_decoder_free(d);
	}
}

TEST(cut_off_anywhere)
{
	struct gsym_tables tables = {.strp_size = 4, .strtab_size = 10};
	struct buf buf = {0};
	struct gsym_diag diag;
	struct gsym_decoder *d = gsym_decoder_new();
	assert_int_equal(callsite_encode(&buf, &func, &tables, NULL), 0);
	for (size_t size = 0; size < buf.bytes.n; size++) {
		struct cursor c = cursor_new(buf.bytes.v, size, false);
		assert_int_equal(callsite_decode(&c, &tables, d, &diag), -EBADMSG);
		assert_words(&diag, "call sites|bytes left|offset 0x");
	}
	/* counts far beyond the bytes: refused before anything is allocated for them */
	buf_patch32(&buf, 0, UINT32_MAX);
	struct cursor c = cursor_new(buf.bytes.v, buf.bytes.n, false);
	assert_int_equal(callsite_decode(&c, &tables, d, &diag), -EBADMSG);
	assert_words(&diag, "more sites than bytes left");
	buf_patch32(&buf, 0, 3);
	buf_patch32(&buf, 4 + 9, UINT32_MAX);
	c = cursor_new(buf.bytes.v, buf.bytes.n, false);
	assert_int_equal(callsite_decode(&c, &tables, d, &diag), -EBADMSG);
	assert_words(&diag, "more patterns than bytes left");
	buf_free(&buf);
	gsym_decoder_free(d);
}

TEST(patterns_must_exist)
{
	struct gsym_tables tables = {.strp_size = 4, .strtab_size = 10},
			   small = {.strp_size = 4, .strtab_size = 9};
	struct buf buf = {0};
	struct gsym_diag diag;
	struct gsym_decoder *d = gsym_decoder_new();
	assert_int_equal(callsite_encode(&buf, &func, &small, &diag), -EINVAL);
	assert_words(&diag, "call site 2|past the string table");
	buf.bytes.n = 0;
	assert_int_equal(callsite_encode(&buf, &func, &tables, NULL), 0);
	struct cursor c = cursor_new(buf.bytes.v, buf.bytes.n, false);
	assert_int_equal(callsite_decode(&c, &small, d, &diag), -EBADMSG);
	assert_words(&diag, "pattern past the string table|offset 0x");
	struct gsym_func few = func;
	few.n_patterns = 2;
	assert_int_equal(callsite_encode(&buf, &few, &tables, &diag), -EINVAL);
	assert_words(&diag, "call site 2|patterns past the function's");
	buf_free(&buf);
	gsym_decoder_free(d);
}
