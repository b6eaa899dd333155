#include "log/engine/pending_stack.h"

#include <errno.h>

#include "gsym/base/invariant.h"
#include "gsym/base/escape.h"
#include "log/line/json_member.h"
#include "gsym/render/frame_text.h"

/* Columns of a backtrace: the number ends in one, that of an inlined call and a blank follow. */
enum { BACKTRACE_NUMBER_DIGITS = 5, BACKTRACE_INLINED_WIDTH = 4, BACKTRACE_ADDRESS_DIGITS = 16 };

/* A frame of the answer being written. */
struct frame_output {
	struct text_buf *out;
	const struct resolved_line *line;
	const struct log_frame *frame;
	const struct resolver_frame *resolved;
	const struct gsym_answer *answer;
	size_t index; /* of its frames */
	const struct filter_options *options;
	const struct filter_image *image;
	enum demangle_mode demangle;
	bool is_json; /* the line */
};

static const struct gsym_frame *frame_of(const struct frame_output *p)
{
	return &p->answer->frames[p->index];
}

/* Returns whether people read the line, who want long answers shortened. */
static bool is_brief(const struct frame_output *p)
{
	return p->options->brief && !p->is_json;
}

/* ---- Parts of an answer ---- */

static void write_name_as(const struct frame_output *p, enum escape_style style)
{
	const struct render_options options = {.demangle = p->demangle};
	size_t from = p->out->n;
	render_name(p->out, frame_of(p)->name, &options, style);
	if (is_brief(p))
		log_name_fold(p->out, from);
	if (p->options->mark_merged && p->resolved->n_kept > 1 && !frame_of(p)->inlined)
		render_merged(p->out, p->resolved->n_bodies);
}

static enum escape_style escape_of(const struct frame_output *p)
{
	return p->is_json ? ESCAPE_JSON : ESCAPE_TEXT;
}

static void write_name(const struct frame_output *p)
{
	write_name_as(p, escape_of(p));
}

/* Copies [@from, @to) of the line. */
static void write_original(const struct frame_output *p, uint32_t from, uint32_t to)
{
	text_bytes(p->out, p->line->text + from, to - from);
}

static bool has_line(const struct frame_output *p)
{
	return frame_has_file(frame_of(p));
}

/* Whether a line can be marked as approximate: not in what programs read, nor as Apple's tools write. */
static bool marks_lines(unsigned style)
{
	return style != STYLE_APPLE && style != STYLE_IPS && style != STYLE_MEMBERS &&
	       style != STYLE_STACKWALK && style != STYLE_MINIDUMP;
}

static void write_number(const struct frame_output *p)
{
	text_char(p->out, ':');
	if (frame_of(p)->approximate && marks_lines(p->frame->style))
		text_char(p->out, '~');
	text_dec(p->out, frame_of(p)->line);
}

/* Strips @dir from the path at @from. False if it does not begin so. */
static bool strip_dir(struct text_buf *out, size_t from, const char *dir)
{
	size_t size = strlen(dir);
	while (size && dir[size - 1] == '/')
		size--;
	if (out->n - from <= size || memcmp(out->v + from, dir, size) != 0 || out->v[from + size] != '/')
		return false;
	size_t rest = out->n - from - size - 1;
	memmove(out->v + from, out->v + out->n - rest, rest);
	out->n = from + rest;
	return true;
}

void log_path_strip(struct text_buf *out, size_t from, const struct filter_options *options,
		    const struct filter_image *image)
{
	for (size_t i = 0; i < options->n_strip; i++)
		if (strip_dir(out, from, options->strip[i]))
			return;
	for (size_t i = 0; i < ARRAY_SIZE(image->roots); i++)
		if (image->roots[i] && strip_dir(out, from, image->roots[i]))
			return;
}

static void strip_path(const struct frame_output *p, size_t from)
{
	log_path_strip(p->out, from, p->options, p->image);
}

