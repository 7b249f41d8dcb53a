/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files that wrap MPI: one shim for every MPI, linked to none.
 *
 * Handles are passed on as the register that holds them. An exported MPI_*
 * symbol would make weak references and dlsym() tests of other programs find an
 * MPI that is not there, so nothing is exported: bind.c stores the wrappers in
 * the import slots of the objects that call MPI, once an MPI library is loaded.
 * Supported: Open MPI, libraries with MPICH's ABI, and the ABI of MPI 5.
 */
#ifndef PRELOAD_MPI_MPI_H
#define PRELOAD_MPI_MPI_H

#include "preload/core/shim.h"
#include "preload/core/symbols.h"

#pragma GCC visibility push(hidden)

/* Shapes of the calls; a handle is a pointer or an int, in one register. */
#define MPI_RW(count) (void *fh, void *buf, count n, void *type, void *out)
#define MPI_RW_AT(count)                                                       \
	(void *fh, int64_t off, void *buf, count n, void *type, void *out)
#define MPI_BEGIN(count) (void *fh, void *buf, count n, void *type)
#define MPI_BEGIN_AT(count)                                                    \
	(void *fh, int64_t off, void *buf, count n, void *type)
#define MPI_END_ARGS (void *fh, void *buf, void *out)

/*
 * X(CALL, name, shape, type of count, flags, position): transfers. read and
 * write have the same shapes, and so do the large-count names, with int64_t.
 */
