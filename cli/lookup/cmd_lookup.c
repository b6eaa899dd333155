/*
 * gsym lookup: addresses from the arguments, else one per line from standard input.
 *
 * All complete lines of one read are answered as a batch, or those that follow one another with the same
 * file; output is flushed when no complete line is left, so that a client on a pipe gets its answers.
 * A few addresses of a file that was not converted are answered before it is, and if they were all, instead.
 */
#include "gsym/base/ascii.h"
#include "gsym/base/address.h"
#include "cli/command/commands.h"
#include "cli/lookup/image_details.h"
#include "cli/lookup/image_mount.h"
#include "cli/lookup/load_options.h"
#include "cli/lookup/lookup_parts.h"
#include "work/types/convert_address.h"
#include "cli/command/message.h"

#include <poll.h>
#include <unistd.h>

enum {
	LINE_MAX_SIZE = 4096, /* a longer line is malformed, and is its beginning of this size */
	INPUT_SIZE = 5 << 20, /* holds BATCH_EXPECTED addresses of a kernel */
	READY_SIZE = 4096,    /* holds WORKER_ASKED_MAX addresses */
};

struct lookup_command {
	struct object_options object;
	struct load_options load;
	struct path_strip strip;
	const char *path; /* of all addresses; NULL: lines have one */
	bool lines_have_files;
	enum demangle_mode demangle; /* of the options */
	struct lookup_files files;
	struct lookup_file *file;         /* the current one, or NULL */
	const struct gsym_reader *reader; /* of that; NULL: it could not be opened */
	run_detail_vec details;           /* of the address, if they are wanted, and */
	VEC(struct frame_detail) shown;   /* those of each of its frames */
	struct render_options render;
	struct gsym_answer answer;
	bool verbose, tells_why; /* why an answer is "??": if that is wanted, and told */
	bool near;               /* the nearest line where the line is 0 */
	bool all_merged;         /* every function at an address, not only the first */
	struct merged_lookup merged;
	struct symbol_search symbols;
	bool has_heading;
	VEC(struct batch_query) queries; /* lines read, or operands, but not answered */
	bool are_operands;
	size_t n_early;    /* of the queries: answered before their file was converted */
	bool has_answered; /* all, so that it was not converted */
	char *input;       /* INPUT_SIZE bytes, */
	size_t n_input;    /* so many of standard input, of which */
	size_t n_parsed;   /* so many are queries, or answered */
	bool is_end;       /* there is no more */
	struct text_buf out;
	bool incomplete; /* part of the input or the file could not be read: status STATUS_FAILED */
};

static unsigned lookup_flags(const struct lookup_command *lookup)
{
	return render_lookup_flags(lookup->render.format) | (lookup->near ? GSYM_LOOKUP_NEAR : 0);
}

/* @user: the command */
static void tell_why(void *user, uint64_t addr)
{
	struct lookup_command *lookup = user;
	if (!lookup->tells_why)
		return;
	tell_reason(&lookup->file->told, lookup->file->path, lookup->reader, lookup->file->image.handle,
		    addr);
}

static bool has_file(const struct gsym_answer *answer)
{
	return answer->n_frames && *answer->frames[0].base;
}

/* Sets what GSYM does not hold of the frames of the answer at @addr. */
static int find_details(struct lookup_command *lookup, uint64_t addr)
{
	const struct gsym_answer *found = &lookup->answer;
	const struct detail_question question = {.addr = addr,
						 .line = found->n_frames ? found->frames[0].line : 0};
	run_details_cut(&lookup->details, 0);
	lookup->shown.n = 0;
	struct gsym_diag diag = {0};
	int lost = image_details_ask(lookup->file->image.details, &question, &lookup->details, &diag);
	if (lost) {
		complain("%s: columns cannot be read: %s", lookup->file->path, diag.text);
		lookup->incomplete = true;
	}
	for (size_t i = 0; i < found->n_frames; i++) {
		const struct frame_detail none = {.start_dir = "", .start_base = ""};
		const struct frame_detail *detail =
			i < lookup->details.n ? &lookup->details.v[i].frame : &none;
		bool fits = detail->line == found->frames[i].line;
		if (vec_push(&lookup->shown, fits ? *detail : none))
			return -ENOMEM;
		lookup->shown.v[i].start_dir =
			path_strip_dir(&lookup->strip, lookup->file->roots, lookup->shown.v[i].start_dir);
	}
	lookup->render.details = lookup->shown.v;
	return 0;
}

