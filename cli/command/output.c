#include "cli/command/output.h"

#include "cli/command/message.h"

#include <unistd.h>

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
