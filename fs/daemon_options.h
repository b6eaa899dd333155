/*
 * daemon_options.h - the command line of gsymfs.
 */
#ifndef FS_DAEMON_OPTIONS_H
#define FS_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	/* Bytes; so that with the sources they fit into struct worker_convert. */
	DEBUG_DIRS_TEXT_MAX = 2000,
	SOURCES_TEXT_MAX = 2000,
	DEBUG_DIRS_MAX = 32,
	SOURCES_MAX = 16,
	OPEN_IMAGES_MAX = 60000, /* each is a mapping, of which a process may have 65530 */
};

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

/* Functions that share a range. */
enum merged_mode {
	MERGED_YES,  /* are kept */
	MERGED_NO,   /* are not, but for one */
	MERGED_MARK, /* are kept, and text tells of them */
};

struct options {
	char *operands[SOURCES_MAX + 1]; /* as given: the directories of object files, and the mount point */
	size_t n_operands;
	const char *mountpoint;        /* as given; the last of them */
	size_t n_sources;              /* the others */
	char *cache;                   /* directory; NULL: the default */
	char *shared;                  /* store of converted files that several hosts share, or NULL */
	unsigned shared_wait;          /* milliseconds that a conversion waits for it */
	char *sign_key, *trusted_keys; /* files, or NULL, as all that follow: */
	char *shared_bearer, *shared_netrc, *shared_ca; /* of HTTP */
	char *shared_cert, *shared_key;
	char *debug_dirs;        /* absolute paths separated by colons; may be empty */
	char *worker;            /* the gsym program; NULL: the one installed with the daemon */
	uint64_t cache_size;     /* limit of the cache in bytes */
	uint64_t cache_free;     /* bytes that stay free on the cache's file system */
	uint64_t convert_memory; /* limit of one conversion in bytes */
	unsigned convert_time;   /* limit of one conversion in seconds */
	uint64_t kept_answers;   /* bytes of answers kept for files of addresses */
	unsigned open_images;    /* that stay mapped */
	unsigned batch_threads;  /* that answer one large q */
	unsigned jobs;           /* concurrent conversions */
	unsigned threads;        /* of one conversion */
	unsigned rescan;         /* seconds between scans of the source; 0: only at start */
	bool eager;              /* convert whole images of which only an address is asked */
	unsigned idle_load;      /* per cent of the processors; 0: an idle host converts nothing */
	unsigned idle_time;      /* seconds without a conversion before that */
	bool debuginfod;         /* download missing debug files */
	bool watch;              /* inotify */
	bool unknown_print;      /* an address outside all functions is a file that prints ?? */
	bool demangle;
	bool approximate; /* code without a line has the nearest one before it */
	enum merged_mode merged;
	bool foreground;
	bool debug;
	bool single_thread;
	bool show_help;
	bool show_version;
	bool check;       /* only whether @mountpoint answers */
	bool allow_other; /* or allow_root */
	bool default_permissions;
	bool has_fsname;
	unsigned max_read;     /* bytes of one read request; 0: libfuse's default */
	struct fuse_args fuse; /* the remaining options, for libfuse */
};

/*
 * Parses the command line. -EINVAL: a usage error, reported on standard error with the option, its value and
 * the allowed values; -ENOMEM. @ret needs options_deinit() in any case.
 */
int options_parse(int argc, char **argv, struct options *ret);

void options_deinit(struct options *options);

/* Prints the text of --help. */
void options_print_help(FILE *file);

#endif
