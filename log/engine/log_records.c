/* Answers for programs: JSON objects, and stacks as gsym stack takes them. */
#include "log/engine/pending_stack.h"

#include <errno.h>

#include "gsym/base/escape.h"
#include "gsym/render/frame_text.h"

static const char *const reasons[] = {
	[FILTER_NO_IMAGE] = "no image has the id or name",
	[FILTER_NO_ID] = "no id, and names are not searched",
	[FILTER_AMBIGUOUS] = "several images have the name",
	[FILTER_OTHER_RELEASE] = "images are of other releases of the kernel",
	[FILTER_NO_MAPPING] = "not known what was at the address in memory",
	[FILTER_NO_FUNCTION] = "in no function of the image",
	[FILTER_NO_DEBUG_DATA] = "in no function of the image, which has no debug data",
	[FILTER_NO_NAME] = "no function of the image has the name in the log",
	[FILTER_FILE_OFFSET] = "in no function of the image, unless it is an offset in the file",
	[FILTER_SEVERAL] = "several functions have the name",
	[FILTER_NO_SEGMENTS] = "an offset in the file, and the segments are not known",
	[FILTER_OTHER_BUILD] = "another build: the function has another size",
	[FILTER_OTHER_FUNCTION] = "another build: the function is elsewhere",
	[FILTER_REJECTED] = "another build: other functions differ",
};

static_assert(ARRAY_SIZE(reasons) == FILTER_REJECTED + 1, "a row for each enumerator");

static void write_string(struct text_buf *out, const char *key, const char *text, size_t size)
{
	text_lit(out, ",\"");
	text_str(out, key);
	text_lit(out, "\":\"");
	escape_bytes(out, text, size, ESCAPE_JSON);
	text_char(out, '"');
}

static void begin_record(struct text_buf *out, uint64_t number)
{
	text_lit(out, "{\"line\":");
	text_dec(out, number + 1);
}

/* The line without its ending. */
static void write_text(struct text_buf *out, const char *bytes, size_t size)
{
	size -= size && bytes[size - 1] == '\n';
	size -= size && bytes[size - 1] == '\r';
	write_string(out, "text", bytes, size);
}

void record_text(struct text_buf *out, const char *bytes, size_t size, uint64_t *number)
{
	while (size) {
		const char *nl = memchr(bytes, '\n', size);
		size_t n = nl ? (size_t)(nl + 1 - bytes) : size;
		begin_record(out, *number);
		write_text(out, bytes, n);
		text_lit(out, "}\n");
		*number += nl != NULL;
		bytes += n;
		size -= n;
	}
}

/* The id of the image, if it has one. */
static void write_image_id(struct text_buf *out, const struct filter_image *image)
{
	const struct gsym_info *info = gsym_reader_info(image->reader);
	for (size_t i = 0; i < info->uuid_size; i++)
		text_hex(out, info->uuid[i], 2);
}

static bool find_answer(const struct stack_resolver *resolver, const struct buffered_frame *frame,
			const struct resolver_frame *resolved, struct gsym_answer *answer,
			struct text_buf *out)
{
	if (frame->image_err || resolved->err || !resolved->n_kept)
		return false;
	int err = stack_resolver_answer(resolver, resolved, 0,
					resolved->kind != PC_EXACT ? GSYM_LOOKUP_NEAR : 0, answer);
	out->failed |= err == -ENOMEM;
	return !err;
}

static void write_functions(struct text_buf *out, const struct gsym_answer *answer,
			    const struct filter_image *image, const struct filter_options *options)
{
	bool is_ada = image->has_ada && options->demangle == DEMANGLE_AUTO;
	const struct render_options render = {.demangle = is_ada ? DEMANGLE_ADA : options->demangle};
	text_lit(out, ",\"frames\":[");
	for (size_t i = 0; i < answer->n_frames; i++) {
		const struct gsym_frame *frame = &answer->frames[i];
		text_str(out, i ? ",{\"function\":\"" : "{\"function\":\"");
		render_name(out, frame->name, &render, ESCAPE_JSON);
		text_char(out, '"');
		if (frame_has_file(frame)) {
			text_lit(out, ",\"file\":\"");
			size_t from = out->n;
			render_path(out, frame->dir, frame->base, ESCAPE_JSON);
			log_path_strip(out, from, options, image);
			text_lit(out, "\",\"line\":");
			text_dec(out, frame->line);
		}
		text_str(out, frame->inlined ? ",\"inlined\":true}" : "}");
	}
	text_char(out, ']');
}

void log_line_record(struct text_buf *out, const struct resolved_line *line,
		     const struct stack_resolver *resolver, struct gsym_answer *answer,
		     const struct filter_options *options, uint64_t *number)
{
	if (!line->n) {
		record_text(out, line->text, line->size, number);
		return;
	}
	for (size_t i = 0; i < line->n; i++) {
		const struct buffered_frame *frame = &line->frames[i];
		const struct filter_module *module = &frame->is.module;
		bool found = find_answer(resolver, frame, &line->resolved[i], answer, out);
		begin_record(out, *number);
		if (!i)
			write_text(out, line->text, line->size);
		write_string(out, "module", module->name, strlen(module->name));
		text_lit(out, ",\"id\":\"");
		if (found && !module->id[0])
			write_image_id(out, &line->images[i]);
		else
			text_str(out, module->id);
		text_lit(out, "\",\"address\":\"");
		text_addr(out, found             ? line->resolved[i].address
			       : frame->is.shown ? frame->is.shown
						 : frame->is.address);
		text_char(out, '"');
		if (found)
			write_functions(out, answer, &line->images[i], options);
		else
			write_string(out, "reason", reasons[frame->cause], strlen(reasons[frame->cause]));
		text_lit(out, "}\n");
	}
	*number += memchr(line->text, '\n', line->size) != NULL;
}

/* ---- Stacks ---- */

/* Names what the number of a module with an id counts from; NULL: it cannot be looked up. */
static const char *space_of(const struct log_frame *frame)
{
	switch ((enum frame_space)frame->space) {
	case FRAME_FIXED:
	case FRAME_LINK: return "";
	case FRAME_RVA: return "/rva";
	case FRAME_FILE: return "/off";
	default: return NULL;
	}
}

void log_line_stack(struct text_buf *out, const struct resolved_line *line, size_t i, bool is_first)
{
	const struct log_frame *frame = &line->frames[i].is;
	const struct filter_image *image = &line->images[i];
	const struct resolver_frame *resolved = &line->resolved[i];
	const char *space = frame->module.id[0] ? space_of(frame) : NULL;
	bool is_known = image->reader && resolved->reader;
	if (!is_known && (!space || frame->unmapped))
		return;
	if (is_known && gsym_reader_info(image->reader)->uuid_size) {
		write_image_id(out, image);
	} else if (frame->module.id[0]) {
		text_str(out, frame->module.id);
	} else {
		const char *slash = strrchr(frame->module.name, '/');
		text_lit(out, "by-name/");
		text_str(out, slash ? slash + 1 : frame->module.name);
	}
	text_str(out, is_known ? "" : space);
	/* All but the first are taken for return addresses. */
	if (is_first && resolved->kind == PC_RETURN)
		text_lit(out, "/ra");
	text_char(out, ' ');
	text_addr(out, (is_known ? resolved->address : frame->address) +
			       (!is_first && resolved->kind != PC_RETURN));
	text_char(out, '\n');
}
