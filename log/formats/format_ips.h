/*
 * format_ips.h - crash reports of newer Apple systems (.ips): a line of JSON that describes the report,
 * then a JSON object.
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
 */
#ifndef LOG_FORMATS_FORMAT_IPS_H
#define LOG_FORMATS_FORMAT_IPS_H

#include "log/line/log_format.h"

enum {
	IPS_DEPTH_MAX = 64,     /* of nested objects and arrays */
	IPS_FRAMES_MAX = 16384, /* of a report; more are copied unchanged */
	IPS_BEGIN_MAX = 64,
};

struct ips_frame {
	size_t from, to;            /* the object, both braces included */
	uint64_t offset;            /* imageOffset, module_offset: relative to the load address */
	uint32_t image;             /* imageIndex, or FRAME_NONE: @module */
	uint32_t number;            /* in its stack */
	bool named;                 /* it has a symbol already */
	size_t module, module_size; /* minidump_stackwalk: its name in the text */
	uint8_t digits;             /* of the offset */
};

struct ips {
	VEC(struct ips_frame) frames; /* a stack begins at each number 0 */
	VEC(struct filter_module) images;
};

/* Finds the end of a JSON object that comes in pieces. Zero-initialise at its opening brace. */
struct ips_end {
	unsigned depth;
	bool in_string, escaped;
};

void ips_deinit(struct ips *ips);

/* Whether the line is the first of a report of Apple's systems. */
bool ips_is_header(struct text_scan line);

/*
 * Whether a report of minidump_stackwalk begins with the line, of which the first IPS_BEGIN_MAX bytes count:
 * with its brace or, after a line that has just that, with its first member.
 */
bool ips_begins(struct text_scan line, bool after_brace);

/* The number of bytes that belong to the object; @ret_done: whether they complete it. */
size_t ips_scan(struct ips_end *end, const char *bytes, size_t size, bool *ret_done);

/* Finds the frames of the object and its images: 0, -EINVAL when it is no JSON, -ENOMEM. */
int ips_parse(struct ips *ips, const char *text, size_t size);

/* Frame @i for the filter, in a line that begins with the object. @text: as parsed. */
struct log_frame ips_frame_of(const struct ips *ips, const char *text, size_t i);

#endif
