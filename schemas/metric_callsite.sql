-- SPDX-License-Identifier: MIT
-- site_io: the calls whose call site was recorded, by site.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Call sites"
CREATE TABLE site_io (
	site_id INTEGER NOT NULL REFERENCES site,
	call_id INTEGER NOT NULL,
	class TEXT NOT NULL,
	calls INTEGER NOT NULL,
	read_bytes INTEGER NOT NULL,
	write_bytes INTEGER NOT NULL,
	dur_ns INTEGER NOT NULL,
	PRIMARY KEY (site_id, class, call_id)
) STRICT, WITHOUT ROWID;

-- v_site: site_io by source location, the most bytes first.
-- unit: calls, bytes, ns    empty: no row
-- source: ioreel-store(5), "Call sites"
CREATE VIEW v_site (location, class, call, calls, read_bytes, write_bytes, dur_ns,
	frames) AS
SELECT s.location, i.class, c.name, sum(i.calls), sum(i.read_bytes),
	sum(i.write_bytes), sum(i.dur_ns), min(s.frames)
FROM site_io i JOIN site s USING (site_id) JOIN call c USING (call_id)
GROUP BY s.location, i.class, i.call_id
ORDER BY sum(i.read_bytes) + sum(i.write_bytes) DESC, sum(i.dur_ns) DESC;
