/* gsym store keygen: a new pair of keys, the secret one to a file of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/message.h"
#include "cli/store/store_command.h"
#include "store/client/store_trust.h"
#include "gsym/base/file_io.h"

/* A file that exists is left alone: it may be the only copy of a key. */
static int write_secret(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = write_all(fd, line, strlen(line), 0);
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	if (err)
		unlink(path);
	return err;
}

int store_keygen(const struct store_command *c, int n, char **operands)
{
	char secret[128], public[128];
	struct gsym_diag diag = {""};
	(void)c, (void)n;
	if (trust_make_key(secret, public, &diag)) {
		complain("%s", diag.text);
		return STATUS_FAILED;
	}
	int err = write_secret(operands[0], secret);
	explicit_bzero(secret, sizeof(secret));
	if (err)
		return fail(operands[0], err, NULL);
	/* Without the public key, the secret one is of no use. */
	if (fputs(public, stdout) == EOF || fflush(stdout) != 0)
		unlink(operands[0]);
	return STATUS_OK; /* that of standard output is main()'s */
}
