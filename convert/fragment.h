/*
 * fragment.h - the first answers: the functions around a few addresses, converted before all others.
 *
 * A whole conversion takes the time that a whole file takes, but the first request is for one address. So
 * the units that have the code there are converted alone, and what is then certain goes into a GSYM file of
 * its own: a function that this file has is byte for byte the one that the whole conversion will write, and
 * no other function of the image answers for its addresses. What is not certain is left out, so that an
 * address without an answer there just waits for the whole.
 */
#ifndef CONVERT_FRAGMENT_H
#define CONVERT_FRAGMENT_H

#include "convert/conversion.h"

/*
 * Writes the fragment for options->asked, if something is asked and certain, and reports it: *ret_done. Files
 * and symbols are loaded. Leaves all of @c as it is. 0; -ECANCELED.
 */
int fragment_make(struct conversion *c, bool *ret_done);

/*
 * The same before symbols are loaded and units are found, so that it costs only what it needs of both; the
 * sections of the DWARF are loaded. Less is certain then: *ret_done tells whether all that is asked was. A
 * .debug_info that is read while it is inflated has only this fragment, which may answer a part.
 */
int fragment_make_early(struct conversion *c, bool *ret_done);

/* Reports that there is no fragment for options->asked, if something is asked. 0; -ECANCELED. */
int fragment_report_none(struct conversion *c);

/*
 * Makes fragments for all addresses that options->asked gives one after the other, instead of the whole; the
 * sections of the DWARF are loaded. Never 0: -ECANCELED at the end; -ENODATA if no fragment can be made of
 * this file.
 */
int fragment_serve(struct conversion *c);

#endif
