/* SPDX-License-Identifier: MIT */
/* The series and its verdicts, as text and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "lib/json.h"
#include "lib/num.h"

#include "replay/rules/rules.h"
#include "replay/workload/workload.h"

#define FORMAT "ioreel-rules-1"

static int failed(const struct rules_verdict *verdict, int n)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		count += verdict[i].outcome == RULES_FAIL;
	return count;
}

int rules_print(const struct rules_case *c, const struct rules_verdict *verdict,
		int n, struct reel_error *err)
{
	char share[REEL_NUM];
	int bad = failed(verdict, n);

	printf("%s by the rules of %s: %s\n", c->w->name,
	       rules_name(c->version),
	       bad ? "no valid submission" : "all rules pass");
	printf("%" PRId64 " %s%s on %" PRId64 " host%s\n\n", c->accelerators,
	       c->w->kvcache.users ? "client" : "accelerator",
	       c->accelerators == 1 ? "" : "s", c->hosts,
	       c->hosts == 1 ? "" : "s");
	if (c->w->epochs)
		printf("run       seed     samples/s    AU %%  page cache\n");
	for (int i = 0; i < c->runs && c->w->epochs; i++) {
		const struct rules_run *r = &c->run[i];
		char name[16];

		snprintf(name, sizeof(name), i ? "%d" : "warm-up", i);
		printf("%-8s%6" PRId64 "  %12.4g  %6.2f  %10s%s\n", name,
		       r->seed, r->samples_per_s, r->au_percent,
		       reel_num_percent(share, r->cache_share),
		       r->stopped ? "  stopped by a signal" : "");
	}
	if (c->w->epochs)
		putchar('\n');
	for (int i = 0; i < n; i++)
		printf("%s  %-18s  %s\n",
		       verdict[i].outcome == RULES_PASS ? "pass" : "FAIL",
		       verdict[i].rule, verdict[i].text);
	return 0;
}

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

int rules_json(const struct rules_case *c, const struct rules_verdict *verdict,
	       int n, struct reel_error *err)
{
	json_t *runs = json_array(), *rules = json_array();

	for (int i = 0; i < c->runs; i++) {
		const struct rules_run *r = &c->run[i];
		char order[32];

		snprintf(order, sizeof(order), "%016" PRIx64, r->order);
		json_array_append_new(
			runs,
			json_pack("{s:b, s:I, s:o, s:o, s:o, s:o, s:s, s:b}",
				  "warm_up", i < RULES_WARM_UP && c->w->epochs,
				  "seed", (json_int_t)r->seed, "samples_per_s",
				  number(r->samples_per_s), "au_percent",
				  number(r->au_percent), "cache_share",
				  number(r->cache_share), "wall_s",
				  number(r->wall_s), "order", order, "complete",
				  !r->stopped));
	}
	for (int i = 0; i < n; i++)
		json_array_append_new(
			rules, json_pack("{s:s, s:b, s:o, s:o, s:s}", "rule",
					 verdict[i].rule, "pass",
					 verdict[i].outcome == RULES_PASS, "is",
					 number(verdict[i].is), "bound",
					 number(verdict[i].bound), "text",
					 verdict[i].text));
	return reel_json_print(
		json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:o, s:o, s:o}",
			  "format", FORMAT, "rules", rules_name(c->version),
			  "workload", c->w->name, "valid", !failed(verdict, n),
			  "accelerators", (json_int_t)c->accelerators, "hosts",
			  (json_int_t)c->hosts, "host_memory_bytes",
			  (json_int_t)c->memory_bytes, "scale",
			  number(c->scale), "runs", runs, "rules_judged",
			  rules),
		err);
}
