/* filter_sample.h - an image for tests of the filter, logs that name it, and filters that read them. */
#ifndef TESTS_UNIT_GSYM_FILTER_SAMPLE_H
#define TESTS_UNIT_GSYM_FILTER_SAMPLE_H

#include "tests/unit/gsym/sample.h"

#include "log/engine/filter.h"
#include "gsym/render/shown_names.h"

#define ID "0102030405060708090a0b0c0d0e0f10"

enum { BASE = 0x1000 };

/* What the filter asks for images. */
struct source {
	struct gsym_reader *reader;
	struct shown_builder shown; /* of it */
	void *data;
	unsigned late; /* times to answer -EAGAIN yet, to each question */
	unsigned asked;
	unsigned late_at;            /* the question that is answered -EAGAIN, counted from 1; 0: none */
	char name[FILTER_NAME_SIZE]; /* of the module asked for last */
};

/*
 * alpha() at 0x1000 with beta() inlined at 0x1008, f::one() without lines at 0x1040, twin() twice, with other
 * sizes, at 0x1080, both() with two rows at its start, 0x1100. one() and two() share the code at 0x1140,
 * caller() at 0x1180 calls two() in its line 70. The weak() after live(), at 0x11e0, is overridden by the
 * one at 0x1210. entry(), at 0x10f0, is assembly. g::twice() is overloaded, at 0x1220 with 0x20 bytes, at
 * 0x1240 with 0x10; void g::each<std::vector<int>>(int, char const*) is at 0x1250. versioned(), at 0x10d8,
 * has a symbol with a version.
 *
 * The image has the id ID, and the names "vmlinux" and "app"; several have the name "several.so".
 */
void source_make(struct source *source);
void source_drop(struct source *source);
struct filter_images source_images(struct source *source);
struct filter *source_filter(struct source *source);

/*
 * Writes all of @in, in pieces that end before each of the @n @cuts, again and again while an image is late.
 */
void run_filter(struct source *source, const char *in, size_t size, const size_t *cuts, size_t n,
		struct text_buf *out);

/* A filter that is written to bit by bit. */
struct running {
	struct source source;
	struct filter *filter;
	struct text_buf out;
	size_t used;
};

void running_begin(struct running *r);
int running_feed(struct running *r, const char *text, enum filter_rest rest);
void running_end(struct running *r);

/* Whether the log comes out as expected, or as it was, whichever question for an image has to wait. */
void check_log(const char *in, const char *expected);
void check_unchanged(const char *in);

/* ---- Samples of Apple's reports ---- */

#define APPLE_IMAGE_A "0x104a78000 - 0x104a7ffff A arm64 <" ID "> /A\n"
#define APPLE_A(n)    #n "   A   0x0000000104a78004 0x104a78000 + 4\n"
#define APPLE_A_IS(n) #n "   A   0x0000000104a78004 alpha (in A) (a.c:5)\n"

#define IPS_HEADER "{\"app_name\":\"x\",\"bug_type\":\"309\",\"incident_id\":\"1\"}\n"
#define IPS_IMAGES                                                                                  \
	"\"usedImages\" : [\n  "                                                                    \
	"{\"base\":4372103168,\"uuid\":\"01020304-0506-0708-090A-0B0C0D0E0F10\",\"name\":\"x\"},\n" \
	"  {\"base\":1,\"uuid\":\"ff\"}]"

/* In text, and in JSON. */
extern const char apple_report[], ips_report[];

/* A log with one of everything; has a NUL in it, and is to be freed. */
char *everything(size_t *ret_size);

#endif
