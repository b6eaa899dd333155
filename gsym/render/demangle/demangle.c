#include "gsym/render/demangle/demangle.h"

#include "gsym/render/demangle/demangle_llvm.h"
#include "gsym/render/demangle/demangle_parts.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

/* DMGL_NO_RECURSE_LIMIT stays off: names come from files. */
enum { FLAGS = DMGL_PARAMS | DMGL_ANSI, BARE_FLAGS = DMGL_ANSI };

/* How a name is demangled. */
struct demangle_job {
	enum demangle_mode mode;
	int flags;
	size_t max;    /* bytes of text */
	bool too_long; /* out: it has more */
};

typedef int demangler(const char *mangled, int options, demangle_callbackref callback, void *opaque);

struct sink {
	struct text_buf *out;
	size_t end; /* limit of out->n */
	jmp_buf enough;
};

/*
 * The callback has no way to stop the demangler, and a name of a hundred bytes can expand to exponential
 * size. Leaving by longjmp() is safe: the callback variants of libiberty's demanglers keep their state on the
 * stack and allocate nothing.
 */
static void sink_write(const char *text, size_t size, void *opaque)
{
	struct sink *sink = opaque;
	if (size > sink->end - sink->out->n)
		longjmp(sink->enough, 1);
	text_bytes(sink->out, text, size);
	if (sink->out->failed)
		longjmp(sink->enough, 1);
}

/* Appends the output of @run, or nothing. An empty output counts as a failure. */
static bool collect(struct text_buf *out, demangler *run, const char *name, struct demangle_job *job)
{
	size_t start = out->n;
	struct sink sink = {.out = out, .end = start + job->max};
	if (setjmp(sink.enough))
		job->too_long = true;
	else if (run(name, job->flags, sink_write, &sink) && out->n > start)
		return true;
	out->n = start;
	return false;
}

/*
 * Rust's legacy mangling looks like C++ and is recognised by the hash at its end: "17h", 16 hex digits,
 * "E".
 */
static bool append_rust_path(struct text_buf *out, const char *name, struct demangle_job *job)
{
	return (name[1] == 'R' || strstr(name, "17h")) && collect(out, rust_demangle_callback, name, job);
}

/* The same with what a compiler appended to a v0 name, which libiberty leaves out: "f (.cold)". */
static bool append_rust(struct text_buf *out, const char *name, struct demangle_job *job)
{
	const size_t start = out->n;
	if (!append_rust_path(out, name, job))
		return false;
	const char *dot = name[1] == 'R' && job->mode != DEMANGLE_GNU ? strchr(name, '.') : NULL;
	if (!dot)
		return true;
	text_lit(out, " (");
	text_str(out, dot);
	text_char(out, ')');
	job->too_long = out->n - start > job->max;
	if (job->too_long)
		out->n = start;
	return !job->too_long;
}

static void put_text(const char *text, size_t size, void *out)
{
	text_bytes(out, text, size);
}

static bool append_by_libiberty(struct text_buf *out, const char *name, struct demangle_job *job)
{
	size_t start = out->n;
	if (!demangle_affordable(name) || !collect(out, cplus_demangle_v3_callback, name, job))
		return false;
	if (job->mode != DEMANGLE_GNU)
		out->n = start + demangle_restyle(out->v + start, out->n - start);
	return true;
}

static enum demangle_llvm_result append_by_llvm(struct text_buf *out, const char *name,
						enum demangle_llvm_scheme scheme, struct demangle_job *job)
{
	enum demangle_llvm_result result = demangle_llvm(name, strlen(name), scheme, job->max, put_text, out);
	job->too_long = result == DEMANGLE_LLVM_TOO_LONG;
	out->failed |= result == DEMANGLE_LLVM_NO_MEMORY;
	return result;
}

/* What LLVM's demangler refuses is not tried again: only what it does not know. */
static bool append_cxx(struct text_buf *out, const char *name, struct demangle_job *job)
{
	enum demangle_llvm_scheme scheme =
		job->flags == BARE_FLAGS ? DEMANGLE_ITANIUM_BARE : DEMANGLE_ITANIUM;
	enum demangle_llvm_result result =
		job->mode == DEMANGLE_GNU ? DEMANGLE_LLVM_UNKNOWN : append_by_llvm(out, name, scheme, job);
	return result == DEMANGLE_LLVM_OK ||
	       (result == DEMANGLE_LLVM_UNKNOWN && append_by_libiberty(out, name, job));
}

