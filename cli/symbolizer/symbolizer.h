/*
 * symbolizer.h - addr2line and llvm-symbolizer: programs that other programs run, with their options, lines
 * of input and output, answered from GSYM.
 *
 * The program is gsym itself under another name. What it prints is compared with the original programs by
 * tests/corpus/symbolizer.py; gsym-addr2line(1) and gsym-symbolizer(1) list what differs.
 */
#ifndef CLI_SYMBOLIZER_SYMBOLIZER_H
#define CLI_SYMBOLIZER_SYMBOLIZER_H

#include "cli/symbolizer/symbolizer_options.h"

/* The dialect of the program called @name, a path, as "/usr/bin/llvm-symbolizer-22"; 0: it is none of them.
 */
enum symbolizer_dialect symbolizer_dialect_of(const char *name);

/* What main() does under such a name. @argv[0] stands in messages. Returns the exit status. */
int symbolizer_main(enum symbolizer_dialect dialect, int argc, char **argv);

#endif