/* Appends the answer that was found at @addr, as the file was linked. */
static int append_found(struct lookup_command *lookup, uint64_t given, uint64_t addr)
{
	int err = lookup->object.has_details ? find_details(lookup, addr) : 0;
	path_strip_answer(&lookup->strip, lookup->file->roots, &lookup->answer);
	return err ? err : render_answer(&lookup->out, given, &lookup->answer, &lookup->render);
}

/*
 * Appends the answer; errors are those of gsym_lookup(). Of a damaged file part of an answer may be appended.
 */
static int append(struct lookup_command *lookup, uint64_t given, uint64_t addr, struct gsym_diag *diag)
{
	if (lookup->all_merged)
		return merged_lookup(&lookup->merged, lookup->reader, addr, &lookup->render, &lookup->out,
				     diag);
	int err = gsym_lookup_flags(lookup->reader, addr, 0, lookup_flags(lookup), &lookup->answer, diag);
	return err ? err : append_found(lookup, given, addr);
}

static uint64_t link_address(const struct lookup_command *lookup, uint64_t given)
{
	const struct lookup_image *image = &lookup->file->image;
	uint64_t slide;
	if (load_slide_of(&lookup->load, lookup->file->path, lookup->path, image->base, &slide))
		return given - slide;
	return address_from_usual_base(given, image->relative_end);
}

/* Appends the answer to one address. Only running out of memory is an error. */
static int answer(struct lookup_command *lookup, uint64_t given)
{
	uint64_t addr = link_address(lookup, given);
	struct gsym_diag diag = {0};
	size_t before = lookup->out.n;
	int err = lookup->reader ? append(lookup, given, addr, &diag) : -ENOENT;
	if (err == -ENOENT || (!err && !lookup->all_merged && !has_file(&lookup->answer)))
		tell_why(lookup, addr);
	if (!err || err == -ENOMEM)
		return err;
	if (err != -ENOENT) {
		fail(lookup->file->path, err, &diag);
		lookup->incomplete = true;
	}
	return lookup->out.n > before ? 0 : render_unknown(&lookup->out, given, &lookup->render);
}

static struct batch_query parse_line(const char *line, size_t size)
{
	struct batch_query query = {.kind = BATCH_ADDRESS};
	bool too_long = size > LINE_MAX_SIZE;
	size = too_long ? LINE_MAX_SIZE : size;
	while (size && is_line_padding(line[size - 1]))
		size--;
	while (size && is_line_padding(*line)) {
		line++;
		size--;
	}
	if (!too_long && address_parse(line, size, &query.given))
		return query;
	return (struct batch_query){.text = line, .size = (uint32_t)size, .kind = BATCH_MALFORMED};
}

struct line_part {
	const char *text;
	size_t size;
};

/* An address and, after white space, a file, whose name may have some in it. False if either is missing. */
static bool split_line(const char *line, size_t size, struct line_part *address, struct line_part *file)
{
	const char *end = line + size, *at = line;
	while (at < end && is_line_padding(*at))
		at++;
	while (end > at && is_line_padding(end[-1]))
		end--;
	address->text = at;
	while (at < end && !is_line_padding(*at))
		at++;
	address->size = (size_t)(at - address->text);
	while (at < end && is_line_padding(*at))
		at++;
	*file = (struct line_part){at, (size_t)(end - at)};
	return file->size && !memchr(at, 0, file->size);
}

/* @user: the command */
static const char *shown_dir(const void *user, const char *dir)
{
	const struct lookup_command *lookup = user;
	return path_strip_dir(&lookup->strip, lookup->file->roots, dir);
}

