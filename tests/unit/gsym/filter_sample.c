#include "filter_sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int find(void *user, const struct filter_module *module, struct filter_image *ret)
{
	struct source *source = user;
	source->asked++;
	strcpy(source->name, module->name);
	const char *slash = strrchr(module->name, '/'), *name = slash ? slash + 1 : module->name;
	if (!module->id[0] && strcmp(name, "several.so") == 0)
		return -ENOTUNIQ;
	if (strcmp(module->id, ID) != 0 &&
	    (module->id[0] || (strcmp(name, "vmlinux") != 0 && strcmp(name, "app") != 0)))
		return -ENOENT;
	if (source->late) {
		source->late--;
		return -EAGAIN;
	}
	*ret = (struct filter_image){.reader = source->reader,
				     .base = BASE,
				     .shown = module->needs_shown ? source->shown.names.table : NULL};
	return 0;
}

static void add_folded(struct sample *s, uint32_t file)
{
	const struct gsym_row rows[] = {{0, file, 60}, {0, file, 61}, {0, file, 70}};
	const uint64_t pattern = sample_string(s, "two");
	const struct gsym_callsite site = {.return_off = 0x10, .n_patterns = 1};
	const struct gsym_func two = {.start = BASE + 0x140,
				      .size = 0x40,
				      .name = sample_string(s, "two"),
				      .rows = &rows[1],
				      .n_rows = 1};
	struct gsym_func one = two, caller = two;
	one.name = sample_string(s, "one");
	one.rows = &rows[0];
	one.merged = &two;
	one.n_merged = 1;
	caller.start = BASE + 0x180;
	caller.name = sample_string(s, "caller");
	caller.rows = &rows[2];
	caller.callsites = &site;
	caller.n_callsites = 1;
	caller.patterns = &pattern;
	caller.n_patterns = 1;
	assert_int_equal(gsym_writer_add(s->writer, &one, NULL), 0);
	assert_int_equal(gsym_writer_add(s->writer, &caller, NULL), 0);
}

static void add_assembly(struct sample *s)
{
	const struct gsym_row row = {0, sample_file(s, "/src", "e.S"), 85};
	const struct gsym_func entry = {.start = BASE + 0xf0,
					.size = 0x10,
					.name = sample_string(s, "entry"),
					.rows = &row,
					.n_rows = 1};
	assert_int_equal(gsym_writer_add(s->writer, &entry, NULL), 0);
}

void source_make(struct source *source)
{
	struct sample s;
	sample_init(&s, sample_kinds[0], BASE);
	uint32_t file = sample_file(&s, "/src", "a.c"), header = sample_file(&s, "/src", "b.h");
	const struct gsym_row rows[] = {{0, file, 5}, {8, header, 7}, {16, file, 6}};
	const struct gsym_row two[] = {{0, file, 50}, {0, file, 51}};
	const struct gsym_range range = {8, 8};
	const struct gsym_inline inlined = {
		.name = sample_string(&s, "beta"),
		.call_file = file,
		.call_line = 5,
		.depth = 1,
		.n_ranges = 1,
	};
	struct gsym_func alpha = {
		.start = BASE,
		.size = 0x40,
		.name = sample_string(&s, "alpha"),
		.rows = rows,
		.n_rows = 3,
		.inlines = &inlined,
		.n_inlines = 1,
		.ranges = &range,
		.n_ranges = 1,
	};
	struct gsym_func both = {.start = BASE + 0x100,
				 .size = 0x20,
				 .name = sample_string(&s, "both"),
				 .rows = two,
				 .n_rows = 2};
	assert_int_equal(gsym_writer_add(s.writer, &alpha, NULL), 0);
	sample_func(&s, 0x40, 0x40, "_ZN1f3oneEv", 0);
	sample_func(&s, 0x80, 0x20, "twin", 20);
	sample_func(&s, 0xa0, 0x30, "twin", 30);
	sample_func(&s, 0xd8, 0x8, "versioned@@V_2", 95);
	sample_func(&s, 0xe0, 0x10, "bad\nname\x1b[1m", 40);
	add_assembly(&s);
	assert_int_equal(gsym_writer_add(s.writer, &both, NULL), 0);
	add_folded(&s, file);
	sample_func(&s, 0x1c0, 0x20, "live", 80);
	sample_func(&s, 0x1e0, 0x10, "weak", 81);
	sample_func(&s, 0x200, 0x10, "after", 82);
	sample_func(&s, 0x210, 0x10, "weak", 83);
	sample_func(&s, 0x220, 0x20, "_ZN1g5twiceEi", 90);
	sample_func(&s, 0x240, 0x10, "_ZN1g5twiceEc", 91);
	sample_func(&s, 0x250, 0x10, "_ZN1g4eachISt6vectorIiSaIiEEEEviPKc", 92);
	sample_func(&s, 0x260, 0x10, "final", 84);
	*source = (struct source){.reader = NULL};
	source->reader = sample_open(&s, &source->data);
	assert_int_equal(shown_builder_run(&source->shown, source->reader), 0);
}

