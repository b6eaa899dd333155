/* gsym statistics: the sizes of the parts of a file, and the number of their entries. */
#include "gsym/read/reader.h"
#include "convert/cli/commands.h"
#include "convert/cli/message.h"

#include <getopt.h>
#include <inttypes.h>

enum { BLOCK_HEAD = 8 }; /* type and length of a block in a record */

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

static void print_bytes(const char *name, uint64_t bytes, const struct gsym_reader *reader)
{
	uint64_t total = reader->info.file_size, functions = reader->info.num_addresses;
	printf("  %-20s %12" PRIu64 "  %5.1f %%", name, bytes,
	       total ? 100.0 * (double)bytes / (double)total : 0);
	printf("  %9.1f\n", functions ? (double)bytes / (double)functions : 0);
}

static void print_count(const char *name, uint64_t count)
{
	printf("  %-20s %12" PRIu64 "\n", name, count);
}

static void print_sections(const struct statistics *s, const struct gsym_reader *reader)
{
	const struct gsym_info *info = &reader->info;
	uint64_t functions = info->num_addresses, rest = info->file_size;
	const struct {
		const char *name;
		uint64_t bytes;
	} parts[] = {
		{"address offsets", functions * info->addr_off_size},
		{"info offsets", functions * (info->version == 1 ? 4 : 8)},
		{"file table", 4 + (uint64_t)info->num_files * 2 * info->strp_size},
		{"string table", info->strtab_size},
		{"record heads", s->heads},
		{"line tables", s->bytes[InfoType_LineTable]},
		{"inline info", s->bytes[InfoType_InlineInfo]},
		{"merged functions", s->bytes[InfoType_MergedFunctionsInfo]},
		{"call sites", s->bytes[InfoType_CallSiteInfo]},
	};
	printf("  %-20s %12s  %7s  %9s\n", "", "bytes", "of file", "/function");
	print_bytes("file", info->file_size, reader);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		print_bytes(parts[i].name, parts[i].bytes, reader);
		rest -= parts[i].bytes < rest ? parts[i].bytes
					      : rest; /* tables of a strange file may overlap */
	}
	print_bytes("all else", rest, reader);
}

static void print_counts(const struct statistics *s, const struct gsym_reader *reader)
{
	print_count("functions", reader->info.num_addresses);
	print_count("  with lines", s->holders[InfoType_LineTable]);
	print_count("  with inlined calls", s->holders[InfoType_InlineInfo]);
	print_count("  with call sites", s->holders[InfoType_CallSiteInfo]);
	print_count("  with merged ones", s->holders[InfoType_MergedFunctionsInfo]);
	print_count("  of unknown size", s->unsized);
	print_count("  damaged", s->damaged);
	print_count("merged functions", s->merged);
	print_count("line rows", s->rows);
	print_count("inlined calls", s->inlines);
	print_count("  their ranges", s->ranges);
	print_count("  deepest nesting", s->deepest);
	print_count("call sites", s->callsites);
	print_count("files", reader->info.num_files);
	print_count("bytes of code", s->code);
}

static int print_statistics(const char *path)
{
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	struct statistics s = {0};
	int err = gsym_reader_open(path, &reader, &diag);
	if (err)
		return fail(path, err, &diag);
	err = gather(&s, reader);
	if (!err) {
		say(stdout, "%s: version %d, %s-endian", path, reader->info.version,
		    reader->info.big_endian ? "big" : "little");
		print_sections(&s, reader);
		printf("\n");
		print_counts(&s, reader);
	}
	if (!err && s.damaged)
		complain("%s: damaged function records: %" PRIu64 "; 'gsym verify' lists them", path,
			 s.damaged);
	gsym_reader_close(reader);
	return err ? fail(path, err, NULL) : s.damaged ? STATUS_FAILED : STATUS_OK;
}

static int run_statistics(int argc, char **argv)
{
	int status;
	if (!options_parse(&command_statistics, argc, argv, NULL, &status))
		return status;
	for (int i = optind; i < argc; i++)
		if (print_statistics(argv[i]) != STATUS_OK)
			status = STATUS_FAILED;
	return status;
}

const struct command command_statistics = {
	.name = "statistics",
	.operands = "FILE.gsym...",
	.brief = "print how many bytes of a GSYM file its parts take",
	.summary = "Prints how many bytes of a GSYM file its parts take, and how many entries they have",
	.run = run_statistics,
};
