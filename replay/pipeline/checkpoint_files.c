/* SPDX-License-Identifier: MIT */
/* The files that a rank saves in a checkpoint. */
#include "replay/pipeline/checkpoint_files.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"

#include "replay/comm/comm.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/transformer.h"
#include "replay/workload/workload.h"

struct making {
	struct checkpoint_files *list;
	const struct workload_checkpoint *is;
	const struct comm *comm;
};

static struct checkpoint_file *add_file(struct making *m,
					struct reel_error *err)
{
	struct checkpoint_file *f;

	if (reel_array_reach(&m->list->file, &m->list->room, m->list->n,
			     sizeof(*m->list->file), err))
		return NULL;
	f = &m->list->file[m->list->n++];
	memset(f, 0, sizeof(*f));
	f->copies = 1;
	return f;
}

/* The bytes of tensor @i: the series, or a drawn one, or all that is @left. */
static int64_t tensor_bytes(const struct workload_checkpoint_file *as,
			    int64_t i, int64_t left, uint64_t *random)
{
	if (as->series_bytes_n)
		return as->series_bytes[i % as->series_bytes_n];
	return as->tensor_bytes.n
		       ? quantiles_at(&as->tensor_bytes, random_share(random))
		       : left;
}

/* Tensors until the bytes of the file are spent; the same for each copy and each
 * checkpoint. */
static int draw_tensors(struct checkpoint_file *f, struct reel_error *err)
{
	int64_t left = f->bytes;
	uint64_t random = f->number;
	uint32_t room = 0;

	while (left > 0) {
		int64_t n = tensor_bytes(f->as, f->tensors, left, &random);

		if (n > left || n < 1 || f->tensors + 1 == WORKLOAD_TENSORS)
			n = left;
		if (reel_array_reach(&f->tensor, &room, (uint32_t)f->tensors,
				     sizeof(*f->tensor), err))
			return -1;
		f->tensor[f->tensors++] = n;
		left -= n;
	}
	return 0;
}

static int64_t shard_of(int64_t n, int64_t i, int64_t parts)
{
	return n / parts + (i < n % parts);
}

static int add_listed(struct making *m, uint32_t i, struct reel_error *err)
{
	const struct workload_checkpoint_file *as = &m->is->files[i];
	struct checkpoint_file *f;

	if (as->owner == WORKLOAD_ROOT && m->comm->rank)
		return 0;
	f = add_file(m, err);
	if (!f)
		return -1;
	f->as = as;
	f->number = i;
	f->layout = as->layout;
	f->fsync = as->fsync;
	f->rename = as->rename;
	f->copies = as->count;
	f->form = (struct torch_form){as->archive, as->pickle_bytes,
				      as->directory_bytes, as->release,
				      as->stream};
	f->bytes = as->owner == WORKLOAD_SHARD
			   ? shard_of(as->bytes, m->comm->rank, m->comm->size)
			   : as->bytes;
	return f->layout == WORKLOAD_PLAIN_FILE ? 0 : draw_tensors(f, err);
}

static int add_transformer(struct making *m, struct reel_error *err)
{
	const struct workload_transformer *t = &m->is->transformer;
	struct transformer_place place;
	struct transformer_file is;

	if (!t->layers)
		return 0;
	transformer_place(t, m->comm->rank, m->comm->size, &place);
	for (uint32_t i = 0; transformer_file_at(t, &place, i, &is); i++) {
		struct checkpoint_file *f = add_file(m, err);

		if (!f)
			return -1;
		f->layout = WORKLOAD_TORCH;
		f->fsync = t->fsync;
		transformer_file_name(t, &place, &is, f->name, sizeof(f->name));
		f->tensors = transformer_file_tensors(t, &place, &is,
						      &f->tensor, err);
		if (f->tensors < 0)
			return -1;
	}
	return 0;
}

int checkpoint_files_of(struct checkpoint_files *list,
			const struct workload_checkpoint *is,
			const struct comm *comm, struct reel_error *err)
{
	struct making m = {.list = list, .is = is, .comm = comm};

	for (uint32_t i = 0; i < is->files_n; i++)
		if (add_listed(&m, i, err))
			return -1;
	return add_transformer(&m, err);
}

void checkpoint_files_fini(struct checkpoint_files *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		free(list->file[i].tensor);
	free(list->file);
}
