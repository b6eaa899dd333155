/* share_facts.h - what a conversion is named after in a store, see store_key.h. */
#ifndef STORE_SHARE_SHARE_FACTS_H
#define STORE_SHARE_SHARE_FACTS_H

#include "work/run/convert_job.h"
#include "store/share/share_parts.h"
#include "store/client/store_key.h"

enum { SHARE_SOURCE, SHARE_BINARY, SHARE_FILES /* of a conversion */ };

/* An object file. */
struct share_file {
	char *path; /* absolute, owned; NULL: there is none */
	struct file_state state;
	enum image_kind kind;
};

struct share_facts {
	char *id, *arch;           /* owned */
	char *directory;           /* of the source, without a slash at its end; owned */
	struct search_path search; /* its text is borrowed from the converter */
	bool merged;
	struct share_file files[SHARE_FILES];
};

/* 0 or -ENOMEM; to be freed in any case. */
int share_facts_make(const struct convert_job *job, struct share_facts *ret);
void share_facts_deinit(struct share_facts *facts);

/* 0; or as of file_print() and store_key_make(). */
int share_facts_key(const struct share_facts *facts, const int fds[static SHARE_FILES],
		    struct store_key *ret);

#endif