/* Answers one by one, with every function at each address or with details. */
static int answer_each(struct lookup_command *lookup)
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
	const struct batch_options how = {
		.render = lookup->render,
		.near = lookup->near,
		.unanswered = lookup->tells_why ? tell_why : NULL,
		.unanswered_user = lookup,
		.shown_dir = path_strip_applies(&lookup->strip) ? shown_dir : NULL,
		.shown_dir_user = lookup,
	};
	struct batch *batch = lookup_file_batch(lookup->file);
	if (!batch)
		return -ENOMEM;
	for (size_t i = 0; i < lookup->queries.n; i++)
		lookup->queries.v[i].addr = link_address(lookup, lookup->queries.v[i].given);
	for (size_t done = 0, expected = 0, n; done < lookup->queries.n; done += n) {
		struct gsym_diag diag = {0};
		if (done >= expected)
			expected = done + batch_expect(batch, &how, lookup->queries.v + done,
						       lookup->queries.n - done);
		int err = batch_answer(batch, &how, lookup->queries.v + done, lookup->queries.n - done,
				       OUTPUT_PIECE, &lookup->out, &n, &diag);
		if (err == -EBADMSG) {
			fail(lookup->file->path, err, &diag);
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

/* ---- The file ---- */

/* Reads more, at most until the input is full, which it is not. */
static void read_input(struct lookup_command *lookup)
{
	ssize_t n;
	do
		n = read(STDIN_FILENO, lookup->input + lookup->n_input, INPUT_SIZE - lookup->n_input);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		fail("standard input", -errno, NULL);
		lookup->incomplete = true;
	}
	lookup->is_end = n <= 0;
	lookup->n_input += n > 0 ? (size_t)n : 0;
}

static void use_image(struct lookup_command *lookup, const struct lookup_image *image,
		      struct demangle_cache *names)
{
	lookup->reader = image->reader;
	/* Apple's atos shows what is in a bundle. */
	bool shows_inner = lookup->render.format == RENDER_ATOS && !lookup->file->operand.is_mounted;
	lookup->render.module = shows_inner ? lookup->file->operand.path : lookup->file->path;
	lookup->render.cache = names;
	lookup->render.demangle = lookup->demangle == DEMANGLE_AUTO ? image->demangle : lookup->demangle;
}

static void print_heading(struct lookup_command *lookup)
{
	if (lookup->render.format == RENDER_GSYMUTIL && !lookup->has_heading) {
		text_lit(&lookup->out, "Looking up addresses in \"");
		text_str(&lookup->out, lookup->path);
		text_lit(&lookup->out, "\":\n");
	}
	lookup->has_heading = true;
}

/* Reads a little more if it is there, so that the end of input is known if it came. */
static void read_ready(struct lookup_command *lookup)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	while (!lookup->is_end && lookup->n_input < READY_SIZE && poll(&input, 1, 0) > 0)
		read_input(lookup);
}

/* Returns whether all lines are queries, and there will be no more. */
static bool has_ended(struct lookup_command *lookup)
{
	if (!lookup->are_operands && lookup->n_parsed == lookup->n_input)
		read_ready(lookup);
	return lookup->are_operands || (lookup->is_end && lookup->n_parsed == lookup->n_input);
}

/* Appends the records of the first @n lines. */
static int append_lines(struct lookup_command *lookup, size_t n)
{
	const struct batch_options how = {.render = lookup->render, .near = lookup->near};
	struct batch *batch = batch_new(lookup->reader);
	size_t more;
	int err = batch ? 0 : -ENOMEM;
	for (size_t done = 0; !err && done < n; done += more)
		err = batch_answer(batch, &how, lookup->queries.v + done, n - done, OUTPUT_PIECE,
				   &lookup->out, &more, NULL);
	batch_free(batch);
	return err;
}

/* Returns whether the part of the file that was read has the address, which is then in the answer. */
static bool is_certain(struct lookup_command *lookup, uint64_t addr)
{
	return !gsym_lookup_flags(lookup->reader, addr, 0, lookup_flags(lookup), &lookup->answer, NULL) &&
	       (!lookup->tells_why || has_file(&lookup->answer));
}

/* Prints the answers that are certain before the file is converted, up to the first that is not. */
static bool answer_early(void *user, const struct lookup_image *image)
{
	struct lookup_command *lookup = user;
	size_t n = 0;
	int err = 0;
	use_image(lookup, image, NULL); /* its strings go with the call */
	for (; !err && n < lookup->queries.n && is_certain(lookup, lookup->queries.v[n].given); n++) {
		struct batch_query *query = &lookup->queries.v[n];
		query->addr = query->given; /* as linked: those that have a load address wait */
		if (!lookup->are_operands)
			continue;
		print_heading(lookup);
		err = answer(lookup, query->given);
	}
	if (!err && !lookup->are_operands)
		err = append_lines(lookup, n);
	if (err || output_flush(&lookup->out))
		lookup->out.failed = true; /* reported when more is written */
	lookup->n_early = n;
	lookup->has_answered = n == lookup->queries.n && has_ended(lookup);
	return lookup->has_answered;
}

