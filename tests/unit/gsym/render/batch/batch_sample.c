#include "tests/unit/gsym/render/batch/batch_sample.h"

static uint64_t chance_state;

uint32_t chance(uint32_t below)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((chance_state >> 33) % below);
}

static const char long_name[] = "x%c_a_name_longer_than_what_is_kept";

void add_busy(struct sample *s, uint64_t off, const char *name, size_t n)
{
	struct gsym_row *rows = calloc(n, sizeof(*rows));
	struct gsym_range *ranges = calloc(n, sizeof(*ranges));
	struct gsym_inline *inlines = calloc(n, sizeof(*inlines));
	uint32_t file = sample_file(s, "/src", "b\tc.c"), at = 0;
	for (size_t i = 0; i < n; i++) {
		at += chance(3) ? 1 + chance(6) : 0;
		rows[i] = (struct gsym_row){at, chance(9) ? file : 0, chance(9) ? 1 + chance(5000) : 0};
		ranges[i] = (struct gsym_range){(uint32_t)i * 3, 9};
		inlines[i] = (struct gsym_inline){.name = sample_string(s, chance(2) ? "in" : "_ZN3fooC1Ev"),
						  .call_file = chance(4) ? file : 0,
						  .call_line = chance(100),
						  .depth = 1,
						  .first_range = (uint32_t)i,
						  .n_ranges = 1};
		if (i % 3) { /* in the one before, of which the start is 3 bytes back */
			ranges[i] = (struct gsym_range){ranges[i - i % 3].off + (uint32_t)(i % 3), 4};
			inlines[i].depth = 2;
		}
	}
	struct gsym_func func = {.start = s->base + off,
				 .size = at + (uint32_t)n * 3 + 40,
				 .name = sample_string(s, name),
				 .rows = rows,
				 .n_rows = n,
				 .inlines = inlines,
				 .n_inlines = n / 4,
				 .ranges = ranges,
				 .n_ranges = n / 4};
	struct gsym_diag diag = {""};
	int err = gsym_writer_add(s->writer, &func, &diag);
	assert_string_equal(diag.text, "");
	assert_int_equal(err, 0);
	free(rows);
	free(ranges);
	free(inlines);
}

void *batch_sample(int kind, size_t *ret_size)
{
	struct sample s;
	struct gsym_func work, twin;
	void *data;
	char name[40000];
	memset(name, 'y', sizeof(name));
	memcpy(name, long_name, sizeof(long_name) - 1);
	name[sizeof(name) - 1] = 0;
	sample_init(&s, sample_kinds[kind], BATCH_BASE);
	sample_func(&s, 0x100, 0x200, "host", 3);
	sample_work(&s, &work);
	twin = work;
	work.merged = &twin;
	work.n_merged = 1;
	assert_int_equal(gsym_writer_add(s.writer, &work, NULL), 0);
	sample_func(&s, 0x180, 0x10, "same\\start", 4);
	sample_func(&s, 0x180, 0x20, "_ZN1a1bEv", 4);
	sample_func(&s, 0x1a0, 4, "OUTLINED_FUNCTION_0", 7);
	sample_func(&s, 0x1b0, 4, name, 8);
	sample_func(&s, 0x1c0, 4, "no rows", 0);
	sample_func(&s, 0x1e0, 0, "hidden", 0);
	add_busy(&s, 0x400, "busy", 60);
	sample_func(&s, 0x800, 0, "unsized", 9);
	sample_finish(&s, &data, ret_size);
	return data;
}

void fill(struct batch_query *queries, size_t n, uint64_t first, uint64_t size)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t addr = first + (size > 1u << 30 ? (uint64_t)chance(1u << 30) * size >> 30
							 : chance((uint32_t)size));
		if (i && !chance(5))
			addr = queries[i - 1].addr + chance(2);
		queries[i] = (struct batch_query){.given = addr + 0x70000, .addr = addr};
		if (!chance(40))
			queries[i].kind = BATCH_UNKNOWN;
		if (!chance(40))
			queries[i] = (struct batch_query){.kind = BATCH_MALFORMED, .text = "a\nb", .size = 3};
		if (!chance(100))
			queries[i].addr = chance(2) ? UINT64_MAX : addr + UINT32_MAX;
	}
}

struct batch_options options_of(unsigned which)
{
	return (struct batch_options){
		.render = {.format = which % 5,
			   .demangle = which % 3 ? DEMANGLE_AUTO : DEMANGLE_OFF,
			   .module = "m\to"},
		.near = which / 5 & 1,
		.is_return = which / 10 & 1,
	};
}
