/* gsym dump: the whole content of a file, in llvm-gsymutil's layout. */
#include "cli/command/commands.h"
#include "cli/inspect/dump.h"
#include "cli/command/message.h"
#include "cli/command/output.h"

typedef void dump_entry(struct text_buf *out, const struct gsym_reader *reader, uint32_t index);

static int dump_table(struct text_buf *out, const struct gsym_reader *reader, enum dump_table table,
		      dump_entry *entry, uint32_t count)
{
	dump_titles(out, reader, table);
	for (uint32_t i = 0; i < count; i++) {
		entry(out, reader, i);
		int err = output_drain(out);
		if (err)
			return err;
	}
	return 0;
}

static int dump_strings(struct text_buf *out, const struct gsym_reader *reader)
{
	dump_titles(out, reader, DUMP_STRINGS);
	for (uint64_t strp = 0; strp < reader->info.strtab_size;) {
		strp = dump_string(out, reader, strp);
		int err = output_drain(out);
		if (err)
			return err;
	}
	text_char(out, '\n');
	return 0;
}

/* Reports damaged records in their place and continues. */
static int dump_functions(struct text_buf *out, const struct gsym_reader *reader,
			  struct gsym_decoder *decoder, uint32_t *ret_damaged)
{
	struct gsym_func func;
	for (uint32_t i = 0; i < reader->info.num_addresses; i++) {
		struct gsym_diag diag = {0};
		int err = gsym_reader_function(reader, i, decoder, &func, &diag);
		struct cursor record = reader_record(reader, i);
		if (err == -ENOMEM)
			return err;
		if (err) {
			(*ret_damaged)++;
			fail(reader->name, err, &diag);
		} else {
			dump_function(out, reader, &func, cursor_off(&record));
		}
		err = output_drain(out);
		if (err)
			return err;
	}
	return 0;
}

static int dump(struct text_buf *out, const struct gsym_reader *reader, uint32_t *ret_damaged)
{
	struct gsym_decoder *decoder = gsym_decoder_new();
	uint32_t functions = reader->info.num_addresses;
	if (!decoder)
		return -ENOMEM;
	dump_header(out, reader);
	int err = dump_table(out, reader, DUMP_ADDRESSES, dump_address, functions);
	if (!err)
		err = dump_table(out, reader, DUMP_INFO_OFFSETS, dump_info_offset, functions);
	if (!err)
		err = dump_table(out, reader, DUMP_FILES, dump_file, reader->info.num_files);
	if (!err)
		err = dump_strings(out, reader);
	if (!err)
		err = dump_functions(out, reader, decoder, ret_damaged);
	if (!err)
		err = output_flush(out);
	gsym_decoder_free(decoder);
	return err;
}

static int dump_whole_file(const char *path)
{
	struct gsym_diag diag = {0};
	struct gsym_reader *reader;
	struct text_buf out = {0};
	uint32_t damaged = 0;
	int err = gsym_reader_open(path, &reader, &diag);
	if (err)
		return fail(path, err, &diag);
	err = dump(&out, reader, &damaged);
	text_deinit(&out);
	gsym_reader_close(reader);
	if (err)
		return output_fail(err);
	return damaged ? STATUS_FAILED : STATUS_OK;
}

static int run_dump(int argc, char **argv)
{
	int status;
	if (!options_parse(&command_dump, &argc, argv, NULL, &status))
		return status;
	for (int i = 1; i < argc; i++)
		if (dump_whole_file(argv[i]) != STATUS_OK)
			status = STATUS_FAILED;
	return status;
}

const struct command command_dump = {
	.name = "dump",
	.operands = "FILE.gsym...",
	.brief = "print the whole content of a GSYM file",
	.summary = "Prints the whole content of a GSYM file",
	.examples = "  gsym dump app.gsym | less",
	.run = run_dump,
};