/* Determines the directories that paths of the file lose. False after an error message. */
static bool find_roots(struct lookup_command *lookup, struct lookup_file *file)
{
	lookup->merged.roots = file->roots;
	if (file->has_roots || lookup->strip.roots != STRIP_ROOTS)
		return true;
	file->has_roots = true;
	return !source_roots_find(file->image.reader, file->roots) || !fail(file->path, -ENOMEM, NULL);
}

/* Lists the addresses of the queries, if they are few and nothing but addresses. */
static size_t list_asked(const struct lookup_command *lookup, struct convert_address ret[WORKER_ASKED_MAX])
{
	bool waits = lookup->all_merged || lookup->object.has_details || lookup->load.n ||
		     lookup->load.has_slide || path_strip_applies(&lookup->strip);
	if (waits || lookup->queries.n > WORKER_ASKED_MAX)
		return 0;
	for (size_t i = 0; i < lookup->queries.n; i++) {
		if (lookup->queries.v[i].kind != BATCH_ADDRESS)
			return 0;
		ret[i] = (struct convert_address){.value = lookup->queries.v[i].given};
	}
	return lookup->queries.n;
}

/* Opens the current file if it is pending and has not answered all early. False after an error message. */
static bool open_pending(struct lookup_command *lookup)
{
	struct lookup_file *file = lookup->file;
	struct object_options how = lookup->object;
	struct convert_address asked[WORKER_ASKED_MAX];
	how.asked = asked;
	how.n_asked = list_asked(lookup, asked);
	how.early = answer_early;
	how.user = lookup;
	lookup->n_early = 0;
	bool is_open = file->image.reader || (file->is_pending && lookup_file_convert(file, &how));
	if (lookup->has_answered)
		return true;
	use_image(lookup, &file->image, file->names);
	is_open = is_open && find_roots(lookup, file);
	lookup->incomplete |= !is_open;
	return is_open;
}

/* ---- Standard input ---- */

/* -ECANCELED if the only file cannot be opened. */
static int answer_queries(struct lookup_command *lookup)
{
	if (!open_pending(lookup) && lookup->path)
		return -ECANCELED;
	lookup->queries.n -= lookup->n_early;
	memmove(lookup->queries.v, lookup->queries.v + lookup->n_early,
		lookup->queries.n * sizeof(*lookup->queries.v));
	bool by_one = lookup->all_merged || lookup->object.has_details;
	int err = lookup->has_answered ? 0 : by_one ? answer_each(lookup) : answer_batch(lookup);
	lookup->queries.n = 0;
	return err;
}

/* Makes @path the current file, after the lines of the one before are answered. */
static int change_file(struct lookup_command *lookup, const char *path, size_t size)
{
	const struct lookup_file *file = lookup->file;
	if (file && strncmp(file->path, path, size) == 0 && !file->path[size])
		return 0;
	int err = lookup->queries.n ? answer_queries(lookup) : 0;
	return err ? err : lookup_files_find(&lookup->files, path, size, &lookup->object, &lookup->file);
}

static int answer_malformed(struct lookup_command *lookup, const char *line, size_t size)
{
	int err = lookup->queries.n ? answer_queries(lookup) : 0;
	lookup->render.module = NULL;
	if (!err)
		err = render_malformed(&lookup->out, line, size < LINE_MAX_SIZE ? size : LINE_MAX_SIZE,
				       &lookup->render);
	render_end_record(&lookup->out, lookup->render.format);
	return err;
}

/* Adds a line of an address and a file. */
static int add_line_with_file(struct lookup_command *lookup, const char *line, size_t size)
{
	struct line_part address, file;
	struct batch_query query = {.kind = BATCH_ADDRESS};
	if (size > LINE_MAX_SIZE || !split_line(line, size, &address, &file) ||
	    !address_parse(address.text, address.size, &query.given))
		return answer_malformed(lookup, line, size);
	int err = change_file(lookup, file.text, file.size);
	return err ? err : vec_push(&lookup->queries, query);
}