static void write_path(const struct frame_output *p)
{
	size_t from = p->out->n;
	render_path(p->out, frame_of(p)->dir, frame_of(p)->base, escape_of(p));
	strip_path(p, from);
}

static void write_position(const struct frame_output *p)
{
	write_path(p);
	write_number(p);
}

/* The offset in the function of the address in the log. */
static uint64_t offset_of(const struct frame_output *p)
{
	return frame_of(p)->offset + (p->resolved->kind == PC_RETURN);
}

static void write_inlined(const struct frame_output *p)
{
	if (frame_of(p)->inlined)
		text_lit(p->out, " [inlined]");
}

/* ---- One function for each style ---- */

static void apple(const struct frame_output *p)
{
	write_name(p);
	text_lit(p->out, " (in ");
	write_original(p, p->frame->label_from, p->frame->label_to);
	if (has_line(p)) {
		text_lit(p->out, ") (");
		escape_str(p->out, frame_of(p)->base, escape_of(p));
		write_number(p);
		text_char(p->out, ')');
	} else {
		text_lit(p->out, ") + ");
		text_dec(p->out, offset_of(p));
	}
	write_inlined(p);
}

static void kernel(const struct frame_output *p)
{
	write_name(p);
	text_lit(p->out, " (");
	write_position(p);
	text_char(p->out, ')');
	write_inlined(p);
}

static void sanitizer(const struct frame_output *p)
{
	text_lit(p->out, " in ");
	write_name(p);
	if (has_line(p)) {
		text_char(p->out, ' ');
		write_position(p);
	} else {
		write_original(p, p->frame->tail, p->frame->to);
	}
}

static void threads(const struct frame_output *p)
{
	write_name(p);
	text_char(p->out, ' ');
	if (has_line(p))
		write_position(p);
	else
		text_lit(p->out, "<null>");
}

static void summary(const struct frame_output *p)
{
	if (has_line(p))
		write_position(p);
	else
		write_original(p, p->frame->from, p->frame->to);
	text_lit(p->out, " in ");
	write_name(p);
}

static void android(const struct frame_output *p)
{
	text_lit(p->out, " (");
	write_name(p);
	if (has_line(p)) {
		text_char(p->out, ' ');
		write_position(p);
	} else {
		text_char(p->out, '+');
		text_dec(p->out, frame_of(p)->offset);
	}
	text_char(p->out, ')');
}

/* "func at file.c:12" */
static void sentence(const struct frame_output *p)
{
	write_name(p);
	if (has_line(p)) {
		text_lit(p->out, " at ");
		write_position(p);
	}
}

/* "    #1.2  ": frame 1, second inlined call. */
static void write_frame_number(const struct frame_output *p)
{
	struct text_buf *out = p->out;
	size_t digits = 1;
	for (uint32_t rest = p->frame->number; rest > 9; rest /= 10)
		digits++;
	text_fill(out, ' ', digits < BACKTRACE_NUMBER_DIGITS ? BACKTRACE_NUMBER_DIGITS - digits : 0);
	text_char(out, '#');
	text_dec(out, p->frame->number);
	size_t from = out->n;
	if (frame_of(p)->inlined) {
		text_char(out, '.');
		text_dec(out, p->index + 1);
	}
	text_fill(out, ' ',
		  out->n - from < BACKTRACE_INLINED_WIDTH ? BACKTRACE_INLINED_WIDTH - (out->n - from) : 1);
}

static void backtrace(const struct frame_output *p)
{
	struct text_buf *out = p->out;
	bool is_return = p->resolved->kind == PC_RETURN;
	write_frame_number(p);
	text_lit(out, "0x");
	text_hex(out, p->frame->shown - is_return, BACKTRACE_ADDRESS_DIGITS);
	text_char(out, ' ');
	write_name(p);
	text_char(out, ' ');
	if (has_line(p))
		write_position(p);
	text_str(out, has_line(p) ? " (" : "(");
	escape_str(out, p->frame->module.name, escape_of(p));
	text_char(out, '+');
	text_addr(out, p->frame->address - is_return);
	text_char(out, ')');
}

