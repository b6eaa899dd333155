/*
 * share_complaint.c - what is logged of a store: once of each kind, with what follows.
 */
#include "store/share/share_parts.h"

/* What is to be done, or is done. */
static const struct {
	const char *what, *remedy;
} complaints[COMPLAINTS] = {
	[COMPLAINT_DAMAGED] = {"damaged", "converting it here, and replacing it"},
	[COMPLAINT_UNTRUSTED] = {"not trusted", "converting it here; it is not replaced: have its signer in "
						"trusted_keys, or delete it"},
	[COMPLAINT_REPLACED] = {"not trusted", "converting it here, and replacing it by one that is signed"},
	[COMPLAINT_NO_KEYS] = {"not checked", "converting it here; it is not replaced: mend trusted_keys"},
	[COMPLAINT_TOO_LARGE] = {"too large", "converting it here, and replacing it"},
	[COMPLAINT_ELSEWHERE] = {"made by a host that searches other directories for debug files",
				 "converting it here; give all hosts the same debug_dirs"},
	[COMPLAINT_READING] = {"cannot be read", "converting it here"},
	[COMPLAINT_WRITING] = {"cannot be given", "others convert it as well"},
	[COMPLAINT_FORBIDDEN] = {"must not be written", "what is converted here is not given"},
	[COMPLAINT_FULL_QUEUE] = {"not given", "others convert it as well; the store is slower than "
					       "conversions"},
};

void share_complain(struct share *share, enum share_complaint kind, const char *name, const char *text)
{
	bool again = atomic_exchange(&share->complained[kind], true);
	log_say(share->log, again ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
		"shared store '%s': %s: %s: %s; %s%s", store_title(share->store), name, complaints[kind].what,
		text, complaints[kind].remedy, again ? "" : " (others like it are counted in metrics)");
}
