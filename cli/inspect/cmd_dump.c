/*
 * gsym dump: the whole content of a file, in llvm-gsymutil's layout, piece by piece into a text buffer.
 *
 * Apart from strings, which are escaped for terminals, the text of version 1 files is that of llvm-gsymutil.
 * llvm-gsymutil does not print version 2: it has the same blocks, with as many digits as its fields have.
 */
#include "cli/command/commands.h"
#include "cli/lookup/image_open.h"
#include "cli/command/message.h"
#include "gsym/base/escape.h"
#include "gsym/read/reader.h"

/* ---- Header and tables ---- */

/* Hex digits of a string offset, of a file offset: 8 in version 1, 16 in version 2. */
static unsigned dump_off_digits(const struct gsym_reader *reader)
{
	return reader->info.version == 1 ? 8 : 16;
}

static void dump_hex(struct text_buf *out, uint64_t value, unsigned digits)
{
	text_lit(out, "0x");
	text_hex(out, value, digits);
}

static void print_field(struct text_buf *out, const char *name, uint64_t value, unsigned digits)
{
	text_lit(out, "  ");
	text_str(out, name);
	text_fill(out, ' ', 13 - strlen(name));
	text_lit(out, "= ");
	dump_hex(out, value, digits);
	text_char(out, '\n');
}

static void dump_header(struct text_buf *out, const struct gsym_reader *reader)
{
	const struct gsym_info *info = &reader->info;
	unsigned digits = dump_off_digits(reader);
	text_lit(out, "Header:\n");
	print_field(out, "Magic", GSYM_MAGIC, 8);
	print_field(out, "Version", info->version, 4);
	print_field(out, "AddrOffSize", info->addr_off_size, 2);
	print_field(out, "UUIDSize", info->uuid_size, 2);
	print_field(out, "BaseAddress", info->base_address, 16);
	print_field(out, "NumAddresses", info->num_addresses, 8);
	print_field(out, "StrtabOffset", (uint64_t)((const uint8_t *)reader->strings - reader->bytes.data),
		    digits);
	print_field(out, "StrtabSize", info->strtab_size, digits);
	text_lit(out, "  UUID         = ");
	for (size_t i = 0; i < info->uuid_size; i++)
		text_hex(out, info->uuid[i], 2);
	text_char(out, '\n');
}

/* "[   7] ": a row's number, at least four columns wide. */
static void print_index(struct text_buf *out, uint32_t index)
{
	text_char(out, '[');
	text_fill(out, ' ', index < 10 ? 3 : index < 100 ? 2 : index < 1000 ? 1 : 0);
	text_dec(out, index);
	text_lit(out, "] ");
}

static void dump_address(struct text_buf *out, const struct gsym_reader *reader, uint32_t index)
{
	print_index(out, index);
	dump_hex(out, reader_addr_off(reader, index), 2 * reader->info.addr_off_size);
	text_lit(out, " (");
	dump_hex(out, gsym_reader_address(reader, index), 16);
	text_lit(out, ")\n");
}

static void dump_info_offset(struct text_buf *out, const struct gsym_reader *reader, uint32_t index)
{
	bool big = reader->info.big_endian;
	uint64_t off = reader->info.version == 1 ? load32(reader->info_offs + 4 * (size_t)index, big)
						 : load64(reader->info_offs + 8 * (size_t)index, big);
	print_index(out, index);
	dump_hex(out, off, dump_off_digits(reader));
	text_char(out, '\n');
}

static void dump_path(struct text_buf *out, const struct gsym_reader *reader, uint32_t index)
{
	const char *dir, *base;
	if (gsym_reader_file(reader, index, &dir, &base)) {
		text_lit(out, "<invalid-file>");
		return;
	}
	if (dir[0]) {
		escape_str(out, dir, ESCAPE_TEXT);
		text_char(out, strchr(dir, '\\') && !strchr(dir, '/') ? '\\' : '/');
	}
	escape_str(out, base, ESCAPE_TEXT);
}

static void dump_file(struct text_buf *out, const struct gsym_reader *reader, uint32_t index)
{
	uint64_t dir = 0, base = 0;
	unsigned digits = dump_off_digits(reader);
	gsym_reader_file_strings(reader, index, &dir, &base);
	print_index(out, index);
	dump_hex(out, dir, digits);
	text_char(out, ' ');
	dump_hex(out, base, digits);
	text_char(out, ' ');
	dump_path(out, reader, index);
	text_char(out, '\n');
}

