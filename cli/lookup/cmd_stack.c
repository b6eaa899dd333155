/*
 * cmd_stack.c - gsym stack: stacks of "<id> <address>" lines, innermost frame first, resolved from the
 * outermost frame inwards. What stands before the address is a place as in a mount: "<id>/off",
 * "by-name/app".
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "gsym/base/ascii.h"
#include "gsym/base/suggestion.h"
#include "log/engine/stack_resolver.h"
#include "gsym/render/render.h"
#include "gsym/base/address.h"
#include "work/cache/context.h"
#include "work/cache/notes.h"
#include "cli/command/commands.h"
#include "cli/lookup/image_files.h"
#include "cli/lookup/load_options.h"
#include "cli/lookup/tell_reason.h"
#include "cli/command/message.h"

enum {
	LINE_SIZE = 4096, /* longer lines are malformed */
	NUMBER_WIDTH = 4,
};

/* A line of input. */
struct entry {
	char *text;
	size_t size;
	uint64_t address; /* as given */
	uint64_t link;    /* link-time */
	size_t image;     /* in the list of images */
	struct context context;
	bool is_return, malformed;
};

enum {
	NO_IMAGE = SIZE_MAX,
	MISSING_MAX = 1000, /* images that are named because they are not there */
};

struct stacks {
	struct image_files images;
	struct load_options load;
	bool near; /* the nearest line where the line is 0 */
	struct render_options render;
	bool all;
	bool verbose, tells_why; /* why an answer is "??": if that is wanted, and told */
	struct stack_resolver *walk;
	VEC(struct entry) entries;     /* of the stack being read */
	VEC(char *) missing;           /* ids and names that have no image; each was told */
	VEC(struct told_reasons) told; /* of the first images in the list */
	VEC(struct resolver_frame) frames;
	struct gsym_answer answer;
	struct text_buf record, out;
	uint64_t number; /* of the stack */
	bool at_end;
};

/* ---- Input ---- */

/* Reads a line without its newline, of which LINE_SIZE bytes are kept. False at the end. */
static bool read_line(char *line, size_t *ret)
{
	size_t n = 0;
	int c;
	while ((c = getchar_unlocked()) != EOF && c != '\n')
		if (n < LINE_SIZE)
			line[n++] = (char)c;
	while (n && n < LINE_SIZE && is_line_padding(line[n - 1]))
		n--;
	*ret = n;
	return c != EOF || n;
}

/* The image and what the address is: "<id>/base/<load>", "by-name/<name>/off". False if it is none. */
static bool parse_place(const char *text, size_t size, struct filter_module *module, struct context *ret)
{
	static const char by_name[] = "by-name/";
	const size_t prefix = sizeof(by_name) - 1;
	size_t n;
	bool has_name = size > prefix && memcmp(text, by_name, prefix) == 0;
	if (has_name) {
		text += prefix;
		size -= prefix;
	}
	if (!context_parse_place(text, size, &n, ret))
		return false;
	if (!has_name)
		return n < FILTER_ID_SIZE && filter_module_set_id(module, text, n);
	if (!n || n >= sizeof(module->name) || memchr(text, 0, n))
		return false;
	memcpy(module->name, text, n);
	return true;
}

/* The file whose id is most like @id, or NULL. @ret_id: its id */
static const char *nearest_file(const struct stacks *s, const char *id, char ret_id[static FILTER_ID_SIZE])
{
	struct suggestion suggestion = suggestion_begin(id, strlen(id));
	char digits[FILTER_ID_SIZE];
	const char *name = NULL;
	for (size_t i = 0; i < s->images.n_given; i++) {
		const struct gsym_info *info = gsym_reader_info(s->images.list.v[i].reader);
		for (size_t k = 0; k < info->uuid_size && 2 * k + 3 <= sizeof(digits); k++)
			snprintf(digits + 2 * k, 3, "%02x", info->uuid[k]);
		unsigned before = suggestion.best ? suggestion.distance : UINT_MAX;
		if (info->uuid_size)
			suggestion_try(&suggestion, digits);
		if (!suggestion.best || suggestion.distance >= before)
			continue;
		strcpy(ret_id, digits);
		name = s->images.list.v[i].name;
	}
	return name;
}

/* Reads what the mount says of an id that it lacks. False if it says nothing. */
static bool ask_mount(const struct stacks *s, const char *id)
{
	char path[PATH_MAX], line[1024] = "";
	if (snprintf(path, sizeof(path), "%s/why/%s", s->images.options.mount, id) >= (int)sizeof(path))
		return false;
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool has_line = fgets(line, sizeof(line), file);
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	if (has_line)
		say(stderr, "gsym stack: %s", line);
	return has_line;
}

