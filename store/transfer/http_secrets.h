/* http_secrets.h - tokens and keys for requests. Read each time, so that they may change. */
#ifndef STORE_TRANSFER_HTTP_SECRETS_H
#define STORE_TRANSFER_HTTP_SECRETS_H

#include <stddef.h>

/*
 * The token in the first line of the file @path. 0; -EINVAL: there is none, or it has other bytes than
 * tokens have; -EFBIG; or the errno of open(2) or read(2). The caller clears @ret, also after an error.
 */
int bearer_read(const char *path, char *ret, size_t size);

struct s3_credentials {
	char key[256], secret[256];
	char token[8 * 1024]; /* "": none */
};

/*
 * Keys of S3, from where the command line tools of AWS look for them: AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else the section AWS_PROFILE ("default") of the file
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). 0; -ENOENT: there are none; -EINVAL: too long, or with
 * other bytes than such keys have; or why the file cannot be read. The caller clears @ret.
 */
int s3_credentials_read(struct s3_credentials *ret);

/*
 * The file's path, which a sandbox has to allow. The caller frees it. NULL with errno set: ENOENT if there is
 * none, ENOMEM.
 */
char *s3_credentials_path(void);

/*
 * What @err, for which a secret cannot be used, is as an error of struct store_reply: -EACCES if there is
 * none, or none that could be used; others are a fault of this machine, and say nothing of the store. Pure.
 */
int secret_errno(int err);

#endif
