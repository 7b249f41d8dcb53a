/* SPDX-License-Identifier: MIT */
/*
 * Classify files by one table of rules: the first rule that matches decides.
 *
 * The table is part of ioreel-store(5); change both together. A file that is
 * only read must not look like a checkpoint: most rules by suffix require that
 * the job wrote the file.
 */
#include "lib/store/file_class.h"

#include <string.h>

#include "lib/store/event.h"

/* TAIL: base name and parent directory; NUMBERED: in a directory with this
 * prefix and a final digit; COMMAND: a name without a dot in a directory of this
 * name; HAS: anywhere */
enum where {
	PREFIX,
	SUFFIX,
	COMPONENT,
	BASE_PREFIX,
	BASE_HAS,
	TAIL_HAS,
	NUMBERED,
	COMMAND,
	HAS
};
enum when { ANY, WRITTEN, UNWRITTEN };

static const struct rule {
	enum where where;
	enum when when;
	const char *text;
	enum reel_class class_;
} rules[] = {
	/* shared memory of frameworks; other files there may be staged data */
	{PREFIX, ANY, "/dev/shm/torch_", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/sem.", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/psm_", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/pym-", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/nccl-", REEL_CLASS_SYSTEM},
	/* MPI: its shared memory, and the directory of a job */
	{PREFIX, ANY, "/dev/shm/ucx_shm_", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/vader_segment.", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/sm_segment.", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/mpich_shar", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/psm2_shm.", REEL_CLASS_SYSTEM},
	{NUMBERED, ANY, "ompi.", REEL_CLASS_SYSTEM},
	{NUMBERED, ANY, "prterun.", REEL_CLASS_SYSTEM},
	{NUMBERED, ANY, "prted.", REEL_CLASS_SYSTEM},
	{NUMBERED, ANY, "prte.", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/dev/shm/", REEL_CLASS_NONE}, /* by the other rules */
	{PREFIX, ANY, "/dev/", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/proc/", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/sys/", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/run/", REEL_CLASS_SYSTEM},

	{SUFFIX, ANY, ".py", REEL_CLASS_CODE},
	{SUFFIX, ANY, ".pyc", REEL_CLASS_CODE},
	{SUFFIX, ANY, ".pyo", REEL_CLASS_CODE},
	{SUFFIX, ANY, ".pyi", REEL_CLASS_CODE},
	{SUFFIX, ANY, ".so", REEL_CLASS_CODE},
	{BASE_HAS, ANY, ".so.", REEL_CLASS_CODE},
	{SUFFIX, ANY, ".egg-link", REEL_CLASS_CODE},
	{COMPONENT, ANY, "__pycache__", REEL_CLASS_CODE},
	{COMPONENT, ANY, "site-packages", REEL_CLASS_CODE},
	{COMPONENT, ANY, "dist-packages", REEL_CLASS_CODE},
	{PREFIX, ANY, "/usr/lib/python", REEL_CLASS_CODE},
	{BASE_PREFIX, ANY, "pyvenv.cfg", REEL_CLASS_CODE},
	/* what frameworks compile while they run */
	{HAS, ANY, "/torchinductor_", REEL_CLASS_CODE},
	{COMPONENT, ANY, "torch_extensions", REEL_CLASS_CODE},
	{HAS, ANY, "/.cache/torch/kernels", REEL_CLASS_CODE},
	{COMPONENT, ANY, ".triton", REEL_CLASS_CODE},
	{HAS, ANY, "/.nv/ComputeCache", REEL_CLASS_CODE},
	/* A script that starts a job, as torchrun, is read by its interpreter. */
	{COMMAND, UNWRITTEN, "bin", REEL_CLASS_CODE},

	{PREFIX, ANY, "/etc/", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/usr/", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/var/cache/", REEL_CLASS_SYSTEM},
	{COMPONENT, ANY, "fontconfig", REEL_CLASS_SYSTEM},
	{HAS, ANY, "/.cache/matplotlib", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/lib/", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/lib64/", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/bin/", REEL_CLASS_SYSTEM},
	{PREFIX, ANY, "/sbin/", REEL_CLASS_SYSTEM},
	{HAS, ANY, "/.keras/keras.json", REEL_CLASS_SYSTEM},
	{COMPONENT, ANY, ".config", REEL_CLASS_SYSTEM},

	{BASE_PREFIX, ANY, "events.out.tfevents", REEL_CLASS_LOG},
	{SUFFIX, ANY, ".log", REEL_CLASS_LOG},
	{SUFFIX, ANY, ".wandb", REEL_CLASS_LOG},
	{COMPONENT, WRITTEN, "mlruns", REEL_CLASS_LOG},
	{HAS, WRITTEN, "/plugins/profile/", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".trace.json.gz", REEL_CLASS_LOG},
	/* Samples that the job finds, whatever the name of their folder. Weights have no
	 * such names; .npy, .npz, .h5 and .tar may be either. */
	{SUFFIX, UNWRITTEN, ".jpg", REEL_CLASS_DATA},
	{SUFFIX, UNWRITTEN, ".jpeg", REEL_CLASS_DATA},
	{SUFFIX, UNWRITTEN, ".JPEG", REEL_CLASS_DATA},
	{SUFFIX, UNWRITTEN, ".png", REEL_CLASS_DATA},
	{SUFFIX, UNWRITTEN, ".tfrecord", REEL_CLASS_DATA},
	{SUFFIX, UNWRITTEN, ".tfrecords", REEL_CLASS_DATA},
	{SUFFIX, UNWRITTEN, ".parquet", REEL_CLASS_DATA},
	{TAIL_HAS, ANY, "checkpoint", REEL_CLASS_CHECKPOINT},
	{TAIL_HAS, ANY, "ckpt", REEL_CLASS_CHECKPOINT},
	{HAS, WRITTEN, ".orbax-checkpoint-tmp/", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".pt", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".pth", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".safetensors", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".distcp", REEL_CLASS_CHECKPOINT},
	{BASE_PREFIX, WRITTEN, "pytorch_model", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".h5", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".hdf5", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".keras", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".npz", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".onnx", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".pdparams", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".pdopt", REEL_CLASS_CHECKPOINT},
	{BASE_PREFIX, WRITTEN, "flax_model", REEL_CLASS_CHECKPOINT},
	{BASE_HAS, WRITTEN, ".data-0", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".index", REEL_CLASS_CHECKPOINT},
	{SUFFIX, WRITTEN, ".txt", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".out", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".err", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, "/stdout", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, "/stderr", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".json", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".jsonl", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".csv", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".tsv", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".yaml", REEL_CLASS_LOG},
	{SUFFIX, WRITTEN, ".yml", REEL_CLASS_LOG},
};

static bool has_component(const char *path, const char *name)
{
	size_t n = strlen(name);
	const char *at = path;

	while ((at = strstr(at, name))) {
		if ((at == path || at[-1] == '/') && (at[n] == '/' || !at[n]))
			return true;
		at += n;
	}
	return false;
}

/* Is @base, the last part of its path, in a directory named @dir, of @n bytes? */
static bool is_command(const char *path, const char *base, const char *dir,
		       size_t n)
{
	const char *end = base > path ? base - 1 : path;

	return !strchr(base, '.') && (size_t)(end - path) >= n &&
	       !memcmp(end - n, dir, n) &&
	       (end - n == path || end[-(ptrdiff_t)n - 1] == '/');
}

static bool has_numbered_dir(const char *path, const char *name)
{
	const char *end;

	for (; (path = strchr(path, '/')); path++) {
		end = strchr(path + 1, '/');
		if (end && !strncmp(path + 1, name, strlen(name)) &&
		    end[-1] >= '0' && end[-1] <= '9')
			return true;
	}
	return false;
}

static bool rule_matches(const struct rule *r, const char *path, size_t len,
			 const char *base)
{
	size_t n = strlen(r->text);

	switch (r->where) {
	case PREFIX:
		/* the rule covers the directory itself, too */
		if (len == n - 1 && r->class_ != REEL_CLASS_NONE &&
		    r->text[n - 1] == '/')
			n--;
		return len >= n && !memcmp(path, r->text, n);
	case SUFFIX:
		return len > n && !memcmp(path + len - n, r->text, n);
	case COMPONENT:
		return has_component(path, r->text);
	case NUMBERED:
		return has_numbered_dir(path, r->text);
	case COMMAND:
		return is_command(path, base, r->text, n);
	case HAS:
		return strstr(path, r->text) != NULL;
	case BASE_PREFIX:
		return !strncmp(base, r->text, n);
	case BASE_HAS:
		return strstr(base, r->text) != NULL;
	case TAIL_HAS:
		while (base > path + 1 && base[-2] != '/')
			base--;
		if (base > path)
			base--;
		return strcasestr(base, r->text) != NULL;
	}
	return false;
}

enum reel_class reel_file_class(const char *path, enum reel_kind kind,
				bool written)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t len = strlen(path);
	bool rest = false;

	if (kind == REEL_KIND_PIPE || kind == REEL_KIND_SOCKET)
		return REEL_CLASS_PIPE;
	if (kind == REEL_KIND_DEVICE || kind == REEL_KIND_MEMORY)
		return REEL_CLASS_SYSTEM;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];

		if ((r->when == WRITTEN && !written) ||
		    (r->when == UNWRITTEN && written) ||
		    (rest && r->where == PREFIX) ||
		    !rule_matches(r, path, len, base))
			continue;
		if (r->class_ != REEL_CLASS_NONE)
			return r->class_;
		rest = true;
	}
	return REEL_CLASS_DATA;
}