static void tell_missing(const struct stacks *s, const struct filter_module *module, int err)
{
	char nearest[FILTER_ID_SIZE];
	const char *id = module->id, *file;
	if (!*id)
		say(stderr, "gsym stack: %s: %s", module->name,
		    err == -ENOTUNIQ ? "several builds have this name: give an id"
				     : "no image has this name");
	else if (s->images.options.mount && ask_mount(s, id))
		return;
	else if ((file = nearest_file(s, id, nearest)))
		say(stderr, "gsym stack: %s: no image has this id; the nearest is %s (%s)", id, nearest,
		    file);
	else
		say(stderr, "gsym stack: %s: no image has this id", id);
}

/* Says once why there is no image for what the line names. 0 or -ENOMEM. */
static int note_missing_image(struct stacks *s, const struct filter_module *module, int err)
{
	const char *what = *module->id ? module->id : module->name;
	for (size_t i = 0; i < s->missing.n; i++)
		if (strcmp(s->missing.v[i], what) == 0)
			return 0;
	char *copy = s->missing.n < MISSING_MAX ? strdup(what) : NULL;
	if (!copy)
		return s->missing.n < MISSING_MAX ? -ENOMEM : 0;
	if (vec_push(&s->missing, copy)) {
		free(copy);
		return -ENOMEM;
	}
	tell_missing(s, module, err);
	return 0;
}

/* Says why the address of frame @i has no function, or no file and line. */
static int tell_why(struct stacks *s, const struct entry *entry, uint64_t addr)
{
	const struct told_reasons none = {0};
	if (!s->tells_why || entry->malformed || entry->image == NO_IMAGE)
		return 0;
	while (s->told.n <= entry->image)
		if (vec_push(&s->told, none))
			return -ENOMEM;
	const struct image_file *image = &s->images.list.v[entry->image];
	tell_reason(&s->told.v[entry->image], image->name, image->reader, image->object.handle, addr);
	return 0;
}

/* Makes the entry's address one of @image, unless it stands for no place in it. */
static void place_entry(const struct stacks *s, const struct image_file *image, struct entry *entry)
{
	const struct address_map base = {.base = image->base};
	const struct address_map *map = image->map ? image->map : &base;
	uint64_t slide = 0;
	if (entry->context.space == SPACE_LINK)
		load_slide_of(&s->load, image->name, s->images.n_given == 1, image->base, &slide);
	if (context_to_link(&entry->context, map, entry->address - slide, &entry->link))
		entry->image = (size_t)(image - s->images.list.v);
}

static int find_image(struct stacks *s, const struct filter_module *module, struct entry *entry)
{
	size_t refused = s->images.refused.n;
	const struct image_file *image;
	s->images.by_name = !module->id[0];
	int err = images_find(&s->images, module, &image);
	if (err && err != -ENOMEM && s->tells_why && s->images.refused.n == refused)
		err = note_missing_image(s, module, err) ? -ENOMEM : err;
	if (err)
		return err;
	place_entry(s, image, entry);
	return 0;
}

/* Of an id without an image, or a number that stands for no place in it, the entry has none. 0 or -ENOMEM. */
static int parse_image(struct stacks *s, const char *text, size_t size, struct entry *entry)
{
	struct filter_module module = {.id = ""};
	if (!parse_place(text, size, &module, &entry->context)) {
		entry->malformed = true;
		return 0;
	}
	/* Of a return address the resolver looks up the call. */
	entry->is_return = entry->context.is_return;
	entry->context.is_return = false;
	int err = find_image(s, &module, entry);
	return err == -ENOMEM ? err : 0;
}

static int parse_entry(struct stacks *s, const char *line, size_t size, struct entry *entry)
{
	const char *id = line, *end = line + size, *address;
	while (id < end && is_line_padding(*id))
		id++;
	for (address = end; address > id && !is_line_padding(address[-1]);)
		address--;
	const char *id_end = address;
	while (id_end > id && is_line_padding(id_end[-1]))
		id_end--;
	entry->malformed =
		size >= LINE_SIZE || !address_parse(address, (size_t)(end - address), &entry->address);
	entry->link = entry->address;
	if (id_end > id)
		return parse_image(s, id, (size_t)(id_end - id), entry);
	if (s->images.n_given == 1 && !s->images.options.mount)
		place_entry(s, &s->images.list.v[0], entry);
	else
		entry->malformed = true;
	return 0;
}

static int add_line(struct stacks *s, const char *line, size_t size)
{
	struct entry entry = {.size = size, .image = NO_IMAGE};
	int err = parse_entry(s, line, size, &entry);
	entry.text = err ? NULL : malloc(size + 1);
	if (!entry.text || vec_reserve(&s->entries, 1)) {
		free(entry.text);
		return -ENOMEM;
	}
	memcpy(entry.text, line, size);
	s->entries.v[s->entries.n++] = entry;
	return 0;
}

