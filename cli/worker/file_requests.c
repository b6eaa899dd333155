#include "cli/worker/file_requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "work/types/packed_name.h"

static int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return copy < 0 ? -errno : copy;
}

static int receive_file(void)
{
	union worker_message msg;
	int fd = -1, got = worker_receive(WORKER_SOCKET_FD, &msg, &fd);
	if (got == 1 && msg.head.type == WORKER_OPENED && !msg.opened.error && fd >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return got == 1 && msg.head.type == WORKER_OPENED && msg.opened.error ? -msg.opened.error : -EPROTO;
}

static int send_request(struct file_requests *requests, struct worker_header *request, uint32_t type)
{
	request->serial = requests->order->head.serial;
	mutex_lock(&requests->lock);
	int fd = worker_send(WORKER_SOCKET_FD, request, type, -1);
	if (!fd)
		fd = receive_file();
	mutex_unlock(&requests->lock);
	return fd;
}

static int request_path(struct file_requests *requests, const char *path, bool packed)
{
	struct worker_open request = {.path = ""};
	int n = snprintf(request.path, sizeof(request.path), "%s%s", packed ? PACKED : "", path);
	if (n < 0 || (size_t)n >= sizeof(request.path))
		return -ENAMETOOLONG;
	return send_request(requests, &request.head, WORKER_OPEN);
}

static int fetch_for_converter(void *user, const uint8_t *id, size_t size)
{
	struct worker_fetch request = {.id_size = (uint32_t)size};
	if (size > sizeof(request.id))
		return -EINVAL;
	memcpy(request.id, id, size);
	return send_request(user, &request.head, WORKER_FETCH);
}

static int open_for_converter(void *user, const char *path, bool packed)
{
	struct file_requests *requests = user;
	if (strcmp(path, requests->order->input) == 0)
		return duplicate(WORKER_INPUT_FD);
	if (requests->order->has_binary && strcmp(path, requests->order->binary) == 0)
		return duplicate(WORKER_BINARY_FD);
	return request_path(requests, path, packed);
}

void file_requests_init(struct file_requests *requests, const struct worker_convert *order,
			struct convert_opener *ret)
{
	requests->order = order;
	mutex_init(&requests->lock, LOCK_ASK);
	*ret = (struct convert_opener){
		.open = open_for_converter,
		.fetch = order->fetch ? fetch_for_converter : NULL,
		.user = requests,
	};
}
