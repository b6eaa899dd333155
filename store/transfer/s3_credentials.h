/*
 * s3_credentials.h - keys of S3, where the command line tools of AWS look for them: in AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else in the section AWS_PROFILE ("default") of the file
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials).
 */
#ifndef STORE_TRANSFER_S3_CREDENTIALS_H
#define STORE_TRANSFER_S3_CREDENTIALS_H

struct s3_credentials {
	char key[256], secret[256];
	char token[8 * 1024]; /* "": none */
};

/*
 * Read each time, so that keys may change while the program runs. 0; -ENOENT: there are none; -EINVAL: too
 * long, or with other bytes than such keys have; or why the file cannot be read. The caller clears @ret.
 */
int s3_credentials_read(struct s3_credentials *ret);

/*
 * The file's path, which a sandbox has to allow. The caller frees it. NULL with errno set: ENOENT if there is
 * none, ENOMEM.
 */
char *s3_credentials_path(void);

#endif
