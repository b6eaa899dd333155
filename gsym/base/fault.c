#include "gsym/base/fault.h"

#include <errno.h>
#include <stddef.h>

/*
 * EAGAIN is not here: of open(2) it is a lease, which a user may hold for ever; of a thread, a limit of the
 * machine. Callers that open files of users say what it is to them.
 */
static const struct judgement {
	int number;
	enum fault fault;
} judgements[] = {
	{EBADMSG, FAULT_FILE},     /* a file is damaged or cut short */
	{ENODATA, FAULT_FILE},     /* a file has nothing to convert */
	{ENOEXEC, FAULT_FILE},     /* a file is no object file */
	{ENOTSUP, FAULT_FILE},     /* a file uses what this version cannot read */
	{EOVERFLOW, FAULT_FILE},   /* GSYM cannot hold it */
	{EINVAL, FAULT_FILE},      /* the encoder refuses a record, and would the next time */
	{EMEDIUMTYPE, FAULT_FILE}, /* an entry of a directory of ours is no regular file */
	{EFBIG, FAULT_LIMIT},      /* larger than a limit, which another mount may raise; of write(2), too */
	{ESTALE, FAULT_NONE},      /* a file is in another state than expected: the next look sees which */
	{ECANCELED, FAULT_NONE},   /* the work was stopped */
	{ENOENT, FAULT_ABSENT},    /* no such file */
	{ENOTDIR, FAULT_ABSENT},   /* a directory of the path is a file */
	{EISDIR, FAULT_ABSENT},    /* a directory in place of the file */
	{ELOOP, FAULT_ABSENT},     /* a symbolic link, or a circle of them, in place of the file */
	{ENAMETOOLONG, FAULT_ABSENT},  /* no file system has such a name */
	{EXDEV, FAULT_ABSENT},         /* the path leads out of the directories that are searched */
	{ENXIO, FAULT_ABSENT},         /* a socket, or a device that is not there */
	{EACCES, FAULT_DENIED},        /* no permission: what is closed to us is served to nobody */
	{EPERM, FAULT_DENIED},         /* no permission, by a rule of the kernel or of ours */
	{ENOSPC, FAULT_ROOM},          /* the disk is full */
	{EDQUOT, FAULT_ROOM},          /* the quota is used up */
	{EROFS, FAULT_ROOM},           /* the file system is read-only */
	{ETIMEDOUT, FAULT_NETWORK},    /* no answer in time */
	{EHOSTUNREACH, FAULT_NETWORK}, /* no way to the server */
	{EHOSTDOWN, FAULT_NETWORK},    /* the server is down */
	{ENETDOWN, FAULT_NETWORK},     /* the interface is down */
	{ENETUNREACH, FAULT_NETWORK},  /* no way to the server's network */
	{ECONNREFUSED, FAULT_NETWORK}, /* nobody listens at the server */
	{ENOTCONN, FAULT_NETWORK},     /* the server's connection, or the daemon of a FUSE mount, has ended */
	{EREMOTEIO, FAULT_NETWORK},    /* the server says that it failed */
};

enum fault fault_of(int err)
{
	for (size_t i = 0; i < sizeof(judgements) / sizeof(*judgements); i++)
		if (judgements[i].number == -err)
			return judgements[i].fault;
	return FAULT_MACHINE;
}

int system_error(int number)
{
	switch (fault_of(-number)) {
	case FAULT_FILE:
	case FAULT_NONE: return -EIO;
	default: return -number;
	}
}
