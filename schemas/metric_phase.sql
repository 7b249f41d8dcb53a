-- SPDX-License-Identifier: MIT
-- phase: spans by phase, with the names of TimeLogger. A span belongs to a phase
-- by its name: read, load (read and preprocess), training (an iteration, with
-- its waits), checkpoint, eval. In a run without a span named load or training,
-- preprocess spans are load and steps are training.
-- unit: spans, ns    empty: no row
-- source: ioreel-store(5), "Phases"
CREATE TABLE phase (
	process_id INTEGER,            -- NULL: the whole job
	phase TEXT NOT NULL,
	spans INTEGER NOT NULL,
	sum_ns INTEGER NOT NULL,       -- sum of the durations, not a union
	union_ns INTEGER,              -- of the job; NULL: of a process
	first_ns INTEGER NOT NULL,
	last_ns INTEGER NOT NULL
) STRICT;

-- v_phase: the phases of the job, and their spread over the processes that have
-- them. share: TimeLogger's share, sum_ns over the sum_ns of training, unmerged;
-- union_share: the same of the unions over the job, a different number.
-- unit: spans, ns; shares 0..    empty: no row; NULL, without training
-- source: NERSC TimeLogger; ioreel-store(5), "Phases"
CREATE VIEW v_phase (phase, spans, sum_ns, union_ns, processes, process_mean_ns,
	process_min_ns, process_max_ns, share, union_share) AS
SELECT j.phase, j.spans, j.sum_ns, j.union_ns, count(p.phase),
	CAST(round(avg(p.sum_ns)) AS INTEGER), min(p.sum_ns), max(p.sum_ns),
	CAST(j.sum_ns AS REAL) / nullif(t.sum_ns, 0),
	CAST(j.union_ns AS REAL) / nullif(t.union_ns, 0)
FROM phase j
LEFT JOIN phase p ON p.phase = j.phase AND p.process_id IS NOT NULL
LEFT JOIN phase t ON t.phase = 'training' AND t.process_id IS NULL
WHERE j.process_id IS NULL
GROUP BY j.phase
ORDER BY CASE j.phase WHEN 'read' THEN 0 WHEN 'load' THEN 1
	WHEN 'training' THEN 2 WHEN 'checkpoint' THEN 3 ELSE 4 END;
