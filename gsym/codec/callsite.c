/* A list of call sites: a count, then the packed sites, each followed by its list of strings. */
#include "gsym/codec/callsite.h"

#include "gsym/base/diag.h"

#include <inttypes.h>

enum {
	SITE_SIZE_MIN = 8 + 1 + 4, /* return offset, flags, number of patterns */
};

static int bad(struct gsym_diag *diag, const struct cursor *c, const char *what)
{
	return diag_set(diag, -EBADMSG, "call sites: %s at offset 0x%" PRIx64, what, cursor_off(c));
}

static int no_memory(struct gsym_diag *diag)
{
	return diag_set(diag, -ENOMEM, "call sites: no memory");
}

static int decode_site(struct cursor *c, const struct gsym_tables *tables, size_t first_pattern,
		       struct gsym_decoder *out, struct gsym_diag *diag)
{
	struct gsym_callsite site = {.return_off = cursor_u64(c), .flags = cursor_u8(c)};
	site.n_patterns = cursor_u32(c);
	site.first_pattern = (uint32_t)(out->patterns.n - first_pattern);
	if (!cursor_ok(c) || !cursor_can_hold(c, site.n_patterns, tables->strp_size))
		return bad(diag, c, "more patterns than bytes left");
	if (vec_reserve(&out->patterns, site.n_patterns) || vec_push(&out->callsites, site))
		return no_memory(diag);
	for (uint32_t i = 0; i < site.n_patterns; i++) {
		uint64_t strp = cursor_uint(c, tables->strp_size);
		if (!tables_have_string(tables, strp))
			return bad(diag, c, "pattern past the string table before");
		out->patterns.v[out->patterns.n++] = strp;
	}
	return 0;
}

int callsite_decode(struct cursor *block, const struct gsym_tables *tables, struct gsym_decoder *out,
		    struct gsym_diag *diag)
{
	size_t first_pattern = out->patterns.n;
	uint32_t count = cursor_u32(block);
	if (!cursor_ok(block) || !cursor_can_hold(block, count, SITE_SIZE_MIN))
		return bad(diag, block, "more sites than bytes left");
	for (uint32_t i = 0; i < count; i++) {
		int err = decode_site(block, tables, first_pattern, out, diag);
		if (err)
			return err;
	}
	return 0;
}

static int check_site(const struct gsym_func *func, size_t i, const struct gsym_tables *tables,
		      struct gsym_diag *diag)
{
	const struct gsym_callsite *site = &func->callsites[i];
	if (site->first_pattern > func->n_patterns ||
	    site->n_patterns > func->n_patterns - site->first_pattern)
		return diag_set(diag, -EINVAL, "call site %zu: patterns past the function's", i);
	for (size_t k = 0; k < site->n_patterns; k++) {
		if (!tables_have_string(tables, func->patterns[site->first_pattern + k]))
			return diag_set(diag, -EINVAL, "call site %zu: pattern past the string table", i);
	}
	return 0;
}

int callsite_encode(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
		    struct gsym_diag *diag)
{
	if (func->n_callsites > UINT32_MAX)
		return diag_set(diag, -EOVERFLOW, "call sites: more than 32 bits can count");
	buf_u32(out, (uint32_t)func->n_callsites);
	for (size_t i = 0; i < func->n_callsites; i++) {
		const struct gsym_callsite *site = &func->callsites[i];
		int err = check_site(func, i, tables, diag);
		if (err)
			return err;
		buf_u64(out, site->return_off);
		buf_u8(out, site->flags);
		buf_u32(out, site->n_patterns);
		for (size_t k = 0; k < site->n_patterns; k++)
			buf_uint(out, func->patterns[site->first_pattern + k], tables->strp_size);
	}
	return buf_ok(out) ? 0 : no_memory(diag);
}
