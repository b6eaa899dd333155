/*
 * One process answers about any number of files. What was read is answered as far as its lines are complete,
 * and written before more is read: a client on a pipe waits for it.
 */
#include "cli/symbolizer/symbolizer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "cli/symbolizer/answer_style.h"
#include "cli/symbolizer/response_file.h"

enum {
	READ_SIZE = 64 * 1024,
	LINE_SIZE_MAX = 1 << 20, /* a longer line is answered in pieces */
};

struct symbolizer {
	struct symbolizer_options options;
	struct module_table modules;
	struct symbol_answer answer;
	answer_printer *print;
	bool is_list;                     /* JSON of operands: one array */
	bool tells_why;                   /* why an answer is "??", on standard error */
	bool is_checked;                  /* see can_go_on() */
	const struct symbol_query *query; /* being answered, or NULL */
	size_t n_printed;
	struct text_buf in, out;
	size_t at;   /* the first operand, or byte of @in, that is not answered */
	bool is_end; /* @in has the last line */
};

enum symbolizer_dialect symbolizer_dialect_of(const char *name)
{
	const char *slash = strrchr(name, '/');
	name = slash ? slash + 1 : name;
	if (strstr(name, "symbolizer"))
		return DIALECT_LLVM;
	if (!strstr(name, "addr2line"))
		return 0;
	return strstr(name, "llvm") ? DIALECT_LLVM_ADDR2LINE : DIALECT_BINUTILS;
}

/* ---- Input ---- */

/* Takes the operand or line at *@at, unless it is not there or not complete yet. */
static bool take_line(const struct symbolizer *symbolizer, size_t *at, struct text_part *ret)
{
	const struct text_buf *in = &symbolizer->in;
	if (symbolizer->options.n_operands) {
		if (*at == symbolizer->options.n_operands)
			return false;
		const char *operand = symbolizer->options.operands[(*at)++];
		*ret = (struct text_part){operand, strlen(operand)};
		return true;
	}
	const char *line = in->v + *at, *end = in->n > *at ? memchr(line, '\n', in->n - *at) : NULL;
	size_t size = end ? (size_t)(end - line) : in->n - *at;
	if (!end && (!size || (!symbolizer->is_end && size < LINE_SIZE_MAX)))
		return false;
	*at += size + (end != NULL);
	*ret = (struct text_part){line, size - (size && line[size - 1] == '\r')};
	return true;
}

/* Reads as much as there is. 0 or a negative errno, after a message. */
static int read_input(struct symbolizer *symbolizer)
{
	struct text_buf *in = &symbolizer->in;
	ssize_t n;
	do
		n = read(STDIN_FILENO, in->v + in->n, READ_SIZE);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail("standard input", -errno, NULL), -ECANCELED;
	in->n += (size_t)n;
	symbolizer->is_end = n == 0;
	return 0;
}

/*
 * Reads what is there without waiting, so that the end of input is known if it came. Lines that are being
 * answered stay where they are.
 */
static void read_ready(struct symbolizer *symbolizer)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	const struct text_buf *in = &symbolizer->in;
	while (!symbolizer->options.n_operands && !symbolizer->is_end && in->cap - in->n >= READ_SIZE &&
	       poll(&input, 1, 0) > 0)
		if (read_input(symbolizer))
			return;
}

/* Returns whether all lines were taken, and there will be no more. */
static bool has_ended(const struct symbolizer *symbolizer)
{
	size_t n = symbolizer->options.n_operands;
	return n ? symbolizer->at == n : symbolizer->is_end && symbolizer->at == symbolizer->in.n;
}

/* ---- One line ---- */

static void print_error(const struct symbolizer *symbolizer, const char *line, size_t size)
{
	const struct symbol_answer *answer = &symbolizer->answer;
	struct text_buf what = {0};
	if (answer->query->kind == QUERY_INVALID)
		text_bytes(&what, line, size);
	else
		answer_module_append(&what, answer->query, ESCAPE_TEXT);
	say(stderr, "%s: error: '%.*s': %s", symbolizer->options.program, (int)what.n, what.v, answer->error);
	text_deinit(&what);
}

