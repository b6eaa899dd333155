/*
 * share_inputs.h - the neighbours of a conversion (inputs.h) in a form that means the same on other hosts.
 *
 * Text. If a neighbour was looked for at all, the first line says where:
 *
 *	search <directories of debug files> <sources> <16 hex: hash of the former's paths>
 *
 * and each further line tells of one path, in the order in which they were looked for:
 *
 *	<what was found> <path>
 *
 * What was found is "-" for nothing, "+" for a file that must not be read, or as of file_print.h. In a path,
 * which may begin with PACKED (packed_name.h), "*" stands for the directory of the object file, "*N" for a
 * source: so that a host may keep its files elsewhere. Directories of debug files are the same on hosts that
 * share.
 * A line "? <seconds>" says that debuginfod's servers had nothing, and for how long that is believed.
 */
#ifndef STORE_SHARE_SHARE_INPUTS_H
#define STORE_SHARE_SHARE_INPUTS_H

#include "store/share/share_facts.h"
#include "gsym/base/bytes.h"
#include "gsym/base/text_buf.h"

/*
 * Appends the portable form of @local (inputs.h) to @ret; @facts are those of this host. 0; -EPERM if it must
 * not be shared: there are more than 256 neighbours, one that others may forge or that this host may not
 * read, or one with "*" in its path;
 * -ENOMEM; -EBADMSG.
 */
int share_inputs_write(const struct share_facts *facts, struct span local, struct text_buf *ret);

/*
 * Looks for the neighbours that @portable names, and appends them in the form of inputs.h to @ret_inputs,
 * and the paths of those that are there to @ret_notes.
 *
 * @age: seconds since it was written, at least 0; INT64_MAX: not known
 *
 * 0; -ESTALE if one is another here, or servers are to be asked again; -EXDEV if this host searches
 * elsewhere; -EBADMSG if it is damaged; -ENOMEM.
 */
int share_inputs_read(const struct share_facts *facts, struct span portable, int64_t age,
		      struct text_buf *ret_inputs, struct text_buf *ret_notes);

#endif
