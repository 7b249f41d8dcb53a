/* SPDX-License-Identifier: MIT */
/*
 * syscall(): calls with a wrapper, calls without one and with all arguments,
 * failures, and new processes. Prints values that must be the same bare and
 * traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void said(const char *what, long r)
{
	printf("%s %ld %s\n", what, r, r < 0 ? strerror(errno) : "-");
	errno = 0;
}

static void files(void)
{
	char a[8] = "", b[8] = "";
	struct iovec iov[2] = {{a, 3}, {b, 4}};
	struct stat st;
	long fd = syscall(SYS_openat, AT_FDCWD, "raw.bin", O_RDWR | O_CREAT,
			  0640),
	     two;

	said("openat", fd);
	said("fstat", syscall(SYS_fstat, fd, &st));
	printf("mode %o\n", st.st_mode & 07777u);
	said("write", syscall(SYS_write, fd, "0123456789", 10ul));
	said("pwrite", syscall(SYS_pwrite64, fd, "abc", 3ul, 20l));
	said("pread", syscall(SYS_pread64, fd, a, 4ul, 2l));
	said("lseek", syscall(SYS_lseek, fd, 1l, SEEK_SET));
	said("readv", syscall(SYS_readv, fd, iov, 2ul));
	said("preadv", syscall(SYS_preadv, fd, iov, 2ul, 15l, 0l));
	said("read", syscall(SYS_read, fd, a, 7ul));
	said("read, bad pointer", syscall(SYS_read, fd, (void *)8, 7ul));
	two = syscall(SYS_dup, fd);
	said("dup", two);
	said("read of the dup", syscall(SYS_read, two, a, 2ul));
	said("dup3", syscall(SYS_dup3, fd, 17, O_CLOEXEC));
	said("fcntl", syscall(SYS_fcntl, fd, F_DUPFD, 20));
	said("ftruncate", syscall(SYS_ftruncate, fd, 12l));
	said("fallocate", syscall(SYS_fallocate, fd, 0, 0l, 4096l));
	said("fsync", syscall(SYS_fsync, fd));
	said("close", syscall(SYS_close, fd));
	said("close again", syscall(SYS_close, fd));
	said("read, closed", syscall(SYS_read, fd, a, 1ul));
	said("write to the rest", syscall(SYS_write, two, "x", 1ul));
	said("close_range", syscall(SYS_close_range, two, 30u, 0u));
	said("faccessat", syscall(SYS_faccessat, AT_FDCWD, "raw.bin", R_OK));
	said("mkdirat", syscall(SYS_mkdirat, AT_FDCWD, "raw.dir", 0755));
	said("renameat2", syscall(SYS_renameat2, AT_FDCWD, "raw.bin", AT_FDCWD,
				  "raw.dir/moved", 0u));
	said("chdir", syscall(SYS_chdir, "raw.dir"));
	said("unlinkat", syscall(SYS_unlinkat, AT_FDCWD, "moved", 0));
	said("unlinkat again", syscall(SYS_unlinkat, AT_FDCWD, "moved", 0));
	said("chdir back", chdir(".."));
	said("no such call", syscall(100000));
	said("negative", syscall(-1));
}

/* All six arguments matter. */
static void six(void)
{
	char *p =
		(char *)syscall(SYS_mmap, NULL, 8192ul, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0l);
	unsigned int word = 1, other = 2;

	p[5000] = 1;
	said("munmap", syscall(SYS_munmap, p, 8192ul));
	said("futex",
	     syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1ul, &other, 7));
	said("getpid", syscall(SYS_getpid) == getpid());
}

static void children(void)
{
	int status = 0;
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid) {
		int fd = open("child.bin", O_WRONLY | O_CREAT, 0644);

		syscall(SYS_write, fd, "child", 5ul);
		syscall(SYS_exit_group, 3);
	}
	waitpid((pid_t)pid, &status, 0);
	said("clone", WEXITSTATUS(status));
#ifdef SYS_fork
	pid = syscall(SYS_fork);
	if (!pid) {
		int fd = open("child.bin", O_WRONLY | O_APPEND);

		syscall(SYS_write, fd, "forked", 6ul);
		syscall(SYS_exit_group, 4);
	}
	waitpid((pid_t)pid, &status, 0);
	said("fork", WEXITSTATUS(status));
#endif
}

int main(void)
{
	files();
	six();
	fflush(stdout);
	children();
	return 0;
}