/* Says why the address of the answer has no function, or no file and line. */
static void tell_why(const struct symbolizer *symbolizer)
{
	const struct symbol_answer *answer = &symbolizer->answer;
	struct symbol_module *module = answer->module;
	bool is_known = answer->frames.n && *answer->frames.v[0].base;
	if (module && answer->query->kind == QUERY_CODE && !is_known)
		tell_reason(&module->told, module->name, module->image.reader, module->image.handle,
			    answer->link);
}

static void print_answer(struct symbolizer *symbolizer)
{
	if (symbolizer->is_list && symbolizer->n_printed)
		text_char(&symbolizer->out, ',');
	symbolizer->n_printed++;
	symbolizer->print(&symbolizer->out, &symbolizer->answer);
	if (symbolizer->options.style == ANSWER_JSON && !symbolizer->is_list)
		text_char(&symbolizer->out, '\n');
}

/* Returns whether the addresses of the queries are of one file. */
static bool has_same_file(const struct symbol_query *a, const struct symbol_query *b)
{
	return b->kind == QUERY_CODE && a->by_id == b->by_id && a->module.size == b->module.size &&
	       memcmp(a->module.text, b->module.text, a->module.size) == 0;
}

/* Lists the address of the query and those after it, if they are few, all of one file, and all there is. */
static size_t list_asked(void *user, const struct symbol_query *query,
			 struct convert_address ret[static WORKER_ASKED_MAX])
{
	struct symbolizer *symbolizer = user;
	const struct symbolizer_options *options = &symbolizer->options;
	struct symbol_query next = *query;
	struct text_part line;
	size_t n = 0, at = symbolizer->at;
	read_ready(symbolizer);
	bool is_more = symbolizer->query && query->kind == QUERY_CODE && !options->section;
	while (is_more && n < WORKER_ASKED_MAX) {
		ret[n++] = (struct convert_address){next.addr - options->adjust_vma, options->relative};
		is_more = take_line(symbolizer, &at, &line);
		if (is_more)
			symbol_query_parse(options, line.text, line.size, &next);
		if (is_more && !has_same_file(query, &next))
			return 0;
	}
	return is_more ? 0 : n;
}

/* Prints the answer of the module, which has a part of the file, if it has one. */
static bool print_early(struct symbolizer *symbolizer, struct symbol_module *module,
			const struct symbol_query *query)
{
	const struct symbol_answer *answer = &symbolizer->answer;
	int err = symbol_answer_from(module, &symbolizer->options, query, &symbolizer->answer);
	bool is_known = !err && answer->has_function && (*answer->frames.v[0].base || !symbolizer->tells_why);
	if (is_known)
		print_answer(symbolizer);
	return is_known;
}

/* Prints the answers that are certain before the file is converted, up to the first that is not. */
static bool answer_early(void *user, struct symbol_module *module)
{
	struct symbolizer *symbolizer = user;
	struct symbol_query next;
	struct text_part line;
	size_t at = symbolizer->at;
	if (!symbolizer->query || !print_early(symbolizer, module, symbolizer->query))
		return false;
	symbolizer->query = NULL;
	bool is_certain = true;
	while (is_certain && take_line(symbolizer, &at, &line)) {
		symbol_query_parse(&symbolizer->options, line.text, line.size, &next);
		is_certain = print_early(symbolizer, module, &next);
		symbolizer->at = is_certain ? at : symbolizer->at;
	}
	if (!symbolizer->is_list && output_flush(&symbolizer->out))
		symbolizer->out.failed = true; /* reported when more is written */
	read_ready(symbolizer);
	symbolizer->is_checked = is_certain && has_ended(symbolizer);
	return symbolizer->is_checked;
}

static bool can_go_on(struct symbolizer *symbolizer);