static bool append_microsoft(struct text_buf *out, const char *name, struct demangle_job *job)
{
#ifdef HAVE_LLVM_DEMANGLE
	bool is_short =
		job->flags == BARE_FLAGS || job->mode == DEMANGLE_SYMBOLIZER || job->mode == DEMANGLE_GNU;
	return append_by_llvm(out, name, is_short ? DEMANGLE_MICROSOFT_SHORT : DEMANGLE_MICROSOFT, job) ==
	       DEMANGLE_LLVM_OK;
#else
	return demangle_append_microsoft(out, name, job->max);
#endif
}

/* Appends what @run makes of @name, unless that is between angle brackets. */
static bool append_owned(struct text_buf *out, allocating_demangler *run, const char *name,
			 struct demangle_job *job)
{
	bool failed;
	char *text = demangle_allocating(run, name, FLAGS, &failed);
	bool known = text && text[0] && text[0] != '<', ok = known && strlen(text) <= job->max;
	out->failed |= failed;
	job->too_long = known && !ok;
	if (ok)
		text_str(out, text);
	free(text);
	return ok;
}

/* GNAT's names: units and their entities, in lower case. libiberty puts all others between angle brackets. */
static bool append_ada(struct text_buf *out, const char *name, struct demangle_job *job)
{
	if ((name[0] == '_' && strncmp(name, "_ada_", 5) != 0) || !demangle_affordable_ada(name))
		return false;
	return append_owned(out, ada_demangle, name, job);
}

static swift_demangler *swift;

void demangle_set_swift(swift_demangler *run)
{
	swift = run;
}

static bool append_swift(struct text_buf *out, const char *name, struct demangle_job *job)
{
	size_t start = out->n;
	if (job->mode == DEMANGLE_GNU || !swift || !swift(out, name))
		return false;
	job->too_long = out->n - start > job->max;
	if (job->too_long)
		out->n = start;
	return !job->too_long;
}

static bool append_demangled(struct text_buf *out, const char *name, struct demangle_job *job)
{
	if (demangle_is_swift(name))
		return append_swift(out, name, job);
	name += demangle_is_doubled(name, job->mode);
	if (name[0] == '_' && name[1] == 'Z')
		return append_rust(out, name, job) || append_cxx(out, name, job);
	if (demangle_is_block(name))
		return append_cxx(out, name, job);
	if (name[0] == '?')
		return append_microsoft(out, name, job);
	if (name[0] == '_' && name[1] == 'R')
		return append_rust(out, name, job);
	if (name[0] == '_' && name[1] == 'D' && demangle_affordable_d(name))
		return append_owned(out, dlang_demangle, name, job);
	if (name[0] == 'c' && demangle_append_ocaml(out, name))
		return true;
	return job->mode == DEMANGLE_ADA && append_ada(out, name, job);
}

static const char STUB[] = "@plt";

static bool is_word_or_blank(char c)
{
	return c == ' ' || (c >= 'a' && c <= 'z');
}

/*
 * Strips the parameters from the end of what was appended since @start, with qualifiers after them ("
 * const"). False, and everything since @start is removed, if there are none: those of a D template
 * ("f!(int)"), of no function ("operator()") and of a clone ("f() (.cold)") do not count.
 */
static bool cut_parameters(struct text_buf *out, size_t start)
{
	static const char call[] = "operator";
	size_t depth = 0, at = out->failed ? start : out->n;
	while (at > start && is_word_or_blank(out->v[at - 1]))
		at--;
	while (at > start) {
		char c = out->v[--at];
		depth += c == ')';
		depth -= c == '(' && depth;
		if (!depth)
			break;
	}
	bool ok = at > start && out->v[at] == '(' && out->v[at - 1] != '!' && out->v[at - 1] != ' ';
	size_t n = sizeof(call) - 1;
	ok = ok && !(at - start >= n && memcmp(out->v + at - n, call, n) == 0);
	out->n = ok ? at : start;
	return ok;
}

/*
 * Takes "class " and the like out of arguments of templates, since debuggers and debug data name types
 * without them: "f<S>" of "f<struct S>".
 */
