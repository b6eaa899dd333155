/* commands.h - the commands of the gsym program, one file each. */
#ifndef CONVERT_CLI_COMMANDS_H
#define CONVERT_CLI_COMMANDS_H

/* What main() returns. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

/* @argv[0] is the name of the command. Each returns an enum exit_status. */
int cmd_convert(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_filter(int argc, char **argv);
int cmd_lookup(int argc, char **argv);
int cmd_segment(int argc, char **argv);
int cmd_stack(int argc, char **argv);
int cmd_statistics(int argc, char **argv);
int cmd_transcode(int argc, char **argv);
int cmd_verify(int argc, char **argv);

/* Not for people: the daemon starts it. */
int cmd_worker(int argc, char **argv);

#endif
