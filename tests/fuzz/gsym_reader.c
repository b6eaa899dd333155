/*
 * Fuzz target: a GSYM file from memory, as the daemon reads its cache. Nothing may crash or run on, and what
 * comes out must make sense: an answer contains its address, frames are whole, decoded numbers are in range.
 */
#include "gsym/gsym.h"
#include "gsym/base/escape.h"
#include "gsym/render/shown_names.h"
#include "tests/unit/gsym/render/batch/batch_check.h"
#include "tests/fuzz/expect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	/* A small file may point all functions at one large record: how many of them one run looks at. */
	FUNCTIONS_MAX = 64,
	MERGED_MAX = 3,
	QUERIES = 192,   /* at once */
	NAMES_MAX = 256, /* demangled */
};

static void check_answer(const struct gsym_answer *a, uint64_t addr)
{
	expect(a->n_frames > 0);
	expect(!a->func_size || addr - a->func_start < a->func_size);
	expect(a->n_merged > 0);
	for (size_t i = 0; i < a->n_frames; i++) {
		const struct gsym_frame *f = &a->frames[i];
		expect(f->inlined == (i + 1 < a->n_frames));
		expect(strlen(f->name) + strlen(f->dir) + strlen(f->base) + 1 > 0);
	}
	expect(a->frames[a->n_frames - 1].offset == addr - a->func_start);
}

static void look_up(const struct gsym_reader *r, uint64_t addr, struct gsym_answer *a, uint64_t *ret_size)
{
	struct gsym_diag diag;
	*ret_size = 0;
	for (uint32_t which = 0; which < MERGED_MAX; which++) {
		int err = gsym_lookup_merged(r, addr, which, a, &diag);
		expect(!err || err == -ENOENT || err == -EBADMSG);
		expect(err || a->n_merged > which);
		if (err) {
			expect(!a->n_frames && diag.text[0]);
			return;
		}
		check_answer(a, addr);
		*ret_size = a->func_size;
	}
}

/* A line nearby is given where there is none, and nothing else changes. */
static void look_near(const struct gsym_reader *r, uint64_t addr, struct gsym_answer *a)
{
	struct gsym_diag diag;
	int err = gsym_lookup_near(r, addr, a, &diag);
	expect(!err || err == -ENOENT || err == -EBADMSG);
	if (err)
		return;
	check_answer(a, addr);
	for (size_t i = 0; i < a->n_frames; i++)
		expect(!a->frames[i].approximate || (i == 0 && a->frames[i].line));
}

/* Of several rows at one address the first: the frames are the same. */
static void look_first(const struct gsym_reader *r, uint64_t addr, struct gsym_answer *a)
{
	struct gsym_diag diag;
	int last = gsym_lookup(r, addr, a, &diag);
	size_t n = a->n_frames;
	int err = gsym_lookup_flags(r, addr, 0, GSYM_LOOKUP_NEAR | GSYM_LOOKUP_FIRST_ROW, a, &diag);
	expect(!err || err == -ENOENT || err == -EBADMSG);
	if (err)
		return;
	check_answer(a, addr);
	expect(last || a->n_frames == n);
}

/* The start of each function, its last byte, the byte behind it, and one in the middle. */
static void look_up_around(const struct gsym_reader *r, uint32_t index, struct gsym_answer *a)
{
	uint64_t start = gsym_reader_address(r, index), size, unused;
	look_up(r, start, a, &size);
	look_up(r, start + size / 2, a, &unused);
	look_near(r, start + size / 2, a);
	look_first(r, start + size / 2, a);
	look_up(r, start + size - 1, a, &unused);
	look_up(r, start + size, a, &unused);
}

/* Many at once have the answers of one by one: around starts of functions, and where bytes of the input say.
 */
static void look_up_at_once(const struct gsym_reader *r, const uint8_t *data, size_t size)
{
	const struct gsym_info *info = gsym_reader_info(r);
	struct batch_query queries[QUERIES];
	struct batch *batch = batch_new(r);
	struct batch_options options = {
		.render = {.format = data[size - 1] % 5, .module = "m"},
		.near = data[size - 2] & 1,
		.is_return = data[size - 2] & 2,
	};
	expect(batch);
	for (size_t i = 0; i < QUERIES; i++) {
		uint64_t start = info->num_addresses
					 ? gsym_reader_address(r, (uint32_t)(i / 8) % info->num_addresses)
					 : 0;
		uint64_t addr = i % 8 == 7 ? info->base_address + i
					   : start + data[(i * 7) % size] % (i % 3 ? 16 : 256);
		queries[i] = (struct batch_query){.given = addr, .addr = addr};
	}
	expect(check_batch(batch, r, &options, queries, QUERIES, 1 << 16));
	batch_expect(batch, &options, queries, QUERIES);
	expect(check_batch(batch, r, &options, queries, QUERIES, 1 << 16));
	batch_free(batch);
}