static void program_counter(const struct frame_output *p)
{
	write_name(p);
	if (!has_line(p))
		return;
	text_char(p->out, '[');
	write_position(p);
	text_char(p->out, ']');
}

/* The demangled name, of no image. */
static void symbol(const struct frame_output *p)
{
	char name[FILTER_LINE_MAX + 1];
	size_t size = p->frame->symbol_to - p->frame->symbol_from, from = p->out->n;
	memcpy(name, p->line->text + p->frame->symbol_from, size);
	name[size] = 0;
	demangle_append(p->out, name, p->options->demangle);
	if (!p->out->failed)
		escape_tail(p->out, from, escape_of(p));
}

/* The same frame of the log with another function of the answer. */
static struct frame_output other(const struct frame_output *p, size_t index)
{
	struct frame_output o = *p;
	o.index = index;
	return o;
}

/* Frames of its own for inlined calls, the outermost first; semicolons are between frames only. */
static void folded(const struct frame_output *p)
{
	for (size_t i = p->answer->n_frames; i-- > 0;) {
		const struct frame_output o = other(p, i);
		size_t from = p->out->n;
		write_name(&o);
		for (size_t k = from; !p->out->failed && k < p->out->n; k++)
			p->out->v[k] = p->out->v[k] == ';' ? ':' : p->out->v[k];
		text_str(p->out, i ? ";" : "");
	}
}

static void plain(const struct frame_output *p)
{
	text_str(p->out, p->index && !is_brief(p) ? " (inlined by) " : " ");
	sentence(p);
	if (!has_line(p) && offset_of(p)) {
		text_char(p->out, '+');
		text_addr(p->out, offset_of(p));
	}
}

/* Bars in what was written from @from on would separate fields. */
static void end_field(struct text_buf *out, size_t from)
{
	for (size_t i = from; !out->failed && i < out->n; i++)
		out->v[i] = out->v[i] == '|' ? '_' : out->v[i];
}

static void minidump(const struct frame_output *p)
{
	size_t from = p->out->n;
	write_name(p);
	end_field(p->out, from);
	text_char(p->out, '|');
	from = p->out->n;
	if (has_line(p))
		write_path(p);
	end_field(p->out, from);
	text_char(p->out, '|');
	if (has_line(p))
		text_dec(p->out, frame_of(p)->line);
	write_original(p, p->frame->tail, p->frame->to);
}

static void member(const struct frame_output *p, const char *key)
{
	text_lit(p->out, ",\"");
	text_str(p->out, key);
	text_lit(p->out, "\":");
}

static void position_members(const struct frame_output *p)
{
	if (!p->frame->has_symbol) {
		member(p, "symbol");
		text_char(p->out, '"');
		write_name_as(p, ESCAPE_JSON);
		text_char(p->out, '"');
		member(p, "symbolLocation");
		text_dec(p->out, offset_of(p));
	}
	if (has_line(p)) {
		member(p, "sourceFile");
		text_char(p->out, '"');
		escape_str(p->out, frame_of(p)->base, ESCAPE_JSON);
		text_char(p->out, '"');
		member(p, "sourceLine");
		text_dec(p->out, frame_of(p)->line);
	}
}

static void ips(const struct frame_output *p)
{
	position_members(p);
	if (frame_of(p)->inlined) {
		member(p, "inline");
		text_lit(p->out, "true");
	}
}

/* ---- Frames in JSON ---- */

static void write_function(const struct frame_output *p)
{
	text_char(p->out, '"');
	write_name_as(p, ESCAPE_JSON);
	text_char(p->out, '"');
}