static int add_line(struct lookup_command *lookup, const char *line, size_t size)
{
	return lookup->path ? vec_push(&lookup->queries, parse_line(line, size))
			    : add_line_with_file(lookup, line, size);
}

/* Adds the first line of @text; *ret_size is its size, 0 if it is incomplete. */
static int add_next(struct lookup_command *lookup, const char *text, size_t size, size_t *ret_size)
{
	struct batch_query query = {.kind = BATCH_ADDRESS};
	if (lookup->path && (*ret_size = address_line(text, size, &query.given)))
		return vec_push(&lookup->queries, query);
	const char *nl = memchr(text, '\n', size);
	*ret_size = nl ? (size_t)(nl + 1 - text) : 0;
	return nl ? add_line(lookup, text, (size_t)(nl - text)) : 0;
}

/* Answers the lines that were read, but for one that may go on, and removes them. */
static int answer_lines(struct lookup_command *lookup)
{
	size_t size = lookup->n_input, at = 0, more = 1;
	int err = 0;
	while (!err && at < size && more) {
		lookup->n_parsed = at;
		err = add_next(lookup, lookup->input + at, size - at, &more);
		at += more;
	}
	if (!err && at < size && lookup->is_end) {
		err = add_line(lookup, lookup->input + at, size - at);
		at = size;
	}
	lookup->n_parsed = at;
	if (!err && lookup->queries.n)
		err = answer_queries(lookup);
	bool is_longer = lookup->n_input > size; /* by what has_ended() read */
	lookup->n_input -= at;
	memmove(lookup->input, lookup->input + at, lookup->n_input);
	if (lookup->n_input > LINE_MAX_SIZE && !is_longer)
		lookup->n_input = LINE_MAX_SIZE + 1; /* it remains too long */
	return err;
}

static int answer_stdin(struct lookup_command *lookup)
{
	CLEANUP(freep) char *input = malloc(INPUT_SIZE);
	int err = input ? 0 : -ENOMEM;
	lookup->input = input;
	while (!err && (!lookup->is_end || lookup->n_input)) {
		/* The writer of the input may wait for our output. */
		err = output_flush(&lookup->out);
		if (err)
			break;
		read_input(lookup);
		read_ready(lookup);
		err = answer_lines(lookup);
	}
	lookup->input = NULL;
	if (!err && lookup->path && !lookup->reader && !lookup->has_answered)
		err = answer_queries(lookup);
	return err ? err : output_flush(&lookup->out);
}

/* An operand that names functions: those that an answer was printed for. */
struct named_answer {
	struct lookup_command *lookup;
	uint64_t off; /* from the start of each */
	size_t printed;
};

/* Answers for one function of a name; one that ends before the offset has no answer. */
static int answer_function(void *user, const struct name_hit *hit)
{
	struct named_answer *named = user;
	struct lookup_command *lookup = named->lookup;
	uint64_t addr = gsym_reader_address(lookup->reader, hit->index) + named->off;
	if (hit->size && named->off >= hit->size)
		return 0;
	named->printed++;
	if (lookup->all_merged)
		return answer(lookup, addr);
	struct gsym_diag diag = {0};
	int err = gsym_lookup_flags(lookup->reader, addr, hit->which, lookup_flags(lookup), &lookup->answer,
				    &diag);
	if (!err && !has_file(&lookup->answer))
		tell_why(lookup, addr);
	return err ? err : append_found(lookup, addr, addr);
}

/* "main+4", "main + 0x4": offsets as they are not written here. */
static bool has_other_offset(const char *text)
{
	const char *plus = strrchr(text, '+');
	return plus && plus > text && plus[1 + strspn(plus + 1, " ")] >= '0' &&
	       plus[1 + strspn(plus + 1, " ")] <= '9';
}

/* Says that no function is called so, and which names are like it. */
static int complain_of_name(struct lookup_command *lookup, const char *text,
			    const struct place_operand *operand)
{
	struct nearest_names nearest = {.shown.mode = lookup->render.demangle};
	struct text_buf advice = {0};
	bool is_offset = has_other_offset(text);
	int err = is_offset ? 0
			    : nearest_names_find(&nearest, lookup->reader, operand->symbol,
						 operand->symbol_size);
	if (is_offset)
		text_lit(&advice, "; an offset is written +0x... without blanks");
	else if (!nearest.n)
		text_lit(&advice, "; an address is written 0x...");
	nearest_names_append(&advice, &nearest);
	text_char(&advice, 0);
	if (!err && !advice.failed)
		complain("%s: no function '%s'%s", lookup->path, text, advice.v);
	err = advice.failed ? -ENOMEM : err;
	nearest_names_deinit(&nearest);
	text_deinit(&advice);
	return err;
}

