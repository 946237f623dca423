// Package kinds knows programs by the name of their process: what a kernel often
// ends, and which of its own settings bounds what it takes.
package kinds

import "strings"

// Program is one that a kernel often ends.
type Program struct {
	// process is its name, as the kernel cuts it, at 15 characters; behind a "*"
	// anything may follow.
	process string
	// Bound is what to do so that it takes less, Leak what shows who holds memory in
	// it; "" where nothing is peculiar to it.
	Bound, Leak string
	// OfMachine: its own size follows from the machine's RAM, whatever limit it has.
	OfMachine bool
}

// Share stands in a bound for an amount that follows from today's limit.
const Share = "an amount, a fifth below what it may have"

// ofRAM stands in a bound for a share of the machine.
const ofRAM = "a quarter of the RAM if other programs share the machine"

const (
	innodb   = "set `innodb_buffer_pool_size` in my.cnf (" + ofRAM + "), and a lower `max_connections`"
	prefork  = "set `MaxRequestWorkers` (about the free RAM divided by the size of one process)"
	doris    = "set `mem_limit` in be.conf to " + Share + ": in older releases a percentage counts the machine's RAM, not the container's"
	guest    = "give the virtual machine less RAM (`-m`, libvirt's `<memory>`), or run fewer of them: QEMU itself needs a few hundred MB more for each"
	tabs     = "close tabs and extensions that are not needed"
	golang   = "set `GOMEMLIMIT` in its environment, such as `GOMEMLIMIT=6GiB` (four fifths of what it may use; Go 1.19 and later): garbage is then collected earlier. If it really needs that much, lower its own cache or concurrency settings"
	ledgerOf = "compare the RAM with what its operator guide asks for (a full node of Sui: 128 GB), and turn on pruning or turn off indexes. If an update brought it, try the release before, or a newer one"
	desktop  = "log out and in again; if it comes back, turn its extensions off"
)