static void check_function(const struct gsym_reader *r, const struct gsym_func *f)
{
	const char *dir, *base;
	const struct gsym_info *info = gsym_reader_info(r);
	expect(strlen(gsym_reader_string(r, f->name)) + 1 > 0);
	for (size_t i = 0; i < f->n_rows; i++) {
		expect(!f->size || f->rows[i].off < f->size);
		expect(!i || f->rows[i].off >= f->rows[i - 1].off);
		expect(!f->rows[i].file || f->rows[i].file < info->num_files);
	}
	for (size_t i = 0; i < f->n_inlines; i++) {
		const struct gsym_inline *node = &f->inlines[i];
		expect(node->depth >= 1 && node->depth <= (i ? f->inlines[i - 1].depth : 0) + 1);
		expect(node->n_ranges && node->first_range + node->n_ranges <= f->n_ranges);
		expect(gsym_reader_string(r, node->name));
		if (node->call_file)
			(void)gsym_reader_file(r, node->call_file, &dir, &base);
	}
	for (size_t i = 0; i < f->n_ranges; i++)
		expect((uint64_t)f->ranges[i].off + f->ranges[i].size <= f->size);
	for (size_t i = 0; i < f->n_callsites; i++)
		expect(f->callsites[i].first_pattern + f->callsites[i].n_patterns <= f->n_patterns);
	for (size_t i = 0; i < f->n_patterns; i++)
		expect(gsym_reader_string(r, f->patterns[i]));
	for (size_t i = 0; i < f->n_merged; i++) {
		expect(!f->merged[i].n_merged && f->merged[i].size == f->size &&
		       f->merged[i].start == f->start);
		check_function(r, &f->merged[i]);
	}
}

static void decode(const struct gsym_reader *r, uint32_t index, struct gsym_decoder *decoder)
{
	struct gsym_func f;
	struct gsym_diag diag;
	int err = gsym_reader_function(r, index, decoder, &f, &diag);
	expect(!err || err == -EBADMSG);
	expect(!err || diag.text[0]);
	if (!err)
		check_function(r, &f);
}

static bool count_down(void *user)
{
	unsigned *left = user;
	return *left == 0 || --*left == 0;
}

/* Whether function @index is among those that are shown as @name. */
static bool finds(const struct gsym_reader *r, const struct name_table *table, const struct text_buf *name,
		  uint32_t index)
{
	unsigned left = NAMES_MAX;
	struct shown_search user = {.shown.limit = {count_down, &left}};
	struct name_search search;
	struct name_hit hit;
	bool found = false;
	shown_search_begin(&search, &user, r, table, SHOWN_WHOLE, name->v, name->n);
	while (!found && name_search_next(&search, &hit)) {
		expect(hit.index < gsym_reader_info(r)->num_addresses);
		found = hit.index == index;
	}
	shown_search_deinit(&user);
	return found || !left;
}

/* A function is found by the name that answers show. */
static void find_by_name(const struct gsym_reader *r, struct gsym_decoder *decoder)
{
	unsigned left = NAMES_MAX;
	struct shown_builder b = {.shown.limit = {count_down, &left}};
	struct text_buf name = {0};
	struct gsym_func f;
	expect(!shown_builder_run(&b, r));
	for (uint32_t i = 0; left && i < gsym_reader_info(r)->num_addresses && i < FUNCTIONS_MAX; i++) {
		if (gsym_reader_function(r, i, decoder, &f, NULL))
			continue;
		text_reset(&name);
		if (!demangle_append(&name, gsym_reader_string(r, f.name), DEMANGLE_AUTO))
			continue;
		escape_tail(&name, 0, ESCAPE_TEXT);
		expect(name.n > SHOWN_SIZE_MAX || finds(r, b.names.table, &name, i));
	}
	text_deinit(&name);
	shown_builder_deinit(&b);
}

static void walk_files(const struct gsym_reader *r)
{
	const char *dir, *base;
	uint32_t n = gsym_reader_info(r)->num_files;
	for (uint32_t i = 0; i < n && i < FUNCTIONS_MAX; i++) {
		if (!gsym_reader_file(r, i, &dir, &base))
			expect(strlen(dir) + strlen(base) + 1 > 0);
	}
	expect(gsym_reader_file(r, n, &dir, &base) == -EBADMSG);
}

static void use(const struct gsym_reader *r, const uint8_t *data, size_t size)
{
	const struct gsym_info *info = gsym_reader_info(r);
	struct gsym_decoder *decoder = gsym_decoder_new();
	struct gsym_answer answer = {0};
	uint64_t addr = 0, unused;
	expect(decoder);
	expect(!gsym_reader_string(r, info->strtab_size));
	expect(gsym_reader_string(r, info->strtab_size - 1)[0] == 0);
	for (uint32_t i = 0; i < info->num_addresses && i < FUNCTIONS_MAX; i++) {
		decode(r, i, decoder);
		look_up_around(r, i, &answer);
	}
	/* and addresses that are not of a record: the last bytes of the input, from the base address */
	memcpy(&addr, data + size - sizeof(addr), sizeof(addr));
	look_up(r, addr, &answer, &unused);
	look_up(r, info->base_address + (addr & 0xffff), &answer, &unused);
	look_up(r, UINT64_MAX, &answer, &unused);
	look_up_at_once(r, data, size);
	find_by_name(r, decoder);
	walk_files(r);
	gsym_answer_deinit(&answer);
	gsym_decoder_free(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsym_reader *r;
	struct gsym_diag diag = {""};
	int err = gsym_reader_open_memory(data, size, &r, &diag);
	expect(!err || err == -EBADMSG || err == -ENOTSUP);
	expect(!err == !diag.text[0]);
	if (err)
		return 0;
	use(r, data, size);
	gsym_reader_close(r);
	return 0;
}
