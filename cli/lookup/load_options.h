/* load_options.h - where images were loaded, as options of commands tell it: --base and --slide. */
#ifndef CLI_LOOKUP_LOAD_OPTIONS_H
#define CLI_LOOKUP_LOAD_OPTIONS_H

#include <stdbool.h>

#include "work/options/option.h"

/* A module and the address that it was loaded at. */
struct load_base {
	const char *name; /* borrowed; NULL: that of the only FILE */
	size_t size;      /* of the name */
	uint64_t addr;
};

struct load_options {
	struct load_base bases[OPTION_LIST_MAX];
	size_t n;
	bool has_slide;
	uint64_t slide; /* of the only FILE, from its link-time addresses */
};

option_parser load_base_parse;  /* struct load_options */
option_parser load_slide_parse; /* likewise */

/* clang-format off */

/* @member is a struct load_options. */
#define OPTIONS_LOAD(type, member)                                                                          \
	{0, "base", "ADDRESS",                                                                              \
	 "the only FILE was loaded at ADDRESS; NAME=ADDRESS:\nmodule NAME was; may be repeated",             \
	 OPTION_PARSED(type, member, load_base_parse)},                                                     \
	{0, "slide", "NUMBER", "the only FILE was loaded at its link-time\naddress and NUMBER",              \
	 OPTION_PARSED(type, member, load_slide_parse)}

/* clang-format on */

/* The text of the usage error in them for @n_files operands; NULL if there is none. */
const char *load_options_fault(const struct load_options *load, size_t n_files);

/* Writes the name that modules have in logs, that of the file @path without ".gsym", into @size bytes. */
void load_module_name(const char *path, char *ret, size_t size);

/*
 * Tells what the options add to link-time addresses of an image.
 *
 * @path:    of its file
 * @is_only: there is no other image
 * @base:    its image base
 *
 * False, and 0 in @ret, if they do not tell.
 */
bool load_slide_of(const struct load_options *load, const char *path, bool is_only, uint64_t base,
		   uint64_t *ret);

#endif
