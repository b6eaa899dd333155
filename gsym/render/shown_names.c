#include "gsym/render/shown_names.h"

#include <errno.h>

#include "gsym/base/escape.h"

enum {
	STORED_MAX = 4096, /* bytes of a stored name: longer ones are not shown in SHOWN_SIZE_MAX either */
	DEMANGLED_MAX = 4 * SHOWN_SIZE_MAX, /* before llvm's spelling makes it shorter */
};

void shown_names_deinit(struct shown_names *shown)
{
	for (size_t i = 0; i < SHOWN_FORMS; i++)
		text_deinit(&shown->forms[i]);
}

static bool is_text(const struct text_buf *buf, const char *text, size_t size)
{
	return size && buf->n == size && memcmp(buf->v, text, size) == 0;
}

static void note_failure(struct shown_names *shown)
{
	for (size_t i = 0; i < SHOWN_FORMS; i++)
		shown->failed |= shown->forms[i].failed;
}

static bool limit_is_reached(const struct shown_limit *limit)
{
	return limit->is_reached && limit->is_reached(limit->user);
}

static bool is_in_version(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("._-+", c);
}

size_t shown_size_unversioned(const char *stored)
{
	const char *at = strchr(stored, '@'), *version = at ? at + strspn(at, "@") : NULL, *end = version;
	if (!at || at == stored || *stored == '?' || strcmp(at, "@plt") == 0 ||
	    !version[strspn(version, "0123456789")])
		return strlen(stored);
	while (*end && is_in_version(*end))
		end++;
	return *end ? strlen(stored) : (size_t)(at - stored);
}

/* How many of the @size bytes at @text are the name of an operator, in which brackets are none. */
static size_t operator_size(const char *text, size_t size)
{
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1;
	if (size < n || memcmp(text, word, n) != 0)
		return 0;
	while (n < size && strchr("<>=-", text[n]))
		n++;
	return n;
}

/* Appends the bare name without what is in angle brackets; nothing if there are none. */
static void append_plain(struct text_buf *plain, const struct text_buf *bare)
{
	size_t depth = 0, removed = 0;
	if (!bare->n || !memchr(bare->v, '<', bare->n))
		return;
	for (size_t i = 0, n; i < bare->n; i += n) {
		size_t word = operator_size(bare->v + i, bare->n - i);
		n = word ? word : 1;
		bool opens = !word && bare->v[i] == '<', closes = !word && depth && bare->v[i] == '>';
		depth += opens;
		removed += opens;
		if (!depth)
			text_bytes(plain, bare->v + i, n);
		depth -= closes;
	}
	if (depth || !removed)
		plain->n = 0; /* what failed stays so */
}

void shown_names_make(struct shown_names *shown, const char *stored)
{
	struct text_buf *plain = &shown->forms[SHOWN_PLAIN];
	struct text_buf *whole = &shown->forms[SHOWN_WHOLE], *bare = &shown->forms[SHOWN_BARE];
	size_t size = strnlen(stored, STORED_MAX + 1);
	enum demangle_mode mode = shown->mode ? shown->mode : DEMANGLE_AUTO;
	for (size_t i = 0; i < SHOWN_FORMS; i++)
		text_reset(&shown->forms[i]);
	if (size > STORED_MAX || (demangle_applies(stored, mode) && limit_is_reached(&shown->limit)))
		return;
	bool too_long, demangled = demangle_append_short(whole, stored, mode, DEMANGLED_MAX, &too_long);
	if ((demangled || too_long || !demangle_applies(stored, DEMANGLE_AUTO)) &&
	    demangle_append_bare(bare, stored, DEMANGLED_MAX)) {
		escape_tail(bare, 0, ESCAPE_TEXT);
		append_plain(plain, bare);
	}
	note_failure(shown);
	if (too_long)
		return;
	if (!demangled)
		text_bytes(whole, stored, size);
	escape_tail(whole, 0, ESCAPE_TEXT);
	size_t unversioned = shown_size_unversioned(stored);
	if (!demangled && !bare->n && unversioned < size) {
		text_bytes(bare, stored, unversioned);
		escape_tail(bare, 0, ESCAPE_TEXT);
	}
	note_failure(shown);
	if (is_text(bare, whole->v, whole->n))
		text_reset(bare);
	if (is_text(whole, stored, size))
		text_reset(whole);
}

/* The forms of a name must not meet in one bucket. */
static uint32_t hash_form(const char *name, size_t size, enum shown_form form, uint64_t secret)
{
	return name_hash(name, size, secret ^ form);
}

static unsigned hash_forms(void *user, const char *name, uint64_t secret, uint32_t ret[NAME_HASHES_MAX])
{
	struct shown_builder *b = user;
	unsigned n = 0;
	shown_names_make(&b->shown, name);
	for (size_t i = 0; i < SHOWN_FORMS; i++) {
		const struct text_buf *form = &b->shown.forms[i];
		if (form->n && form->n <= SHOWN_SIZE_MAX)
			ret[n++] = hash_form(form->v, form->n, (enum shown_form)i, secret);
	}
	return n;
}

int shown_builder_run(struct shown_builder *b, const struct gsym_reader *reader)
{
	b->names.reader = reader;
	b->names.hashes = hash_forms;
	b->names.user = b;
	int err = name_builder_run(&b->names);
	return err ? err : b->shown.failed ? -ENOMEM : 0;
}

void shown_builder_deinit(struct shown_builder *b)
{
	name_builder_deinit(&b->names);
	shown_names_deinit(&b->shown);
}

static bool is_shown(const struct name_search *search, const char *stored)
{
	struct shown_search *s = search->user;
	shown_names_make(&s->shown, stored);
	return is_text(&s->shown.forms[s->form], search->name, search->name_size);
}

void shown_search_begin(struct name_search *ret, struct shown_search *user, const struct gsym_reader *reader,
			const struct name_table *table, enum shown_form form, const char *name, size_t size)
{
	user->form = form;
	*ret = (struct name_search){
		.reader = reader, .name = name, .name_size = size, .is_it = is_shown, .user = user};
	if (size && size <= SHOWN_SIZE_MAX)
		name_search_hash(ret, table, hash_form(name, size, form, name_table_secret(table)));
}

void shown_search_deinit(struct shown_search *user)
{
	shown_names_deinit(&user->shown);
}
