/*
 * gsym lookup: addresses from the arguments, else one per line from standard input.
 *
 * All complete lines of one read are answered as a batch; output is flushed when no complete line is left, so
 * that a client on a pipe gets its answers.
 */
#include "gsym/base/ascii.h"
#include "gsym/base/address.h"
#include "gsym/render/batch/batch.h"
#include "convert/cli/commands.h"
#include "convert/cli/lookup/lookup_merged.h"
#include "convert/cli/lookup/object_lookup.h"
#include "convert/cli/message.h"
#include "convert/cli/output.h"

#include <getopt.h>
#include <unistd.h>

enum {
	LINE_MAX_SIZE = 4096, /* a longer line is malformed; the rest of it is dropped */
	INPUT_SIZE = 2 << 20,
};

struct lookup_command {
	const struct gsym_reader *reader;
	struct gsym_reader *opened; /* of a GSYM file, else NULL */
	struct handle *handle;      /* of an object file, else NULL */
	struct object_options object;
	const char *path;
	struct render_options render;
	struct gsym_answer answer;
	bool near;       /* the nearest line where the line is 0 */
	bool all_merged; /* every function at an address, not only the first */
	struct merged_lookup merged;
	struct batch *batch;
	VEC(struct batch_query) queries; /* lines read but not answered */
	struct text_buf out;
	bool incomplete; /* part of the input or the file could not be read: status STATUS_FAILED */
};

/*
 * Appends the answer; errors are those of gsym_lookup(). Of a damaged file part of an answer may be appended.
 */
static int append(struct lookup_command *lookup, uint64_t addr, struct gsym_diag *diag)
{
	if (lookup->all_merged)
		return merged_lookup(&lookup->merged, lookup->reader, addr, &lookup->render, &lookup->out,
				     diag);
	unsigned flags = render_lookup_flags(lookup->render.format) | (lookup->near ? GSYM_LOOKUP_NEAR : 0);
	int err = gsym_lookup_flags(lookup->reader, addr, 0, flags, &lookup->answer, diag);
	return err ? err : render_answer(&lookup->out, addr, &lookup->answer, &lookup->render);
}

/* Appends the answer to one address. Only running out of memory is an error. */
static int answer(struct lookup_command *lookup, uint64_t addr)
{
	struct gsym_diag diag = {0};
	size_t before = lookup->out.n;
	int err = append(lookup, addr, &diag);
	if (!err || err == -ENOMEM)
		return err;
	if (err != -ENOENT) {
		fail(lookup->path, err, &diag);
		lookup->incomplete = true;
	}
	return lookup->out.n > before ? 0 : render_unknown(&lookup->out, addr, &lookup->render);
}

static struct batch_query parse_line(const char *line, size_t size)
{
	struct batch_query query = {.kind = BATCH_ADDRESS};
	while (size && is_line_padding(line[size - 1]))
		size--;
	while (size && is_line_padding(*line)) {
		line++;
		size--;
	}
	if (size < LINE_MAX_SIZE && address_parse(line, size, &query.given)) {
		query.addr = query.given;
		return query;
	}
	return (struct batch_query){.text = line, .size = (uint32_t)size, .kind = BATCH_MALFORMED};
}

/* Answers with every function at each address. */
static int answer_merged(struct lookup_command *lookup)
{
	int err = 0;
	for (size_t i = 0; !err && i < lookup->queries.n; i++) {
		const struct batch_query *query = &lookup->queries.v[i];
		if (query->kind == BATCH_MALFORMED)
			err = render_malformed(&lookup->out, query->text, query->size, &lookup->render);
		else
			err = answer(lookup, query->given);
		render_end_record(&lookup->out, lookup->render.format);
		if (!err)
			err = output_drain(&lookup->out);
	}
	return err;
}

static int answer_batch(struct lookup_command *lookup)
{
	const struct batch_options how = {.render = lookup->render, .near = lookup->near};
	for (size_t done = 0, expected = 0, n; done < lookup->queries.n; done += n) {
		struct gsym_diag diag = {0};
		if (done >= expected)
			expected = done + batch_expect(lookup->batch, &how, lookup->queries.v + done,
						       lookup->queries.n - done);
		int err = batch_answer(lookup->batch, &how, lookup->queries.v + done,
				       lookup->queries.n - done, OUTPUT_PIECE, &lookup->out, &n, &diag);
		if (err == -EBADMSG) {
			fail(lookup->path, err, &diag);
			lookup->incomplete = true;
			err = 0;
		}
		if (!err)
			err = output_drain(&lookup->out);
		if (err)
			return err;
	}
	return 0;
}