static int dump_table(struct text_buf *out, const struct gsym_reader *reader, uint32_t count,
		      void (*entry)(struct text_buf *out, const struct gsym_reader *reader, uint32_t index))
{
	int err = 0;
	for (uint32_t i = 0; !err && i < count; i++) {
		entry(out, reader, i);
		err = output_drain(out);
	}
	return err;
}

static int dump_addresses(struct text_buf *out, const struct gsym_reader *reader)
{
	text_lit(out, "\nAddress Table:\nINDEX  OFFSET");
	text_dec(out, 8 * reader->info.addr_off_size);
	if (reader->info.addr_off_size == 1) /* one digit, yet columns stay where they are */
		text_char(out, ' ');
	text_lit(out, " (ADDRESS)\n====== =============================== \n");
	return dump_table(out, reader, reader->info.num_addresses, dump_address);
}

static int dump_info_offsets(struct text_buf *out, const struct gsym_reader *reader)
{
	text_lit(out, "\nAddress Info Offsets:\nINDEX  Offset\n====== ==========\n");
	return dump_table(out, reader, reader->info.num_addresses, dump_info_offset);
}

static int dump_files(struct text_buf *out, const struct gsym_reader *reader)
{
	text_lit(out, "\nFiles:\nINDEX  DIRECTORY  BASENAME   PATH\n"
		      "====== ========== ========== ==============================\n");
	return dump_table(out, reader, reader->info.num_files, dump_file);
}

static int dump_strings(struct text_buf *out, const struct gsym_reader *reader)
{
	int err = 0;
	text_lit(out, "\nString table:\n");
	for (uint64_t strp = 0; !err && strp < reader->info.strtab_size;) {
		const char *text = reader->strings + strp;
		size_t size = strnlen(text, reader->info.strtab_size - strp);
		dump_hex(out, strp, dump_off_digits(reader));
		text_lit(out, ": \"");
		escape_bytes(out, text, size, ESCAPE_TEXT);
		text_lit(out, "\"\n");
		strp += size + 1;
		err = output_drain(out);
	}
	text_char(out, '\n');
	return err;
}

/* ---- Functions ---- */

enum { MERGED_INDENT = 4 };

/* The dump of one record, which its parts write in turn. */
struct function_dump {
	struct text_buf *out;
	const struct gsym_reader *reader;
	const struct gsym_func *func;
	unsigned indent; /* of merged functions */
};

static void print_name(const struct function_dump *d, uint64_t strp)
{
	const char *text = gsym_reader_string(d->reader, strp);
	escape_str(d->out, text ? text : "", ESCAPE_TEXT);
}

static void print_range(const struct function_dump *d, uint64_t start, uint64_t size)
{
	text_char(d->out, '[');
	dump_hex(d->out, start, 16);
	text_lit(d->out, " - ");
	dump_hex(d->out, start + size, 16);
	text_lit(d->out, ") ");
}

static void print_rows(const struct function_dump *d)
{
	if (d->func->n_rows == 0)
		return;
	text_fill(d->out, ' ', d->indent);
	text_lit(d->out, "LineTable:\n");
	for (size_t i = 0; i < d->func->n_rows; i++) {
		const struct gsym_row *row = &d->func->rows[i];
		text_fill(d->out, ' ', d->indent + 2);
		dump_hex(d->out, d->func->start + row->off, 16);
		text_char(d->out, ' ');
		if (row->file)
			dump_path(d->out, d->reader, row->file);
		text_char(d->out, ':');
		text_dec(d->out, row->line);
		text_char(d->out, '\n');
	}
}

static void print_inline(const struct function_dump *d, const struct gsym_inline *node)
{
	text_fill(d->out, ' ', d->indent + 2 * (size_t)node->depth);
	for (uint32_t i = 0; i < node->n_ranges; i++) {
		const struct gsym_range *r = &d->func->ranges[node->first_range + i];
		print_range(d, d->func->start + r->off, r->size);
	}
	print_name(d, node->name);
	if (node->call_file) {
		text_lit(d->out, " called from ");
		dump_path(d->out, d->reader, node->call_file);
		text_char(d->out, ':');
		text_dec(d->out, node->call_line);
	}
	text_char(d->out, '\n');
}

/* The title is left out for merged functions, as llvm does. */
static void print_inlines(const struct function_dump *d)
{
	if (d->func->n_inlines == 0)
		return;
	if (d->indent == 0)
		text_lit(d->out, "InlineInfo:\n");
	text_fill(d->out, ' ', d->indent);
	print_range(d, d->func->start, d->func->size);
	print_name(d, d->func->name);
	text_char(d->out, '\n');
	for (size_t i = 0; i < d->func->n_inlines; i++)
		print_inline(d, &d->func->inlines[i]);
}