static void drop_type_keys(struct text_buf *out, size_t start)
{
	static const char *const keys[] = {"class ", "struct ", "union ", "enum "};
	size_t kept = start;
	for (size_t at = start; at < out->n;) {
		bool begins = at == start || strchr("<,( ", out->v[at - 1]);
		size_t key = 0;
		for (size_t i = 0; begins && i < ARRAY_SIZE(keys); i++)
			if (out->n - at > strlen(keys[i]) && !memcmp(out->v + at, keys[i], strlen(keys[i])))
				key = strlen(keys[i]);
		at += key;
		out->v[kept++] = out->v[at++];
	}
	out->n = kept;
}

static bool append_bare_microsoft(struct text_buf *out, const char *name, struct demangle_job *job)
{
	size_t start = out->n;
	if (!append_microsoft(out, name, job))
		return false;
#ifdef HAVE_LLVM_DEMANGLE
	if (!cut_parameters(out, start))
		return false;
#endif
	drop_type_keys(out, start);
	return true;
}

/* D's demangler has no option for it. */
static bool append_bare_d(struct text_buf *out, const char *name, struct demangle_job *job)
{
	size_t start = out->n;
	return demangle_affordable_d(name) && append_owned(out, dlang_demangle, name, job) &&
	       cut_parameters(out, start);
}

static bool append_bare(struct text_buf *out, const char *name, struct demangle_job *job)
{
	size_t start = out->n;
	name += demangle_is_doubled(name, job->mode);
	if (append_rust(out, name, job)) {
		out->n = start;
		return false;
	}
	if (name[0] == '_' && name[1] == 'Z')
		return !strchr(name, '.') && append_cxx(out, name, job);
	if (name[0] == '?')
		return append_bare_microsoft(out, name, job);
	return name[0] == '_' && name[1] == 'D' && append_bare_d(out, name, job);
}

typedef bool appender(struct text_buf *out, const char *name, struct demangle_job *job);

/* "name@plt", a stub that calls the function: the name before "@plt" is demangled. */
static bool append_stub(struct text_buf *out, const char *name, size_t size, appender *append,
			struct demangle_job *job)
{
	char *function = strndup(name, size - (sizeof(STUB) - 1));
	out->failed |= !function;
	bool ok = function && append(out, function, job);
	free(function);
	if (ok)
		text_str(out, STUB);
	return ok;
}

static bool is_stub(const char *name, size_t size)
{
	return size >= sizeof(STUB) && !strcmp(name + size - (sizeof(STUB) - 1), STUB);
}

static bool append_any(struct text_buf *out, const char *name, appender *append, struct demangle_job *job)
{
	size_t dot = name[0] == '.', size;
	if (demangle_applies(name, job->mode) &&
	    (size = strnlen(name, DEMANGLE_INPUT_MAX + 1)) <= DEMANGLE_INPUT_MAX) {
		text_bytes(out, name, dot);
		if (is_stub(name, size) ? append_stub(out, name + dot, size - dot, append, job)
					: append(out, name + dot, job))
			return true;
		out->n -= out->failed ? 0 : dot;
	}
	return false;
}

bool demangle_append(struct text_buf *out, const char *name, enum demangle_mode mode)
{
	struct demangle_job job = {.mode = mode, .flags = FLAGS, .max = DEMANGLE_OUTPUT_MAX};
	if (append_any(out, name, append_demangled, &job))
		return true;
	text_str(out, name);
	return false;
}

bool demangle_append_short(struct text_buf *out, const char *name, enum demangle_mode mode, size_t max,
			   bool *ret_too_long)
{
	struct demangle_job job = {.mode = mode, .flags = FLAGS, .max = max};
	bool ok = append_any(out, name, append_demangled, &job);
	*ret_too_long = !ok && job.too_long;
	return ok;
}

bool demangle_append_bare(struct text_buf *out, const char *name, size_t max)
{
	struct demangle_job job = {.mode = DEMANGLE_AUTO, .flags = BARE_FLAGS, .max = max};
	size_t start = out->n, size;
	if (demangle_applies(name, DEMANGLE_AUTO))
		return append_any(out, name, append_bare, &job);
	if (!strchr(name, '(') || (size = strlen(name)) > max)
		return false;
	text_bytes(out, name, size);
	return cut_parameters(out, start);
}

const char *demangle_libraries(void)
{
#ifdef HAVE_LLVM_DEMANGLE
	return HAVE_LLVM_DEMANGLE " and libiberty";
#else
	return "libiberty";
#endif
}
