/* SPDX-License-Identifier: MIT */
/* The words of each loader for what its job can change. */
#include <string.h>

#include "analyzer/report/advice_rules.h"
#include "analyzer/report/report.h"

#define PREFETCH "prefetch(tf.data.AUTOTUNE)"
#define PARALLEL "num_parallel_calls=tf.data.AUTOTUNE"

static const struct advice_loader
	pytorch =
		{
			.none = "; no loader worker was seen, so computation "
				"waits for every "
				"batch.",
			.unseen = "; the import does not show loader workers.",
			.start = "loader workers (num_workers=2 or more), "
				 "which read while "
				 "the model computes.",
			.hand_over = "a larger prefetch_factor, and a "
				     "processor left free for each worker.",
			.last = "one DataLoader for all epochs, with "
				"persistent_workers=True.",
			.longer = "fewer, longer epochs: a sampler that "
				  "passes over the data several times.",
			.cold = "the loader starts each epoch with no batch "
				"ready",
			.evaluation = "more loader workers for the evaluation "
				      "(num_workers), which stay between "
				      "evaluations (persistent_workers=True).",
			.restarts = "loader workers that stay between "
				    "evaluations (persistent_workers=True), "
				    "not more of them; fewer, longer "
				    "evaluations where they stay already.",
			.persistent = true,
},
	grain =
		{
			.none = "; no worker process of Grain was seen.",
			.unseen =
				"; the import does not show workers of Grain.",
			.start = "worker processes (worker_count=2 or more of "
				 "grain.DataLoader, mp_prefetch() of a "
				 "grain.IterDataset), or "
				 "more threads (num_threads and "
				 "prefetch_buffer_size of "
				 "grain.ReadOptions).",
			.hand_over =
				"a larger worker_buffer_size (mp_prefetch(): "
				"per_worker_buffer_size), and a processor left "
				"free for "
				"each worker.",
			.last = "one iterator over all epochs (num_epochs of "
				"the sampler, "
				"repeat() of a dataset).",
			.cold = "the iterator starts each epoch with no batch "
				"ready",
			.evaluation = "more worker processes (worker_count) "
				      "for the loader of the evaluation.",
},
	tf_data = {
		.none = "; tf.data prepares batches in threads of the job "
			"itself.",
		.unseen = "; tf.data prepares batches in threads of the job "
			  "itself.",
		.hand_over = PREFETCH " at the end of the pipeline.",
		.last = "one pipeline over all epochs, with repeat(); a "
			"smaller shuffle buffer.",
		.cold = "the pipeline restarts and fills its buffers",
};

/* A loop of PyTorch's that takes its batches from no loader. */
static const struct advice_loader own_loop = {
	.none = "; no loader worker was seen, so computation waits for every "
		"batch.",
	.unseen = "; the import does not show loader workers.",
	.start = "a DataLoader with workers (num_workers=2 or more), or a "
		 "thread that makes the next batch while the model computes.",
	.hand_over = "fewer and larger tensors in a batch.",
	.last = "fewer, longer epochs.",
	.cold = "the loop starts each epoch with no batch ready",
	.evaluation = "a DataLoader with workers for the evaluation.",
};

/* A loader of which only the waits are known: of JAX, or of the program itself. */
static const struct advice_loader any_loader = {
	.none = "; no loader worker was seen, so computation waits for every "
		"batch.",
	.unseen = "; the import does not show loader workers.",
	.start = "threads or processes that make the next batches while the "
		 "model computes.",
	.hand_over = "more batches that are made ahead.",
	.last = "one loader for all epochs, so that its workers and batches "
		"stay.",
	.longer = "fewer, longer epochs.",
	.cold = "the loader starts each epoch with no batch ready",
	.evaluation = "threads or processes that make the batches of the "
		      "evaluation ahead.",
};

/* Those of Keras for data sets in Python, with any backend, and those of other
 * libraries for PyTorch; @name: of the note. */
