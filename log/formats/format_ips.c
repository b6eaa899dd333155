/*
 * Crash reports of newer Apple systems (.ips): a line of JSON that describes the report, then a JSON object.
 *
 *	{"app_name":"Example","bug_type":"309","incident_id":"..."}
 *	{ "threads": [{"frames": [{"imageOffset": 16208, "imageIndex": 0}, ...]}, ...],
 *	  "usedImages": [{"base": 4372103168, "uuid": "...", "name": "Example"}, ...] }
 *
 * Images may come after the frames, so the object is read as a whole.
 *
 * And those of minidump_stackwalk, which are such an object alone:
 *
 *	{"crash_info": ..., "threads": [{"frames": [{"frame": 1, "module": "x.so", "module_offset": "0x1177",
 *	"function": null, "file": null, "line": null, "inlines": null, ...}, ...]}, ...],
 *	"modules": [{"filename": "x.so", "debug_id": "...", ...}, ...]}
 *
 * There return addresses were moved back into the call. What is null is filled in.
 *
 * And those of MetricKit, whose frames are nested, and have the load address for the offset in some reports:
 *
 *	{"callStacks": [{"callStackRootFrames": [{"binaryUUID": "...", "offsetIntoBinaryTextSegment": 4556,
 *	"address": 4372107724, "binaryName": "Example", "subFrames": [{...}]}]}]}
 *
 * And those of MongoDB, in a line of its log or alone:
 *
 *	{"backtrace": [{"a": "5581F7F2A1CC", "b": "5581F7F29000", "o": "11CC", "s": "work"}, ...],
 *	"processInfo": {"somap": [{"b": "5581F7F29000", "path": "/usr/bin/example", "buildId": "..."}, ...]}}
 */
#include "log/formats/report_lines.h"

#include <errno.h>

#include "gsym/base/vec.h"
#include "log/line/json_member.h"

void ips_deinit(struct ips *ips)
{
	vec_free(&ips->frames);
	vec_free(&ips->images);
}

bool ips_is_header(struct text_scan line)
{
	return line.at < line.end && *line.at == '{' && line.end[-1] == '}' &&
	       find_text(line.at, line.end, "\"bug_type\"") &&
	       find_text(line.at, line.end, "\"incident_id\"");
}

bool ips_begins(struct text_scan line, bool after_brace)
{
	if (scan_left(&line) > IPS_BEGIN_MAX)
		line.end = line.at + IPS_BEGIN_MAX;
	bool brace = scan_lit(&line, "{");
	scan_blanks(&line);
	static const char *const members[] = {
		"crash_info",
		"crashing_thread", /* minidump_stackwalk */
		"callStackTree",
		"callStacks",
		"callStackPerThread",
		"timeStampBegin",
		"timeStampEnd",
		"crashDiagnostics",
		"hangDiagnostics",
		"cpuExceptionDiagnostics",
		"diskWriteExceptionDiagnostics",
		"appLaunchDiagnostics",
		"diagnosticMetaData", /* MetricKit */
		"t\":{\"$date",
		"backtrace", /* MongoDB */
	};
	struct text_scan rest = line;
	bool begins = brace != after_brace && scan_lit(&rest, "\"");
	for (size_t i = 0; begins && i < ARRAY_SIZE(members); i++) {
		struct text_scan s = rest;
		if (scan_bytes(&s, members[i], strlen(members[i])) && scan_lit(&s, "\""))
			return true;
	}
	return false;
}

size_t ips_scan(struct ips_end *end, const char *bytes, size_t size, bool *ret_done)
{
	*ret_done = false;
	for (size_t i = 0; i < size; i++) {
		char c = bytes[i];
		if (end->in_string) {
			end->in_string = end->escaped || c != '"';
			end->escaped = !end->escaped && c == '\\';
			continue;
		}
		end->in_string = c == '"';
		end->depth += c == '{' || c == '[';
		end->depth -= (c == '}' || c == ']') && end->depth;
		if (!end->depth) {
			*ret_done = true;
			return i + 1;
		}
	}
	return size;
}

/* ---- JSON ---- */

struct ips_parser {
	struct ips *ips;
	const char *text;
	struct text_scan s;
	unsigned depth;
	int err;
};

