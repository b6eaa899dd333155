/*
 * swift_names.h - Swift's names demangled by the library of an installed toolchain, in a caged process.
 *
 * A program that shows names begins once; then demangle.h shows those of Swift as `swift demangle` prints
 * them. The process is started when the first one is shown, if the library is there. A name that it does not
 * answer in time stays mangled, as do all for a while when that happens often: what a file of such names
 * takes from others is a hundredth of the time, and half a second at once.
 *
 * The library is $GSYMFS_SWIFT_DEMANGLE, or that of a place in swift_names.c. Nothing is said if there is
 * none.
 */
#ifndef WORK_SWIFT_SWIFT_NAMES_H
#define WORK_SWIFT_SWIFT_NAMES_H

/*
 * Sets the demangler, before other threads start. @program: gsym, borrowed. @stop_fd: ends each wait when it
 * becomes readable; or -1.
 */
void swift_names_begin(const char *program, int stop_fd);

/* Ends the process. No other thread shows names any more. */
void swift_names_end(void);

#endif