static const struct noted_loader {
	const char *name;
	bool processes; /* its workers are seen */
	struct advice_loader words;
} noted_loader[] = {
#define KERAS(noted, seen, how, remedy, evaluations)                           \
	{                                                                      \
		noted, seen,                                                   \
		{                                                              \
			.none = how, .unseen = how, .start = remedy,           \
			.hand_over = remedy,                                   \
			.last = "fewer, longer epochs (steps_per_epoch).",     \
			.cold = "the loader starts each epoch with no "        \
				"batch ready",                                 \
			.evaluation = evaluations,                             \
		}                                                              \
	}
	KERAS("PyDataset", false, "; the PyDataset of Keras has no workers.",
	      "workers=2 or more of the PyDataset; with "
	      "use_multiprocessing=True where Python prepares the samples.",
	      "workers of the PyDataset of the evaluation."),
	KERAS("PyDataset of threads", false,
	      "; threads of the job prepare the batches of a PyDataset.",
	      "use_multiprocessing=True of the PyDataset where Python "
	      "prepares the samples, as its threads run one at a time; else "
	      "more workers.",
	      "more workers of the PyDataset of the evaluation."),
	KERAS("PyDataset of processes", true,
	      "; worker processes prepare the batches of a PyDataset.",
	      "more workers of the PyDataset; less work and I/O for each "
	      "sample.",
	      "more workers of the PyDataset of the evaluation."),
	KERAS("generator", false, "; a Python generator makes the batches.",
	      "a PyDataset with workers, or a pipeline of tf.data, instead "
	      "of the generator.",
	      "a PyDataset with workers, or a pipeline of tf.data, for the "
	      "evaluation."),
#undef KERAS
	{"torchdata.nodes",
	 false,
	 {
		 .none = "; nodes of torchdata prepare the batches, in threads "
			 "or processes of their own.",
		 .unseen = "; nodes of torchdata prepare the batches, in "
			   "threads or processes of their own.",
		 .start = "a larger num_workers of the ParallelMapper, and a "
			  "Prefetcher as the last node.",
		 .hand_over = "a Prefetcher as the last node.",
		 .last = "fewer, longer epochs: a sampler that passes over the "
			 "data several times.",
		 .cold = "the nodes start each epoch with no batch ready",
		 .evaluation = "a Prefetcher as the last node of the "
			       "evaluation.",
	 }},
#define THREAD(noted, how, remedy, evaluations)                                \
	{                                                                      \
		noted, false,                                                  \
		{                                                              \
			.none = how, .unseen = how, .start = remedy,           \
			.hand_over = remedy, .last = "fewer, longer epochs.",  \
			.cold = "the loader starts each epoch with no "        \
				"batch ready",                                 \
			.evaluation = evaluations,                             \
		}                                                              \
	}
	THREAD("prefetch_generator",
	       "; a thread of BackgroundGenerator makes the batches.",
	       "loader workers (num_workers=2 or more) of the DataLoader that "
	       "it reads, or a larger max_prefetch.",
	       "more loader workers for the evaluation (num_workers)."),
	THREAD("MONAI", "; a thread of ThreadDataLoader makes the batches.",
	       "num_workers=2 or more of the ThreadDataLoader, a larger "
	       "buffer_size, or a CacheDataset for what fits into memory.",
	       "more loader workers for the evaluation (num_workers)."),
	THREAD("Ray Data", "; tasks of Ray Data make the batches.",
	       "more processors for the tasks of Ray, a larger "
	       "prefetch_batches of iter_batches(), or materialize() for what "
	       "fits into memory.",
	       "materialize() for the data of the evaluation."),
	THREAD("PaddlePaddle",
	       "; a thread of the DataLoader makes the batches.",
	       "loader workers (num_workers=2 or more) of the DataLoader.",
	       "more loader workers for the evaluation (num_workers)."),
	THREAD("NVIDIA DALI", "; threads of DALI make the batches.",
	       "a larger num_threads and prefetch_queue_depth of the "
	       "Pipeline.",
	       "a larger num_threads of the Pipeline of the evaluation."),
	THREAD("program",
	       "; threads or processes of the program make the batches.",
	       "more of them, less work for each batch, or a DataLoader with "
	       "workers (num_workers=2 or more).",
	       "more threads or processes for the evaluation."),
#undef THREAD
	{"batchgenerators",
	 true,
	 {
		 .none = "; no worker process of batchgenerators was seen.",
		 .unseen = "; the import does not show loader workers.",
		 .start = "a MultiThreadedAugmenter, with num_processes=2 or "
			  "more.",
		 .hand_over = "a larger num_cached, and a processor left free "
			      "for each worker.",
		 .last = "fewer, longer epochs.",
		 .cold = "the loader starts each epoch with no batch ready",
		 .evaluation = "more processes for the loader of the "
			       "evaluation (num_processes).",
	 }},
};

