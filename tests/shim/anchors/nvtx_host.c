/* SPDX-License-Identifier: MIT */
/*
 * A program with NVTX, as built with the nvtx3 header: the first call loads the
 * library that NVTX_INJECTION64_PATH names and calls its entry with a function
 * that returns the tables. Written from NVTX's documentation of the protocol,
 * without code of NVTX.
 *
 * Ranges that nest, and ranges by id, which overlap and end in another thread.
 * The output is the same with and without a tool.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

static uint64_t (*start_ex)(const struct attributes *);
static uint64_t (*start_a)(const char *);
static void (*end)(uint64_t);
static int (*push_a)(const char *);
static int (*pop)(void);
static uint64_t (*domain_start_ex)(void *, const struct attributes *);
static void (*domain_end)(void *, uint64_t);
static const void *(*domain_register_a)(void *, const char *);

static void **core[17] = {
	[4] = (void **)&start_ex, [5] = (void **)&start_a, [7] = (void **)&end,
	[9] = (void **)&push_a,	  [11] = (void **)&pop,
};
static void **core2[17] = {
	[2] = (void **)&domain_start_ex,
	[3] = (void **)&domain_end,
	[10] = (void **)&domain_register_a,
};

static int get_table(int module, void ****table, unsigned int *size)
{
	if (module != 1 && module != 5)
		return 0;
	*table = module == 1 ? core : core2;
	*size = 16;
	return 1;
}

static struct {
	size_t size;
	int (*get)(int, void ****, unsigned int *);
} callbacks = {sizeof(callbacks), get_table};

static const void *export_table(uint32_t id)
{
	return id == 1 ? &callbacks : NULL;
}

static int init(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*entry)(const void *(*)(uint32_t)) = NULL;
	void *found = lib ? dlsym(lib, "InitializeInjectionNvtx2") : NULL;

	memcpy(&entry, &found, sizeof(entry));
	return entry && entry(export_table);
}

static uint64_t begin(const char *name)
{
	return start_a ? start_a(name) : 0;
}

static void finish(uint64_t id)
{
	if (end)
		end(id);
}

static void pause_ms(long ms)
{
	struct timespec ts = {0, ms * 1000000};

	nanosleep(&ts, NULL);
}

static void *other(void *arg)
{
	finish(*(uint64_t *)arg);
	return NULL;
}

static void domains(void)
{
	struct attributes a = {.size = sizeof(a), .message_type = 1};
	uint64_t x, y;

	if (!start_ex || !domain_start_ex || !domain_end || !domain_register_a)
		return;
	a.message = "plain";
	x = start_ex(&a);
	a.message = domain_register_a(NULL, "registered");
	a.message_type = 3;
	y = domain_start_ex(NULL, &a);
	domain_end(NULL, x);
	domain_end(NULL, y);
	domain_end(NULL, y);	 /* a second time */
	domain_end(NULL, 12345); /* not a range id */
	domain_end(NULL, ~0ull);
	x = start_ex(NULL);
	finish(x);
}

/* Twice, more open ranges than the table holds. */
static void many(void)
{
	static uint64_t id[3000];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3000; i++)
			id[i] = begin("many");
		for (int i = 0; i < 3000; i++)
			finish(id[i]);
	}
}

int main(int argc, char **argv)
{
	uint64_t first, second, handed, left;
	pthread_t t;
	int fd = open("/dev/null", O_WRONLY);

	init();
	if (argc > 1 && !strcmp(argv[1], "many")) {
		many();
		return 0;
	}
	/* Two ranges of one name overlap: 40 ms and 20 ms. */
	first = begin("same");
	pause_ms(20);
	if (push_a)
		push_a("outer");
	second = begin("same");
	handed = begin("crossed");
	pause_ms(20);
	finish(first);
	if (pop)
		pop();
	finish(second);
	pthread_create(&t, NULL, other, &handed);
	pthread_join(t, NULL);
	domains();
	left = begin("left open");
	printf("%d %d\n", fd, left == first && left);
	if (close(fd))
		return 1;
	return 0;
}
