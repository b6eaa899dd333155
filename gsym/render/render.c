#include "render.h"

#include "formats.h"

struct format {
	const char *name;
	void (*answer)(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		       const struct render_options *options);
	void (*unknown)(struct text_buf *out, const struct unknown *unknown,
			const struct render_options *options);
};

static const struct format formats[] = {
	[RENDER_TEXT] = {"text", text_answer, text_unknown},
	[RENDER_TSV] = {"tsv", tsv_answer, tsv_unknown},
	[RENDER_JSON] = {"json", json_answer, json_unknown},
	[RENDER_ATOS] = {"atos", atos_answer, atos_unknown},
	[RENDER_GSYMUTIL] = {"gsymutil", gsymutil_answer, gsymutil_unknown},
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

int render_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		  const struct render_options *options)
{
	formats[options->format].answer(out, addr, answer, options);
	return out->failed ? -ENOMEM : 0;
}

static int render_nothing(struct text_buf *out, const struct unknown *unknown,
			  const struct render_options *options)
{
	formats[options->format].unknown(out, unknown, options);
	return out->failed ? -ENOMEM : 0;
}

int render_unknown(struct text_buf *out, uint64_t addr, const struct render_options *options)
{
	struct unknown unknown = {.addr = addr};
	return render_nothing(out, &unknown, options);
}

int render_malformed(struct text_buf *out, const char *input, size_t size,
		     const struct render_options *options)
{
	struct unknown unknown = {.input = input, .input_size = size};
	return render_nothing(out, &unknown, options);
}

void render_place(struct text_buf *out, const struct unknown *unknown, enum escape_style style)
{
	if (unknown->input)
		escape_bytes(out, unknown->input, unknown->input_size, style);
	else
		text_addr(out, unknown->addr);
}

void render_name(struct text_buf *out, const struct gsym_frame *frame, const struct render_options *options,
		 enum escape_style style)
{
	size_t start = out->n;
	if (!demangle_applies(frame->name, options->demangle)) {
		escape_str(out, frame->name, style);
		return;
	}
	demangle_cached(options->cache, out, frame->name, options->demangle);
	escape_tail(out, start, style);
}

void render_path(struct text_buf *out, const struct gsym_frame *frame, enum escape_style style)
{
	escape_str(out, frame->dir, style);
	if (frame->base[0])
		escape_str(out, path_separator(frame->dir), style);
	escape_str(out, frame->base, style);
}