static int answer_queries(struct lookup_command *lookup)
{
	int err = lookup->all_merged ? answer_merged(lookup) : answer_batch(lookup);
	lookup->queries.n = 0;
	return err;
}

static int add_line(struct lookup_command *lookup, const char *line, size_t size)
{
	return vec_push(&lookup->queries, parse_line(line, size));
}

/* Adds the first line of @text; *ret_size is its size, 0 if it is incomplete. */
static int add_next(struct lookup_command *lookup, const char *text, size_t size, size_t *ret_size)
{
	struct batch_query query = {.kind = BATCH_ADDRESS};
	if ((*ret_size = address_line(text, size, &query.given))) {
		query.addr = query.given;
		return vec_push(&lookup->queries, query);
	}
	const char *nl = memchr(text, '\n', size);
	*ret_size = nl ? (size_t)(nl + 1 - text) : 0;
	return nl ? add_line(lookup, text, (size_t)(nl - text)) : 0;
}

/* Answers the complete lines of @input and stores their size. */
static int answer_lines(struct lookup_command *lookup, const char *input, size_t size, size_t *ret)
{
	size_t at = 0, more = 1;
	while (at < size && more) {
		if (add_next(lookup, input + at, size - at, &more))
			return -ENOMEM;
		at += more;
	}
	*ret = at;
	return answer_queries(lookup);
}

/* Reads more after the @kept bytes; flushes first, since the writer of the input may wait for our output. */
static int read_more(struct lookup_command *lookup, char *input, size_t kept, size_t *ret)
{
	int err = output_flush(&lookup->out);
	if (err)
		return err;
	for (;;) {
		ssize_t n = read(STDIN_FILENO, input + kept, INPUT_SIZE - kept);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fail("standard input", -errno, NULL);
			lookup->incomplete = true;
		}
		*ret = n > 0 ? (size_t)n : 0;
		return 0;
	}
}

static int answer_stdin(struct lookup_command *lookup)
{
	CLEANUP(freep) char *input = malloc(INPUT_SIZE);
	size_t kept = 0, more, used;
	int err;
	if (!input)
		return -ENOMEM;
	while (!(err = read_more(lookup, input, kept, &more)) && more) {
		err = answer_lines(lookup, input, kept + more, &used);
		if (err)
			return err;
		kept = kept + more - used;
		memmove(input, input + used, kept);
		if (kept > LINE_MAX_SIZE)
			kept = LINE_MAX_SIZE;
	}
	if (!err && kept)
		err = add_line(lookup, input, kept) ? -ENOMEM : answer_queries(lookup);
	return err ? err : output_flush(&lookup->out);
}

static int answer_arguments(struct lookup_command *lookup, char **args, int n)
{
	uint64_t addr;
	if (lookup->render.format == RENDER_GSYMUTIL) {
		text_lit(&lookup->out, "Looking up addresses in \"");
		text_str(&lookup->out, lookup->path);
		text_lit(&lookup->out, "\":\n");
	}
	for (int i = 0; i < n; i++) {
		address_parse(args[i], strlen(args[i]), &addr);
		int err = answer(lookup, addr);
		if (!err)
			err = output_drain(&lookup->out);
		if (err)
			return err;
	}
	return output_flush(&lookup->out);
}

static int add_filter(const struct command *command, const struct command_option *option, const char *pattern,
		      void *to)
{
	struct gsym_diag diag = {0};
	int err = merged_lookup_filter(to, pattern, &diag);
	if (err == -ENOMEM)
		return output_fail(err);
	return err ? options_error(command, "option '--%s': %s", option->name, diag.text) : STATUS_OK;
}

