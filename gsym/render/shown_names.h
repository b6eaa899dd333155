/*
 * shown_names.h - functions by their name as answers show it.
 *
 * Functions are stored under their linkage names, while users know what answers, nm -C and debuggers print.
 * This is a table of names as text answers show them ("ns::S::m<int>(int) const"), of those of C++ and D
 * without return type and parameters ("ns::S::m<int>"), of these without template arguments ("ns::S::m"), and
 * of symbols without their version ("f" of "f@V1"), as backtrace_symbols() prints them. It holds hashes only:
 * a search demangles the candidates again and compares. Names shown as stored are not in it; nor are, without
 * parameters, clones and parts of functions
 * ("work(int) (.cold)"), which do not start where the function does. Building it demangles all names of a
 * file.
 */
#ifndef GSYM_RENDER_SHOWN_NAMES_H
#define GSYM_RENDER_SHOWN_NAMES_H

#include "gsym/read/name_index.h"
#include "gsym/render/demangle/demangle.h"

enum {
	SHOWN_SIZE_MAX = 255, /* bytes of a name that can be looked for, as of any file's name */
};

enum shown_form {
	SHOWN_WHOLE,
	SHOWN_BARE,  /* without result and parameters, or without version */
	SHOWN_PLAIN, /* likewise, and without the arguments of templates */
	SHOWN_FORMS,
};

/*
 * Asked before a name is demangled: true leaves it out. A file can be made of names that take long, or have
 * one of them for all its functions. NULL: all are demangled.
 */
struct shown_limit {
	bool (*is_reached)(void *user);
	void *user;
};

/* What a name was made into, while it is looked at. Zero-initialise. */
struct shown_names {
	struct shown_limit limit; /* of the caller, */
	enum demangle_mode mode;  /* as is how answers of the file demangle; DEMANGLE_OFF is DEMANGLE_AUTO */
	struct text_buf forms[SHOWN_FORMS]; /* "": the name has none */
	bool failed;                        /* there was no memory for a form of this name or one before */
};

/* State of building the table; see struct name_builder. Zero-initialise. */
struct shown_builder {
	struct name_builder names; /* its table is the result */
	struct shown_names shown;
};

/*
 * The size of a symbol's name without its version, "f" of "f@V1" and "f@@V1". All of "f@plt", of "f@4", of
 * Microsoft's "?f@@YAXXZ", and of names that have the character themselves, as those of Zig do:
 * "f_@typeInfo(T).tag_type". Pure.
 */
size_t shown_size_unversioned(const char *stored);

/* Sets the forms of the function called @stored, each "" where it is as it is stored, or as one before. */
void shown_names_make(struct shown_names *shown, const char *stored);
void shown_names_deinit(struct shown_names *shown);

/* Makes builder->names.table of all functions of @reader: 0 or -ENOMEM. */
int shown_builder_run(struct shown_builder *builder, const struct gsym_reader *reader);
void shown_builder_deinit(struct shown_builder *builder);

/* State of a search beside struct name_search; shown.failed: matches may be missing. Zero-initialise. */
struct shown_search {
	struct shown_names shown;
	enum shown_form form;
};

/*
 * Begins a search by name; name_search_next() returns the matches.
 *
 * @ret:          the search
 * @user:         state of the search, which must outlive it
 * @reader:       the GSYM file
 * @table:        made of @reader by shown_builder_run()
 * @form:         of @name
 * @name, @size:  the name, bytes
 */
void shown_search_begin(struct name_search *ret, struct shown_search *user, const struct gsym_reader *reader,
			const struct name_table *table, enum shown_form form, const char *name, size_t size);
void shown_search_deinit(struct shown_search *user);

#endif