/* ---- Output ---- */

/* Prints the lines of s->record, a candidate of frame @i, after the number of the frame. */
static void write_text(struct stacks *s, size_t i, uint32_t candidate)
{
	for (size_t at = 0; at < s->record.n;) {
		const char *line = s->record.v + at, *nl = memchr(line, '\n', s->record.n - at);
		size_t size = nl ? (size_t)(nl + 1 - line) : s->record.n - at, from = s->out.n;
		if (!at && candidate) {
			text_lit(&s->out, "or");
		} else if (!at) {
			text_char(&s->out, '#');
			text_dec(&s->out, i);
		}
		text_fill(&s->out, ' ',
			  s->out.n - from < NUMBER_WIDTH ? NUMBER_WIDTH - (s->out.n - from) : 1);
		text_bytes(&s->out, line, size);
		at += size;
	}
}

/* Prints stack, frame and candidate as three more columns. */
static void write_tsv(struct stacks *s, size_t i, uint32_t candidate)
{
	for (size_t at = 0; at < s->record.n;) {
		const char *line = s->record.v + at, *nl = memchr(line, '\n', s->record.n - at);
		size_t size = nl ? (size_t)(nl + 1 - line) : s->record.n - at;
		text_dec(&s->out, s->number);
		text_char(&s->out, '\t');
		text_dec(&s->out, i);
		text_char(&s->out, '\t');
		text_dec(&s->out, candidate);
		text_char(&s->out, '\t');
		text_bytes(&s->out, line, size);
		at += size;
	}
}

/* The same as members of the JSON object. */
static void write_json(struct stacks *s, size_t i, uint32_t candidate)
{
	text_lit(&s->out, "{\"Stack\":");
	text_dec(&s->out, s->number);
	text_lit(&s->out, ",\"Frame\":");
	text_dec(&s->out, i);
	text_lit(&s->out, ",\"Candidate\":");
	text_dec(&s->out, candidate);
	text_char(&s->out, ',');
	text_bytes(&s->out, s->record.v + 1, s->record.n - 1);
}

static int write_record(struct stacks *s, size_t i, uint32_t candidate)
{
	if (s->record.failed || !s->record.n)
		return -ENOMEM;
	switch (s->render.format) {
	case RENDER_TSV: write_tsv(s, i, candidate); break;
	case RENDER_JSON: write_json(s, i, candidate); break;
	default: write_text(s, i, candidate); break;
	}
	text_reset(&s->record);
	return output_drain(&s->out);
}

static int write_unknown(struct stacks *s, size_t i)
{
	const struct entry *entry = &s->entries.v[i];
	int err = entry->malformed ? render_malformed(&s->record, entry->text, entry->size, &s->render)
				   : render_unknown(&s->record, entry->address, &s->render);
	return err ? err : write_record(s, i, 0);
}

static int write_candidate(struct stacks *s, size_t i, uint32_t candidate)
{
	const struct resolver_frame *frame = &s->frames.v[i];
	bool near = s->near || s->entries.v[i].context.near;
	unsigned flags = render_lookup_flags(s->render.format) | (near ? GSYM_LOOKUP_NEAR : 0);
	int err = stack_resolver_answer(s->walk, frame, candidate, flags, &s->answer);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (frame->n_kept == 1)
		s->answer.n_merged = 1; /* the call site identifies it */
	if (s->answer.n_frames && !*s->answer.frames[0].base)
		err = tell_why(s, &s->entries.v[i], frame->address - (frame->kind == PC_RETURN));
	if (err)
		return err;
	struct image_file *image = &s->images.list.v[s->entries.v[i].image];
	err = images_find_roots(&s->images, image);
	if (err)
		return err;
	path_strip_answer(&s->images.strip, image->roots, &s->answer);
	for (size_t k = 0; frame->kind == PC_RETURN && k < s->answer.n_frames; k++)
		s->answer.frames[k].offset++;
	err = render_answer(&s->record, s->entries.v[i].address, &s->answer, &s->render);
	return err ? err : write_record(s, i, candidate);
}

static int write_frame(struct stacks *s, size_t i)
{
	const struct resolver_frame *frame = &s->frames.v[i];
	const struct entry *entry = &s->entries.v[i];
	s->render.module = entry->image == NO_IMAGE ? NULL : s->images.list.v[entry->image].name;
	int err = 0;
	if (frame->err || !frame->n_kept) {
		err = tell_why(s, entry, entry->link - (frame->kind == PC_RETURN));
		return err ? err : write_unknown(s, i);
	}
	for (uint32_t k = 0; !err && k < (s->all ? frame->n_kept : 1); k++)
		err = write_candidate(s, i, k);
	return err;
}

