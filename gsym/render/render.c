#include "gsym/render/render.h"

#include "gsym/render/formats/formats.h"

struct format {
	const char *name;
	enum escape_style style;
	bool ready; /* shows no string but through view_name() and the like */
	void (*answer)(struct text_buf *out, const struct answer_view *view);
	void (*unknown)(struct text_buf *out, const struct unresolved *unknown,
			const struct render_options *options);
};

static const struct format formats[] = {
	[RENDER_TEXT] = {"text", ESCAPE_TEXT, true, text_answer, text_unknown},
	[RENDER_TSV] = {"tsv", ESCAPE_TSV, true, tsv_answer, tsv_unknown},
	[RENDER_JSON] = {"json", ESCAPE_JSON, true, json_answer, json_unknown},
	[RENDER_ATOS] = {"atos", ESCAPE_TEXT, false, atos_answer, atos_unknown},
	[RENDER_GSYMUTIL] = {"gsymutil", ESCAPE_TEXT, false, gsymutil_answer, gsymutil_unknown},
};

int render_format_parse(const char *name, enum render_format *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(name, formats[i].name) == 0) {
			*ret = (enum render_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

unsigned render_lookup_flags(enum render_format format)
{
	return format == RENDER_ATOS ? GSYM_LOOKUP_FIRST_ROW : 0;
}

int render_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		  const struct render_options *options)
{
	return render_view(out, &(struct answer_view){.addr = addr, .answer = answer, .options = options});
}

int render_view(struct text_buf *out, const struct answer_view *view)
{
	formats[view->options->format].answer(out, view);
	return out->failed ? -ENOMEM : 0;
}

bool render_takes_strings(enum render_format format)
{
	return formats[format].ready;
}

enum escape_style render_style(enum render_format format)
{
	return formats[format].style;
}

static int render_nothing(struct text_buf *out, const struct unresolved *unknown,
			  const struct render_options *options)
{
	formats[options->format].unknown(out, unknown, options);
	return out->failed ? -ENOMEM : 0;
}

int render_unknown(struct text_buf *out, uint64_t addr, const struct render_options *options)
{
	struct unresolved unknown = {.addr = addr};
	return render_nothing(out, &unknown, options);
}

int render_malformed(struct text_buf *out, const char *input, size_t size,
		     const struct render_options *options)
{
	struct unresolved unknown = {.input = input, .input_size = size};
	return render_nothing(out, &unknown, options);
}

void render_place(struct text_buf *out, const struct unresolved *unknown, enum escape_style style)
{
	if (unknown->input)
		escape_bytes(out, unknown->input, unknown->input_size, style);
	else
		text_addr(out, unknown->addr);
}

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

void render_module(struct text_buf *out, const struct render_options *options, const char *nothing)
{
	const char *module = options->module && options->module[0] ? options->module : nothing;
	escape_str(out, module, render_style(options->format));
}