static void write_file(const struct frame_output *p)
{
	if (!has_line(p)) {
		text_lit(p->out, "null");
		return;
	}
	text_char(p->out, '"');
	size_t from = p->out->n;
	render_path(p->out, frame_of(p)->dir, frame_of(p)->base, ESCAPE_JSON);
	strip_path(p, from);
	text_char(p->out, '"');
}

static void write_line(const struct frame_output *p)
{
	if (has_line(p))
		text_dec(p->out, frame_of(p)->line);
	else
		text_lit(p->out, "null");
}

static void write_inlines(const struct frame_output *p)
{
	if (!p->index) {
		text_lit(p->out, "null");
		return;
	}
	for (size_t i = 0; i < p->index; i++) {
		const struct frame_output o = other(p, i);
		text_str(p->out, i ? ",{\"file\":" : "[{\"file\":");
		write_file(&o);
		text_lit(p->out, ",\"function\":");
		write_function(&o);
		text_lit(p->out, ",\"line\":");
		write_line(&o);
		text_char(p->out, '}');
	}
	text_char(p->out, ']');
}

/* The position is that of the function; inlined calls are in a list, as in reports of minidump_stackwalk. */
static void members(const struct frame_output *p)
{
	const struct frame_output outer = other(p, p->answer->n_frames - 1);
	position_members(&outer);
	if (!outer.index)
		return;
	member(p, "inlines");
	write_inlines(&outer);
}

static void write_function_offset(const struct frame_output *p)
{
	text_lit(p->out, "\"0x");
	text_hex(p->out, frame_of(p)->offset, p->frame->number_digits);
	text_char(p->out, '"');
}

/* Members of a frame that are filled in, where they are null or missing. */
static const struct {
	const char *key;
	void (*write)(const struct frame_output *p);
} filled[] = {
	{"file", write_file},       {"function", write_function}, {"function_offset", write_function_offset},
	{"inlines", write_inlines}, {"line", write_line},
};

static size_t find_filled(struct text_scan key)
{
	size_t i = 0;
	while (i < ARRAY_SIZE(filled) && !json_is(key, filled[i].key))
		i++;
	return i;
}

/* Copies the members from @s on, with what is null filled in; @ret_present: those it has. Returns the end. */
static const char *fill_members(const struct frame_output *p, struct text_scan s,
				bool ret_present[static ARRAY_SIZE(filled)])
{
	const char *done = s.at;
	struct json_member member;
	while (json_member_next(&s, &member)) {
		size_t i = find_filled(member.key);
		bool is_null = i < ARRAY_SIZE(filled) && json_is(member.value, "null");
		const char *to = is_null ? member.value.at : member.value.end;
		text_bytes(p->out, done, (size_t)(to - done));
		if (i < ARRAY_SIZE(filled))
			ret_present[i] = true;
		if (is_null)
			filled[i].write(p);
		done = member.value.end;
	}
	return done;
}

/* The position in the log is that of the function; inlined calls are in a list, the innermost first. */
static void stackwalk(const struct frame_output *p)
{
	const struct frame_output outer = other(p, p->answer->n_frames - 1);
	const char *text = p->line->text, *end = text + p->frame->to;
	bool present[ARRAY_SIZE(filled)] = {false};
	const char *done = fill_members(&outer, scan_from(text + p->frame->from, end), present);
	for (size_t i = 0; i < ARRAY_SIZE(filled); i++) {
		if (present[i])
			continue;
		text_lit(p->out, ",\"");
		text_str(p->out, filled[i].key);
		text_lit(p->out, "\":");
		filled[i].write(&outer);
	}
	text_bytes(p->out, done, (size_t)(end - done));
}

enum many {
	LINES,    /* a line for each frame */
	OBJECTS,  /* an object for each frame */
	ONE_LINE, /* all of them */
	FIRST,    /* the innermost only */
};