/* ---- Stacks ---- */

static void forget(struct stacks *s)
{
	for (size_t i = 0; i < s->entries.n; i++)
		free(s->entries.v[i].text);
	s->entries.n = s->frames.n = 0;
}

static int resolve(struct stacks *s)
{
	if (vec_reserve(&s->frames, s->entries.n))
		return -ENOMEM;
	for (size_t i = 0; i < s->entries.n; i++) {
		const struct entry *entry = &s->entries.v[i];
		bool known = !entry->malformed && entry->image != NO_IMAGE;
		s->frames.v[s->frames.n++] = (struct resolver_frame){
			.reader = known ? s->images.list.v[entry->image].reader : NULL,
			.address = entry->link,
			.which = RESOLVER_ANY_BODY,
			.kind = i || entry->is_return ? PC_RETURN : PC_EXACT,
		};
	}
	return stack_resolver_run(s->walk, s->frames.v, s->frames.n);
}

/* Answers the stack that was read and flushes: a client may wait for it before it sends the next. */
static int answer(struct stacks *s)
{
	int err = resolve(s);
	for (size_t i = 0; !err && i < s->frames.n; i++)
		err = write_frame(s, i);
	forget(s);
	s->number++;
	render_end_record(&s->out, s->render.format);
	return err ? err : output_flush(&s->out);
}

static int answer_all(struct stacks *s)
{
	char line[LINE_SIZE];
	size_t size;
	int err = 0;
	while (!err && read_line(line, &size)) {
		if (!size)
			err = s->entries.n ? answer(s) : 0;
		else
			err = add_line(s, line, size);
		if (!err && s->entries.n >= STACK_FRAMES_MAX)
			err = answer(s);
	}
	return err || !s->entries.n ? err : answer(s);
}

static int resolve_all(struct stacks *s)
{
	int err = -ENOMEM;
	s->walk = stack_resolver_new();
	if (s->walk)
		err = answer_all(s);
	forget(s);
	stack_resolver_free(s->walk);
	vec_free(&s->entries);
	vec_free(&s->frames);
	for (size_t i = 0; i < s->missing.n; i++)
		free(s->missing.v[i]);
	vec_free(&s->missing);
	vec_free(&s->told);
	gsym_answer_deinit(&s->answer);
	text_deinit(&s->record);
	text_deinit(&s->out);
	if (!err && ferror(stdin))
		return fail("standard input", -EIO, NULL);
	return err ? output_fail(err) : STATUS_OK;
}

static const struct option_row options[] = {
	OPTIONS_IMAGE(stacks, images.options),
	{0, "all", NULL, "show all merged functions that the calls allow,\nnot one of them",
	 OPTION_FLAG(stacks, all)},
	OPTION_FORMAT(stacks, render.format),
	OPTION_APPROXIMATE(stacks, near),
	OPTIONS_LOAD(stacks, load),
	OPTION_STRIP_PREFIX(stacks, images.strip),
	OPTION_MARK_MERGED(stacks, render.mark_merged),
	OPTIONS_DEMANGLE(stacks, render.demangle),
	OPTION_VERBOSE(stacks, verbose),
	OPTIONS_END,
};

static int run_stack(int argc, char **argv)
{
	struct stacks s = {.render.demangle = DEMANGLE_AUTO};
	int status;
	if (!options_parse(&command_stack, &argc, argv, &s, &status))
		return status;
	s.tells_why = tells_reasons(s.verbose);
	path_strip_settle(&s.images.strip, STRIP_NONE);
	const char *fault = load_options_fault(&s.load, (size_t)argc - 1);
	if (fault)
		return options_error(&command_stack, "%s", fault);
	status = images_open_all(&command_stack, &s.images, argc, argv);
	if (status == STATUS_OK)
		status = resolve_all(&s);
	if (status == STATUS_OK && s.images.refused.n)
		status = STATUS_FAILED;
	images_deinit(&s.images);
	return status;
}

const struct command command_stack = {
	.name = "stack",
	.operands = "[FILE...]",
	.brief = "the same for the frames of stacks, telling merged functions apart",
	.summary =
		"Prints the functions, files and lines of the frames of stacks on standard input: lines of\n"
		"\"ID ADDRESS\", innermost frame first, an empty line after each stack. \"ID/rva\", "
		"\"ID/off\"\n"
		"and \"ID/base/LOAD\" say what the number counts from, and \"by-name/NAME\" names a file. "
		"Call\n"
		"sites recorded at the return addresses tell merged functions apart. FILE is a GSYM file, or "
		"an\n"
		"object file, which is converted once",
	.options = options,
	.examples = "  gsym stack app.gsym < stacks\n"
		    "  gsym stack --mount=/mnt/sym --format=tsv < stacks",
	.run = run_stack,
};
