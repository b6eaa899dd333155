/* gsym statistics: the sizes of the parts of a file, and the number of their entries. */
#include "gsym/base/escape.h"
#include "gsym/base/text_buf.h"
#include "gsym/read/reader.h"
#include "cli/command/commands.h"
#include "cli/lookup/image_open.h"
#include "cli/command/message.h"

#include <inttypes.h>
#include <string.h>

enum {
	BLOCK_HEAD = 8, /* type and length of a block in a record */
	PARTS_NAMED = 9,
	PARTS = PARTS_NAMED + 1, /* with all else */
	COUNTS = 15,
};

struct statistics_command {
	struct object_options object;
	bool json;
};

struct statistics {
	uint64_t bytes[INFO_TYPE_KNOWN];   /* blocks by type, heads included */
	uint64_t holders[INFO_TYPE_KNOWN]; /* functions with such a block */
	uint64_t heads;                    /* size, name and end mark of the records */
	uint64_t functions, merged, damaged;
	uint64_t rows, inlines, ranges, callsites, deepest;
	uint64_t code; /* bytes the functions cover, counting overlaps twice */
	uint64_t unsized;
};

static void count_function(struct statistics *s, const struct gsym_func *func)
{
	s->functions++;
	s->merged += func->n_merged;
	s->rows += func->n_rows;
	s->inlines += func->n_inlines;
	s->ranges += func->n_ranges;
	s->callsites += func->n_callsites;
	s->code += func->size;
	s->unsized += func->size == 0;
	for (size_t i = 0; i < func->n_inlines; i++)
		if (func->inlines[i].depth > s->deepest)
			s->deepest = func->inlines[i].depth;
}

static void count_blocks(struct statistics *s, const struct function_info *record, unsigned strp_size)
{
	s->heads += 4 + strp_size + BLOCK_HEAD;
	for (int type = InfoType_LineTable; type < INFO_TYPE_KNOWN; type++) {
		if (!record_has(record, (enum info_type)type))
			continue;
		s->bytes[type] += BLOCK_HEAD + cursor_left(&record->blocks[type]);
		s->holders[type]++;
	}
}

static int gather(struct statistics *s, const struct gsym_reader *reader)
{
	struct gsym_decoder *decoder = gsym_decoder_new();
	struct gsym_func func;
	struct function_info record;
	int err = decoder ? 0 : -ENOMEM;
	for (uint32_t i = 0; err != -ENOMEM && i < reader->info.num_addresses; i++) {
		err = gsym_reader_function(reader, i, decoder, &func, NULL);
		if (!err)
			err = reader_parse_record(reader, i, &record, NULL);
		if (err) {
			s->damaged++;
			continue;
		}
		count_function(s, &func);
		count_blocks(s, &record, reader->info.strp_size);
	}
	gsym_decoder_free(decoder);
	return err == -ENOMEM ? err : 0;
}

/* ---- Printing ---- */

/* A figure: its name in the table, and its key in JSON. */
struct figure {
	const char *name, *key;
	uint64_t value;
};

struct figures {
	struct figure parts[PARTS], counts[COUNTS];
};

static uint64_t rest_of(const struct figure *parts, uint64_t file)
{
	for (size_t i = 0; i < PARTS_NAMED; i++) /* tables of a strange file may overlap */
		file -= parts[i].value < file ? parts[i].value : file;
	return file;
}

static void fill_parts(struct figure *ret, const struct statistics *s, const struct gsym_info *info)
{
	uint64_t functions = info->num_addresses;
	const struct figure parts[PARTS_NAMED] = {
		{"address offsets", "address_offsets", functions * info->addr_off_size},
		{"info offsets", "info_offsets", functions * (info->version == 1 ? 4 : 8)},
		{"file table", "file_table", 4 + (uint64_t)info->num_files * 2 * info->strp_size},
		{"string table", "string_table", info->strtab_size},
		{"record heads", "record_heads", s->heads},
		{"line tables", "line_tables", s->bytes[InfoType_LineTable]},
		{"inline info", "inline_info", s->bytes[InfoType_InlineInfo]},
		{"merged functions", "merged_functions", s->bytes[InfoType_MergedFunctionsInfo]},
		{"call sites", "call_sites", s->bytes[InfoType_CallSiteInfo]},
	};
	memcpy(ret, parts, sizeof(parts));
	ret[PARTS_NAMED] = (struct figure){"all else", "all_else", rest_of(parts, info->file_size)};
}

