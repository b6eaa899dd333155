/*
 * defaults.h - default limits and directories of conversions into the cache, the same in gsymfs and gsym.
 *
 * Sizes are whole numbers of GiB, as plain digits, so that tables of options can show them as text.
 */
#ifndef WORK_RUN_DEFAULTS_H
#define WORK_RUN_DEFAULTS_H

#define CACHE_GIB_DEFAULT       10  /* size of the cache */
#define CACHE_FREE_GIB_DEFAULT  1   /* free on the cache's file system */
#define CONVERT_GIB_DEFAULT     4   /* memory of one conversion */
#define CONVERT_SECONDS_DEFAULT 600 /* time of one conversion */
#define DEBUG_DIR_DEFAULT       "/usr/lib/debug"

enum { CONVERT_THREADS_MAX = 256 }; /* of one conversion */

/* The value of a macro as a string literal. */
#define DEFAULT_TEXT(macro)    DEFAULT_LITERAL(macro)
#define DEFAULT_LITERAL(value) #value

#endif
