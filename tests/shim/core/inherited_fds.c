/* SPDX-License-Identifier: MIT */
/*
 * Descriptors received over a socket, which the process did not open. For each,
 * prints its name in /proc by a call that the shim does not see, and then reads
 * a byte of it.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static void give(int to, int fd)
{
	union control c = {{0}};
	struct iovec io = {"x", 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = &c,
			   .msg_controllen = sizeof(c)};

	c.head.cmsg_len = CMSG_LEN(sizeof(int));
	c.head.cmsg_level = SOL_SOCKET;
	c.head.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	if (sendmsg(to, &m, 0) != 1)
		err(1, "sendmsg");
	close(fd);
}

static int take(int from)
{
	union control c;
	char byte;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = &c,
			   .msg_controllen = sizeof(c)};
	int fd;

	if (recvmsg(from, &m, 0) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(&c.head), sizeof(fd));
	return fd;
}

static int made(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || pwrite(fd, "data", 4, 0) != 4)
		err(1, "%s", path);
	return fd;
}

static void give_file(int to, const char *name, int keep)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/%s.%d", name, getpid());
	fd = made(path);
	if (!keep)
		unlink(path);
	give(to, fd);
}

/* The shim learns the device of library memory from the first file of one. */
static void give_all(int to)
{
	struct sockaddr_un at = {AF_UNIX, "socket.here"};
	int pair[2], bound = socket(AF_UNIX, SOCK_STREAM, 0);

	give_file(to, "own_first", 0);
	give_file(to, "torch_1", 0);
	give_file(to, "torch_2", 0);
	give_file(to, "torch_3", 0);
	give_file(to, "own_kept", 1);
	give(to, made("file.here"));
	if (bind(bound, (struct sockaddr *)&at, sizeof(at)))
		err(1, "bind");
	give(to, open(at.sun_path, O_PATH));
	for (int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
		    write(pair[1], "m", 1) != 1)
			err(1, "socketpair");
		give(to, pair[0]);
		close(pair[1]);
	}
}

int main(void)
{
	int pair[2], fd;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		err(1, "socketpair");
	child = fork();
	if (!child) {
		give_all(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	while ((fd = take(pair[0])) >= 0) {
		char link[32], name[256], byte;
		long n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = syscall(SYS_readlinkat, AT_FDCWD, link, name,
			    sizeof(name) - 1);
		name[n > 0 ? n : 0] = '\0';
		printf("%zd %s\n", read(fd, &byte, 1), name);
		if (!strncmp(name, "/dev/shm/own_kept", 17))
			unlink(name);
		close(fd);
	}
	return waitpid(child, NULL, 0) != child;
}
