#include "convert/cli/worker/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return copy < 0 ? -errno : copy;
}

static int take_answer(void)
{
	union worker_message msg;
	int fd = -1, got = worker_receive(WORKER_SOCKET_FD, &msg, &fd);
	if (got == 1 && msg.head.type == WORKER_OPENED && !msg.opened.error && fd >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return got == 1 && msg.head.type == WORKER_OPENED && msg.opened.error ? -msg.opened.error : -EPROTO;
}

static int ask(struct asker *asker, struct worker_header *question, uint32_t type)
{
	question->serial = asker->order->head.serial;
	pthread_mutex_lock(&asker->lock);
	int fd = worker_send(WORKER_SOCKET_FD, question, type, -1);
	if (!fd)
		fd = take_answer();
	pthread_mutex_unlock(&asker->lock);
	return fd;
}

static int ask_for_path(struct asker *asker, const char *path)
{
	struct worker_open question = {.path = ""};
	int n = snprintf(question.path, sizeof(question.path), "%s", path);
	if (n < 0 || (size_t)n >= sizeof(question.path))
		return -ENAMETOOLONG;
	return ask(asker, &question.head, WORKER_OPEN);
}

static int fetch_for_converter(void *user, const uint8_t *id, size_t size)
{
	struct worker_fetch question = {.id_size = (uint32_t)size};
	if (size > sizeof(question.id))
		return -EINVAL;
	memcpy(question.id, id, size);
	return ask(user, &question.head, WORKER_FETCH);
}

static int open_for_converter(void *user, const char *path)
{
	struct asker *asker = user;
	if (strcmp(path, asker->order->input) == 0)
		return duplicate(WORKER_INPUT_FD);
	if (asker->order->has_binary && strcmp(path, asker->order->binary) == 0)
		return duplicate(WORKER_BINARY_FD);
	return ask_for_path(asker, path);
}

void asker_init(struct asker *asker, const struct worker_convert *order, struct convert_opener *ret)
{
	asker->order = order;
	pthread_mutex_init(&asker->lock, NULL);
	*ret = (struct convert_opener){
		.open = open_for_converter,
		.fetch = order->fetch ? fetch_for_converter : NULL,
		.user = asker,
	};
}
