#include "gsym/render/listing.h"

#include "gsym/render/frame_text.h"

/* What the lines of one table need. */
struct lister {
	const struct gsym_reader *reader;
	const struct render_options *options;
	struct gsym_decoder *decoder;
	struct text_buf *out;
	size_t end; /* of the entry: where its text is too long */
};

uint32_t listing_entries(const struct gsym_reader *reader, enum listing_kind kind)
{
	const struct gsym_info *info = gsym_reader_info(reader);
	return kind == LISTING_FILES ? info->num_files : info->num_addresses;
}

static void tab(struct lister *l)
{
	text_char(l->out, '\t');
}

static void file(struct lister *l, uint32_t index)
{
	const char *dir, *base;
	if (gsym_reader_file(l->reader, index, &dir, &base) || (!dir[0] && !base[0]))
		text_lit(l->out, "??");
	else
		render_path(l->out, dir, base, ESCAPE_TSV);
}

static void address_and_size(struct lister *l, uint64_t address, uint64_t size)
{
	text_addr(l->out, address);
	tab(l);
	text_dec(l->out, size);
	tab(l);
}

static void function(struct lister *l, const struct gsym_func *func)
{
	const char *stored = gsym_reader_string(l->reader, func->name), *name = stored ? stored : "??";
	const struct gsym_row *row = func->n_rows ? func->rows : NULL;
	address_and_size(l, func->start, func->size);
	render_name(l->out, name, l->options, ESCAPE_TSV);
	tab(l);
	file(l, row ? row->file : 0);
	tab(l);
	text_dec(l->out, row ? row->line : 0);
	tab(l);
	escape_str(l->out, name, ESCAPE_TSV);
	text_char(l->out, '\n');
}

static void rows(struct lister *l, const struct gsym_func *func)
{
	for (size_t i = 0; i < func->n_rows && l->out->n < l->end; i++) {
		const struct gsym_row *row = &func->rows[i];
		uint32_t end = i + 1 < func->n_rows    ? row[1].off
			       : func->size > row->off ? func->size
						       : row->off;
		address_and_size(l, func->start + row->off, end - row->off);
		file(l, row->file);
		tab(l);
		text_dec(l->out, row->line);
		text_char(l->out, '\n');
	}
}

/* Function @index and those folded onto it. */
static void functions(struct lister *l, uint32_t index,
		      void (*show)(struct lister *l, const struct gsym_func *func))
{
	struct gsym_func func;
	int err = gsym_reader_function(l->reader, index, l->decoder, &func, NULL);
	l->out->failed |= err == -ENOMEM;
	if (err)
		func = (struct gsym_func){.start = gsym_reader_address(l->reader, index), .name = UINT64_MAX};
	show(l, &func);
	for (size_t i = 0; i < func.n_merged && l->out->n < l->end; i++)
		show(l, &func.merged[i]);
}

static void file_entry(struct lister *l, uint32_t index)
{
	text_dec(l->out, index);
	tab(l);
	file(l, index);
	text_char(l->out, '\n');
}

int listing_append(const struct gsym_reader *reader, enum listing_kind kind, uint32_t from, uint32_t to,
		   size_t enough, const struct render_options *options, struct gsym_decoder *decoder,
		   struct text_buf *out, uint32_t *ret)
{
	struct lister l = {.reader = reader, .options = options, .decoder = decoder, .out = out};
	uint32_t i = from;
	for (; i < to && (i == from || out->n < enough); i++) {
		l.end = out->n + LISTING_ENTRY_MAX;
		switch (kind) {
		case LISTING_FUNCTIONS: functions(&l, i, function); break;
		case LISTING_LINES: functions(&l, i, rows); break;
		default: file_entry(&l, i);
		}
		if (out->failed)
			return -ENOMEM;
	}
	*ret = i;
	return 0;
}
