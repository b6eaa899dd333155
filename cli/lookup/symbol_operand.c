#include "cli/lookup/lookup_parts.h"

#include <errno.h>
#include <string.h>

#include "gsym/base/address.h"
#include "gsym/base/ascii.h"

/* Whether a bare number has the form in which people write decimal ones, too. */
static bool may_be_decimal(const char *text, size_t size)
{
	return strspn(text, "0123456789") == size && size != 8 && size != 16 && strcmp(text, "0") != 0;
}

static bool is_number(const char *text)
{
	size_t digits = 0;
	while (hex_value(text[digits]) >= 0)
		digits++;
	return !text[digits] && digits && address_may_be_bare(text, digits);
}

int place_operand_parse(const char *text, struct place_operand *ret)
{
	size_t size = strlen(text);
	*ret = (struct place_operand){.symbol_size = size};
	if (text[0] == '0' && (text[1] | 0x20) == 'x')
		return address_parse(text, size, &ret->value) ? 0 : -ERANGE;
	if (is_number(text))
		return may_be_decimal(text, size)               ? -EINVAL
		       : address_parse(text, size, &ret->value) ? 0
								: -ERANGE;
	ret->value = address_cut_offset(text, &ret->symbol_size);
	ret->symbol = text;
	return ret->symbol_size ? 0 : -ERANGE;
}

static int build(struct symbol_search *search)
{
	search->builder.shown.mode = search->shown.shown.mode;
	int err = shown_builder_run(&search->builder, search->reader);
	search->built = !err;
	return err;
}

int symbol_search_visit(struct symbol_search *search, const struct place_operand *operand, namesake_fn *visit,
			void *user)
{
	int n;
	while ((n = namesakes_visit(search->reader, search->built ? search->builder.names.table : NULL,
				    &search->shown, operand->symbol, operand->symbol_size, visit, user)) ==
	       -EAGAIN) {
		int err = build(search);
		if (err)
			return err;
	}
	return n;
}

void symbol_search_deinit(struct symbol_search *search)
{
	name_table_free(search->builder.names.table);
	search->builder.names.table = NULL;
	shown_builder_deinit(&search->builder);
	shown_search_deinit(&search->shown);
}
