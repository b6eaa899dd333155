#include "cli/lookup/tell_reason.h"

#include <inttypes.h>

#include "cli/command/message.h"

/* Addresses of a module that are looked at: then other reasons than those that were told are not expected. */
enum { EXAMINED_MAX = 10000 };

void tell_reason(struct told_reasons *told, const char *module, const struct gsym_reader *reader,
		 const struct handle *handle, uint64_t addr)
{
	struct text_buf text = {0};
	struct gsym_answer answer = {0};
	if (!reader || told->examined >= EXAMINED_MAX)
		return;
	told->examined++;
	enum reason reason = reason_append(&text, reader, handle, addr, &answer);
	bool is_news = reason != REASON_NONE && !(told->kinds & 1U << reason);
	told->kinds |= 1U << reason;
	if (is_news && !text.failed)
		complain("%s: 0x%" PRIx64 ": %.*s", module, addr, (int)text.n, text.v);
	gsym_answer_deinit(&answer);
	text_deinit(&text);
}