static int answer_line(struct symbolizer *symbolizer, const char *line, size_t size)
{
	struct symbol_query query;
	symbol_query_parse(&symbolizer->options, line, size, &query);
	symbolizer->query = &query;
	int err = symbol_answer_make(&symbolizer->modules, &query, &symbolizer->answer);
	bool is_printed = !symbolizer->query;
	symbolizer->query = NULL;
	if (err || !can_go_on(symbolizer))
		return err ? err : -ECANCELED;
	if (is_printed)
		return 0;
	bool in_json = symbolizer->options.style == ANSWER_JSON && query.kind != QUERY_INVALID;
	if (symbolizer->answer.error && !in_json)
		print_error(symbolizer, line, size);
	else if (!symbolizer->answer.error && symbolizer->tells_why)
		tell_why(symbolizer);
	print_answer(symbolizer);
	struct symbol_module *module = symbolizer->answer.module;
	/* LLVM tells an error once a file, but for each line that there is none of an id. */
	if (module && !module->by_id)
		module->has_told_err = true;
	return output_drain(&symbolizer->out);
}

/* ---- Many ---- */

/* Answers the lines that are there. */
static int answer_lines(struct symbolizer *symbolizer)
{
	struct text_part line;
	int err = 0;
	while (!err && take_line(symbolizer, &symbolizer->at, &line))
		err = answer_line(symbolizer, line.text, line.size);
	return err;
}

static int answer_operands(struct symbolizer *symbolizer)
{
	symbolizer->is_list = symbolizer->options.style == ANSWER_JSON;
	if (symbolizer->is_list)
		text_char(&symbolizer->out, '[');
	int err = answer_lines(symbolizer);
	if (symbolizer->is_list)
		text_lit(&symbolizer->out, "]\n");
	return err ? err : output_flush(&symbolizer->out);
}

static int answer_stdin(struct symbolizer *symbolizer)
{
	struct text_buf *in = &symbolizer->in;
	int err = 0;
	while (!err && !symbolizer->is_end) {
		if (!text_reserve(in, 2 * READ_SIZE)) /* see read_ready() */
			return -ENOMEM;
		memmove(in->v, in->v + symbolizer->at, in->n - symbolizer->at);
		in->n -= symbolizer->at;
		symbolizer->at = 0;
		err = read_input(symbolizer);
		if (!err)
			err = answer_lines(symbolizer);
		if (!err)
			err = output_flush(&symbolizer->out);
	}
	return err;
}

/* ---- The file of the options ---- */

static void report_binutils(const struct symbolizer *symbolizer, const struct symbol_module *module, int err)
{
	const char *program = symbolizer->options.program, *name = module->name;
	if (err == -ENOENT)
		say(stderr, "%s: '%s': No such file", program, name);
	else if (err == -EISDIR)
		say(stderr, "%s: Warning: '%s' is a directory", program, name);
	else if (err == -EMEDIUMTYPE)
		say(stderr, "%s: Warning: '%s' is not an ordinary file", program, name);
	else if (err == -ELOOP || err == -ENOTDIR || err == -ENAMETOOLONG)
		say(stderr, "%s: Warning: could not locate '%s'.  reason: %s", program, name, strerror(-err));
	else if (err == -ENOEXEC)
		say(stderr, "%s: %s: file format not recognized", program, name);
	else
		say(stderr, "%s: %s: %s", program, name, module->diag.text);
}

/* Style JSON tells it on standard output. */
static void report_llvm(struct symbolizer *symbolizer, const struct symbol_query *query)
{
	text_reset(&symbolizer->out);
	if (symbol_answer_make(&symbolizer->modules, query, &symbolizer->answer))
		return;
	if (symbolizer->options.style != ANSWER_JSON) {
		print_error(symbolizer, "", 0);
		return;
	}
	symbolizer->print(&symbolizer->out, &symbolizer->answer);
	text_char(&symbolizer->out, '\n');
	output_flush(&symbolizer->out);
}

