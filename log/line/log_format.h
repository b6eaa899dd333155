/*
 * log_format.h - what a log format implements: one file each in formats/, one row of formats[] in
 * line_frames.c.
 *
 * A format sees one line at a time. It finds the frames in it (find), or learns about modules from it
 * (note). Finding has no side effects, and noting a line twice must be as noting it once, since a line is
 * processed again after an image has been converted.
 */
#ifndef LOG_LINE_LOG_FORMAT_H
#define LOG_LINE_LOG_FORMAT_H

#include "gsym/base/text_buf.h"
#include "gsym/base/vec.h"
#include "log/line/filter_types.h"
#include "log/line/text_scan.h"

enum {
	LINE_FRAMES_MAX = 64,      /* frames of one line */
	MODULES_MAX = 2048,        /* of one report */
	KERNEL_TEXT_MAX = 1 << 30, /* bytes of memory for a kernel without its modules */
	ID_DIGITS_MIN = 16,        /* the shortest build ids that linkers make */
	FRAME_NONE = UINT32_MAX,
};

/* Programs that cannot move are linked below; those that can are loaded above it, or have no such address. */
#define FIXED_MAX (UINT64_C(1) << 32)

/* What an address is relative to. */
enum frame_space {
	FRAME_LINK,    /* nothing: a link-time address */
	FRAME_FIXED,   /* nothing, if the module cannot move; else it is in memory */
	FRAME_RVA,     /* the load address of the module */
	FRAME_FILE,    /* the beginning of the module's file */
	FRAME_BPF,     /* FRAME_FILE where that is in a function, else FRAME_LINK */
	FRAME_PERF,    /* either of FRAME_FILE and FRAME_LINK, or the offset @mapped in the file */
	FRAME_CODE,    /* the beginning of its code in memory, mapped in one piece of @code_size bytes */
	FRAME_NAME,    /* the symbol in the line */
	FRAME_MANGLED, /* nothing: a mangled name alone, which no image explains */
};

/* How the answer is written. */
enum frame_style {
	STYLE_APPLE,     /* func (in module) (file.c:12) */
	STYLE_KERNEL,    /* func (dir/file.c:12) */
	STYLE_SANITIZER, /* in func dir/file.c:12 */
	STYLE_THREADS,   /* func dir/file.c:12 */
	STYLE_SUMMARY,   /* dir/file.c:12 in func */
	STYLE_ANDROID,   /* (func dir/file.c:12) */
	STYLE_COREDUMP,  /* func at dir/file.c:12 */
	STYLE_BACKTRACE, /* #0    0x0000000000001234 func dir/file.c:12 (module+0x34) */
	STYLE_PC,        /* func[dir/file.c:12] */
	STYLE_SYMBOL,    /* func */
	STYLE_IPS,       /* ,"symbol":"func","symbolLocation":4,"sourceFile":"file.c","sourceLine":12 */
	STYLE_MEMBERS,   /* the same with "inlines":[{"file":...}] */
	STYLE_STACKWALK, /* "function":"func","file":"dir/file.c","line":12,"inlines":[...], for null */
	STYLE_MINIDUMP,  /* func|dir/file.c|12 */
	STYLE_FOLDED,    /* outer;inlined */
	STYLE_PLAIN,     /* after the original text: func at dir/file.c:12 */
};

/* An address in a line, as a format finds it. */
struct log_frame {
	struct filter_module module;
	uint64_t address;  /* in @space; with a symbol its offset from there */
	uint64_t shown;    /* the address in memory; 0: none or not used */
	uint64_t thread;   /* identifies the stack where a log interleaves several; 0 = not stated */
	uint32_t from, to; /* bytes of the line that the answer replaces */
	uint32_t number;   /* of the frame in its stack, if @has_number */
	uint8_t space;     /* enum frame_space */
	uint8_t style;     /* enum frame_style */
	uint8_t kind;      /* enum frame_pc */
	bool has_number;
	bool apart;         /* not part of a call chain */
	bool silent;        /* its line stays as it is */
	bool named;         /* its line names the function: an answer without a file adds nothing */
	bool has_symbol;    /* STYLE_MEMBERS: it lacks the source file alone */
	bool first_exact;   /* the first of a chain is no return address */
	bool unmapped;      /* an address in memory of which nothing is known */
	bool is_estimate;   /* it may not be of the module: only a function tells */
	bool may_be_number; /* if it is not of the module, it need not be an address at all */
	bool beside_id;     /* an id is all that is said of it, so it may be in another space */
	bool head; /* the program counter of an interrupted CPU; its callers may follow after lines without
		      frames */
	/* By @space. */
	union {
		/* FRAME_NAME, FRAME_MANGLED: the name, in the line; the size in the log, 0: none */
		struct {
			uint32_t symbol_from, symbol_to;
			uint64_t symbol_size;
		};
		uint64_t mapped;    /* FRAME_PERF: an offset in the file; UINT64_MAX: none */
		uint64_t code_size; /* FRAME_CODE: bytes, whole pages */
	};
	/* By @style. */
	union {
		/* STYLE_SANITIZER, STYLE_MINIDUMP: the text from here to @to is kept if the answer has no
		 * line */
		uint32_t tail;
		/* STYLE_APPLE: the label of the module */
		struct {
			uint32_t label_from, label_to;
		};
		uint8_t number_digits; /* STYLE_STACKWALK: how long its numbers are */
	};
};

/* A module that a log has declared. */
struct log_module {
	struct filter_module is;
	size_t name_size;     /* set by modules_add() */
	uint64_t key;         /* markup: its number */
	uint64_t start, size; /* in memory */
};

/* Markup: a range of memory that a module is mapped to. */
struct log_mapping {
	uint64_t start, size, relative; /* @relative: the address of @start in the module's file */
	uint64_t key;
};