static const struct {
	void (*write)(const struct frame_output *p);
	enum many many;
	bool wants_line; /* an answer without a line adds nothing to the log */
	unsigned lookup; /* enum gsym_lookup_flags */
	bool is_text;    /* made of the line alone */
} styles[] = {
	[STYLE_APPLE] = {apple, LINES, false, GSYM_LOOKUP_FIRST_ROW},
	[STYLE_KERNEL] = {kernel, LINES, true},
	[STYLE_SANITIZER] = {sanitizer, LINES, false},
	[STYLE_THREADS] = {threads, LINES, false},
	[STYLE_SUMMARY] = {summary, FIRST, false},
	[STYLE_ANDROID] = {android, LINES, false},
	[STYLE_COREDUMP] = {sentence, LINES, false},
	[STYLE_BACKTRACE] = {backtrace, LINES, false},
	[STYLE_PC] = {program_counter, FIRST, false},
	[STYLE_SYMBOL] = {symbol, FIRST, .is_text = true},
	[STYLE_IPS] = {ips, OBJECTS, false, GSYM_LOOKUP_FIRST_ROW},
	[STYLE_MEMBERS] = {members, FIRST, false, GSYM_LOOKUP_FIRST_ROW},
	[STYLE_STACKWALK] = {stackwalk, FIRST, false},
	[STYLE_MINIDUMP] = {minidump, LINES, false},
	[STYLE_FOLDED] = {folded, FIRST, false},
	[STYLE_PLAIN] = {plain, ONE_LINE, false},
};

/* ---- Lines ---- */

static bool find_answer(const struct stack_resolver *resolver, const struct filter_options *options,
			const struct log_frame *frame, const struct resolver_frame *resolved,
			struct gsym_answer *answer, struct text_buf *out)
{
	if (styles[frame->style].is_text)
		return true;
	if (frame->silent || resolved->err || !resolved->n_kept)
		return false;
	/* Calls that were merged, as those of sanitizers, have no line of their own. */
	bool near = (options->near || resolved->kind != PC_EXACT) && marks_lines(frame->style);
	int err = stack_resolver_answer(resolver, resolved, 0,
					styles[frame->style].lookup | (near ? GSYM_LOOKUP_NEAR : 0), answer);
	out->failed |= err == -ENOMEM;
	bool wants_line = styles[frame->style].wants_line || frame->space == FRAME_NAME || frame->named ||
			  frame->has_symbol;
	return !err && (!wants_line || frame_has_file(&answer->frames[0]));
}

/* Added lines have the line ending of the original. */
static void write_end(const struct frame_output *p)
{
	const struct resolved_line *line = p->line;
	bool has_return = line->size >= 2 && memcmp(line->text + line->size - 2, "\r\n", 2) == 0;
	text_str(p->out, has_return ? "\r\n" : "\n");
}

/* Whether the line goes on with the @size bytes of @text, as a word of their own. */
static bool is_next(struct text_scan line, const char *text, size_t size)
{
	return scan_bytes(&line, text, size) && (line.at == line.end || !is_word(*line.at));
}

/* Returns whether the line, of this frame alone, names a function itself. */
static bool names_function(const struct frame_output *p)
{
	struct log_claim claim;
	return p->line->n == 1 &&
	       log_claim_find(scan_from(p->line->text, p->line->text + p->line->size), p->frame, &claim);
}

/*
 * Takes back what was appended since @from if it follows in the line already, as a log may be filtered again;
 * or if it is no more than "name+0x12" and the name follows, " in name", " - name", or any "name+0x12" is in
 * the line.
 */
static void drop_repeated(const struct frame_output *p, size_t from)
{
	struct text_scan line = scan_from(p->line->text + p->frame->to, p->line->text + p->line->size);
	const char *text = p->out->v + from, *plus;
	size_t size = p->out->n - from;
	if (p->out->failed || p->frame->from != p->frame->to || !size)
		return;
	bool repeated = is_next(line, text, size);
	if (!repeated && p->answer->n_frames == 1 && !frame_has_file(&p->answer->frames[0])) {
		if (!scan_lit(&line, " in ") && !scan_lit(&line, " - ") && !scan_lit(&line, ": "))
			scan_blanks(&line);
		plus = memrchr(text, '+', size);
		repeated = is_next(line, text + 1, (plus ? (size_t)(plus - text) : size) - 1) ||
			   names_function(p);
	}
	if (repeated)
		p->out->n = from;
}

