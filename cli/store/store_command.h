/* store_command.h - the actions of "gsym store". */
#ifndef CLI_STORE_STORE_COMMAND_H
#define CLI_STORE_STORE_COMMAND_H

#include "cli/store/store_session.h"

struct store_command {
	struct session_options session;
	const char *output, *arch, *cache;
	struct option_list sources, debug_dirs;
	uint64_t max_size; /* bytes; UINT64_MAX: any */
	unsigned max_age;  /* days; 0: any */
	bool dry_run, debuginfod;
	enum { TAKE_MERGED, TAKE_UNMERGED } merged;
};

/* Each returns an enum command_status. @operands: after the action. */
typedef int store_action(const struct store_command *c, int n, char **operands);

store_action store_keygen; /* FILE */
store_action store_get;    /* STORE OBJECT */
store_action store_put;    /* STORE OBJECT... */
store_action store_list;   /* STORE */
store_action store_prune;  /* DIR */
store_action store_verify; /* STORE [KEY...] */

/* Calls @take for each conversion in the store, in the store's order, until it returns other than 0. */
struct store_listed {
	struct store_key key;
	uint64_t size;    /* bytes */
	int64_t modified; /* seconds since the epoch, by the store's clock */
};
int store_list_each(struct store_session *session, int (*take)(void *user, const struct store_listed *listed),
		    void *user, int64_t *ret_now, struct gsym_diag *diag);

#endif
