#include "gsym/render/render.h"

#define OUTPUT_FORMAT_ROW(id, name) [RENDER_##id] = &output_##name,
static const struct output_format *const formats[] = {OUTPUT_FORMATS(OUTPUT_FORMAT_ROW)};

static_assert(ARRAY_SIZE(formats) == RENDER_FORMATS, "a row for each enumerator");

const struct output_format *render_format_of(enum render_format format)
{
	return formats[format];
}

int render_format_by_suffix(const char *suffix, enum render_format *ret)
{
	for (size_t i = 0; i < RENDER_FORMATS; i++) {
		if (formats[i]->suffix && strcmp(suffix, formats[i]->suffix) == 0) {
			*ret = (enum render_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

unsigned render_lookup_flags(enum render_format format)
{
	return formats[format]->lookup_flags;
}

int render_view(struct text_buf *out, const struct answer_view *view)
{
	formats[view->options->format]->answer(out, view);
	return out->failed ? -ENOMEM : 0;
}

int render_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		  const struct render_options *options)
{
	return render_view(out, &(struct answer_view){.addr = addr, .answer = answer, .options = options});
}

static int render_unresolved(struct text_buf *out, const struct unresolved *unknown,
			     const struct render_options *options)
{
	formats[options->format]->unknown(out, unknown, options);
	return out->failed ? -ENOMEM : 0;
}

int render_unknown(struct text_buf *out, uint64_t addr, const struct render_options *options)
{
	return render_unresolved(out, &(struct unresolved){.addr = addr}, options);
}

int render_malformed(struct text_buf *out, const char *input, size_t size,
		     const struct render_options *options)
{
	return render_unresolved(out, &(struct unresolved){.input = input, .input_size = size}, options);
}

void render_end_record(struct text_buf *out, enum render_format format)
{
	if (!formats[format]->one_line)
		text_char(out, '\n');
}
