#include "cli/convert/summary.h"

#include "gsym/base/diag.h"
#include "gsym/base/escape.h"
#include "cli/command/message.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { SECTIONS_PRINTED = 16 };

static uint64_t count_warnings(const struct convert_summary *summary)
{
	uint64_t count = 0;
	for (size_t i = 0; i < summary->n_warnings; i++)
		count += summary->warnings[i].count;
	return count;
}

static void print_warnings(FILE *file, const struct convert_summary *summary)
{
	if (summary->n_warnings == 0)
		return;
	say(file, "warnings of the input: %" PRIu64, count_warnings(summary));
	for (size_t i = 0; i < summary->n_warnings; i++) {
		const struct convert_warning *w = &summary->warnings[i];
		say(file, "  %s: %" PRIu64 "%s%s; %s", w->kind, w->count, w->first[0] ? ", first: " : "",
		    w->first, w->effect);
	}
}

static void print_missing(FILE *file, const struct convert_summary *summary)
{
	if (summary->missing_size)
		say(file, "missing files that the input refers to:");
	for (size_t at = 0; at < summary->missing_size; at += strlen(summary->missing + at) + 1)
		say(file, "  %s", summary->missing + at);
}

/* Prints sections with code, which addresses belong to; the JSON summary has all sections. */
static void print_layout(FILE *file, const struct convert_summary *summary)
{
	size_t printed = 0, left_out = (size_t)summary->sections_left_out;
	if (!summary->n_sections)
		return;
	say(file, "relocatable file: addresses are those of its sections laid out consecutively from 0");
	for (size_t i = 0; i < summary->n_sections; i++) {
		const struct convert_section *s = &summary->sections[i];
		if (!s->code || printed++ >= SECTIONS_PRINTED)
			left_out++;
		else
			say(file, "  %s at 0x%" PRIx64 ", %" PRIu64 " bytes", s->name, s->addr, s->size);
	}
	if (left_out)
		say(file, "  and %zu more", left_out);
}

void summary_print(FILE *file, const char *input, const char *output, const struct convert_summary *summary)
{
	uint64_t read = summary->functions_dwarf + summary->functions_go + summary->functions_pdb +
			summary->functions_text + summary->functions_gsym + summary->functions_symbols;
	say(file, *summary->arch ? "input: %s (%s)" : "input: %s", input, summary->arch);
	say(file, "output: %s, %" PRIu64 " bytes%s", output, summary->output_size,
	    summary->widened ? " of GSYM version 2: version 1 cannot hold them" : "");
	if (summary->functions_gsym)
		say(file, "functions: %" PRIu64 " copied from GSYM", summary->functions_gsym);
	else if (summary->functions_text)
		say(file, "functions: %" PRIu64 " with lines, %" PRIu64 " from symbols",
		    summary->functions_text, summary->functions_symbols);
	else if (summary->functions_pdb && !summary->functions_dwarf)
		say(file,
		    "functions: %" PRIu64 " from the PDB of %" PRIu64 " modules, %" PRIu64 " from symbols",
		    summary->functions_pdb, summary->modules, summary->functions_symbols);
	else
		say(file,
		    "functions: %" PRIu64 " from the DWARF of %" PRIu64 " units, %" PRIu64 " from symbols",
		    summary->functions_dwarf, summary->units, summary->functions_symbols);
	if (summary->functions_pdb && summary->functions_dwarf)
		say(file, "functions: %" PRIu64 " more from the PDB of %" PRIu64 " modules",
		    summary->functions_pdb, summary->modules);
	if (summary->functions_go)
		say(file, "functions: %" PRIu64 " more from Go's function table", summary->functions_go);
	if (read > summary->functions)
		say(file, "written: %" PRIu64 "; the other %" PRIu64 " describe the same code",
		    summary->functions, read - summary->functions);
	else
		say(file, "written: %" PRIu64, summary->functions);
	print_warnings(file, summary);
	print_missing(file, summary);
	print_layout(file, summary);
}

static void append_sections(struct text_buf *out, const struct convert_summary *summary)
{
	for (size_t i = 0; i < summary->n_sections; i++) {
		const struct convert_section *s = &summary->sections[i];
		text_str(out, i ? ",{\"name\":\"" : ",\"sections\":[{\"name\":\"");
		escape_str(out, s->name, ESCAPE_JSON);
		text_lit(out, "\",\"address\":\"");
		text_addr(out, s->addr);
		text_lit(out, "\",\"size\":");
		text_dec(out, s->size);
		text_str(out, s->code ? ",\"code\":true}" : ",\"code\":false}");
	}
	if (summary->n_sections)
		text_char(out, ']');
}

static void append_json(struct text_buf *out, const struct convert_summary *summary)
{
	text_lit(out, "{\"error-categories\":{");
	for (size_t i = 0; i < summary->n_warnings; i++) {
		text_str(out, i ? ",\"" : "\"");
		escape_str(out, summary->warnings[i].kind, ESCAPE_JSON);
		text_lit(out, "\":{\"count\":");
		text_dec(out, summary->warnings[i].count);
		text_lit(out, ",\"effect\":\"");
		escape_str(out, summary->warnings[i].effect, ESCAPE_JSON);
		text_lit(out, "\"}");
	}
	text_lit(out, "},\"error-count\":");
	text_dec(out, count_warnings(summary));
	text_lit(out, ",\"work\":");
	text_dec(out, summary->work);
	append_sections(out, summary);
	text_lit(out, "}\n");
}

int summary_write_json(const char *path, const struct convert_summary *summary, struct gsym_diag *diag)
{
	struct text_buf out = {0};
	append_json(&out, summary);
	int err = out.failed ? diag_set(diag, -ENOMEM, "%s: no memory", path) : 0;
	FILE *file = err ? NULL : fopen(path, "we");
	if (!err && !file)
		err = diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	if (file && fwrite(out.v, 1, out.n, file) != out.n)
		err = diag_set(diag, -EIO, "%s: write failed", path);
	if (file && fclose(file) && !err)
		err = diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	text_deinit(&out);
	return err;
}

void summary_print_report(FILE *file, const char *input, const struct verify_report *report)
{
	say(file, "compared with %s: %" PRIu64 " addresses in %" PRIu64 " functions of %" PRIu64 " units",
	    input, report->addresses, report->functions, report->units);
	if (report->skipped)
		say(file, "  libdwarf could not read %" PRIu64 " entries: %s", report->skipped,
		    report->reason);
	for (int class = 0; class < VERIFY_CLASSES; class ++) {
		uint64_t count = report->classes[class].count;
		if (count == 0)
			continue;
		say(file, "  %s: %" PRIu64, verify_class_name((enum verify_class) class), count);
		for (uint64_t i = 0; i < report->classes[class].n_examples; i++)
			say(file, "    %s", report->classes[class].examples[i]);
	}
}
