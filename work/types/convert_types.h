/*
 * convert_types.h - options and summaries of a conversion: what the converter, its worker and the command
 * line have in common. What the daemon needs, too, is in convert_address.h and image_identity.h.
 */
#ifndef WORK_TYPES_CONVERT_TYPES_H
#define WORK_TYPES_CONVERT_TYPES_H

#include "gsym/base/frame_detail.h"
#include "gsym/gsym.h"
#include "work/types/convert_address.h"

/* How the message about a file begins in which no function is known. */
#define NO_FUNCTION_FOUND "no function found"

enum convert_phase {
	CONVERT_READING, /* units of debug data done, of all */
	CONVERT_WRITING,
};

/* How files are opened. The daemon's workers are confined and request descriptors from the daemon. */
struct convert_opener {
	/*
	 * Opens @path for reading; @packed: or, if there is no such file, the one that has it compressed
	 * (packed_name.h). A descriptor, which becomes the caller's, or a negative errno. Any thread. NULL:
	 * open(2).
	 */
	int (*open)(void *user, const char *path, bool packed);
	/*
	 * Fetches the debug file of a build id, which may take long: a descriptor likewise;
	 * -ENOENT when no server has it, or the errno of the failure. The file is not verified. NULL: nothing
	 * is fetched.
	 */
	int (*fetch)(void *user, const uint8_t *id, size_t size);
	void *user;
	struct machine_fault *fault; /* set by the conversion, see machine_fault.h */
};

/* How far a conversion is. */
struct convert_progress {
	enum convert_phase phase;
	/* total 0: not known yet */
	uint64_t done, total; /* units read (object files of a Mach-O binary, functions of text); functions
				 written */
	uint64_t bytes_done, bytes_total; /* of the units; 0 where that is not known */
};

/* A loadable segment, which maps file offsets to addresses. */
struct convert_segment {
	uint64_t off, addr, size;
};

/* A small GSYM file with some functions of the image, before the rest is converted. */
struct convert_fragment {
	uint64_t output_size; /* 0: there is none, and this is all that is known */
	uint64_t image_base;
	bool has_ada; /* as in struct convert_summary, like all below */
	uint64_t functions;
	const struct convert_segment *segments;
	size_t n_segments;
};

/* The addresses that are waited for, see fragment.c. */
struct convert_asked {
	const struct convert_address *v;
	size_t n;
	int fd; /* the fragment is written to it, from offset 0; more bytes may follow it */
	/*
	 * It is written, or there is none. On the calling thread; non-zero stops the conversion with
	 * -ECANCELED.
	 */
	int (*ready)(void *user, const struct convert_fragment *fragment);
	/*
	 * The rest is not converted: waits after each fragment for other addresses, to which it sets @v and
	 * @n; non-zero ends with -ECANCELED. NULL: the rest is converted.
	 */
	int (*next)(void *user);
	void *user;
};

struct detail_question {
	uint64_t addr;     /* link-time */
	uint32_t line;     /* of the innermost frame, as GSYM has it */
	bool is_data;      /* a variable begins at @addr: its declaration, instead of frames */
	uint32_t n_source; /* so many lines around each line, from sources embedded in the debug data */
};

/* Questions for the details of addresses, see details.c. All callbacks are called on the calling thread. */
struct convert_details {
	/* Waits for the next question; non-zero ends with -ECANCELED. */
	int (*next)(void *user, struct detail_question *ret);
	/*
	 * Takes those of its frames, the innermost first; before the first question, none, when all files are
	 * open. Non-zero ends with -ECANCELED.
	 */
	int (*answer)(void *user, const struct frame_detail *frames, size_t n);
	void *user;
};

