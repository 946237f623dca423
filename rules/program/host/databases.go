package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// PostgreSQL is the database, whose workers share memory through /dev/shm.
var PostgreSQL = program.Program{
	Name: "postgresql", Shown: "PostgreSQL", Edits: "admin", Work: "data", Language: "other",
	Proofs:  []string{"could not resize shared memory segment", "could not map anonymous shared memory"},
	Sources: program.Sources{"postgresql/src/backend/storage/ipc/dsm_impl.c": "dynamic_shared_memory_type", "postgresql/doc/src/sgml/config.sgml": "max_parallel_workers_per_gather work_mem", "docker/cli/command/container/opts.go": "--shm-size"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"raise_shm_size": step.Paste("config", "services:\n  SERVICE:          # your service with the database\n    shm_size: 1gb   # docker run: --shm-size=1g"),
		"lower_parallel": step.Paste("config", "ALTER SYSTEM SET max_parallel_workers_per_gather = 0;   -- then: SELECT pg_reload_conf();"),
	},
	Titles: map[string]string{"raise_shm_size": "Give the container more shared memory", "lower_parallel": "Or no parallel queries"},
	Cards: []cause.Card{{
		ID: "postgresql/shared-memory", Kinds: []fact.Kind{fact.SharedSegment},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "found /dev/shm full: a parallel query could not share {asked}",
		Means:    "\"No space left on device\" is no disk here: the segment lies in /dev/shm, which is memory. A container has 64 MB of it unless told otherwise, and the workers of one parallel query share their hash tables and sorts through it. Errors after this one follow from it.",
		Not:      "Freeing disk space, or more RAM: the size of /dev/shm is a setting.",
		Cures: []cause.Cure{
			{Fix: "raise_shm_size", Title: "Give the container more shared memory", Told: "Then create it anew (`docker compose up -d`); `df -h /dev/shm` inside shows the size.", Own: true, Cost: "None; what is used counts as RAM"},
			{Fix: "lower_parallel", Title: "Or no parallel queries", Own: true, Cost: "Large queries are slower"},
			{Fix: "lower_batch_size", Title: "Or a smaller `work_mem`", Told: "It bounds each hash or sort of each worker: `ALTER SYSTEM SET work_mem = '16MB';`", Cost: "Large sorts go to disk"},
		},
		Sources: []string{"postgresql/src/backend/storage/ipc/dsm_impl.c", "https://docs.docker.com/reference/cli/docker/container/run/"},
	}},
}