// programs, with upstream's documentation of each bound: dev.mysql.com/doc
// (innodb_buffer_pool_size), postgresql.org/docs (runtime-config-resource),
// httpd.apache.org/docs (mpm_common), php.net (install.fpm.configuration),
// redis.io/docs (eviction), mongodb.com/docs (storage options), clickhouse.com/docs
// (server settings), prometheus.io/docs (storage), doris/be/src/common/config.cpp,
// starrocks/be/src/common/config.h, docs.pingcap.com (tikv-configuration-file,
// system-variables), cockroachlabs.com/docs (cockroach-start), rabbitmq.com/docs
// (memory), docs.ceph.com (osd_memory_target), go.dev/doc/gc-guide, bitcoin/src/init.cpp,
// geth's cmd/utils/flags.go, qemu/qemu-options.hx, docs.clamav.net (clamd.conf),
// learn.microsoft.com (dotnet garbage-collector config), docs.julialang.org
// (command-line-interface), llama.cpp/common/arg.cpp, ollama/envconfig/config.go.
var programs = []Program{
	{process: "mysqld", Bound: innodb}, {process: "mariadbd", Bound: innodb},
	{process: "postgres*", Bound: "set a lower `max_connections`, `work_mem` (it counts per connection) and `shared_buffers` in postgresql.conf"},
	{process: "redis-server", Bound: "set `maxmemory` with a `maxmemory-policy` in redis.conf; a snapshot by fork can need twice the data"},
	{process: "mongod", Bound: "set `storage.wiredTiger.engineConfig.cacheSizeGB` in mongod.conf"},
	{process: "clickhouse*", Bound: "set `max_server_memory_usage` in config.xml, and `max_memory_usage` for one query"},
	{process: "palo_be", Bound: doris, OfMachine: true}, {process: "doris_be", Bound: doris, OfMachine: true}, {process: "starrocks_be", Bound: doris, OfMachine: true},
	{process: "tikv-server", Bound: "set `storage.block-cache.capacity` (by default 45 % of the memory) in its configuration"},
	{process: "tidb-server", Bound: "set `tidb_server_memory_limit`, and `tidb_mem_quota_query` for one query"},
	{process: "cockroach", Bound: "set `--cache` and `--max-sql-memory`, together at most three quarters of what it may have"},
	{process: "beam.smp", Bound: "RabbitMQ: set `vm_memory_high_watermark.absolute`, and see which queue grows"},
	{process: "memcached", Bound: "set `-m` (MB)"},
	{process: "ceph-osd", Bound: "set `osd_memory_target` (bytes for each OSD), and run fewer on the host"},
	{process: "java", Bound: "set `-Xmx` (or `-XX:MaxRAMPercentage=75`) a quarter below what it may have: threads, metaspace and direct buffers come on top of the heap", Leak: "`jcmd PID VM.native_memory` (started with `-XX:NativeMemoryTracking=summary`) and a heap dump show who holds it"},
	{process: "node", Bound: "set `--max-old-space-size` in MB"},
	{process: "dotnet", Bound: "set `DOTNET_GCHeapHardLimit` (bytes, in hexadecimal: 0x80000000 is 2 GiB)"},
	{process: "julia", Bound: "start it with `--heap-size-hint=8G` (Julia 1.9 and later), and fewer processes (`-p`)"},
	{process: "php-fpm*", Bound: "set `pm.max_children` in the pool's configuration"},
	{process: "php-cgi*", Bound: "set the number of children that the web server starts (`PHP_FCGI_CHILDREN`)"},
	{process: "apache2", Bound: prefork}, {process: "httpd", Bound: prefork},
	{process: "gunicorn*", Bound: "set `--workers`, and `--max-requests 1000` against leaks"},
	{process: "puma*", Bound: "set `workers` and `threads` in puma.rb"},
	{process: "prometheus", Bound: "scrape fewer targets and labels, or less often (`scrape_interval`), in prometheus.yml: memory follows the number of series"},
	{process: "dockerd", Bound: "limit its containers (`docker run --memory`); `docker stats` shows which one grows"},
	{process: "clamd", Bound: "set `ConcurrentDatabaseReload no` in clamd.conf: otherwise it holds its signatures, about 1 GB, twice during an update"},
	{process: "envoy", Bound: "let it know fewer services: its memory follows the clusters and endpoints that it is told of (Istio: a `Sidecar` resource with the `hosts` it needs)"},
	{process: "qemu-system*", Bound: guest}, {process: "qemu-kvm", Bound: guest}, {process: "kvm", Bound: guest},
	{process: "chrome", Bound: tabs}, {process: "chromium*", Bound: tabs}, {process: "firefox*", Bound: tabs}, {process: "msedge", Bound: tabs}, {process: "brave", Bound: tabs}, {process: "Web Content", Bound: tabs}, {process: "Isolated Web Co", Bound: tabs},
	{process: "gnome-shell", Bound: desktop}, {process: "plasmashell", Bound: desktop}, {process: "cinnamon", Bound: desktop},
	{process: "loki", Bound: golang}, {process: "tempo", Bound: golang}, {process: "mimir", Bound: golang}, {process: "thanos", Bound: golang}, {process: "etcd", Bound: golang}, {process: "minio", Bound: golang}, {process: "traefik", Bound: golang}, {process: "nomad", Bound: golang}, {process: "consul", Bound: golang}, {process: "vault", Bound: golang}, {process: "k3s*", Bound: golang}, {process: "kube-apiserver", Bound: golang}, {process: "gitea", Bound: golang}, {process: "syncthing", Bound: golang}, {process: "coredns", Bound: golang},
	{process: "bitcoind", Bound: "set `dbcache` and `maxmempool` (MB) in bitcoin.conf"},
	{process: "geth", Bound: "set `--cache` (MB), which is most of what it holds on purpose"},
	{process: "sui-node*", Bound: ledgerOf}, {process: "aptos-node*", Bound: ledgerOf}, {process: "agave-validator", Bound: ledgerOf}, {process: "solana-validato", Bound: ledgerOf}, {process: "reth", Bound: ledgerOf}, {process: "erigon", Bound: ledgerOf}, {process: "lighthouse", Bound: ledgerOf}, {process: "polkadot", Bound: ledgerOf}, {process: "neard", Bound: ledgerOf}, {process: "gaiad", Bound: ledgerOf},
	{process: "llama-server", Bound: "load a smaller quantisation, a shorter context (`-c 8192`), no `--no-mmap`; with a card put more layers on it (`-ngl`)"},
	{process: "ollama", Bound: "load a smaller model, set `OLLAMA_CONTEXT_LENGTH=8192`, `OLLAMA_MAX_LOADED_MODELS=1`, `OLLAMA_NUM_PARALLEL=1` (a service: `sudo systemctl edit ollama`)"},
	{process: "rsession", Bound: "`rm()` large objects, `mc.cores = 1` (each core copies), `data.table::fread(select = )`, sparse matrices instead of `as.matrix`"},
}

// Sentence begins with a capital.
func Sentence(bound string) string {
	if bound == "" || bound[0] == '`' {
		return bound
	}
	return strings.ToUpper(bound[:1]) + bound[1:]
}

// Of is the program that a process belongs to.
func Of(process string) (Program, bool) {
	for _, p := range programs {
		if begins, any := strings.CutSuffix(p.process, "*"); process == p.process || any && strings.HasPrefix(process, begins) {
			return p, process != ""
		}
	}
	return Program{}, false
}

// VirtualMachine reports that the process is the machine of a pod or a guest.
func VirtualMachine(process string) bool {
	for _, begins := range [...]string{"qemu-", "kvm", "cloud-hyperviso", "firecracker", "stratovirt"} {
		if strings.HasPrefix(process, begins) {
			return true
		}
	}
	return false
}

// Proxy reports that the process is one of a mesh's proxies, which is put into
// others' pods.
func Proxy(process string) bool {
	return process == "envoy" || process == "pilot-agent" || process == "linkerd2-proxy" || strings.HasPrefix(process, "wrk:")
}

// OfLimit is what bounds a program under a limit, which counts in place of the
// machine's RAM.
func OfLimit(bound string) string {
	return strings.Replace(bound, ofRAM, "a quarter of the memory limit if other programs share it", 1)
}
