/*
 * short_memory [OPTION...] FILE: converts a file, or with --verify compares it, while one allocation after
 * the other fails, and tells what was wrong: another result than with enough memory, an error that is not
 * about memory, and memory, mappings or descriptors that were left. The last line is the number of
 * allocations.
 *
 * The options are those of `gsym convert`; --ask=ADDRESS also wants a fragment, --verify=GSYM a comparison.
 * Allocations of libraries are none of these. Linked with --wrap of each function below.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/convert.h"
#include "convert/verify/verify.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"

enum {
	SLOTS = 1 << 16, /* a power of 2 that is more than all pointers that are alive */
	SHOWN = 5,       /* complaints */
};

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__real_mmap64(void *addr, size_t size, int protection, int flags, int fd, int64_t off);
int __real_munmap(void *addr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *text);
void *__wrap_mmap64(void *addr, size_t size, int protection, int flags, int fd, int64_t off);
int __wrap_munmap(void *addr, size_t size);

/* ---- Allocations ---- */

static long asked, first_failing, last_failing; /* allocations since the conversion began */
static const void *alive[SLOTS];                /* open addressing; only of this program, not of libraries */
static long n_alive, n_mapped;

static bool fails(void)
{
	long n = asked++;
	return n >= first_failing && n <= last_failing;
}

static size_t home_of(const void *p)
{
	return (size_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 48) % SLOTS;
}

static void *note(void *p)
{
	size_t i = home_of(p);
	if (!p)
		return p;
	while (alive[i])
		i = (i + 1) % SLOTS;
	alive[i] = p;
	n_alive++;
	return p;
}

