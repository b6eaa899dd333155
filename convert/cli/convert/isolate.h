/* isolate.h - a step of a command in a process of its own. */
#ifndef CONVERT_CLI_CONVERT_ISOLATE_H
#define CONVERT_CLI_CONVERT_ISOLATE_H

/*
 * Runs @step in a child and returns the enum exit_status it returned. If the child dies of a signal, says
 * that
 * @what failed and returns STATUS_FAILED. For code of others that a damaged file can crash: libdwarf's
 * releases of 2021 do. The caller must have no other threads.
 */
int isolate(int (*step)(void *user), void *user, const char *what);

#endif
