#include "log/engine/shown_match.h"

#include <errno.h>

#include "gsym/base/text_buf.h"
#include "gsym/read/start_index.h"
#include "gsym/render/demangle/demangle_parts.h"
#include "gsym/render/shown_names.h"

enum { CANDIDATES_MAX = 64 }; /* functions of one name examined */

/* Appends the name as answers spell it: WinDbg writes no blank after commas, others one between brackets. */
static void spell(struct text_buf *out, const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		text_char(out, name[i]);
		if (name[i] == ',' && i + 1 < size && name[i + 1] != ' ')
			text_char(out, ' ');
	}
	if (!out->failed)
		out->n = demangle_restyle(out->v, out->n);
}

/* The only function among the hits that @off is inside. Functions that share their code are one. */
static int find_only(struct name_search *search, uint64_t off, struct symbol_match *ret)
{
	struct name_hit hit;
	int err = -ENOENT;
	for (unsigned n = 0; name_search_next(search, &hit); n++) {
		uint64_t start = gsym_reader_address(search->reader, hit.index);
		if (n == CANDIDATES_MAX)
			return -ENOTUNIQ;
		if (hit.size ? off >= hit.size : off)
			continue;
		if (!err && start != gsym_reader_address(search->reader, ret->index))
			return -ENOTUNIQ;
		if (err)
			*ret = (struct symbol_match){.index = hit.index,
						     .which = hit.which,
						     .address = start + off,
						     .size = hit.size};
		err = 0;
	}
	return err;
}

int shown_match(const struct filter_image *image, const struct kernel_symbol *symbol,
		struct symbol_match *ret)
{
	struct shown_search state = {.shown.mode = image->has_ada ? DEMANGLE_ADA : DEMANGLE_AUTO};
	struct name_search search;
	struct text_buf name = {0};
	int err = -ENOENT;
	text_reserve(&name, 2 * symbol->name_size);
	spell(&name, symbol->name, symbol->name_size);
	for (unsigned form = 0; err == -ENOENT && !name.failed && form < SHOWN_FORMS; form++) {
		shown_search_begin(&search, &state, image->reader, image->shown, (enum shown_form)form,
				   name.v, name.n);
		err = find_only(&search, symbol->off, ret);
	}
	err = name.failed || state.shown.failed ? -ENOMEM : err;
	shown_search_deinit(&state);
	text_deinit(&name);
	return err;
}
