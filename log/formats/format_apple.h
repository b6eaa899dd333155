/*
 * format_apple.h - lines of Apple's reports, which are held until their images are known
 * (reports/apple_report.c).
 */
#ifndef LOG_FORMATS_FORMAT_APPLE_H
#define LOG_FORMATS_FORMAT_APPLE_H

#include "log/line/log_format.h"

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

#endif