/* Marks what was written from @from on in place of the frame, if it is another text and no JSON. */
static void paint(const struct frame_output *p, size_t from)
{
	size_t size = p->out->n - from, was = p->frame->to - p->frame->from;
	bool is_json = p->is_json || p->frame->style == STYLE_IPS || p->frame->style == STYLE_MEMBERS ||
		       p->frame->style == STYLE_STACKWALK;
	if (!p->options->colored || p->out->failed || is_json || !size)
		return;
	if (size != was || memcmp(p->out->v + from, p->line->text + p->frame->from, size) != 0)
		log_paint(p->out, from);
}

/* Writes the function that the calls were inlined into, and their number: there is no room for them. */
static void write_briefly(struct frame_output *p)
{
	p->index = p->answer->n_frames - 1;
	styles[p->frame->style].write(p);
	text_lit(p->out, " (");
	text_dec(p->out, p->index);
	text_lit(p->out, " inlined)");
}

/* Appends the answer in place of frame @i. @alone: it is the only one of its line, so lines can be added. */
static void write_frame(struct frame_output *p, size_t i, bool alone)
{
	enum many many = styles[p->frame->style].many;
	size_t n = many == FIRST ? 1 : p->answer->n_frames, from = p->out->n;
	if (is_brief(p) && n > 1 && (many == ONE_LINE || (many == LINES && !alone))) {
		write_briefly(p);
		n = 0;
	}
	for (p->index = 0; p->index < n; p->index++) {
		size_t at = p->out->n;
		styles[p->frame->style].write(p);
		if (many != ONE_LINE)
			paint(p, at);
		if ((many != LINES && many != OBJECTS) || p->index + 1 == n)
			continue;
		bool adds_line = alone && !p->is_json;
		if (many == OBJECTS)
			text_str(p->out, "},");
		else if (adds_line)
			write_end(p);
		else
			text_char(p->out, ' ');
		if (alone && (adds_line || many == OBJECTS))
			write_original(p, 0, p->line->frames[i].is.from);
	}
	if (many == ONE_LINE)
		drop_repeated(p, from);
	if (many == ONE_LINE || !n)
		paint(p, from);
}

void log_line_write(struct text_buf *out, const struct resolved_line *line,
		    const struct stack_resolver *resolver, struct gsym_answer *answer,
		    const struct filter_options *options)
{
	size_t done = 0;
	bool is_json = json_is_line(scan_from(line->text, line->text + line->size));
	for (size_t i = 0; i < line->n; i++) {
		const struct log_frame *frame = &line->frames[i].is;
		bool is_ada = line->images[i].has_ada && options->demangle == DEMANGLE_AUTO;
		struct frame_output piece = {
			.out = out,
			.line = line,
			.frame = frame,
			.resolved = &line->resolved[i],
			.answer = answer,
			.options = options,
			.image = &line->images[i],
			.demangle = is_ada ? DEMANGLE_ADA : options->demangle,
			.is_json = is_json,
		};
		if (!find_answer(resolver, options, frame, piece.resolved, answer, out))
			continue;
		invariant(done <= frame->from && frame->from <= frame->to && frame->to <= line->size);
		text_bytes(out, line->text + done, frame->from - done);
		size_t from = out->n, size = frame->to - frame->from;
		write_frame(&piece, i, line->n == 1);
		line->frames[i].changed = out->failed || out->n - from != size ||
					  memcmp(out->v + from, line->text + frame->from, size) != 0;
		done = frame->to;
	}
	text_bytes(out, line->text + done, line->size - done);
}
