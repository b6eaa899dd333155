/*
 * A log, through the filter, whole and cut in two: nothing crashes, both come out the same, and without
 * images the log comes out as it went in. Or, if it begins like one, a GSYM file whose addresses are walked
 * as a stack: as hostile as patterns, call sites and folded functions can be.
 */
#include "log/engine/filter.h"
#include "log/engine/stack_resolver.h"
#include "gsym/read/name_index.h"
#include "gsym/render/shown_names.h"
#include "tests/fuzz/expect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STACK = 64, BASE = 0x1000 };

/* ---- The image that logs speak of ---- */

static uint64_t string(struct gsym_writer *writer, const char *text)
{
	uint64_t strp;
	expect(!gsym_writer_string(writer, text, strlen(text), &strp));
	return strp;
}

static void write_functions(struct gsym_writer *w)
{
	uint32_t file;
	expect(!gsym_writer_file(w, string(w, "/src"), string(w, "a.c"), &file));
	const struct gsym_row row = {0, file, 7};
	const struct gsym_range range = {4, 16};
	const struct gsym_inline inlined = {.name = string(w, "_ZNK5Shape4areaEv"),
					    .call_file = file,
					    .call_line = 5,
					    .depth = 1,
					    .n_ranges = 1};
	const uint64_t patterns[] = {string(w, "second"), string(w, "^f.*")};
	const struct gsym_callsite site = {.return_off = 21, .n_patterns = 2};
	const struct gsym_func main = {.start = BASE,
				       .size = 32,
				       .name = string(w, "main"),
				       .rows = &row,
				       .n_rows = 1,
				       .inlines = &inlined,
				       .n_inlines = 1,
				       .ranges = &range,
				       .n_ranges = 1,
				       .callsites = &site,
				       .n_callsites = 1,
				       .patterns = patterns,
				       .n_patterns = 2};
	const struct gsym_func second = {.start = BASE + 0x100, .size = 16, .name = string(w, "second")};
	const struct gsym_func start = {.start = BASE + 0x100,
					.size = 16,
					.name = string(w, "_start"),
					.merged = &second,
					.n_merged = 1};
	expect(!gsym_writer_add(w, &main, NULL) && !gsym_writer_add(w, &start, NULL));
}

static struct gsym_reader *image(void)
{
	static struct gsym_reader *reader;
	static const uint8_t uuid[] = {0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3};
	const struct gsym_writer_options options = {.struct_size = sizeof(options),
						    .has_base_address = true,
						    .base_address = BASE,
						    .uuid = uuid,
						    .uuid_size = sizeof(uuid)};
	struct gsym_writer *writer;
	static void *data; /* reachable to the end, as the reader is */
	size_t size;
	if (reader)
		return reader;
	expect(!gsym_writer_new(&options, &writer, NULL));
	write_functions(writer);
	expect(!gsym_writer_finish_memory(writer, &data, &size, NULL));
	gsym_writer_free(writer);
	expect(!gsym_reader_open_memory(data, size, &reader, NULL));
	return reader;
}

/* Reachable to the end, too. */
static const struct name_table *shown_names(void)
{
	static struct shown_builder builder;
	if (!builder.names.table)
		expect(!shown_builder_run(&builder, image()));
	return builder.names.table;
}

struct source {
	bool empty;
	unsigned late; /* questions until an image is there */
};

static bool segment(void *user, const struct filter_image *in, size_t i, struct filter_segment *ret)
{
	(void)user;
	expect(in->reader);
	*ret = (struct filter_segment){0, BASE, BASE};
	return i == 0;
}

static int find(void *user, const struct filter_module *module, struct filter_image *ret)
{
	struct source *source = user;
	expect(memchr(module->id, 0, sizeof(module->id)) && memchr(module->name, 0, sizeof(module->name)));
	if (source->empty || (strcmp(module->id, "deadbeef00010203") != 0 &&
			      strcmp(module->name, "vmlinux") != 0 && strcmp(module->name, "plain") != 0))
		return -ENOENT;
	if (source->late) {
		source->late--;
		return -EAGAIN;
	}
	*ret = (struct filter_image){
		.reader = image(), .base = BASE, .shown = module->needs_shown ? shown_names() : NULL};
	return 0;
}

