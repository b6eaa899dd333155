/* isolate.h - runs a step of a command in a child process. */
#ifndef CLI_CONVERT_ISOLATE_H
#define CLI_CONVERT_ISOLATE_H

/*
 * Runs @step in a child and returns the enum command_status it returned. If the child dies of a signal,
 * prints that @what failed and returns STATUS_FAILED. For third-party code that a damaged file can crash,
 * such as libdwarf before 2022. The caller must have no other threads.
 */
int isolate(int (*step)(void *user), void *user, const char *what);

#endif