static int answer_symbol(struct lookup_command *lookup, const char *text, const struct place_operand *operand)
{
	struct named_answer named = {.lookup = lookup, .off = operand->value};
	int n = symbol_search_visit(&lookup->symbols, operand, answer_function, &named);
	if (n == -ENOMEM)
		return n;
	if (n < 0)
		fail(lookup->path, n, NULL);
	else if (n && !named.printed)
		complain("%s: '%s' is after the end of the function", lookup->path, text);
	lookup->incomplete |= n <= 0 || !named.printed;
	return n ? 0 : complain_of_name(lookup, text, operand);
}

static int answer_operand(struct lookup_command *lookup, const char *text)
{
	struct place_operand operand;
	place_operand_parse(text, &operand);
	return operand.symbol ? answer_symbol(lookup, text, &operand) : answer(lookup, operand.value);
}

static int answer_arguments(struct lookup_command *lookup, char **args, int n)
{
	struct place_operand operand;
	lookup->are_operands = true;
	for (int i = 0; i < n; i++) {
		place_operand_parse(args[i], &operand);
		const struct batch_query query = {.kind = operand.symbol ? BATCH_MALFORMED : BATCH_ADDRESS,
						  .given = operand.value};
		if (vec_push(&lookup->queries, query))
			return -ENOMEM;
	}
	if (!open_pending(lookup))
		return -ECANCELED;
	lookup->symbols.reader = lookup->reader;
	lookup->symbols.shown.shown.mode = lookup->render.demangle;
	print_heading(lookup);
	for (size_t i = lookup->n_early; i < lookup->queries.n; i++) {
		int err = answer_operand(lookup, args[i]);
		if (!err)
			err = output_drain(&lookup->out);
		if (err)
			return err;
	}
	return output_flush(&lookup->out);
}

static int add_filter(const struct option_row *row, const char *pattern, void *to, struct gsym_diag *diag)
{
	(void)row;
	return merged_lookup_filter(to, pattern, diag);
}

static const struct option_row options[] = {
	OPTION_FORMAT(lookup_command, render.format),
	{0, "addresses-from-stdin", NULL, "read lines of an address and a file",
	 OPTION_FLAG(lookup_command, lines_have_files)},
	OPTION_MARK_MERGED(lookup_command, render.mark_merged),
	OPTIONS_DEMANGLE(lookup_command, demangle),
	OPTION_APPROXIMATE(lookup_command, near),
	{0, "columns", NULL, "show columns, and declarations in JSON, from the\nDWARF of an object file",
	 OPTION_FLAG(lookup_command, object.has_details)},
	{0, "merged-functions", NULL,
	 "show every function that shares the code; in the\ngsymutil format with callees at return "
	 "addresses",
	 OPTION_FLAG(lookup_command, all_merged)},
	{0, "merged-functions-filter", "REGEX",
	 "of these, show only functions whose stored name\nmatches REGEX; may be repeated",
	 OPTION_PARSED(lookup_command, merged, add_filter)},
	OPTIONS_IMAGE(lookup_command, object),
	OPTIONS_LOAD(lookup_command, load),
	OPTION_STRIP_PREFIX(lookup_command, strip),
	OPTION_VERBOSE(lookup_command, verbose),
	OPTIONS_END,
};

static int check_operand(const char *text)
{
	struct place_operand operand;
	int err = place_operand_parse(text, &operand);
	if (!err)
		return STATUS_OK;
	return err == -EINVAL
		       ? options_error(&command_lookup, "operand '%s': write 0x%s if it is hexadecimal", text,
				       text)
		       : options_error(&command_lookup, "operand '%s': not an address of 64 bits", text);
}