/* The members of an object that are used. */
struct ips_object {
	uint64_t offset, image;
	bool has_offset, has_image, named, has_source;
	struct text_scan uuid, name, path;
	/* Of minidump_stackwalk. */
	struct text_scan module, filename, debug_id;
	uint64_t module_offset;
	uint8_t digits; /* of it */
	bool has_module_offset;
	/* MetricKit's: @slot is that of its frame, from 1; 0: it has none. */
	uint64_t address;
	size_t slot;
	bool has_more; /* "subFrames": those it was called from, or calls */
	/* MongoDB's, in hexadecimal. */
	uint64_t base, from_base;
	bool has_base, has_from_base, has_name;
};

/* The container of a value. */
struct ips_parent {
	struct text_scan key; /* of the object's member, or of the array that holds it; empty: none */
	uint32_t *frames;     /* in an array: how many frames it has so far */
};

static void parse_value(struct ips_parser *p, const struct ips_parent *place, struct ips_object *in);

static bool failed(struct ips_parser *p, int err)
{
	if (!p->err)
		p->err = err;
	return false;
}

static void skip_space(struct ips_parser *p)
{
	while (p->s.at < p->s.end && strchr(" \t\r\n", *p->s.at) && *p->s.at)
		p->s.at++;
}

static bool take_char(struct ips_parser *p, char c)
{
	skip_space(p);
	if (p->s.at >= p->s.end || *p->s.at != c)
		return false;
	p->s.at++;
	return true;
}

/* A string; its escapes stay as they are. */
static bool parse_string(struct ips_parser *p, struct text_scan *ret)
{
	if (!take_char(p, '"'))
		return failed(p, -EINVAL);
	ret->at = p->s.at;
	while (p->s.at < p->s.end && *p->s.at != '"')
		p->s.at += *p->s.at == '\\' && scan_left(&p->s) > 1 ? 2 : 1;
	if (p->s.at >= p->s.end)
		return failed(p, -EINVAL);
	ret->end = p->s.at++;
	return true;
}

/* "0x000000000000429e" */
static void note_offset(struct ips_object *o, struct text_scan value)
{
	size_t size = scan_left(&value);
	o->has_module_offset =
		size > 2 && size <= 2 + 16 && scan_hex(&value, &o->module_offset) && value.at == value.end;
	o->digits = (uint8_t)(size - 2);
}

static bool is_hex(struct text_scan value, uint64_t *ret)
{
	return scan_digits(&value, 1, ret) && value.at == value.end;
}

static void note_string(struct ips_object *o, struct text_scan key, struct text_scan value)
{
	if (json_is(key, "uuid") || json_is(key, "binaryUUID") || json_is(key, "buildId"))
		o->uuid = value;
	else if (json_is(key, "name") || json_is(key, "binaryName"))
		o->name = value;
	else if (json_is(key, "path"))
		o->path = value;
	else if (json_is(key, "b"))
		o->has_base = is_hex(value, &o->base);
	else if (json_is(key, "o"))
		o->has_from_base = is_hex(value, &o->from_base);
	else if (json_is(key, "module"))
		o->module = value;
	else if (json_is(key, "filename"))
		o->filename = value;
	else if (json_is(key, "debug_id"))
		o->debug_id = value;
	else if (json_is(key, "module_offset"))
		note_offset(o, value);
	o->named |= json_is(key, "symbol") || json_is(key, "function");
	o->has_source |= json_is(key, "sourceFile");
	o->has_name |= json_is(key, "s");
}

/* MetricKit: frames are nested, so each has its place in their order when its offset is met. */
static void add_slot(struct ips_parser *p, struct ips_object *o, struct text_scan number)
{
	const struct ips_frame frame = {.from = (size_t)(number.at - p->text),
					.to = (size_t)(number.end - p->text),
					.image = MODULES_MAX,
					.kind = IPS_METRICKIT};
	if (p->ips->frames.n >= IPS_FRAMES_MAX || o->slot)
		return;
	if (vec_push(&p->ips->frames, frame))
		failed(p, -ENOMEM);
	o->slot = p->ips->frames.n;
}

static void note_number(struct ips_parser *p, struct ips_object *o, struct text_scan key,
			struct text_scan number)
{
	const struct text_scan text = number;
	uint64_t value;
	if (!scan_decimal(&number, &value) || number.at != number.end)
		return;
	if (json_is(key, "imageOffset")) {
		o->offset = value;
		o->has_offset = true;
	} else if (json_is(key, "imageIndex")) {
		o->image = value;
		o->has_image = true;
	} else if (json_is(key, "address")) {
		o->address = value;
	} else if (json_is(key, "offsetIntoBinaryTextSegment")) {
		o->offset = value;
		add_slot(p, o, text);
	}
}