/* Later ones move up, so that no search stops before them. */
static void forget(const void *p)
{
	size_t i = home_of(p);
	while (alive[i] && alive[i] != p)
		i = (i + 1) % SLOTS;
	if (!p || !alive[i])
		return; /* a library's */
	n_alive--;
	for (size_t k = (i + 1) % SLOTS; alive[k]; k = (k + 1) % SLOTS)
		if ((k - home_of(alive[k])) % SLOTS >= (k - i) % SLOTS) {
			alive[i] = alive[k];
			i = k;
		}
	alive[i] = NULL;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : note(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : note(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (fails())
		return NULL;
	forget(p);
	return note(__real_realloc(p, size));
}

void __wrap_free(void *p)
{
	forget(p);
	__real_free(p);
}

char *__wrap_strdup(const char *text)
{
	char *copy = __wrap_malloc(strlen(text) + 1);
	return copy ? strcpy(copy, text) : NULL;
}

void *__wrap_mmap64(void *addr, size_t size, int protection, int flags, int fd, int64_t off)
{
	if (fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	void *p = __real_mmap64(addr, size, protection, flags, fd, off);
	n_mapped += p != MAP_FAILED;
	return p;
}

int __wrap_munmap(void *addr, size_t size)
{
	n_mapped--;
	return __real_munmap(addr, size);
}

/* ---- What is done ---- */

struct outcome {
	int err;
	struct gsym_diag diag;
	void *bytes; /* the output, or the report of a comparison */
	size_t size;
	struct convert_summary summary;
};

static struct convert_options options = {.threads = 1};
static const char *verified; /* GSYM, or NULL */
static struct gsym_reader *reader;
static struct convert_address asked_address = {.origin = ADDRESS_LINKED};
static uint64_t answered; /* functions of fragments */

static int ready(void *unused, const struct convert_fragment *fragment)
{
	(void)unused;
	answered += fragment->functions;
	return 0;
}

static int output_file(void)
{
	int fd = memfd_create("out", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	return fd;
}

static void read_output(int fd, struct outcome *out)
{
	off_t size = lseek(fd, 0, SEEK_END);
	out->size = (size_t)size;
	out->bytes = __real_malloc(out->size + 1);
	if (!out->bytes || pread(fd, out->bytes, out->size, 0) != (ssize_t)size)
		abort();
}

static struct outcome run(const char *path)
{
	struct outcome out = {0};
	if (verified) {
		struct verify_report *report = __real_calloc(1, sizeof(*report));
		if (!report)
			abort();
		out.err = verify_against(path, reader, &(struct verify_options){0}, report, &out.diag);
		out.bytes = report;
		out.size = sizeof(*report);
		return out;
	}
	int fd = output_file(), part = output_file();
	struct convert_asked wanted = {.v = &asked_address, .n = 1, .fd = part, .ready = ready};
	options.asked = asked_address.value ? &wanted : NULL;
	out.err = convert_file(path, &options, fd, &out.summary, &out.diag);
	if (!out.err)
		read_output(fd, &out);
	close(fd);
	close(part);
	return out;
}

static void discard(struct outcome *out)
{
	if (!out->err && !verified)
		convert_summary_deinit(&out->summary);
	__real_free(out->bytes);
}

static const char *difference(const struct outcome *whole, const struct outcome *out)
{
	const struct convert_summary *a = &whole->summary, *b = &out->summary;
	if (out->err)
		return out->err != -ENOMEM ? "an error that is not about memory" : NULL;
	if (out->size != whole->size || memcmp(out->bytes, whole->bytes, out->size) != 0)
		return "another result";
	if (a->n_warnings != b->n_warnings || a->functions != b->functions || a->units != b->units ||
	    a->n_sections != b->n_sections || a->n_segments != b->n_segments)
		return "another summary";
	if (a->missing_size != b->missing_size ||
	    (a->missing && memcmp(a->missing, b->missing, a->missing_size) != 0))
		return "other files are missing";
	return NULL;
}

static int lowest_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	return fd;
}

static unsigned complaints;

static void complain(long n, bool rest, const char *what, const struct outcome *out)
{
	if (complaints++ < SHOWN)
		printf("allocation %ld%s failed: %s (%d %s)\n", n, rest ? " and all after it" : "", what,
		       out->err, out->diag.text);
}

/* One conversion in which allocations from @n on fail, or only that. */
static void check(const char *path, const struct outcome *whole, long n, bool rest)
{
	int fd = lowest_descriptor();
	long before = n_alive, mapped = n_mapped;
	asked = 0;
	first_failing = n;
	last_failing = rest ? __LONG_MAX__ : n;
	struct outcome out = run(path);
	first_failing = last_failing = -1;
	const char *what = difference(whole, &out);
	if (what)
		complain(n, rest, what, &out);
	discard(&out);
	if (n_alive != before)
		complain(n, rest, "memory is left", &out);
	if (n_mapped != mapped)
		complain(n, rest, "a mapping is left", &out);
	if (lowest_descriptor() != fd)
		complain(n, rest, "a descriptor is left", &out);
}

static void parse(int argc, char **argv)
{
	static const char *dirs[2];
	static const struct option known[] = {
		{"merged-functions", no_argument, NULL, 'm'},
		{"dwarf-callsites", no_argument, NULL, 'c'},
		{"match-llvm", no_argument, NULL, 'l'},
		{"no-dwarf", no_argument, NULL, 'n'},
		{"callsites-yaml-file", required_argument, NULL, 'y'},
		{"debug-file", required_argument, NULL, 'd'},
		{"symtab-file", required_argument, NULL, 's'},
		{"debug-dir", required_argument, NULL, 'D'},
		{"arch", required_argument, NULL, 'a'},
		{"ask", required_argument, NULL, 'A'},
		{"verify", required_argument, NULL, 'v'},
		{0},
	};
	for (int o; (o = getopt_long(argc, argv, "", known, NULL)) != -1;)
		switch (o) {
		case 'm': options.merged = true; break;
		case 'c': options.callsites = true; break;
		case 'l': options.match_llvm = true; break;
		case 'n': options.no_dwarf = true; break;
		case 'y': options.callsites_file = optarg; break;
		case 'd': options.debug_file = optarg; break;
		case 's': options.symtab_file = optarg; break;
		case 'D':
			dirs[0] = optarg;
			options.debug_dirs = dirs;
			break;
		case 'a': options.arch = optarg; break;
		case 'A': asked_address.value = strtoull(optarg, NULL, 0); break;
		case 'v': verified = optarg; break;
		default: exit(2);
		}
	if (argc - optind != 1)
		exit(2);
}

int main(int argc, char **argv)
{
	first_failing = last_failing = -1;
	parse(argc, argv);
	const char *path = argv[optind];
	if (verified && gsym_reader_open(verified, &reader, NULL)) {
		printf("%s: cannot be read\n", verified);
		return 1;
	}
	struct outcome first = run(path); /* some memory is allocated once */
	discard(&first);
	long before = n_alive, mapped = n_mapped;
	asked = 0;
	struct outcome whole = run(path);
	long count = asked;
	if (whole.err) {
		printf("%s: %d %s\n", path, whole.err, whole.diag.text);
		return 1;
	}
	if (asked_address.value && !answered) {
		printf("%s: no fragment\n", path);
		return 1;
	}
	for (long n = 0; n < count; n++) {
		check(path, &whole, n, false);
		check(path, &whole, n, true);
	}
	discard(&whole);
	if (n_alive != before || n_mapped != mapped)
		complain(-1, false, "something is left", &whole);
	gsym_reader_close(reader);
	printf("%ld allocations\n", count);
	return complaints != 0;
}
