/* store_address.h - where a store is: what its options may say, and whose its directory is. */
#ifndef STORE_CLIENT_STORE_ADDRESS_H
#define STORE_CLIENT_STORE_ADDRESS_H

#include "store/client/store.h"

enum store_scheme { STORE_DIRECTORY, STORE_HTTP, STORE_S3 };

/* Of an address that store_options_check() has passed. Pure. */
enum store_scheme store_scheme_of(const char *address);

/*
 * Whether @options can be used: 0, -EINVAL, or -ENAMETOOLONG. Addresses of servers hold no password, which
 * every user could read in the list of mounts or processes, and only characters that need no escape in a URL,
 * so that each server signs and logs the same. Pure.
 */
int store_options_check(const struct store_options *options, struct gsym_diag *diag);

/*
 * Warns of files with secrets that other users can read, and of a bucket for which there are no credentials.
 * Files that are not there, requests will name.
 */
void store_options_warn(const struct store_options *options, const struct log *log);

/*
 * Opens the directory of a store. A descriptor; -EPERM if a user other than ours or root owns it or may write
 * there: he could forge the answers of all hosts; or the errno of open(2).
 */
int store_directory_open(const char *path, struct gsym_diag *diag);

/*
 * Whether it can be opened so. But a file server that does not answer within two seconds is not waited for:
 * 0, and the process of the store checks it when it opens it. A fork(2) looks, so that nothing but that
 * hangs.
 */
int store_directory_check(const char *path, const struct log *log, struct gsym_diag *diag);

#endif