static int add_image(struct ips_parser *p, struct text_scan id, struct text_scan name, uint64_t base)
{
	struct ips_image image = {.is.id = "", .base = base};
	if (p->ips->images.n >= MODULES_MAX)
		return 0;
	if (id.at)
		module_set_id(&image.is, id.at, id.end);
	if (name.at)
		module_set_name(&image.is, name.at, name.end);
	return vec_push(&p->ips->images, image);
}

/* The image of @o, which frames of MetricKit repeat. Sets *ret to its index. 0 or -ENOMEM. */
static int find_or_add_image(struct ips_parser *p, const struct ips_object *o, uint32_t *ret)
{
	struct filter_module module = {.id = ""};
	size_t i = 0, n = p->ips->images.n;
	module_set_id(&module, o->uuid.at, o->uuid.end);
	while (i < n && strcmp(p->ips->images.v[i].is.id, module.id) != 0)
		i++;
	*ret = (uint32_t)i;
	return i < n ? 0 : add_image(p, o->uuid, o->name, 0);
}

/* No code is so far from the start of its module: a larger "offset" is the address of that start. */
#define TEXT_SIZE_MAX (UINT64_C(1) << 32)

/*
 * A root is called from the frames below it in crash reports, and calls them in others: both ends of a stack
 * count as no return addresses, of which one is the innermost and the other starts the thread.
 */
static int fill_slot(struct ips_parser *p, const struct ips_object *o, bool is_root)
{
	struct ips_frame *frame = &p->ips->frames.v[o->slot - 1];
	bool is_start = o->offset >= TEXT_SIZE_MAX;
	frame->offset = is_start ? o->address - o->offset : o->offset;
	frame->named = o->named;
	frame->has_source = o->has_source;
	frame->number = o->has_more && !is_root;
	if (!o->uuid.at || frame->offset >= TEXT_SIZE_MAX)
		return 0;
	return find_or_add_image(p, o, &frame->image);
}

static int add_frame(struct ips_parser *p, const char *from, const struct ips_object *o, uint32_t number)
{
	struct ips_frame frame = {
		.from = (size_t)(from - p->text),
		.to = (size_t)(p->s.at - p->text),
		.offset = o->offset,
		.image = o->image < MODULES_MAX ? (uint32_t)o->image : MODULES_MAX,
		.number = number,
		.named = o->named,
		.has_source = o->has_source,
	};
	if (o->has_from_base) {
		frame.kind = IPS_MONGO;
		frame.offset = o->from_base;
		frame.base = o->base;
		frame.has_name = o->has_name;
	} else if (!o->has_offset) {
		frame.kind = IPS_STACKWALK;
		frame.image = FRAME_NONE;
		frame.offset = o->module_offset;
		frame.module = (size_t)(o->module.at - p->text);
		frame.module_size = scan_left(&o->module);
		frame.digits = o->digits;
	}
	size_t n = p->ips->frames.n;
	if (n >= IPS_FRAMES_MAX || (n && p->ips->frames.v[n - 1].to > frame.from)) /* too many, or nested */
		return 0;
	return vec_push(&p->ips->frames, frame);
}

/* The end of an object in the array @place->key. */
static void finish_object(struct ips_parser *p, const struct ips_parent *place, const char *from,
			  const struct ips_object *o)
{
	int err = 0;
	if (o->slot && (err = fill_slot(p, o, json_is(place->key, "callStackRootFrames"))))
		failed(p, err);
	if (!place->frames || o->slot)
		return;
	uint32_t number = (*place->frames)++;
	if (json_is(place->key, "usedImages"))
		err = add_image(p, o->uuid, o->name, 0);
	else if (json_is(place->key, "modules"))
		err = add_image(p, o->debug_id, o->filename, 0);
	else if (json_is(place->key, "somap") && o->has_base)
		err = add_image(p, o->uuid, o->path, o->base);
	else if (json_is(place->key, "backtrace") && o->has_base && o->has_from_base)
		err = add_frame(p, from, o, number);
	else if (o->has_offset ? o->has_image : o->has_module_offset && o->module.at < o->module.end)
		err = add_frame(p, from, o, number);
	if (err)
		failed(p, err);
}

static void parse_object(struct ips_parser *p, const struct ips_parent *place)
{
	struct ips_object o = {.offset = 0};
	const char *from = p->s.at - 1;
	struct ips_parent member = {.frames = NULL};
	if (!take_char(p, '}')) {
		do {
			if (parse_string(p, &member.key) && take_char(p, ':'))
				parse_value(p, &member, &o);
			else
				failed(p, -EINVAL);
		} while (!p->err && take_char(p, ','));
		if (!take_char(p, '}'))
			failed(p, -EINVAL);
	}
	if (!p->err)
		finish_object(p, place, from, &o);
}

