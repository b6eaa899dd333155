/* store_command.h - the actions of "gsym store". */
#ifndef CLI_STORE_STORE_COMMAND_H
#define CLI_STORE_STORE_COMMAND_H

#include "cli/store/store_session.h"
#include "gsym/base/vec.h"

struct store_command {
	struct session_options session;
	const char *output, *arch, *cache;
	struct option_list sources, debug_dirs;
	uint64_t max_size;     /* bytes; UINT64_MAX: any */
	unsigned max_age;      /* days; 0: any */
	const char *signed_by; /* a file of public keys; NULL: any */
	bool dry_run, debuginfod;
	enum { TAKE_MERGED, TAKE_UNMERGED } merged;
};

/* Each returns an enum command_status. @operands: after the action. */
typedef int store_action(const struct store_command *c, int n, char **operands);

store_action store_keygen; /* FILE */
store_action store_get;    /* STORE OBJECT */
store_action store_put;    /* STORE OBJECT... */
store_action store_list;   /* DIR */
store_action store_prune;  /* DIR */
store_action store_verify; /* DIR [KEY...] */

/* A regular file below the directory of a store. */
struct stored_file {
	char *name;     /* below the directory; owned */
	bool is_object; /* a conversion or failure, with its key: */
	struct store_key key;
	uint64_t size, bytes;   /* of the content, and on disk */
	int64_t modified, used; /* seconds since the epoch, by the clock of the file server */
};

struct stored_files {
	const char *path; /* of the directory; borrowed */
	int dir;
	VEC(struct stored_file) v;
	int err; /* the first of reading, which is printed already */
};

/* Finds the files. STATUS_OK, or a status after a message. To be closed in any case. */
int stored_files_open(struct stored_files *files, const char *path);
void stored_files_close(struct stored_files *files);

/* Whether an object names a public key in the file @keys as its signer: 1, 0, or a negative errno. */
int stored_file_is_signed(const struct stored_files *files, const struct stored_file *file, const char *keys,
			  struct gsym_diag *diag);

#endif