static const char *const class_names[REEL_CLASSES] = {
	[REEL_CLASS_NONE] = "data",
	[REEL_CLASS_DATA] = "data",
	[REEL_CLASS_CHECKPOINT] = "checkpoint",
	[REEL_CLASS_LOG] = "log",
	[REEL_CLASS_CODE] = "code",
	[REEL_CLASS_SYSTEM] = "system",
	[REEL_CLASS_PIPE] = "pipe",
};

#define KINDS (REEL_KIND_OTHER + 1)

static const char *const kind_names[KINDS] = {
	[REEL_KIND_UNKNOWN] = "unknown", [REEL_KIND_FILE] = "file",
	[REEL_KIND_DIR] = "dir",	 [REEL_KIND_PIPE] = "pipe",
	[REEL_KIND_SOCKET] = "socket",	 [REEL_KIND_DEVICE] = "device",
	[REEL_KIND_MEMORY] = "memory",	 [REEL_KIND_OTHER] = "other",
};

const char *reel_class_name(enum reel_class class_)
{
	return class_ < REEL_CLASSES ? class_names[class_] : "data";
}

const char *reel_kind_name(enum reel_kind kind)
{
	return kind < KINDS ? kind_names[kind] : "unknown";
}

enum reel_class reel_class_of_name(const char *name)
{
	for (int i = REEL_CLASS_DATA; i < REEL_CLASSES; i++)
		if (!strcmp(name, class_names[i]))
			return (enum reel_class)i;
	return REEL_CLASS_DATA;
}

enum reel_kind reel_kind_of_name(const char *name)
{
	for (int i = 0; i < KINDS; i++)
		if (!strcmp(name, kind_names[i]))
			return (enum reel_kind)i;
	return REEL_KIND_UNKNOWN;
}
