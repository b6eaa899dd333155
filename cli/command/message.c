#include "cli/command/message.h"

#include "gsym/base/escape.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum {
	LINE_MAX_BYTES = 4096,
	ESCAPED_MAX = 4, /* bytes for one that is escaped: "\xNN" */
	SPEAKER_MAX = 64,
};

static char speaker[SPEAKER_MAX] = "gsym";

void message_speaker(const char *program, const char *command)
{
	snprintf(speaker, sizeof(speaker), "%s%s%s", program, *command ? " " : "", command);
}

static void print_escaped(FILE *file, const char *program, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0), nonnull));

static void print_escaped(FILE *file, const char *program, const char *fmt, va_list args)
{
	char line[LINE_MAX_BYTES], escaped[ESCAPED_MAX * (SPEAKER_MAX + LINE_MAX_BYTES) + 1];
	/* Allocates nothing: the message may be that there is no memory. */
	struct text_buf text = {.v = escaped, .cap = sizeof(escaped)};
	vsnprintf(line, sizeof(line), fmt, args);
	escape_str(&text, program, ESCAPE_TEXT);
	if (*program)
		text_lit(&text, ": ");
	escape_str(&text, line, ESCAPE_TEXT);
	text_char(&text, '\n');
	fwrite(text.v, 1, text.n, file);
}

void complain(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	print_escaped(stderr, speaker, fmt, args);
	va_end(args);
}

void say(FILE *file, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	print_escaped(file, "", fmt, args);
	va_end(args);
}

int fail(const char *what, int err, const struct gsym_diag *diag)
{
	const char *why = diag && diag->text[0] ? diag->text : strerror(-err);
	/* A diagnosis may begin with the file. */
	if (strncmp(why, what, strlen(what)) == 0)
		complain("%s", why);
	else
		complain("%s: %s", what, why);
	return STATUS_FAILED;
}

/* ---- Output ---- */

int output_flush(struct text_buf *buf)
{
	if (buf->failed)
		return -ENOMEM;
	for (size_t done = 0; done < buf->n;) {
		ssize_t n = write(STDOUT_FILENO, buf->v + done, buf->n - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	buf->n = 0;
	return 0;
}

int output_fail(int err)
{
	return fail(err == -ENOMEM ? "answers" : "standard output", err, NULL);
}
