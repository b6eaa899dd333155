#include "gsym/render/frame_text.h"

#include "gsym/base/path.h"

void render_name(struct text_buf *out, const char *name, const struct render_options *options,
		 enum escape_style style)
{
	size_t start = out->n;
	if (!demangle_applies(name, options->demangle)) {
		escape_str(out, name, style);
		return;
	}
	demangle_cached(options->cache, out, name, options->demangle);
	escape_tail(out, start, style);
}

void render_path(struct text_buf *out, const char *dir, const char *base, enum escape_style style)
{
	escape_str(out, dir, style);
	if (base[0])
		escape_str(out, path_separator(dir), style);
	escape_str(out, base, style);
}

void render_merged(struct text_buf *out, uint32_t n)
{
	if (n < 2)
		return;
	text_lit(out, " [merged ");
	text_dec(out, n);
	text_char(out, ']');
}
