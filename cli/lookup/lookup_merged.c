/*
 * The text is llvm-gsymutil's: a line with the number of functions, each function indented by three columns,
 * and an empty line after each but the last of the merged functions, whether the last is shown or not.
 */
#include "cli/lookup/lookup_parts.h"

#include "gsym/base/diag.h"
#include "gsym/codec/callsite.h"
#include "gsym/read/lookup.h"
#include "gsym/read/reader.h"
#include "gsym/base/escape.h"

enum { ADDRESS_DIGITS = 16 };

int merged_lookup_init(struct merged_lookup *m)
{
	m->decoder = gsym_decoder_new();
	return m->decoder ? 0 : -ENOMEM;
}

void merged_lookup_deinit(struct merged_lookup *m)
{
	for (size_t i = 0; i < m->filters.n; i++) {
		regfree(m->filters.v[i]);
		free(m->filters.v[i]);
	}
	vec_free(&m->filters);
	gsym_decoder_free(m->decoder);
	gsym_answer_deinit(&m->answer);
	text_deinit(&m->shown);
}

int merged_lookup_filter(struct merged_lookup *m, const char *pattern, struct gsym_diag *diag)
{
	CLEANUP(freep) regex_t *filter = malloc(sizeof(*filter));
	if (!filter || vec_reserve(&m->filters, 1))
		return diag_set(diag, -ENOMEM, "out of memory");
	int bad = regcomp(filter, pattern, REG_EXTENDED | REG_NOSUB);
	if (bad == REG_ESPACE)
		return -ENOMEM;
	if (bad) {
		char why[256];
		regerror(bad, filter, why, sizeof(why));
		return diag_set(diag, -EINVAL, "'%s' is not a regular expression: %s", pattern, why);
	}
	m->filters.v[m->filters.n++] = TAKE(filter);
	return 0;
}

/* The functions at one address. */
struct merged_pass {
	struct merged_lookup *m;
	const struct gsym_reader *reader;
	const struct render_options *options;
	uint64_t addr;
	uint32_t seen, shown;
};

/* 0, -ENOENT if the name does not match, -ENOMEM. */
static int match(const struct merged_lookup *m, const char *name)
{
	for (size_t i = 0; i < m->filters.n; i++) {
		errno = 0; /* the C library says REG_NOMATCH without memory, too */
		if (regexec(m->filters.v[i], name, 0, NULL, 0) == 0)
			return 0;
		if (errno == ENOMEM)
			return -ENOMEM;
	}
	return m->filters.n ? -ENOENT : 0;
}

static void show_patterns(struct merged_pass *pass, const struct gsym_callsite *site)
{
	struct text_buf *out = &pass->m->shown;
	for (uint32_t i = 0; i < site->n_patterns; i++) {
		text_str(out, i ? ", " : "      CallSites: ");
		uint64_t strp = pass->m->decoder->patterns.v[site->first_pattern + i];
		escape_str(out, gsym_reader_string(pass->reader, strp), ESCAPE_TEXT);
	}
	if (site->n_patterns)
		text_char(out, '\n');
}

/* Prints the callees of the call that returns to the address; of several such calls, of the first. */
static int show_callees(struct merged_pass *pass, const struct function_info *record, struct gsym_diag *diag)
{
	struct gsym_decoder *d = pass->m->decoder;
	struct cursor block = record->blocks[InfoType_CallSiteInfo];
	if (!record_has(record, InfoType_CallSiteInfo))
		return 0;
	d->callsites.n = d->patterns.n = 0;
	int err = callsite_decode(&block, &pass->reader->tables, d, diag);
	for (size_t i = 0; !err && i < d->callsites.n; i++) {
		if (d->callsites.v[i].return_off == pass->addr - pass->m->answer.func_start) {
			show_patterns(pass, &d->callsites.v[i]);
			break;
		}
	}
	return err;
}

static int show_function(void *user, const struct function_info *record, struct gsym_diag *diag)
{
	struct merged_pass *pass = user;
	struct merged_lookup *m = pass->m;
	bool as_llvm = pass->options->format == RENDER_GSYMUTIL;
	pass->seen++;
	int err = match(m, m->answer.frames[m->answer.n_frames - 1].name);
	if (err)
		return err == -ENOENT ? 0 : err;
	pass->shown++;
	if (as_llvm)
		text_lit(&m->shown, "   ");
	path_strip_answer(m->strip, m->roots, &m->answer);
	err = render_answer(&m->shown, pass->addr, &m->answer, pass->options);
	if (!err && as_llvm) {
		err = show_callees(pass, record, diag);
		if (pass->seen < m->answer.n_merged)
			text_char(&m->shown, '\n');
	}
	return err;
}

static void show_number(struct text_buf *out, uint64_t addr, uint32_t number)
{
	text_lit(out, "Found ");
	text_dec(out, number);
	text_str(out, number == 1 ? " function at address 0x" : " functions at address 0x");
	text_hex(out, addr, ADDRESS_DIGITS);
	text_lit(out, ":\n");
}

int merged_lookup(struct merged_lookup *m, const struct gsym_reader *reader, uint64_t addr,
		  const struct render_options *options, struct text_buf *out, struct gsym_diag *diag)
{
	struct merged_pass pass = {.m = m, .reader = reader, .options = options, .addr = addr};
	text_reset(&m->shown);
	int err = lookup_each_merged(reader, addr, render_lookup_flags(options->format), &m->answer,
				     show_function, &pass, diag);
	if (m->shown.failed)
		return -ENOMEM;
	if (!pass.seen || (!pass.shown && options->format != RENDER_GSYMUTIL))
		return err ? err : -ENOENT;
	if (options->format == RENDER_GSYMUTIL)
		show_number(out, addr, pass.shown);
	text_bytes(out, m->shown.v, m->shown.n);
	return out->failed ? -ENOMEM : err;
}