void source_drop(struct source *source)
{
	name_table_free(source->shown.names.table);
	source->shown.names.table = NULL;
	shown_builder_deinit(&source->shown);
	gsym_reader_close(source->reader);
	free(source->data);
}

/* The file has the sample's functions at its beginning, and data of the same size after them. */
static bool segment(void *user, const struct filter_image *image, size_t i, struct filter_segment *ret)
{
	(void)user;
	assert_non_null(image->reader);
	*ret = (struct filter_segment){i * 0x1000, BASE + i * 0x1000, 0x800};
	return i < 2;
}

struct filter *source_filter(struct source *source)
{
	const struct filter_images images = {.find = find, .segment = segment, .user = source};
	const struct filter_options options = {.demangle = DEMANGLE_AUTO};
	struct filter *filter = filter_new(&images, &options);
	assert_non_null(filter);
	return filter;
}

void run_filter(struct source *source, const char *in, size_t size, const size_t *cuts, size_t n,
		struct text_buf *out)
{
	struct filter *filter = source_filter(source);
	size_t at = 0, used;
	text_reset(out);
	for (size_t i = 0; i <= n; i++) {
		size_t end = i < n ? cuts[i] : size;
		enum filter_rest rest = i < n ? FILTER_MORE : FILTER_END;
		int err;
		do {
			err = filter_write(filter, in + at, end - at, rest, out, &used);
			at += used;
			assert_true(!err || err == -EAGAIN);
		} while (err);
		assert_int_equal(at, end);
	}
	filter_free(filter);
}

void running_begin(struct running *r)
{
	*r = (struct running){.used = 0};
	source_make(&r->source);
	r->filter = source_filter(&r->source);
}

int running_feed(struct running *r, const char *text, enum filter_rest rest)
{
	return filter_write(r->filter, text, strlen(text), rest, &r->out, &r->used);
}

void running_end(struct running *r)
{
	filter_free(r->filter);
	text_deinit(&r->out);
	source_drop(&r->source);
}

void check_log(const char *in, const char *expected)
{
	struct source source;
	struct text_buf out = {0};
	source_make(&source);
	run_filter(&source, in, strlen(in), NULL, 0, &out);
	text_char(&out, '\0');
	assert_string_equal(out.v, expected);
	text_deinit(&out);
	source_drop(&source);
}

void check_unchanged(const char *in)
{
	check_log(in, in);
}

const char apple_report[] =
	"Incident Identifier: X\n\nThread 0 Crashed:\n"
	"0   My App                        0x0000000104a78010 0x104a78000 + 16\n"
	"1   My App                        0x0000000104a78010 0x104a78000 + 16\n"
	"2   My App                      \t0x0000000104a78044 one + 4\n"
	"3   libother.dylib                0x00000001b0000010 0x1b0000000 + 16\n\nThread 1:\n"
	"0   My App                        0x0000000104a78004 0x104a78000 + 4\n\nBinary Images:\n"
	"0x104a78000 - 0x104a7ffff My App arm64  <" ID "> /Applications/My App\n"
	"       0x1b0000000 -        0x1b0000fff +libother.dylib (1.0) "
	"<01020304-0506-0708-090A-0B0C0D0E0FFF> "
	"/usr/lib/libother.dylib\n\nthe end\n";

const char ips_report[] = IPS_HEADER
	"{\n  \"note\" : \"a \\\"brace\\\" { [\", \"n\":-1.5e3, \"t\":null,\n"
	"  \"threads\" : [{\"triggered\":true,\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}, "
	"{\"imageOffset\":16,"
	"\"imageIndex\":0 },\n {\"imageOffset\":68,\"imageIndex\":0},{\"imageOffset\":4,\"imageIndex\":1}]},"
	"{\"frames\":[{\"imageOffset\":4,\"symbol\":\"f\",\"imageIndex\":0}]}],\n  " IPS_IMAGES
	"\n}\nafter " ID "+0x4\n";