static void fill_counts(struct figure *ret, const struct statistics *s, const struct gsym_info *info)
{
	const struct figure counts[COUNTS] = {
		{"functions", "functions", info->num_addresses},
		{"  with lines", "functions_with_lines", s->holders[InfoType_LineTable]},
		{"  with inlined calls", "functions_with_inlined_calls", s->holders[InfoType_InlineInfo]},
		{"  with call sites", "functions_with_call_sites", s->holders[InfoType_CallSiteInfo]},
		{"  with merged ones", "functions_with_merged", s->holders[InfoType_MergedFunctionsInfo]},
		{"  of unknown size", "functions_of_unknown_size", s->unsized},
		{"  damaged", "functions_damaged", s->damaged},
		{"merged functions", "merged_functions", s->merged},
		{"line rows", "line_rows", s->rows},
		{"inlined calls", "inlined_calls", s->inlines},
		{"  their ranges", "inlined_ranges", s->ranges},
		{"  deepest nesting", "deepest_nesting", s->deepest},
		{"call sites", "call_sites", s->callsites},
		{"files", "files", info->num_files},
		{"bytes of code", "code_bytes", s->code},
	};
	memcpy(ret, counts, sizeof(counts));
}

static void print_bytes(const char *name, uint64_t bytes, const struct gsym_info *info)
{
	uint64_t total = info->file_size, functions = info->num_addresses;
	printf("  %-20s %12" PRIu64 "  %5.1f %%", name, bytes,
	       total ? 100.0 * (double)bytes / (double)total : 0);
	printf("  %9.1f\n", functions ? (double)bytes / (double)functions : 0);
}

static void print_table(const char *path, const struct figures *f, const struct gsym_info *info)
{
	say(stdout, "%s: version %d, %s-endian", path, info->version, info->big_endian ? "big" : "little");
	printf("  %-20s %12s  %7s  %9s\n", "", "bytes", "of file", "/function");
	print_bytes("file", info->file_size, info);
	for (size_t i = 0; i < PARTS; i++)
		print_bytes(f->parts[i].name, f->parts[i].value, info);
	printf("\n");
	for (size_t i = 0; i < COUNTS; i++)
		printf("  %-20s %12" PRIu64 "\n", f->counts[i].name, f->counts[i].value);
}

static void append_figures(struct text_buf *out, const struct figure *figures, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		text_lit(out, ", \"");
		text_str(out, figures[i].key);
		text_lit(out, "\": ");
		text_dec(out, figures[i].value);
	}
}

/* An object on one line. */
static int print_json(const char *path, const struct figures *f, const struct gsym_info *info)
{
	struct text_buf out = {0};
	text_lit(&out, "{\"file\": \"");
	escape_str(&out, path, ESCAPE_JSON);
	text_lit(&out, "\", \"version\": ");
	text_dec(&out, info->version);
	text_lit(&out, ", \"byte_order\": \"");
	text_str(&out, info->big_endian ? "big" : "little");
	text_lit(&out, "\", \"bytes\": {\"file\": ");
	text_dec(&out, info->file_size);
	append_figures(&out, f->parts, PARTS);
	text_lit(&out, "}");
	append_figures(&out, f->counts, COUNTS);
	text_lit(&out, "}\n");
	int err = out.failed ? -ENOMEM : 0;
	if (!err)
		fwrite(out.v, 1, out.n, stdout);
	text_deinit(&out);
	return err;
}

static int print_figures(const char *path, const struct statistics *s, const struct gsym_info *info,
			 bool json)
{
	struct figures figures;
	fill_parts(figures.parts, s, info);
	fill_counts(figures.counts, s, info);
	if (json)
		return print_json(path, &figures, info);
	print_table(path, &figures, info);
	return 0;
}

static int print_statistics(void *user, const char *name, const struct gsym_reader *reader)
{
	const struct statistics_command *c = user;
	struct statistics s = {0};
	int err = gather(&s, reader);
	if (!err)
		err = print_figures(name, &s, &reader->info, c->json);
	if (!err && s.damaged)
		complain("%s: damaged function records: %" PRIu64 "; 'gsym verify' lists them", name,
			 s.damaged);
	return err ? fail(name, err, NULL) : s.damaged ? STATUS_FAILED : STATUS_OK;
}

static const struct option_row options[] = {
	OPTIONS_IMAGE(statistics_command, object),
	{0, "format", "text|json",
	 "print a table, or a JSON object for each file, on one\nline (default text)",
	 OPTION_CHOICE(statistics_command, json, 0)},
	{0, "json", NULL, "the same as --format=json", OPTION_FLAG(statistics_command, json)},
	OPTIONS_END,
};

static int run_statistics(int argc, char **argv)
{
	struct statistics_command c = {.json = false};
	int status;
	if (!options_parse(&command_statistics, &argc, argv, &c, &status))
		return status;
	return image_open_each(argc, argv, &c.object, print_statistics, &c);
}

const struct command command_statistics = {
	.name = "statistics",
	.operands = "FILE...",
	.brief = "print how many bytes of a GSYM file its parts take",
	.summary = "Prints how many bytes of a GSYM file its parts take, and how many entries they have; of\n"
		   "that of an object file, which is converted once",
	.options = options,
	.examples = "  gsym statistics app.gsym\n"
		    "  gsym statistics --json app.gsym",
	.run = run_statistics,
};
