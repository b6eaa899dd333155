/*
 * Names as other tools print them: as the symbol table or the debug information has them. A stored name is
 * either mangled, or the name in the debug information with the scopes that it is in, which those tools leave
 * out.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/symbolizer/symbol_answer.h"
#include "convert/object/source_format.h"
#include "gsym/base/escape.h"
#include "gsym/render/shown_names.h"

static bool starts_operator(const char *at)
{
	static const char word[] = "operator";
	char next = strncmp(at, word, sizeof(word) - 1) == 0 ? at[sizeof(word) - 1] : 'x';
	bool is_word = next == '_' || (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z') ||
		       (next >= 'a' && next <= 'z');
	return !is_word;
}

const char *symbol_name_last(const char *name)
{
	unsigned depth = 0;
	const char *last = name;
	for (const char *at = name; *at; at++) {
		if (at == last && starts_operator(at))
			break;
		if (strchr("<({[", *at))
			depth++;
		else if (strchr(">)}]", *at))
			depth -= depth > 0;
		else if (!depth && at[0] == ':' && at[1] == ':' && at[2])
			last = ++at + 1;
	}
	return last;
}

/* The size of a name without what a compiler appends to that of a part or copy of a function: ".cold". */
static size_t size_without_clone(const char *name)
{
	static const char *const suffixes[] = {".cold",      ".part.",      ".isra.", ".constprop.",
					       ".lto_priv.", ".localalias", ".llvm."};
	size_t size = strlen(name);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *at = strstr(name, suffixes[i]);
		if (at && at > name && (size_t)(at - name) < size)
			size = (size_t)(at - name);
	}
	return size;
}

/* True of the names of a PDB file: LLVM's tool shows them with their scopes, unlike those of DWARF. */
static bool is_of_pdb(struct text_buf *out, struct symbol_module *module)
{
	struct object_file *object = NULL;
	out->failed |= module_object(module, &object) != 0;
	if (!object)
		return false;
	return object->format->functions == FUNCTIONS_CODEVIEW ||
	       (object->format->companion == COMPANION_PDB && !object_section(object, ".debug_info"));
}

/* Appends a name that is not mangled. */
static void append_plain(struct text_buf *out, struct symbol_module *module, const char *stored)
{
	const char *last = symbol_name_last(stored);
	text_str(out, last > stored && is_of_pdb(out, module) ? stored : last);
}

/* Appends the function's name alone. */
static void append_short(struct text_buf *out, struct symbol_module *module, const char *stored)
{
	size_t start = out->n;
	if (!demangle_append_bare(out, stored, DEMANGLE_OUTPUT_MAX)) {
		append_plain(out, module, stored);
		return;
	}
	text_char(out, 0);
	if (out->failed)
		return;
	const char *last = is_of_pdb(out, module) ? out->v + start : symbol_name_last(out->v + start);
	size_t size = strlen(last);
	memmove(out->v + start, last, size);
	out->n = start + size;
}

/* Appends a name with its parameters. @cache: keeps names that live as long as it does; or NULL. */
static void append_full(struct text_buf *out, struct demangle_cache *cache,
			const struct symbol_answer *answer, const char *stored)
{
	enum demangle_mode mode = answer->options->demangle;
	if (mode != DEMANGLE_OFF && answer->module->image.demangle == DEMANGLE_ADA)
		mode = DEMANGLE_ADA;
	if (mode != DEMANGLE_OFF && demangle_applies(stored, mode))
		demangle_cached(cache, out, stored, mode);
	else if (demangle_applies(stored, DEMANGLE_AUTO))
		text_str(out, stored);
	else
		append_plain(out, answer->module, stored);
}

/* Whether the file's symbol table names versions, unlike the one for dynamic linking, which LLVM's tool takes
 * from a stripped file. */
static bool has_versions(struct text_buf *out, struct symbol_module *module)
{
	struct object_file *object = NULL;
	out->failed |= module_object(module, &object) != 0;
	return !object || object_section(object, ".symtab");
}

/* How much of a stored name is shown. LLVM's short names and those of addr2line are of the debug information,
 * which knows no clones and versions. */
static size_t shown_size(struct text_buf *out, const struct symbol_answer *answer, const char *stored)
{
	bool from_debug = answer->found.has_rows && (answer->options->names == FUNCTION_NAMES_SHORT ||
						     answer->options->dialect == DIALECT_BINUTILS);
	size_t size = strlen(stored), clone = size_without_clone(stored);
	size_t version = shown_size_unversioned(stored);
	if (*stored == '?')
		return size; /* Microsoft's */
	if (from_debug)
		return clone < version ? clone : version;
	return version < size && !has_versions(out, answer->module) ? version : size;
}

void symbol_name_append(struct text_buf *out, const struct symbol_answer *answer, const char *stored,
			enum escape_style style)
{
	size_t start = out->n, kept = shown_size(out, answer, stored);
	char *cut = stored[kept] ? strndup(stored, kept) : NULL;
	out->failed |= stored[kept] && !cut;
	const char *name = cut ? cut : stored;
	if (answer->options->names == FUNCTION_NAMES_SHORT)
		append_short(out, answer->module, name);
	else if (cut)
		append_full(out, NULL, answer, name);
	else
		append_full(out, answer->module->names, answer, name);
	escape_tail(out, start, style);
	free(cut);
}

void symbol_data_append(struct text_buf *out, const struct symbol_answer *answer, enum escape_style style)
{
	size_t start = out->n;
	append_full(out, NULL, answer, answer->data->name);
	escape_tail(out, start, style);
}
