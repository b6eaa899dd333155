/*
 * Whole files, damaged: every truncation and every single byte changed. Whatever the reader makes of them, it
 * neither crashes nor answers with a function that does not contain the address; sanitizers watch.
 */
#include "tests/unit/gsym/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

static void *make(int kind, size_t *ret_size)
{
	struct sample s;
	struct gsym_func work, twin;
	void *data;
	sample_init(&s, sample_kinds[kind], 0x1000);
	static const uint64_t patterns[] = {1};
	static const struct gsym_callsite site = {.return_off = 4, .n_patterns = 1, .flags = 1};
	sample_func(&s, 0x100, 0x200, "host", 3);
	sample_work(&s, &work);
	twin = work;
	work.callsites = &site;
	work.n_callsites = 1;
	work.patterns = patterns;
	work.n_patterns = 1;
	work.merged = &twin;
	work.n_merged = 1;
	assert_int_equal(gsym_writer_add(s.writer, &work, NULL), 0);
	sample_func(&s, 0x400, 0, "unsized", 0);
	sample_finish(&s, &data, ret_size);
	return data;
}

static void use(const void *data, size_t size, struct gsym_decoder *d, struct gsym_answer *a)
{
	struct gsym_reader *r;
	struct gsym_func f;
	struct gsym_diag diag = {""};
	int err = gsym_reader_open_memory(data, size, &r, &diag);
	if (err) {
		assert_true(err == -EBADMSG || err == -ENOTSUP);
		assert_words(&diag, "GSYM in memory: | at offset 0");
		return;
	}
	for (uint64_t addr = 0xff0; addr < 0x1420; addr += 7) {
		err = gsym_lookup_merged(r, addr, addr & 1, a, &diag);
		if (!err && a->func_size)
			assert_true(addr - a->func_start < a->func_size);
		assert_true(!err || err == -ENOENT || err == -EBADMSG);
		assert_true(!err == (a->n_frames > 0));
		if (err == -EBADMSG)
			assert_words(&diag, "GSYM in memory: function |offset 0x");
	}
	for (uint32_t i = 0; i < gsym_reader_info(r)->num_addresses && i < 64; i++) {
		err = gsym_reader_function(r, i, d, &f, &diag);
		assert_true(!err || err == -EBADMSG);
		if (err)
			assert_words(&diag, "GSYM in memory: function |offset 0x");
	}
	gsym_reader_close(r);
}

TEST(truncations)
{
	struct gsym_decoder *d = gsym_decoder_new();
	struct gsym_answer a = {0};
	for (int k = 0; k < 4; k++) {
		size_t size;
		uint8_t *data = make(k, &size);
		for (size_t n = 0; n < size; n++) {
			uint8_t *copy = malloc(n ? n : 1); /* so that a sanitizer sees the end */
			memcpy(copy, data, n);
			use(copy, n, d, &a);
			free(copy);
		}
		free(data);
	}
	gsym_answer_deinit(&a);
	gsym_decoder_free(d);
}

TEST(changed_bytes)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct gsym_decoder *d = gsym_decoder_new();
	struct gsym_answer a = {0};
	for (int k = 0; k < 4; k++) {
		size_t size;
		uint8_t *data = make(k, &size);
		for (size_t at = 0; at < size; at++) {
			uint8_t was = data[at];
			for (size_t v = 0; v < sizeof(values); v++) {
				data[at] = values[v];
				use(data, size, d, &a);
			}
			data[at] = was;
		}
		free(data);
	}
	gsym_answer_deinit(&a);
	gsym_decoder_free(d);
}
