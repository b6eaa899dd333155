/* log_modules.c - modules that a log declares: bounded lists, searched linearly. */
#include "log/line/log_format.h"

bool module_set_id(struct filter_module *module, const char *from, const char *to)
{
	static const char hash[] = "xxh3-";
	struct text_scan s = scan_from(from, to);
	size_t n = 0;
	if (scan_lit(&s, "xxh3-")) {
		memcpy(module->id, hash, sizeof(hash) - 1);
		n = sizeof(hash) - 1;
	}
	size_t digits = n;
	bool any = false;
	if (s.end - s.at > 2 && *s.at == '{' && s.end[-1] == '}') { /* a GUID */
		s.at++;
		s.end--;
	}
	for (; s.at < s.end; s.at++) {
		if (*s.at == '-' && n > digits)
			continue;
		if (hex_value(*s.at) < 0 || n + 1 >= FILTER_ID_SIZE) {
			module->id[0] = 0;
			return false;
		}
		module->id[n++] = "0123456789abcdef"[hex_value(*s.at)];
		any |= *s.at != '0';
	}
	module->id[any ? n : 0] = 0;
	return any;
}

void scan_build_id(struct text_scan *s, struct filter_module *module)
{
	struct text_scan t = *s;
	const char *close = scan_lit(&t, " (BuildId: ") ? find_text(t.at, t.end, ")") : NULL;
	if (close && module_set_id(module, t.at, close))
		s->at = close + 1;
}

bool filter_module_set_id(struct filter_module *module, const char *text, size_t size)
{
	return module_set_id(module, text, text + size);
}

/* The end of the name without " (deleted)", which Linux appends for unlinked files. */
static const char *before_deleted(const char *from, const char *to)
{
	static const char deleted[] = " (deleted)";
	size_t size = sizeof(deleted) - 1;
	return (size_t)(to - from) > size && memcmp(to - size, deleted, size) == 0 ? to - size : to;
}

/* Cuts what Android has around the name of a library in a package: "base.apk!lib.so (offset 0x1000)". */
static void cut_package(const char **from, const char **to)
{
	static const char offset[] = " (offset 0x", package[] = ".apk!";
	const char *at = find_text(*from, *to, offset);
	if (at && (*to)[-1] == ')')
		*to = at;
	at = find_text(*from, *to, package);
	*from = at ? at + sizeof(package) - 1 : *from;
}

void module_set_name(struct filter_module *module, const char *from, const char *to)
{
	to = before_deleted(from, to);
	cut_package(&from, &to);
	size_t size = (size_t)(to - from);
	if (size >= FILTER_NAME_SIZE) {
		from = to - (FILTER_NAME_SIZE - 1);
		size = FILTER_NAME_SIZE - 1;
	}
	memcpy(module->name, from, size);
	module->name[size] = 0;
}

bool module_set(const struct log_context *context, const char *from, const char *to,
		struct filter_module *module)
{
	if (from >= to || (to - from > 1 && from[0] == '0' && from[1] == 'x'))
		return false;
	bool angled = to - from > 2 && *from == '<' && to[-1] == '>';
	if (angled || to - from >= ID_DIGITS_MIN) {
		if (module_set_id(module, from + angled, to - angled))
			return true;
	}
	const struct log_module *known = modules_by_name(&context->named, from, to);
	if (known)
		*module = known->is;
	else
		module_set_name(module, from, to);
	return !angled;
}

bool is_module_name(char c)
{
	static const bool no_name[UINT8_MAX + 1] = {
		['('] = true, [')'] = true, ['['] = true,  [']'] = true, ['{'] = true,
		['}'] = true, ['<'] = true, ['>'] = true,  ['|'] = true, [','] = true,
		[';'] = true, ['='] = true, [':'] = true,  ['`'] = true, ['"'] = true,
		['!'] = true, ['*'] = true, ['\''] = true, ['?'] = true, [0x7f] = true,
	};
	return (unsigned char)c > ' ' && !no_name[(unsigned char)c];
}

const char *module_name_before(const char *line, const char *to)
{
	const char *from = to;
	while (from > line && to - from < FILTER_NAME_SIZE && is_module_name(from[-1]))
		from--;
	return after_colour(line, from, to);
}

void set_kernel_module(const struct log_context *context, struct filter_module *ret)
{
	*ret = context->kernel;
	ret->is_kernel = true;
	strcpy(ret->name, "vmlinux");
}

static struct log_module *find_module(const struct log_modules *modules, const struct log_module *module,
				      bool keyed)
{
	for (size_t i = 0; i < modules->list.n; i++) {
		struct log_module *m = &modules->list.v[i];
		if (keyed ? m->key == module->key
			  : m->name_size == module->name_size &&
				    memcmp(m->is.name, module->is.name, m->name_size) == 0)
			return m;
	}
	return NULL;
}

int modules_add(struct log_modules *modules, const struct log_module *module, bool keyed)
{
	struct log_module added = *module;
	added.name_size = strlen(added.is.name);
	struct log_module *there = find_module(modules, &added, keyed);
	if (there) {
		*there = added;
		return 0;
	}
	if (modules->list.n >= MODULES_MAX)
		return 0;
	return vec_push(&modules->list, added);
}

bool address_form(uint64_t address, unsigned i, uint64_t *ret)
{
	enum { KERNEL = 0xffff }; /* the upper bits of its addresses */
	static const unsigned bits[] = {48, 55, 56};
	*ret = address;
	if (!i)
		return true;
	if (i > ARRAY_SIZE(bits) || !(address >> 48) || address >> 48 == KERNEL)
		return false;
	*ret = address & ((1ULL << bits[i - 1]) - 1);
	return true;
}

const struct log_module *modules_by_address(const struct log_modules *modules, uint64_t *address)
{
	uint64_t plain;
	for (unsigned k = 0; address_form(*address, k, &plain); k++) {
		for (size_t i = 0; i < modules->list.n; i++) {
			const struct log_module *m = &modules->list.v[i];
			if (plain - m->start >= m->size)
				continue;
			*address = plain;
			return m;
		}
	}
	return NULL;
}

const struct log_module *modules_by_key(const struct log_modules *modules, uint64_t key)
{
	for (size_t i = 0; i < modules->list.n; i++)
		if (modules->list.v[i].key == key)
			return &modules->list.v[i];
	return NULL;
}

const struct log_module *modules_by_name(const struct log_modules *modules, const char *from, const char *to)
{
	to = before_deleted(from, to);
	size_t size = (size_t)(to - from);
	for (size_t i = modules->list.n; i-- > 0;) {
		const struct log_module *m = &modules->list.v[i];
		const char *tail = m->is.name + m->name_size - size;
		if (m->name_size >= size && memcmp(tail, from, size) == 0 &&
		    (tail == m->is.name || tail[-1] == '/'))
			return m;
	}
	return NULL;
}

void log_context_deinit(struct log_context *context)
{
	vec_free(&context->apple.list);
	vec_free(&context->named.list);
	vec_free(&context->markup.list);
	vec_free(&context->mappings);
}

size_t log_context_memory(const struct log_context *context)
{
	return (context->apple.list.cap + context->named.list.cap + context->markup.list.cap) *
		       sizeof(struct log_module) +
	       context->mappings.cap * sizeof(struct log_mapping);
}
