/* store_directory.h - the directory that is a store: whose it is, and whether it answers. */
#ifndef STORE_CLIENT_STORE_DIRECTORY_H
#define STORE_CLIENT_STORE_DIRECTORY_H

#include <stdbool.h>

#include "work/os/log.h"
#include "gsym/gsym.h"

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
