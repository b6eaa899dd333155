/*
 * report_lines.h - the lines and objects of reports that are held until their images are known (log/reports).
 */
#ifndef LOG_FORMATS_REPORT_LINES_H
#define LOG_FORMATS_REPORT_LINES_H

#include "log/line/log_format.h"

/* ---- Apple's reports in text form: format_apple.c ---- */

enum apple_line {
	APPLE_OTHER,
	APPLE_REPORT, /* a report begins */
	APPLE_THREAD, /* frames follow */
	APPLE_FRAME,  /* perhaps without an image */
	APPLE_ADDRESSES,
	APPLE_BACKTRACE, /* announces addresses and has them */
	APPLE_IMAGES,    /* images follow */
	APPLE_IMAGE,
};

enum apple_line apple_line_kind(struct text_scan line);

/* A line "(0x1000 0x2000 ...)": the frames of an exception. */
struct apple_addresses {
	struct text_scan prefix; /* quoting, as at the beginning of each line */
	struct text_scan title;  /* what else is before the list, without the blank; may be empty */
	struct text_scan list;   /* the addresses that follow */
	uint32_t number;         /* of the next */
};

/* False if the line is no such. */
bool apple_addresses_parse(struct text_scan line, struct apple_addresses *ret);

/* The image of the next address, NULL if it is in none of the report. False after the last. */
bool apple_addresses_image(struct apple_addresses *addresses, const struct log_modules *images,
			   const struct log_module **ret);

/* Appends the line of the next frame, as other reports have it, without an end. False after the last. */
bool apple_addresses_next(struct apple_addresses *addresses, const struct log_modules *images,
			  struct text_buf *out);

/* Learns an image from the line. 0 or -ENOMEM. */
int apple_note(struct log_context *context, struct text_scan line);

/* ---- Reports in JSON: format_ips.c ---- */

enum {
	IPS_DEPTH_MAX = 520,    /* of nested objects and arrays */
	IPS_FRAMES_MAX = 16384, /* of a report; more are copied unchanged */
	IPS_BEGIN_MAX = 64,
};

/* Whose frames they are. */
enum ips_kind { IPS_APPLE, IPS_STACKWALK, IPS_METRICKIT, IPS_MONGO };

struct ips_frame {
	uint8_t kind;               /* enum ips_kind */
	size_t from, to;            /* the object, both braces included; MetricKit: the offset alone */
	uint64_t offset;            /* imageOffset, module_offset: relative to the load address */
	uint32_t image;             /* imageIndex; MODULES_MAX: none; FRAME_NONE: @module */
	uint64_t base;              /* MongoDB: where its module is in memory */
	uint32_t number;            /* in its stack */
	bool named;                 /* it has a symbol already, */
	bool has_source;            /* Apple: and a source file */
	bool has_name;              /* MongoDB: of the function, without a line */
	size_t module, module_size; /* minidump_stackwalk: its name in the text */
	uint8_t digits;             /* of the offset */
};

struct ips_image {
	struct filter_module is;
	uint64_t base; /* MongoDB: in memory */
};

struct ips {
	VEC(struct ips_frame) frames; /* a stack begins at each number 0 */
	VEC(struct ips_image) images;
};

/* Finds the end of a JSON object that comes in pieces. Zero-initialise at its opening brace. */
struct ips_end {
	unsigned depth;
	bool in_string, escaped;
};

void ips_deinit(struct ips *ips);

/* Says if the line is the first of a report of Apple's systems. */
bool ips_is_header(struct text_scan line);

/*
 * Says if a report of minidump_stackwalk, MetricKit or MongoDB begins with the line, of which the first
 * IPS_BEGIN_MAX bytes count: with its brace or, after a line that has just that, with its first member.
 */
bool ips_begins(struct text_scan line, bool after_brace);

/* The number of bytes that belong to the object; @ret_done: whether they complete it. */
size_t ips_scan(struct ips_end *end, const char *bytes, size_t size, bool *ret_done);

/* Finds the frames of the object and its images: 0, -EINVAL when it is no JSON, -ENOMEM. */
int ips_parse(struct ips *ips, const char *text, size_t size);

/* Frame @i for the filter, in a line that begins with the object. @text: as parsed. */
struct log_frame ips_frame_of(const struct ips *ips, const char *text, size_t i);

#endif