static bool has_section(const struct symbolizer *symbolizer, struct symbol_module *module)
{
	const char *name = symbolizer->options.section;
	struct object_file *object = NULL;
	if (!name || (module_object(module, &object) == 0 && object && object_section(object, name)))
		return true;
	say(stderr, "%s: %s: cannot find section %s", symbolizer->options.program, module->name, name);
	return false;
}

/* Whether the file that the options name can be read: if not, that is one error rather than one a line. It is
 * opened for the first line, whose address may then be answered early, or at the end if there is none. */
static bool can_go_on(struct symbolizer *symbolizer)
{
	const struct symbolizer_options *options = &symbolizer->options;
	struct symbol_query query = {.kind = QUERY_CODE};
	if (!options->object || symbolizer->is_checked)
		return true;
	symbolizer->is_checked = true;
	query.module = (struct text_part){options->object, strlen(options->object)};
	struct symbol_module *module = NULL;
	int err = module_find(&symbolizer->modules, &query, &module);
	if (!err)
		return has_section(symbolizer, module);
	if (!module)
		fail(options->object, err, NULL);
	else if (options->dialect == DIALECT_BINUTILS)
		report_binutils(symbolizer, module, err);
	else
		report_llvm(symbolizer, &query);
	return false;
}

static int answer_queries(struct symbolizer *symbolizer)
{
	static answer_printer *const printers[] = {
		[ANSWER_BINUTILS] = answer_print_binutils,
		[ANSWER_GNU] = answer_print_text,
		[ANSWER_LLVM] = answer_print_text,
		[ANSWER_JSON] = answer_print_json,
	};
	symbolizer->tells_why = tells_reasons(symbolizer->options.verbose);
	symbolizer->print = printers[symbolizer->options.style];
	symbolizer->modules.options = &symbolizer->options;
	symbolizer->modules.asked = list_asked;
	symbolizer->modules.early = answer_early;
	symbolizer->modules.user = symbolizer;
	int err = symbolizer->options.n_operands ? answer_operands(symbolizer) : answer_stdin(symbolizer);
	if (err == -ECANCELED || (!err && !can_go_on(symbolizer)))
		return STATUS_FAILED;
	if (!err && *symbolizer->answer.details_lost.text)
		return fail("columns and declarations", -EIO, &symbolizer->answer.details_lost);
	return err ? output_fail(err) : STATUS_OK;
}

static int run_words(struct symbolizer *symbolizer, struct word_list *words)
{
	switch (symbolizer_options_parse(words->list.n, words->list.v, &symbolizer->options)) {
	case SYMBOLIZER_DONE: return STATUS_OK;
	case SYMBOLIZER_ERROR: return STATUS_FAILED;
	default: return answer_queries(symbolizer);
	}
}

/* The variable whose words stand before those of the command line. */
static const char *environment_of(enum symbolizer_dialect dialect)
{
	const char *words = dialect == DIALECT_LLVM             ? getenv("LLVM_SYMBOLIZER_OPTS")
			    : dialect == DIALECT_LLVM_ADDR2LINE ? getenv("LLVM_ADDR2LINE_OPTS")
								: NULL;
	return words ? words : "";
}

int symbolizer_main(enum symbolizer_dialect dialect, int argc, char **argv)
{
	struct symbolizer symbolizer = {.options = {.program = argv[0], .dialect = dialect}};
	struct word_list words = {0};
	message_speaker(argv[0], "");
	int err = words_add_text(&words, environment_of(dialect));
	for (int i = 1; !err && i < argc; i++)
		err = words_add(&words, argv[i]);
	int status = err ? fail("arguments", err, NULL) : run_words(&symbolizer, &words);
	module_table_deinit(&symbolizer.modules);
	symbol_answer_deinit(&symbolizer.answer);
	text_deinit(&symbolizer.in);
	text_deinit(&symbolizer.out);
	words_deinit(&words);
	return status;
}
