/*
 * daemon_options.h - the command line of gsymfs.
 */
#ifndef FS_DAEMON_OPTIONS_H
#define FS_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	DEBUG_DIRS_TEXT_MAX = 2000, /* so that with SOURCE they fit what a worker is told */
	DEBUG_DIRS_MAX = 32,
};

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

struct options {
	char *source;            /* as given; the directory with object files */
	char *mountpoint;        /* as given */
	char *cache;             /* directory, or NULL = the default one */
	char *shared;            /* a directory of converted files for several hosts, or NULL */
	char *debug_dirs;        /* absolute paths with colons between them; may be empty */
	char *worker;            /* the gsym program, or NULL = look beside the daemon */
	uint64_t cache_size;     /* bytes of converted files to keep */
	uint64_t convert_memory; /* bytes one conversion may allocate */
	unsigned convert_time;   /* seconds one conversion may take */
	unsigned jobs;           /* conversions at a time */
	unsigned threads;        /* of one conversion */
	unsigned rescan;         /* seconds between walks over the source; 0 = only at start */
	bool debuginfod;         /* ask servers for debug files */
	bool watch;              /* have the kernel tell of changes */
	bool unknown_print;      /* an address nobody covers is a file that says so */
	bool demangle;
	bool approximate; /* a line nearby, where there is none */
	bool merged;      /* keep all functions that share a range */
	bool foreground;
	bool debug;
	bool single_thread;
	bool show_help;
	bool show_version;
	bool allow_other;
	bool default_permissions;
	bool has_fsname;
	unsigned max_read;     /* bytes of one read request, 0 = libfuse's choice */
	struct fuse_args fuse; /* what is left for libfuse */
};

/*
 * Reads the command line. On a usage error says on standard error which option is wrong and what it may be,
 * and returns -EINVAL; -ENOMEM without memory. @ret needs options_deinit() either way.
 */
int options_parse(int argc, char **argv, struct options *ret);

void options_deinit(struct options *options);

/* The text of --help. */
extern const char options_help[];

/* A number of bytes with an optional suffix K, M, G or T (powers of 1024). False when it is none. Pure. */
bool parse_size(const char *text, uint64_t *ret);

#endif