static const struct noted_loader *noted_loader_of(const struct report *r)
{
	for (size_t i = 0; i < sizeof(noted_loader) / sizeof(noted_loader[0]);
	     i++)
		if (r->noted_loader &&
		    !strcmp(r->noted_loader, noted_loader[i].name))
			return &noted_loader[i];
	return NULL;
}

/* Keras imports Grain in jobs of tf.data too: then there are no worker processes. */
const struct advice_loader *advice_loader_of(const struct report *r)
{
	const struct report_rank *k = report_slowest(r);
	bool workers = k && k->workers > 0;
	const struct noted_loader *noted = noted_loader_of(r);

	if (noted && (!workers || noted->processes))
		return &noted->words;
	if (r->uses.grain && (workers || !r->uses.tensorflow))
		return &grain;
	if (r->uses.own_loop && !workers)
		return &own_loop;
	if (r->uses.pytorch)
		return &pytorch;
	return r->uses.tensorflow ? &tf_data : &any_loader;
}

/* Append those of the @n stages that are not NULL. Returns how many. */
static int append_stages(struct advice *a, const char *const *stage, int n,
			 const char *and)
{
	int said = 0;

	for (int i = 0; i < n; i++)
		if (stage[i])
			advice_append(a->try_this, "%s%s", said++ ? and : "",
				      stage[i]);
	return said;
}

void advice_append_start(const struct report *r, struct advice *a)
{
	const struct advice_loader *loader = advice_loader_of(r);
	const char *const stage[] = {
		r->uses.prefetch ? NULL
				 : PREFETCH " at the end of the pipeline",
		r->uses.generator
			? "the work of the generator in a map() with " PARALLEL
			  " (one thread runs a generator)"
		: r->uses.parallel ? NULL
				   : PARALLEL " in map() and interleave()",
		r->uses.cache ? NULL : "cache() for what fits into memory",
	};

	if (loader != &tf_data)
		advice_append(a->try_this, "%s", loader->start);
	else if (append_stages(a, stage, 3, ", "))
		advice_append(a->try_this, ".");
	else
		advice_append(a->try_this,
			      "less work for each sample: the pipelines "
			      "prefetch, work in parallel and cache already.");
}

/* More than half of the wait in evaluations of the loop was for first batches. More
 * workers take longer to start. */
static bool restarts_workers(const struct report_rank *k)
{
	return k && k->workers > 0 && k->evaluation_loop_wait_ns > 0 &&
	       k->evaluation_first_wait_ns > k->evaluation_loop_wait_ns / 2;
}

void advice_append_evaluation(const struct report *r, struct advice *a)
{
	const struct advice_loader *loader = advice_loader_of(r);
	bool restarts =
		loader->restarts && restarts_workers(advice_evaluating_rank(r));
	const char *const stage[] = {
		r->uses.prefetch ? NULL : PREFETCH,
		r->uses.cache ? NULL : "cache()",
	};

	if (loader != &tf_data)
		advice_append(a->try_this, "%s",
			      restarts ? loader->restarts : loader->evaluation);
	else if (append_stages(a, stage, 2, " and "))
		advice_append(a->try_this,
			      " in the pipeline of the evaluation too.");
	else
		advice_append(a->try_this,
			      "less work for each sample of the evaluation: "
			      "the pipelines prefetch and cache already.");
}
