/*
 * Mangled names. One that does not look mangled is taken for what follows "_Z".
 */
#include "gsym/render/demangle/demangle.h"
#include "tests/fuzz/expect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text_buf name = {0}, text = {0};
	text_bytes(&name, data, size);
	text_char(&name, 0);
	if (!demangle_applies(name.v, DEMANGLE_AUTO)) {
		text_reset(&name);
		text_lit(&name, "_Z");
		text_bytes(&name, data, size);
		text_char(&name, 0);
	}
	bool demangled = demangle_append(&text, name.v, DEMANGLE_AUTO);
	expect(!text.failed && (demangled ? text.n > 0 : text.n == strlen(name.v)));
	text_reset(&text);
	expect(demangle_append_bare(&text, name.v, DEMANGLE_OUTPUT_MAX) == (text.n > 0));
	text_deinit(&name);
	text_deinit(&text);
	return 0;
}