#define MPI_COLL REEL_MPI_COLLECTIVE
#define MPI_ASYNC REEL_MPI_NONBLOCKING
#define MPI_SPLIT (REEL_MPI_SPLIT | REEL_MPI_COLLECTIVE)
#define MPI_SHARED REEL_MPI_SHARED
#define MPI_RW_BOTH(X, D, d, c, n)                                             \
	X(D, d##c, RW, n, 0, POINTER)                                          \
	X(D##_AT, d##_at##c, RW_AT, n, 0, EXPLICIT)                            \
	X(D##_ALL, d##_all##c, RW, n, MPI_COLL, POINTER)                       \
	X(D##_AT_ALL, d##_at_all##c, RW_AT, n, MPI_COLL, EXPLICIT)             \
	X(D##_SHARED, d##_shared##c, RW, n, MPI_SHARED, NOWHERE)               \
	X(D##_ORDERED, d##_ordered##c, RW, n, MPI_COLL | MPI_SHARED, NOWHERE)  \
	X(I##D, i##d##c, RW, n, MPI_ASYNC, POINTER)                            \
	X(I##D##_AT, i##d##_at##c, RW_AT, n, MPI_ASYNC, EXPLICIT)              \
	X(I##D##_ALL, i##d##_all##c, RW, n, MPI_ASYNC | MPI_COLL, POINTER)     \
	X(I##D##_AT_ALL, i##d##_at_all##c, RW_AT, n, MPI_ASYNC | MPI_COLL,     \
	  EXPLICIT)                                                            \
	X(I##D##_SHARED, i##d##_shared##c, RW, n, MPI_ASYNC | MPI_SHARED,      \
	  NOWHERE)                                                             \
	X(D##_ALL_BEGIN, d##_all_begin##c, BEGIN, n, MPI_SPLIT, POINTER)       \
	X(D##_AT_ALL_BEGIN, d##_at_all_begin##c, BEGIN_AT, n, MPI_SPLIT,       \
	  EXPLICIT)                                                            \
	X(D##_ORDERED_BEGIN, d##_ordered_begin##c, BEGIN, n,                   \
	  MPI_SPLIT | MPI_SHARED, NOWHERE)

#define MPI_TRANSFERS(X)                                                       \
	MPI_RW_BOTH(X, READ, read, , int)                                      \
	MPI_RW_BOTH(X, READ, read, _c, int64_t)                                \
	MPI_RW_BOTH(X, WRITE, write, , int)                                    \
	MPI_RW_BOTH(X, WRITE, write, _c, int64_t)

/* X(CALL, name): the second half of a split collective. */
#define MPI_ENDS(X)                                                            \
	X(READ_ALL_END, read_all_end)                                          \
	X(READ_AT_ALL_END, read_at_all_end)                                    \
	X(READ_ORDERED_END, read_ordered_end)                                  \
	X(WRITE_ALL_END, write_all_end)                                        \
	X(WRITE_AT_ALL_END, write_at_all_end)                                  \
	X(WRITE_ORDERED_END, write_ordered_end)

/* X(name, arguments): the other MPI_File_ calls. */
#define MPI_FILES(X)                                                           \
	X(open,                                                                \
	  (void *comm, const char *path, int amode, void *info, void **fh))    \
	X(close, (void **fh))                                                  \
	X(delete, (const char *path, void *info))                              \
	X(set_view, (void *fh, int64_t disp, void *etype, void *filetype,      \
		     const char *rep, void *info))                             \
	X(set_size, (void *fh, int64_t size))                                  \
	X(preallocate, (void *fh, int64_t size))                               \
	X(get_size, (void *fh, int64_t *size))                                 \
	X(set_atomicity, (void *fh, int flag))                                 \
	X(set_info, (void *fh, void *info))                                    \
	X(sync, (void *fh))                                                    \
	X(seek, (void *fh, int64_t off, int whence))                           \
	X(seek_shared, (void *fh, int64_t off, int whence))

/*
 * X(CALL, name, number of arguments, root): collectives, with their large-count
 * names. Every argument fits into a register; the last is the communicator.
 * root: the argument that is the root; -1: none, all wait for all.
 */
#define MPI_COUNTED(X, CALL, fn, ...)                                          \
	X(CALL, fn, __VA_ARGS__)                                               \
	X(CALL, fn##_c, __VA_ARGS__)
#define MPI_COLLECTIVES(X)                                                     \
	X(BARRIER, Barrier, 1, -1)                                             \
	MPI_COUNTED(X, BCAST, Bcast, 5, d)                                     \
	MPI_COUNTED(X, REDUCE, Reduce, 7, f)                                   \
	MPI_COUNTED(X, ALLREDUCE, Allreduce, 6, -1)                            \
	MPI_COUNTED(X, GATHER, Gather, 8, g)                                   \
	MPI_COUNTED(X, GATHERV, Gatherv, 9, h)                                 \
	MPI_COUNTED(X, SCATTER, Scatter, 8, g)                                 \
	MPI_COUNTED(X, SCATTERV, Scatterv, 9, h)                               \
	MPI_COUNTED(X, ALLGATHER, Allgather, 7, -1)                            \
	MPI_COUNTED(X, ALLGATHERV, Allgatherv, 8, -1)                          \
	MPI_COUNTED(X, ALLTOALL, Alltoall, 7, -1)                              \
	MPI_COUNTED(X, ALLTOALLV, Alltoallv, 9, -1)                            \
	MPI_COUNTED(X, REDUCE_SCATTER, Reduce_scatter, 6, -1)                  \
	MPI_COUNTED(X, REDUCE_SCATTER_BLOCK, Reduce_scatter_block, 6, -1)      \
	MPI_COUNTED(X, SCAN, Scan, 6, -1)                                      \
	MPI_COUNTED(X, EXSCAN, Exscan, 6, -1)

/*
 * X(CALL, name, number of arguments, root): nonblocking collectives. The last
 * argument points to the request, the one before it is the communicator.
 */
#define MPI_STARTED(X)                                                         \
	X(IBARRIER, Ibarrier, 2, -1)                                           \
	MPI_COUNTED(X, IBCAST, Ibcast, 6, d)                                   \
	MPI_COUNTED(X, IREDUCE, Ireduce, 8, f)                                 \
	MPI_COUNTED(X, IALLREDUCE, Iallreduce, 7, -1)                          \
	MPI_COUNTED(X, IGATHER, Igather, 9, g)                                 \
	MPI_COUNTED(X, IGATHERV, Igatherv, 10, h)                              \
	MPI_COUNTED(X, ISCATTER, Iscatter, 9, g)                               \
	MPI_COUNTED(X, ISCATTERV, Iscatterv, 10, h)                            \
	MPI_COUNTED(X, IALLGATHER, Iallgather, 8, -1)                          \
	MPI_COUNTED(X, IALLGATHERV, Iallgatherv, 9, -1)                        \
	MPI_COUNTED(X, IALLTOALL, Ialltoall, 8, -1)                            \
	MPI_COUNTED(X, IALLTOALLV, Ialltoallv, 10, -1)                         \
	MPI_COUNTED(X, IREDUCE_SCATTER, Ireduce_scatter, 7, -1)                \
	MPI_COUNTED(X, IREDUCE_SCATTER_BLOCK, Ireduce_scatter_block, 7, -1)    \
	MPI_COUNTED(X, ISCAN, Iscan, 7, -1)                                    \
	MPI_COUNTED(X, IEXSCAN, Iexscan, 7, -1)

/* X(name, parameters, arguments, number of requests): waits and tests. */
#define MPI_WAITS(X)                                                           \
	X(Wait, (void *req, void *status), (req, status), 1)                   \
	X(Test, (void *req, int *flag, void *status), (req, flag, status), 1)  \
	X(Waitall, (int n, void *req, void *status), (n, req, status), n)      \
	X(Testall, (int n, void *req, int *flag, void *status),                \
	  (n, req, flag, status), n)                                           \
	X(Waitany, (int n, void *req, int *at, void *status),                  \
	  (n, req, at, status), n)                                             \
	X(Testany, (int n, void *req, int *at, int *flag, void *status),       \
	  (n, req, at, flag, status), n)                                       \
	X(Waitsome, (int n, void *req, int *done, int *at, void *status),      \
	  (n, req, done, at, status), n)                                       \
	X(Testsome, (int n, void *req, int *done, int *at, void *status),      \
	  (n, req, done, at, status), n)

/*
 * X(COUNT, name, number of arguments): other calls that order ranks, which are
 * counted only. Messages are counted by sends, not by receives; a persistent
 * request that is started may be any of the three kinds.
 */
#define MPI_COUNT_ONLY(X)                                                      \
	MPI_COUNTED(X, MESSAGES, Send, 6)                                      \
	MPI_COUNTED(X, MESSAGES, Bsend, 6)                                     \
	MPI_COUNTED(X, MESSAGES, Ssend, 6)                                     \
	MPI_COUNTED(X, MESSAGES, Rsend, 6)                                     \
	MPI_COUNTED(X, MESSAGES, Isend, 7)                                     \
	MPI_COUNTED(X, MESSAGES, Ibsend, 7)                                    \
	MPI_COUNTED(X, MESSAGES, Issend, 7)                                    \
	MPI_COUNTED(X, MESSAGES, Irsend, 7)                                    \
	MPI_COUNTED(X, MESSAGES, Sendrecv, 12)                                 \
	MPI_COUNTED(X, MESSAGES, Sendrecv_replace, 9)                          \
	X(MESSAGES, Start, 1)                                                  \
	X(MESSAGES, Startall, 2)                                               \
	X(EPOCHS, Win_fence, 2)                                                \
	X(EPOCHS, Win_complete, 1)                                             \
	X(EPOCHS, Win_unlock, 2)                                               \
	X(EPOCHS, Win_unlock_all, 1)                                           \
	X(EPOCHS, Win_flush, 2)                                                \
	X(EPOCHS, Win_flush_all, 1)                                            \
	MPI_COUNTED(X, COLLECTIVES, Alltoallw, 9)                              \
	MPI_COUNTED(X, COLLECTIVES, Ialltoallw, 10)                            \
	MPI_COUNTED(X, COLLECTIVES, Neighbor_allgather, 7)                     \
	MPI_COUNTED(X, COLLECTIVES, Neighbor_allgatherv, 8)                    \
	MPI_COUNTED(X, COLLECTIVES, Neighbor_alltoall, 7)                      \
	MPI_COUNTED(X, COLLECTIVES, Neighbor_alltoallv, 9)                     \
	MPI_COUNTED(X, COLLECTIVES, Neighbor_alltoallw, 9)                     \
	MPI_COUNTED(X, COLLECTIVES, Ineighbor_allgather, 8)                    \
	MPI_COUNTED(X, COLLECTIVES, Ineighbor_allgatherv, 9)                   \
	MPI_COUNTED(X, COLLECTIVES, Ineighbor_alltoall, 8)                     \
	MPI_COUNTED(X, COLLECTIVES, Ineighbor_alltoallv, 10)                   \
	MPI_COUNTED(X, COLLECTIVES, Ineighbor_alltoallw, 10)

/* X(name, arguments): begin and end of processes and communicators. */
#define MPI_LIFE(X)                                                            \
	X(Init, (int *argc, char ***argv))                                     \
	X(Init_thread, (int *argc, char ***argv, int want, int *got))          \
	X(Finalize, (void))                                                    \
	X(Comm_free, (void **comm))                                            \
	X(Comm_disconnect, (void **comm))                                      \
	X(Comm_spawn, (const char *command, char **argv, int n, void *info,    \
		       int root, void *comm, void **children, int *codes))     \
	X(Comm_spawn_multiple, (int kinds, char **command, char ***argvs,      \
				const int *n, const void *infos, int root,     \
				void *comm, void **children, int *codes))

#define MPI_A1 long a
#define MPI_A2 MPI_A1, long b
#define MPI_A5 MPI_A2, long c, long d, long e
#define MPI_A6 MPI_A5, long f
#define MPI_A7 MPI_A6, long g
#define MPI_A8 MPI_A7, long h
#define MPI_A9 MPI_A8, long i
#define MPI_A10 MPI_A9, long j
#define MPI_A12 MPI_A10, long k, long l
#define MPI_ARGS1 a
#define MPI_ARGS2 a, b
#define MPI_ARGS5 MPI_ARGS2, c, d, e
#define MPI_ARGS6 MPI_ARGS5, f
#define MPI_ARGS7 MPI_ARGS6, g
#define MPI_ARGS8 MPI_ARGS7, h
#define MPI_ARGS9 MPI_ARGS8, i
#define MPI_ARGS10 MPI_ARGS9, j
#define MPI_ARGS12 MPI_ARGS10, k, l

/* EACH(name, arguments) for every function that is wrapped. */
#define MPI_EACH_TRANSFER(CALL, fn, shape, n, ...)                             \
	EACH(File_##fn, MPI_##shape(n))
#define MPI_EACH_END(CALL, fn) EACH(File_##fn, MPI_END_ARGS)
#define MPI_EACH_FILE(fn, params) EACH(File_##fn, params)
#define MPI_EACH_COUNTED(CALL, fn, n, ...) EACH(fn, (MPI_A##n))
#define MPI_EACH_OTHER(fn, params, ...) EACH(fn, params)
#define MPI_ALL                                                                \
	MPI_TRANSFERS(MPI_EACH_TRANSFER)                                       \
	MPI_ENDS(MPI_EACH_END)                                                 \
	MPI_FILES(MPI_EACH_FILE)                                               \
	MPI_COLLECTIVES(MPI_EACH_COUNTED)                                      \
	MPI_STARTED(MPI_EACH_COUNTED)                                          \
	MPI_COUNT_ONLY(MPI_EACH_COUNTED)                                       \
	MPI_WAITS(MPI_EACH_OTHER)                                              \
	MPI_LIFE(MPI_EACH_OTHER)

/* The functions that the wrappers call: those that callers would find. */
struct shim_mpi_real {
#define EACH(fn, params) int(*fn) params;
	MPI_ALL
#undef EACH
};
extern struct shim_mpi_real mpi_real;

/* The wrappers. */
#define EACH(fn, params) int shim_mpi_##fn params;
MPI_ALL
#undef EACH

/* X(name, arguments): functions that the shim calls itself, as PMPI_. */
#define MPI_OURS(X)                                                            \
	X(Init, (int *argc, char ***argv))                                     \
	X(Initialized, (int *flag))                                            \
	X(Finalized, (int *flag))                                              \
	X(Comm_rank, (void *comm, int *rank))                                  \
	X(Comm_size, (void *comm, int *size))                                  \
	X(Comm_get_parent, (void **comm))                                      \
	X(Comm_test_inter, (void *comm, int *flag))                            \
	X(Comm_group, (void *comm, void **group))                              \
	X(Group_size, (void *group, int *size))                                \
	X(Group_translate_ranks,                                               \
	  (void *from, int n, const int *ranks, void *to, int *out))           \
	X(Group_free, (void **group))                                          \
	X(Type_size_x, (void *type, int64_t *size))                            \
	X(Type_get_extent_x, (void *type, int64_t *low, int64_t *extent))      \
	X(Get_elements_x, (void *status, void *type, int64_t *count))          \
	X(File_get_position, (void *fh, int64_t *off))                         \
	X(File_get_byte_offset, (void *fh, int64_t off, int64_t *at))          \
	X(File_get_info, (void *fh, void **info))                              \
	X(Info_get,                                                            \
	  (void *info, const char *key, int room, char *value, int *found))    \
	X(Info_free, (void **info))                                            \
	X(Error_class, (int code, int *class_))                                \
	X(Bcast, (void *buf, int n, void *type, int root, void *comm))         \
	X(Allreduce, (const void *in, void *out, int n, void *type, void *op,  \
		      void *comm))                                             \
	X(Send,                                                                \
	  (const void *buf, int n, void *type, int to, int tag, void *comm))   \
	X(Recv, (void *buf, int n, void *type, int from, int tag, void *comm,  \
		 void *status))

/* The MPI library of the process; all zero: none. */
struct shim_mpi {
#define X(fn, params) int(*fn) params;
	MPI_OURS(X)
#undef X
	enum { MPI_OPEN, MPI_MPICH, MPI_STANDARD } kind; /* of its handles */
	void *world, *byte, *bor;  /* MPI_COMM_WORLD, MPI_BYTE, MPI_BOR */
	void *no_comm, *no_status; /* MPI_COMM_NULL, MPI_STATUS_IGNORE */
};
extern struct shim_mpi mpi;

/* MPICH's ABI has int handles: clear the upper half of the register. */
HOT void *shim_mpi_handle(const void *h)
{
	return mpi.kind == MPI_MPICH ? (void *)(uintptr_t)(uint32_t)(uintptr_t)h
				     : (void *)h;
}

/* The handle stored at @p. */
HOT void *shim_mpi_handle_at(const void *p)
{
	return mpi.kind == MPI_MPICH ? (void *)(uintptr_t) * (const uint32_t *)p
				     : *(void *const *)p;
}

/*
 * Fill in the communicator, number and members of the collective @ev; nothing
 * when they are unknown. A collective that @failed has a number too, but no MPI
 * function is called with its handle, which may be invalid.
 */
void shim_mpi_fill_comm(struct shim_event *ev, void *comm, int root,
			bool failed);

/* Record the counts of calls that are counted only, as notes. */
void shim_mpi_note_counts(void);

/* Note that MPI is linked into the program, so that its calls are not seen. */
void shim_mpi_note_linked(void);

/* The same, if a launcher started the program and its file defines MPI_Init. */
void shim_mpi_scan_program(void);

/* Did a launcher start the process as a rank of MPI, or as a task? MPI_Init() of a
 * world of one sets the same variables, so this is seen at the start. */
extern bool shim_mpi_launched;
void shim_mpi_see_launch(void);

/*
 * Store our wrappers in the import slots of the objects loaded since the last
 * call. Called at the initialisation of an object, with the loader's lock held.
 */
void shim_mpi_bind(void);

/* The first call, for the objects of a program that has just started. */
void shim_mpi_bind_first(void);

/* The errno for an MPI error code; 0 for success. */
int shim_mpi_errno(int code);

/* Measure the offset of this node's clock from rank 0's into the head, with
 * IOREEL_MPI_CLOCK=1. Collective over MPI_COMM_WORLD. */
enum shim_mpi_when { AT_INIT = 0, AT_FINALIZE = 1 };
void shim_mpi_clock(enum shim_mpi_when when);

#pragma GCC visibility pop

#endif