static void print_flags(const struct function_dump *d, uint8_t flags)
{
	text_lit(d->out, " Flags[");
	if (flags & GSYM_CALLSITE_INTERNAL)
		text_lit(d->out, "InternalCall");
	if ((flags & GSYM_CALLSITE_INTERNAL) && (flags & GSYM_CALLSITE_EXTERNAL))
		text_lit(d->out, " | ");
	if (flags & GSYM_CALLSITE_EXTERNAL)
		text_lit(d->out, "ExternalCall");
	if (!(flags & (GSYM_CALLSITE_INTERNAL | GSYM_CALLSITE_EXTERNAL)))
		text_lit(d->out, "None");
	text_char(d->out, ']');
}

static void print_callsites(const struct function_dump *d)
{
	if (d->func->n_callsites == 0)
		return;
	text_fill(d->out, ' ', d->indent);
	text_lit(d->out, "CallSites (by relative return offset):\n");
	for (size_t i = 0; i < d->func->n_callsites; i++) {
		const struct gsym_callsite *site = &d->func->callsites[i];
		text_fill(d->out, ' ', d->indent + 2);
		dump_hex(d->out, site->return_off, 4);
		print_flags(d, site->flags);
		for (uint32_t k = 0; k < site->n_patterns; k++) {
			text_str(d->out, k ? ";" : " MatchRegex[");
			print_name(d, d->func->patterns[site->first_pattern + k]);
		}
		text_str(d->out, site->n_patterns ? "]\n" : "\n");
	}
}

static void print_body(const struct function_dump *d)
{
	print_range(d, d->func->start, d->func->size);
	text_char(d->out, '"');
	print_name(d, d->func->name);
	text_lit(d->out, "\"\n");
	print_rows(d);
	print_inlines(d);
	print_callsites(d);
}

/* A decoded function and those merged with it. @off is where its record begins in the file. */
static void dump_function(struct text_buf *out, const struct gsym_reader *reader,
			  const struct gsym_func *func, uint64_t off)
{
	struct function_dump d = {.out = out, .reader = reader, .func = func};
	text_lit(out, "FunctionInfo @ ");
	dump_hex(out, off, dump_off_digits(reader));
	text_lit(out, ": ");
	print_body(&d);
	for (size_t i = 0; i < func->n_merged; i++) {
		text_lit(out, "++ Merged FunctionInfos[");
		text_dec(out, i);
		text_lit(out, "]:\n");
		d = (struct function_dump){out, reader, &func->merged[i], MERGED_INDENT};
		text_fill(out, ' ', MERGED_INDENT);
		print_body(&d);
	}
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

/* ---- The file ---- */

static int dump_all(struct text_buf *out, const struct gsym_reader *reader, uint32_t *ret_damaged)
{
	struct gsym_decoder *decoder = gsym_decoder_new();
	if (!decoder)
		return -ENOMEM;
	dump_header(out, reader);
	int err = dump_addresses(out, reader);
	if (!err)
		err = dump_info_offsets(out, reader);
	if (!err)
		err = dump_files(out, reader);
	if (!err)
		err = dump_strings(out, reader);
	if (!err)
		err = dump_functions(out, reader, decoder, ret_damaged);
	if (!err)
		err = output_flush(out);
	gsym_decoder_free(decoder);
	return err;
}

static int dump_image(void *user, const char *name, const struct gsym_reader *reader)
{
	struct text_buf out = {0};
	uint32_t damaged = 0;
	(void)user, (void)name;
	int err = dump_all(&out, reader, &damaged);
	text_deinit(&out);
	if (err)
		return output_fail(err);
	return damaged ? STATUS_FAILED : STATUS_OK;
}

struct dump_command {
	struct object_options object;
};

static const struct option_row options[] = {
	OPTIONS_IMAGE(dump_command, object),
	OPTIONS_END,
};

static int run_dump(int argc, char **argv)
{
	struct dump_command c = {.object = {.arch = NULL}};
	int status;
	if (!options_parse(&command_dump, &argc, argv, &c, &status))
		return status;
	return image_open_each(argc, argv, &c.object, dump_image, NULL);
}

const struct command command_dump = {
	.name = "dump",
	.operands = "FILE...",
	.brief = "print the whole content of a GSYM file",
	.summary =
		"Prints the whole content of a GSYM file, or of that of an object file, which is converted\n"
		"once",
	.options = options,
	.examples = "  gsym dump app.gsym | less",
	.run = run_dump,
};