struct convert_options {
	unsigned threads;  /* 0 = as many as the process may use */
	uint16_t version;  /* GSYM version to write: 1 or 2; 0 = 1, but 2 if that cannot hold the file */
	bool match_llvm;   /* llvm-gsymutil's choices where ours differ; for comparisons */
	bool dwarf_names;  /* name functions as DWARF does, not as the symbol at their start */
	bool no_dwarf;     /* symbol tables only */
	bool callsites;    /* keep call sites, which distinguish merged functions */
	bool merged;       /* keep all functions that share a range, not just the one with most debug info */
	bool omit_lines;   /* write no line tables */
	bool omit_inlines; /* write no inlined calls */
	const char *arch;  /* architecture, which selects from a fat file; others are refused; NULL = any */
	const uint8_t *id; /* selects among several for that architecture */
	size_t id_size;    /* 0 = any */
	const char *const
		*debug_dirs; /* where debug files are also looked for; ends with NULL. NULL: nowhere */
	const char *
		debug_file; /* the file with the DWARF; NULL = the object file itself, or one that is found */
	bool debug_by_id;   /* @debug_file was found by its id: a PDB file of another age is left out */
	bool dwarf_first;   /* prefer DWARF that is found to @debug_file, if that is text symbols */
	const char *callsites_file; /* YAML or JSON that lists call sites (callsites.h); NULL = none */
	const char *symtab_file;    /* the file with the symbols; NULL = the object file, its debug file,
				       .gnu_debugdata */
	const struct convert_opener
		*opener; /* for all files, also those an object file refers to; NULL = open(2) */
	const struct convert_asked *asked;     /* NULL: nothing is waited for */
	const struct convert_details *details; /* nothing is converted, but these are answered; NULL: none */
	/*
	 * Called from time to time on the calling thread; NULL = not wanted. Non-zero stops with -ECANCELED.
	 */
	int (*progress)(void *user, const struct convert_progress *progress);
	void *progress_user;
};

/* One kind of warning met in the input, for instance "unit skipped: unknown DWARF version". */
struct convert_warning {
	const char *kind;   /* static text */
	const char *effect; /* what it means for answers, static text */
	uint64_t count;
	char first[160]; /* where it was met first: section and offset */
};

enum {
	CONVERT_SECTIONS_MAX = 512,
	CONVERT_SEGMENTS_MAX = 64,
};

/* A section of a relocatable file, and its place in the layout that addresses mean. */
struct convert_section {
	uint64_t addr, size;
	bool code;
	char name[128]; /* cut when longer */
};

struct convert_summary {
	char arch[16];
	uint64_t image_base;      /* the address of what is loaded first */
	bool is_relative;         /* addresses count from a base that no file tells */
	uint64_t units;           /* units of debug data read */
	bool has_ada;             /* some unit is written in Ada, whose mangled names are not recognisable */
	uint64_t functions_dwarf; /* records from DWARF, before pruning */
	uint64_t functions_go;    /* records from Go's function table */
	uint64_t functions_pdb;   /* records from the modules of a PDB file */
	uint64_t modules;         /* of it that were read */
	uint64_t functions_text;  /* FUNC records of text symbols */
	uint64_t functions_gsym;  /* records copied from GSYM */
	uint64_t functions_symbols; /* records from symbol tables, before pruning */
	const char
		*bounded_by; /* the table that says where symbols without size end, static text; NULL: none */
	uint64_t functions;  /* records written */
	uint64_t output_size;
	bool widened;  /* version 2 was written, because version 1 cannot hold the file */
	uint64_t work; /* steps that budgets count (budget.h): the same for any number of threads */
	struct convert_warning *warnings; /* sorted by kind */
	size_t n_warnings;
	struct convert_section *sections; /* of a relocatable file: allocated ones with content */
	size_t n_sections;
	uint64_t sections_left_out;       /* of more than CONVERT_SECTIONS_MAX */
	struct convert_segment *segments; /* at most CONVERT_SEGMENTS_MAX; none of a file without code */
	size_t n_segments;
	/* Names of debug files that were not found, which may hold any byte but NUL: each ends with one. */
	char *missing;
	size_t missing_size;
};

void convert_summary_deinit(struct convert_summary *summary);

#endif