/* ---- Logs ---- */

static void feed(struct filter *filter, const char *bytes, size_t size, enum filter_rest rest,
		 struct text_buf *out)
{
	size_t used;
	int err;
	do {
		err = filter_write(filter, bytes, size, rest, out, &used);
		expect(!err || err == -EAGAIN);
		expect(used <= size && (err || used == size));
		bytes += used;
		size -= used;
	} while (err);
}

static void run(struct source *source, const char *bytes, size_t size, size_t cut, struct text_buf *out)
{
	const struct filter_images images = {.find = find, .segment = segment, .user = source};
	const struct filter_options options = {.demangle = DEMANGLE_AUTO};
	struct filter *filter = filter_new(&images, &options);
	expect(filter);
	feed(filter, bytes, cut, FILTER_MORE, out);
	feed(filter, bytes + cut, size - cut, FILTER_END, out);
	filter_free(filter);
}

static bool has_symbol(const char *text, size_t size)
{
	return memmem(text, size, "symbol:", strlen("symbol:"));
}

static void log_comes_out(const char *text, size_t size)
{
	struct text_buf whole = {0}, cut = {0}, copied = {0};
	struct source known = {.late = 0}, late = {.late = (unsigned)size % 5}, unknown = {.empty = true};
	run(&known, text, size, size, &whole);
	run(&late, text, size, size ? (size_t)(uint8_t)text[size / 2] * 7 % size : 0, &cut);
	expect(whole.n == cut.n && memcmp(whole.v ? whole.v : "", cut.v ? cut.v : "", whole.n) == 0);
	run(&unknown, text, size, size / 2, &copied);
	if (!has_symbol(text, size)) /* a name alone needs no image */
		expect(copied.n == size && (!size || memcmp(copied.v, text, size) == 0));
	text_deinit(&whole);
	text_deinit(&cut);
	text_deinit(&copied);
}

/* ---- Stacks ---- */

static void search_name(const struct gsym_reader *reader, const char *name)
{
	struct name_search search;
	struct name_hit hit;
	uint32_t last = 0, n = 0;
	expect(!name_search_begin(&search, reader, name, strlen(name)));
	for (; n < STACK && name_search_next(&search, &hit); n++) {
		expect(hit.index < gsym_reader_info(reader)->num_addresses && (!n || hit.index > last));
		last = hit.index;
	}
}

static void walk_all(const struct gsym_reader *reader)
{
	struct resolver_frame frames[STACK];
	struct stack_resolver *walk = stack_resolver_new();
	struct gsym_answer answer = {0};
	uint32_t n = gsym_reader_info(reader)->num_addresses;
	expect(walk);
	for (uint32_t i = 0; i < STACK; i++)
		frames[i] = (struct resolver_frame){
			.reader = i % 7 ? reader : NULL,
			.address = (n ? gsym_reader_address(reader, i % n) : 0) + i / 3,
			.which = i % 11 ? RESOLVER_ANY_BODY : i % 3,
			.kind = i % 3,
		};
	expect(!stack_resolver_run(walk, frames, STACK));
	for (uint32_t i = 0; i < STACK; i++) {
		expect(frames[i].err || (frames[i].n_kept && frames[i].n_kept <= STACK_CANDIDATES_MAX));
		if (frames[i].err || stack_resolver_answer(walk, &frames[i], frames[i].n_kept - 1,
							   i % 2 * GSYM_LOOKUP_FIRST_ROW, &answer))
			continue;
		expect(answer.n_frames > 0);
		search_name(reader, answer.frames[answer.n_frames - 1].name);
	}
	gsym_answer_deinit(&answer);
	stack_resolver_free(walk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsym_reader *reader;
	bool is_gsym = size >= 4 && (memcmp(data, "MYSG", 4) == 0 || memcmp(data, "GSYM", 4) == 0);
	if (!is_gsym) {
		log_comes_out((const char *)data, size);
	} else if (!gsym_reader_open_memory(data, size, &reader, NULL)) {
		walk_all(reader);
		gsym_reader_close(reader);
	}
	return 0;
}
