/* Tables of a GSYM file: names of files without a directory, or without a base name. */
#include "gsym/render/listing.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>

TEST(files)
{
	struct sample s;
	struct text_buf out = {0};
	const struct render_options options = {.format = RENDER_TEXT};
	void *data;
	uint32_t next;
	sample_init(&s, sample_kinds[0], 0x1000);
	sample_func(&s, 0x10, 16, "f", 0);
	sample_file(&s, "/src", "a.c");
	sample_file(&s, "", "b.c");
	sample_file(&s, "/only", "");
	struct gsym_reader *r = sample_open(&s, &data);
	struct gsym_decoder *decoder = gsym_decoder_new();
	assert_non_null(decoder);
	uint32_t n = listing_entries(r, LISTING_FILES);
	assert_int_equal(listing_append(r, LISTING_FILES, 0, n, SIZE_MAX, &options, decoder, &out, &next), 0);
	assert_int_equal(next, n);
	assert_int_equal(text_reserve(&out, 1), 1);
	out.v[out.n] = 0;
	assert_non_null(strstr(out.v, "\t/src/a.c\n"));
	assert_non_null(strstr(out.v, "\tb.c\n"));
	assert_non_null(strstr(out.v, "\t/only"));
	text_deinit(&out);
	gsym_decoder_free(decoder);
	gsym_reader_close(r);
	free(data);
}
