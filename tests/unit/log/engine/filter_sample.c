#include "tests/unit/log/engine/filter_sample.h"

#include <errno.h>
#include <stdio.h>
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
	if (source->late || source->asked == source->late_at) {
		source->late -= source->late > 0;
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

struct filter_images source_images(struct source *source)
{
	return (struct filter_images){.find = find, .segment = segment, .user = source};
}

struct filter *source_filter(struct source *source)
{
	const struct filter_images images = source_images(source);
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
	do {
		source.asked = 0;
		run_filter(&source, in, strlen(in), NULL, 0, &out);
		text_char(&out, '\0');
		assert_string_equal(out.v, expected);
	} while (source.late_at++ < source.asked);
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

char *everything(size_t *ret_size)
{
	char *text = NULL;
	int n = asprintf(
		&text,
		"noise\n\n%s%s> Binary Images\n> " APPLE_IMAGE_A "> Last Exception Backtrace: (0x104a7800c "
		"0x104a78044)\n> Thread 0:\n> 0   ???   0x7ff8a42b0fcc ???\n> " APPLE_A(
			1) "Process: x [1]\n"
			   "    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n"
			   "    #1 0x55c8ec9c41cc  (/bin/x+0x9) (BuildId: " ID ")\n"
			   "#1  0x00007f0000000010 n/a (libx.so.1 + 0x10)\r\n"
			   "Module libx.so.1 with build-id " ID
			   "\n#0  0x00007f0000000010 n/a (libx.so.1 + 0x10)\n"
			   "  #00 pc 0000000000001004  /system/lib64/x.so (f+4) (BuildId: " ID ")\n"
			   "[  1.5]  alpha+0x10/0x40\n[  1.5]  ? alpha+0x4/0x40\n"
			   "[  1.5][  T1] RIP: 0010:one+0x8/0x40\n[  1.5][  C1]  one+0x8/0x40\n[  1.5][  T1] "
			   "Code: 1\n"
			   "[  1.5][  T1]  caller+0x10/0x40\n[  1.5][  C1]  alpha+0x10/0x40\n"
			   "{{{module:0:x.so:elf:" ID "}}}\n{{{mmap:0x500000:0x1000:load:0:rx:0x1000}}}\n"
			   "[1] {{{bt:0:0x500010}}}\n[1] {{{bt:1:0x500010}}}\n{{{pc:0x500004}}} "
			   "{{{symbol:_ZN1f3oneEv}}}\n"
			   "  #01 pc 0000000000001009  /system/lib64/x.so (BuildId: " ID ")\n"
			   "Module libx.so.1 with build-id " ID
			   "\n#1  0x00007f0000000010 n/a (libx.so.1 + 0x10)\n"
			   "frame #0: alpha + 0x10 (0x55c8ec9c4010 in /opt/app)\n#01: ???[/opt/app +0x10]\n"
			   "/opt/app *:6379(+0x1010)[0x55c8ec9c4010]\n 1: 0x1010 x [app]\n"
			   "./app(+0x1010)[0x55c8ec9c4010]\n./app(alpha+0x10) [0x55c8ec9c4010]\n"
			   " > /opt/app(alpha+0x10) [0x1010]\n > /opt/app() [0x10]\n/opt/app[0x1010]\n"
			   "error 4 in app[10,7f51c0000000+1000]\nC  [app+0x10]\nC  [app+0x10] f.c:1\n"
			   " 0  app + 0x10\n 1  app + 0x10\n??? (app + 16) [0x104a78010]\n"
			   "in app (+0x10), /opt/app+0x10\n[" ID "]@0x5581f7f29000+0x10\n"
			   "(in app)  load address 0x104a78000 + 0x10\nframe #1: 0x1 app`alpha + 16\n"
			   "Faulting module name: app, version: 1\nFault offset: 0x10\n"
			   "  1 0x7f01 alpha+0x10(a=1) in app (0x32fe98)\napp+0x10: movl\n"
			   "0|0|app||||0x10\n0|1|app||||0x9\n        alpha+16\n => alpha+0x10\n"
			   "\t104a78010 alpha+0x10 (/opt/app)\n\tffffffff81000010 alpha+0x10 "
			   "([kernel.kallsyms])\n"
			   " #5 [ffffc90000013e58] .alpha+16 at ffffffff81000010\n"
			   "5581f7f2a000-5581f7f2b000 r-xp 00000000 fe:00 1 /opt/app\n"
			   "#0  0x5581f7f2a010 in ?? ()\n#1  0x5581f7f2a010 in ?? ()\n"
			   "==1==    by 0x5581F7F2A00F: ???\n#2  0x5581f7f2a010\n0x5581f7f2a010 "
			   "0x5581f7f2a010\n"
			   "x 1 0.1: PERF_RECORD_MMAP2 1/1: [0x7f51c0000000(0x1000) @ 0 fe:00 1 2]: r-xp "
			   "/opt/app\n"
			   "\t 7f51c0000010 [unknown] (/opt/app)\n\t 10 g::twice(int)+0x4 (/opt/app)\n"
			   "    00000073'd2a00000-00000073'd2a00fff r-x         0      1000  /app "
			   "(BuildId: " ID ")\n"
			   "app!g::twice(int)+0x4\nip 00007f51c0000010 sp 0 error 4 in "
			   "app[7f51c0000000+1000]\n"
			   "{\n \"crash_info\": {}, \"frames\": [{\"module\": \"app\", \"line\": null, "
			   "\"module_offset\": \"0x10\"},\n{\"module_offset\": \"0x9\", \"module\": "
			   "\"app\"}]}\n"
			   "heap_v2/524288\n@ 0x5581f7f2a010 0x5581f7f2a044\n\n5581f7f2a000-5581f7f2b000 "
			   "r-xp 0 "
			   "fe:00 1 /opt/app\nKernel Offset: 0x1c000000 from 0x1000\n0x1c001004\n"
			   "nearby " ID "+0x44 " ID "+0x4, \x80\xff" ID "+0x5 %c\nlast " ID " 0x1009",
		apple_report, ips_report, 0);
	assert_true(n > 0);
	*ret_size = (size_t)n;
	return text;
}