static int check_arguments(const struct lookup_command *lookup, int argc, char **argv)
{
	int status = STATUS_OK;
	if (lookup->merged.filters.n && !lookup->all_merged)
		return options_error(&command_lookup,
				     "option '--merged-functions-filter': needs '--merged-functions'");
	if (lookup->near && lookup->all_merged)
		return options_error(&command_lookup,
				     "option '--approximate': conflicts with '--merged-functions'");
	if (lookup->object.has_details && (lookup->near || lookup->all_merged))
		return options_error(&command_lookup, "option '--columns': conflicts with '--%s'",
				     lookup->near ? "approximate" : "merged-functions");
	if (lookup->object.has_details && lookup->render.format != RENDER_TEXT &&
	    lookup->render.format != RENDER_JSON)
		return options_error(&command_lookup, "option '--columns': needs --format=text or json");
	if (lookup->lines_have_files && argc > 1)
		return options_error(&command_lookup,
				     "option '--addresses-from-stdin': conflicts with operand '%s'", argv[1]);
	if (!lookup->lines_have_files && argc == 1)
		return options_error(&command_lookup, "missing operand 'FILE'");
	const char *fault = load_options_fault(&lookup->load, !lookup->lines_have_files);
	if (fault)
		return options_error(&command_lookup, "%s", fault);
	for (int i = 2; i < argc && status == STATUS_OK; i++)
		status = check_operand(argv[i]);
	return status;
}

/* Finds the file of all addresses. One that must be converted is opened for the first address, unless that
 * is still to be typed. */
static int begin_lookup(struct lookup_command *lookup, bool has_operands)
{
	int err = lookup_files_find(&lookup->files, lookup->path, strlen(lookup->path), &lookup->object,
				    &lookup->file);
	if (err)
		return err;
	bool may_wait = lookup->file->is_pending && (has_operands || !isatty(STDIN_FILENO));
	return may_wait || open_pending(lookup) ? 0 : -ECANCELED;
}

static int answer_all(struct lookup_command *lookup, char **addresses, int n)
{
	int err = lookup->path ? begin_lookup(lookup, n > 0) : 0;
	if (!err && lookup->all_merged)
		err = merged_lookup_init(&lookup->merged);
	if (!err)
		err = n ? answer_arguments(lookup, addresses, n) : answer_stdin(lookup);
	symbol_search_deinit(&lookup->symbols);
	gsym_answer_deinit(&lookup->answer);
	run_details_cut(&lookup->details, 0);
	vec_free(&lookup->details);
	vec_free(&lookup->shown);
	vec_free(&lookup->queries);
	text_deinit(&lookup->out);
	lookup_files_deinit(&lookup->files);
	if (err && err != -ECANCELED)
		return output_fail(err);
	return err || lookup->incomplete ? STATUS_FAILED : STATUS_OK;
}

static int run_lookup(int argc, char **argv)
{
	struct lookup_command lookup = {.demangle = DEMANGLE_AUTO};
	int status;
	if (options_parse(&command_lookup, &argc, argv, &lookup, &status)) {
		lookup.path = argc > 1 ? argv[1] : NULL;
		status = check_arguments(&lookup, argc, argv);
		if (status == STATUS_OK && lookup.object.mount)
			status = image_mount_check(lookup.object.mount);
		lookup.tells_why = tells_reasons(lookup.verbose);
		path_strip_settle(&lookup.strip, STRIP_NONE);
		lookup.merged.strip = &lookup.strip;
		if (status == STATUS_OK)
			status = answer_all(&lookup, argv + 2, lookup.path ? argc - 2 : 0);
	}
	merged_lookup_deinit(&lookup.merged);
	return status;
}

const struct command command_lookup = {
	.name = "lookup",
	.operands = "[FILE] [ADDRESS|NAME...]",
	.brief = "print the functions, files and lines of addresses",
	.summary = "Prints the functions, files and lines of link-time addresses (hexadecimal) and of\n"
		   "functions by name (main, main+0x10); without either, of addresses on standard input,\n"
		   "one a line.\n"
		   "An object file is converted once; the result is kept in the cache of gsymfs",
	.options = options,
	.examples = "  gsym lookup ./app 0x1170\n"
		    "  gsym lookup --format=json app.gsym main+0x10\n"
		    "  gsym lookup app.gsym < addresses\n"
		    "  echo 0x1170 ./app | gsym lookup --addresses-from-stdin",
	.run = run_lookup,
};