struct log_modules {
	VEC(struct log_module) list;
};

struct memory_map;

/* Where a kernel's code is in memory. */
struct kernel_range {
	uint64_t start, size; /* size 0: not known */
	uint64_t slide;       /* from where it was linked to */
};

/* State learned from previous lines, by format. */
struct log_context {
	struct log_modules apple, markup;
	struct log_modules named; /* with ids, by names */
	bool in_report;           /* of Apple's, whose images are all in @apple */
	VEC(struct log_mapping) mappings;
	struct filter_module kernel;
	struct filter_module faulting;    /* of Windows' event log; without name: none yet */
	bool kernel_noted, kernel_booted; /* by the last line */
	struct kernel_range kernel_range;
	struct memory_map *mapped; /* by lists in the log */
	struct memory_map *events; /* of processes that perf recorded */
	struct memory_map *given;  /* by the caller */
	struct memory_map *fixed;  /* of programs that cannot move: for frames, not for any number */
	bool has_places;           /* anything is known of where modules are */
	bool in_map;               /* the last line is of a list of mappings */
	unsigned marks;            /* of this line */
};

/* What a line without frames means for the stack before it. */
enum gap {
	GAP_ENDS,   /* it is complete */
	GAP_INSIDE, /* it continues */
	GAP_HEAD,   /* it continues if only the head has been seen */
};

/*
 * What a line has anywhere. Most lines of most logs have nothing that a format needs: one look at each byte
 * shows that.
 */
enum line_mark {
	MARK_PLUS = 1 << 0,    /* '+' */
	MARK_HASH = 1 << 1,    /* '#' */
	MARK_BRACES = 1 << 2,  /* '{' */
	MARK_BRACKET = 1 << 3, /* '[' */
	MARK_HEX = 1 << 4,     /* "0x" */
	MARK_BAR = 1 << 5,     /* '|' */
};

struct log_format {
	/* enum line_mark: a line that lacks any of them has no frames of this format, or nothing to note. */
	unsigned needs, note_needs;
	/* Parses the frames of the line into @ret and returns their number. */
	size_t (*find)(const struct log_context *context, struct text_scan line,
		       struct log_frame ret[static LINE_FRAMES_MAX]);
	/*
	 * Learns from a line, with frames or not, before any are looked for. 0 or -ENOMEM. NULL: nothing to
	 * learn.
	 */
	int (*note)(struct log_context *context, struct text_scan line);
	/* Whether a stack continues after a line without frames; @ret_thread: whose. NULL: never. */
	enum gap (*gap)(struct text_scan line, uint64_t *ret_thread);
};

extern const struct log_format format_absolute, format_address, format_android, format_apple, format_kernel,
	format_ksym, format_markup, format_minidump, format_numbered, format_offset, format_perf,
	format_plain, format_shape, format_windows;

/* ---- What a line says of the function, besides an offset in the module: log_claim.c ---- */

struct log_claim {
	const char *name; /* the last component, without parameters and suffixes; in the line */
	size_t name_size;
	bool is_function; /* it was qualified, or had parameters: no other word */
	bool is_whole;    /* it had no suffix */
	uint64_t off;     /* in the function */
};

/* Takes the last component of the name before @plus, without suffixes such as ".cold" and "@GLIBC_2.2". */
bool log_claim_name(const char *from, const char *plus, struct log_claim *ret);

/* False if a line with @frame names none, or several. */
bool log_claim_find(struct text_scan line, const struct log_frame *frame, struct log_claim *ret);

/* ---- Modules: log_modules.c ---- */

/*
 * Pointers may have more than an address: a signature (PAC), or a tag in the upper byte (MTE, HWASan, LAM).
 * Sets *ret to the @i-th form, from 0, in which a module is looked for that holds @address: itself, then with
 * 48, 55 and 56 bits of it, unless it is a kernel's or has no more bits. False after the last.
 */
bool address_form(uint64_t address, unsigned i, uint64_t *ret);

/*
 * Sets the id to the hexadecimal digits in [from, to), without dashes and braces. False, and no id, if it is
 * none, as are zeros, which minidumps have of modules without an id.
 */
bool module_set_id(struct filter_module *module, const char *from, const char *to);
/* Takes the id of " (BuildId: 0123)" at @s, and advances past it, if that follows. */
void scan_build_id(struct text_scan *s, struct filter_module *module);
void module_set_name(struct filter_module *module, const char *from, const char *to);

/* Sets the module from text that is an id, or a name: of what the log says of it, the id, too. False if it
 * is neither. */
bool module_set(const struct log_context *context, const char *from, const char *to,
		struct filter_module *module);

/* Returns whether a module's name or path without blanks may have the byte. */
bool is_module_name(char c);

/* The beginning of the module's name that ends at @to; @to if there is none. */
const char *module_name_before(const char *line, const char *to);

/* The kernel, as far as the log has identified it. */
void set_kernel_module(const struct log_context *context, struct filter_module *ret);

/* Adds @module, or replaces the one with its key (@keyed) or name. 0 or -ENOMEM. Beyond MODULES_MAX it is
 * dropped. */
int modules_add(struct log_modules *modules, const struct log_module *module, bool keyed);
/* *@address may be tagged, and is then what the module holds: see address_form(). */
const struct log_module *modules_by_address(const struct log_modules *modules, uint64_t *address);
const struct log_module *modules_by_key(const struct log_modules *modules, uint64_t key);
/* By name, or by the last components of its path. */
const struct log_module *modules_by_name(const struct log_modules *modules, const char *from, const char *to);

void log_context_deinit(struct log_context *context);
size_t log_context_memory(const struct log_context *context);

#endif