static void parse_array(struct ips_parser *p, const struct ips_parent *place)
{
	uint32_t frames = 0;
	struct ips_parent element = {.key = place->key, .frames = &frames};
	if (take_char(p, ']'))
		return;
	do
		parse_value(p, &element, NULL);
	while (!p->err && take_char(p, ','));
	if (!take_char(p, ']'))
		failed(p, -EINVAL);
}

/* A number, true, false or null. */
static void parse_word(struct ips_parser *p, struct text_scan key, struct ips_object *in)
{
	struct text_scan word = {p->s.at, p->s.at};
	while (p->s.at < p->s.end && (is_word(*p->s.at) || strchr("+-.", *p->s.at)) && *p->s.at)
		p->s.at++;
	word.end = p->s.at;
	if (word.at == word.end)
		failed(p, -EINVAL);
	else if (in && key.at)
		note_number(p, in, key, word);
}

/* A value: the member @place->key of @in, or with @in NULL an element of an array. */
static void parse_value(struct ips_parser *p, const struct ips_parent *place, struct ips_object *in)
{
	struct text_scan string;
	if (++p->depth > IPS_DEPTH_MAX)
		failed(p, -EINVAL);
	else if (take_char(p, '{'))
		parse_object(p, place);
	else if (take_char(p, '[')) {
		if (in && json_is(place->key, "subFrames"))
			in->has_more = true;
		parse_array(p, place);
	} else if (p->s.at < p->s.end && *p->s.at == '"') {
		if (parse_string(p, &string) && in)
			note_string(in, place->key, string);
	} else
		parse_word(p, place->key, in);
	p->depth--;
}

int ips_parse(struct ips *ips, const char *text, size_t size)
{
	struct ips_parser p = {.ips = ips, .text = text, .s = scan_from(text, text + size)};
	const struct ips_parent nowhere = {.frames = NULL};
	ips->frames.n = ips->images.n = 0;
	parse_value(&p, &nowhere, NULL);
	if (p.err)
		ips->frames.n = 0;
	return p.err;
}

/* The module of a name; without an id if the report has none. */
static void set_module(const struct ips *ips, const char *name, size_t size, struct filter_module *ret)
{
	module_set_name(ret, name, name + size);
	for (size_t i = 0; i < ips->images.n; i++) {
		if (strcmp(ips->images.v[i].is.name, ret->name) == 0) {
			*ret = ips->images.v[i].is;
			return;
		}
	}
}

/* The module that is loaded at @base; none if the report does not have it. */
static void set_module_at(const struct ips *ips, uint64_t base, struct filter_module *ret)
{
	for (size_t i = 0; i < ips->images.n; i++)
		if (ips->images.v[i].base == base)
			*ret = ips->images.v[i].is;
}

struct log_frame ips_frame_of(const struct ips *ips, const char *text, size_t i)
{
	const struct ips_frame *f = &ips->frames.v[i];
	uint32_t brace = (uint32_t)(f->to - 1 - f->from);
	struct log_frame frame = {
		.address = f->offset,
		.space = FRAME_RVA,
		.style = STYLE_IPS,
		.kind = f->number ? PC_RETURN : PC_EXACT,
		.from = brace,
		.to = brace,
		.number = f->number,
		.has_number = true,
		.silent = f->named,
	};
	switch ((enum ips_kind)f->kind) {
	case IPS_STACKWALK:
		frame.style = STYLE_STACKWALK;
		frame.from = 1;
		frame.number_digits = f->digits;
		frame.kind = f->number ? PC_ADJUSTED : PC_EXACT;
		set_module(ips, text + f->module, f->module_size, &frame.module);
		return frame;
	case IPS_METRICKIT:
		frame.style = STYLE_MEMBERS;
		frame.from = frame.to = brace + 1; /* it is a number alone */
		frame.has_symbol = f->named;
		frame.silent = f->has_source;
		break;
	case IPS_MONGO:
		frame.style = STYLE_MEMBERS;
		frame.kind = PC_RETURN;
		frame.named = f->has_name;
		set_module_at(ips, f->base, &frame.module);
		return frame;
	case IPS_APPLE:
		frame.style = f->named ? STYLE_MEMBERS : STYLE_IPS;
		frame.has_symbol = f->named;
		frame.silent = f->has_source;
		break;
	}
	if (f->image < ips->images.n)
		frame.module = ips->images.v[f->image].is;
	return frame;
}