static const struct command_option options[] = {
	{0, "format", OUTPUT_FORMAT_NAMES, "output format (default text)",
	 OPTION_PARSED(lookup_command, render.format, option_format)},
	OPTION_MARK_MERGED(lookup_command, render.mark_merged),
	OPTIONS_DEMANGLE(lookup_command, render.demangle),
	{0, "approximate", NULL, "where the line is 0, show the nearest before it in\nthe same function",
	 OPTION_FLAG(lookup_command, near)},
	{0, "merged-functions", NULL,
	 "show every function that shares the code; in the\ngsymutil format with callees at return "
	 "addresses",
	 OPTION_FLAG(lookup_command, all_merged)},
	{0, "merged-functions-filter", "REGEX",
	 "of these, show only functions whose stored name\nmatches REGEX; may be repeated",
	 OPTION_PARSED(lookup_command, merged, add_filter)},
	{0, "arch", "ARCH", "use the image for ARCH of a universal (fat)\nobject file",
	 OPTION_STRING(lookup_command, object.arch)},
	{0, "cache", "DIR", "directory of converted object files (default: that\nof gsymfs, ~/.cache/gsymfs)",
	 OPTION_STRING(lookup_command, object.cache)},
	{0},
};

static int check_arguments(const struct lookup_command *lookup, int argc, char **argv)
{
	uint64_t addr;
	if (lookup->merged.filters.n && !lookup->all_merged)
		return options_error(&command_lookup,
				     "option '--merged-functions-filter': needs '--merged-functions'");
	if (lookup->near && lookup->all_merged)
		return options_error(&command_lookup,
				     "option '--approximate': conflicts with '--merged-functions'");
	for (int i = optind + 1; i < argc; i++)
		if (!address_parse(argv[i], strlen(argv[i]), &addr))
			return options_error(&command_lookup, "operand '%s': not a hexadecimal address",
					     argv[i]);
	return STATUS_OK;
}

/* Opens the file, which may be GSYM or an object file. */
static int open_file(struct lookup_command *lookup)
{
	struct gsym_diag diag = {0};
	int err = gsym_reader_open(lookup->path, &lookup->opened, &diag);
	lookup->reader = lookup->opened;
	if (!err)
		return STATUS_OK;
	int object_err = err == -EBADMSG ? object_lookup_open(lookup->path, &lookup->object, &lookup->handle)
					 : -ENOEXEC;
	if (object_err == -ENOEXEC)
		return fail(lookup->path, err, &diag);
	if (object_err)
		return STATUS_FAILED;
	lookup->reader = lookup->handle->reader;
	if (lookup->render.demangle == DEMANGLE_AUTO)
		lookup->render.demangle = handle_demangle(lookup->handle);
	return STATUS_OK;
}

static int run(struct lookup_command *lookup, char **addresses, int n)
{
	int err = open_file(lookup);
	if (err)
		return err;
	lookup->render.module = lookup->path;
	lookup->render.cache = demangle_cache_new();
	lookup->batch = batch_new(lookup->reader);
	err = !lookup->batch ? -ENOMEM : lookup->all_merged ? merged_lookup_init(&lookup->merged) : 0;
	if (!err)
		err = n ? answer_arguments(lookup, addresses, n) : answer_stdin(lookup);
	gsym_answer_deinit(&lookup->answer);
	batch_free(lookup->batch);
	vec_free(&lookup->queries);
	text_deinit(&lookup->out);
	demangle_cache_free(lookup->render.cache);
	gsym_reader_close(lookup->opened);
	handle_put(lookup->handle);
	if (err)
		return output_fail(err);
	return lookup->incomplete ? STATUS_FAILED : STATUS_OK;
}

static int run_lookup(int argc, char **argv)
{
	struct lookup_command lookup = {.render.demangle = DEMANGLE_AUTO};
	int status;
	if (options_parse(&command_lookup, argc, argv, &lookup, &status)) {
		lookup.path = argv[optind];
		status = check_arguments(&lookup, argc, argv);
		if (status == STATUS_OK)
			status = run(&lookup, argv + optind + 1, argc - optind - 1);
	}
	merged_lookup_deinit(&lookup.merged);
	return status;
}

const struct command command_lookup = {
	.name = "lookup",
	.operands = "FILE [ADDRESS...]",
	.brief = "print the functions, files and lines of addresses",
	.summary = "Prints the functions, files and lines of link-time addresses (hexadecimal);\n"
		   "without an ADDRESS, of those on standard input, one a line.\n"
		   "An object file is converted once; the result is kept in the cache of gsymfs",
	.options = options,
	.run = run_lookup,
};
