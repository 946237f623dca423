package host

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/kinds"
	"github.com/oomdoc/oomdoc/rules/program/host/platforms"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/step"
)

// whose names the owner of the limit.
func whose(c *ledger.Case) string {
	path := limits.CgroupPath(c)
	id := limits.Container(path)
	switch {
	case strings.Contains(path, "libpod") && id != "":
		return "the Podman container " + id
	case id != "":
		return "the Docker container " + id
	case strings.Contains(path, "/lxc/"):
		return "the LXC container"
	case limits.Engine(path) != "":
		return "the " + map[string]string{"docker": "Docker", "libpod": "Podman"}[limits.Engine(path)] + " container in which it ran"
	case strings.Contains(path, ".service"):
		return "the service " + plainName(limits.Unit(path))
	case strings.HasSuffix(owningUnit(c), "scope"):
		return "the systemd scope in which it ran (MemoryMax)"
	case strings.HasSuffix(owningUnit(c), ".service"):
		return "the service " + plainName(owningUnit(c))
	case strings.Contains(path, "user.slice"):
		return "your login session (user.slice), set by the machine's administrator"
	}
	if id := fullContainer(c); id != "" {
		return "the Docker container " + id
	}
	if own := bare(c); own != "" {
		return "the cgroup " + plainName(own)
	}
	return "a container, job or service that the log does not name"
}

func cgroupFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["whose"] = whose(c)
	out["victim"] = cmp.Or(out["victim"], "a process")
	out["rest"], out["loader"], out["outside"], out["watch"] = "", "", "More RAM in the machine, or closing programs outside", watch(c)
	if loaderKilled(c) {
		out["loader"] = "The log also reports a killed data loader worker: most likely it is this process."
	}
	if unnamed(c) { // a hosted notebook has more with a larger machine
		out["outside"] = "Closing programs outside"
	}
	out["bound"] = kinds.OfLimit(out["bound"])
	if f := c.F(); f.Limit != nil && f.KilledRSS != nil && (f.Limit.Bytes-f.KilledRSS.Bytes)*5 > f.Limit.Bytes {
		out["rest"] = units.Amount(f.Limit.Bytes - f.KilledRSS.Bytes)
	}
	return out
}

// crumbFigures are those of a pod that only its score shows.
func crumbFigures(c *ledger.Case) map[string]string {
	out := cgroupFigures(c)
	out["watch"] = "`kubectl top pod --containers`"
	return out
}

// watch is what shows the memory of whoever's limit it was over time.
func watch(c *ledger.Case) string {
	switch {
	case inPod(c) || c.In("kubernetes"):
		return "`kubectl top pod --containers`"
	case inDocker(c):
		return "`docker stats`"
	case owningUnit(c) != "":
		return "`systemd-cgtop -m`"
	}
	return "`docker stats` or `systemd-cgtop -m`"
}

// loaderKilled: the log also has the error of a data loader worker that was killed.
func loaderKilled(c *ledger.Case) bool { return c.Kind(fact.WorkerKilled) }

// askerOf is who asked for memory when none was left.
var askerOf = regexp.MustCompile(`(\S{1,16}) invoked oom-killer`)

// machineFigures add what the kernel said of the swap.
func machineFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["asker"], out["asker_bound"] = "", ""
	if who := askerOf.FindStringSubmatch(c.Failure.Message); who != nil && out["victim"] == "" {
		p, _ := kinds.Of(who[1])
		out["asker"], out["asker_bound"] = plainName(who[1]), kinds.Sentence(p.Bound)
	}
	out["victim"] = cmp.Or(out["victim"], "the program")
	out["adjusted"], out["largest"], out["beside"] = adjusted(c), out["held"], besides(c)
	if out["adjusted"] != "" {
		out["largest"] = ""
	}
	out["swap_left"], out["balloon"] = "", ""
	if inGuest(c) {
		out["balloon"] = "On VMware or Proxmox check whether ballooning takes RAM back (`vmware-toolbox-cmd stat balloon`)."
	}
	if free, ok := c.Fact("kernel_swap_free"); ok && free.Size != nil && out["swap"] != "" {
		if all, _ := c.Fact("kernel_swap"); free.Size.Bytes*20 > all.Size.Bytes {
			out["swap_left"] = units.Amount(free.Size.Bytes)
			out["swap"] = ""
		}
	}
	out["no_swap"] = ""
	if noSwap(c) {
		out["no_swap"] = "0 in the log"
	}
	return out
}

// besides names what a reader may take for what was full, of what the log shows.
func besides(c *ledger.Case) string {
	switch {
	case inDocker(c) || c.In("kubernetes"):
		return "Raising the limit of a container"
	case platforms.Graphics(c) != "":
		return "Graphics card settings"
	}
	return ""
}

func swapSteps(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "shell", Text: swapCommand(c)}}
}

// limitSteps raise a cgroup's limit the way of its owner; where the log does not
// show what to ask for they show today's limit first, and where it does not show
// whose it is, how to see that.
func limitSteps(c *ledger.Case) []step.Step {
	path := limits.CgroupPath(c)
	id := limits.Container(path)
	if c.In("kubernetes", "slurm") || strings.Contains(path, "kubepods") || strings.Contains(path, "/lxc/") || strings.Contains(path, "init.scope") {
		return limits.Steps(c)
	}
	if owner := owningUnit(c); id == "" && owner != "" && limits.Engine(path) == "" {
		return unitSteps(c, owner)
	}
	if own := bare(c); own != "" {
		return bareSteps(c, own)
	}
	if id == "" && fullContainer(c) == "" && !inDocker(c) {
		return nil
	}
	return dockerSteps(c, id, strings.Contains(path, "libpod"))
}

// inDocker: the log shows a container.
func inDocker(c *ledger.Case) bool {
	_, stats := c.Fact("docker_limit")
	path := limits.CgroupPath(c)
	return stats || c.Says("docker") || strings.Contains(path, "docker") || strings.Contains(path, "libpod")
}

// unnamed: nothing shows whose limit it was.
func unnamed(c *ledger.Case) bool {
	return ownCgroup(c) && limitSteps(c) == nil
}

// owningUnit is the systemd unit whose limit it was, from the cgroup's path or
// from systemd's own line.
func owningUnit(c *ledger.Case) string {
	if owner := limits.Unit(rawPath(c)); owner != "" {
		return owner
	}
	failed, _ := c.Fact("unit")
	return failed.Text
}

// rawPath is the cgroup's path in its own case.
func rawPath(c *ledger.Case) string {
	f, _ := c.Fact("cgroup")
	return f.Text
}

// bare is the path of a cgroup that somebody made by hand, "" for others.
func bare(c *ledger.Case) string {
	path := rawPath(c)
	if !strings.HasPrefix(path, "/") || path == "/" || strings.ContainsAny(path, " \t") || inDocker(c) || limits.Unit(path) != "" || strings.Contains(path, "/ecs/") {
		return ""
	}
	return path
}

// unitSteps raise the limit of a service, slice or scope. A scope ends with what
// ran in it, so that its limit is given at the next start.
func unitSteps(c *ledger.Case, owner string) []step.Step {
	to := wanted(c, "G")
	if owner == "scope" || strings.HasSuffix(owner, ".scope") {
		if to == "" {
			to = "16G"
		}
		return []step.Step{{Kind: "shell", Text: "systemd-run --user --scope -p MemoryMax=" + to + " COMMAND   # COMMAND: what you start; for root without --user"}}
	}
	owner = quote.Shell(owner)
	if to != "" {
		return []step.Step{{Kind: "shell", Text: "sudo systemctl set-property " + owner + " MemoryMax=" + to}}
	}
	return []step.Step{{Kind: "shell", Text: "systemctl show -p MemoryMax " + owner + "\nsudo systemctl edit " + owner + "   # under [Service]: MemoryMax= twice that"}}
}

// bareSteps write the limit where the kernel reads it, by the cgroups' version.
func bareSteps(c *ledger.Case, path string) []step.Step {
	to := wanted(c, "G")
	if to == "" {
		to = "4G"
	}
	v1, v2 := "/sys/fs/cgroup/memory"+path+"/memory.limit_in_bytes", "/sys/fs/cgroup"+path+"/memory.max"
	if _, first := c.Fact("cgroup_v1"); first {
		return []step.Step{{Kind: "shell", Text: "echo " + to + " | sudo tee " + quote.Shell(v1) + "   # cgroup v1"}}
	}
	return []step.Step{{Kind: "shell", Text: "echo " + to + " | sudo tee " + quote.Shell(v2) + "   # cgroup v1: " + quote.Shell(v1)}}
}

// dockerSteps raise the limit of a running container.
func dockerSteps(c *ledger.Case, id string, podman bool) []step.Step {
	program, where := "docker", ""
	if podman {
		program = "podman"
	}
	if id == "" {
		id = fullContainer(c)
	}
	if id == "" {
		id, where = "CONTAINER", "; CONTAINER: its name in `docker ps`"
	}
	to := wanted(c, "g")
	if to == "" {
		return []step.Step{{Kind: "shell", Text: fmt.Sprintf("%s inspect -f '{{.Name}} {{.HostConfig.Memory}}' %s   # bytes; 0: no limit of its own%s\n%[1]s update --memory 16g --memory-swap 16g %[2]s   # in place of 16g: twice what the first line shows", program, id, where)}}
	}
	return []step.Step{{Kind: "shell", Text: fmt.Sprintf("%s update --memory %s --memory-swap %[2]s %s   # for good: mem_limit: %[2]s in Compose%[4]s", program, to, id, where)}}
}

// fullContainer is the container that stands at its limit in the table of
// `docker stats`, by its short number.
func fullContainer(c *ledger.Case) string {
	row, ok := c.Fact("docker_limit")
	if fields := strings.Fields(row.Text); ok && len(fields) > 2 && limits.Container("/docker/"+fields[0]) != "" {
		return fields[0]
	}
	return ""
}

// slurmJob is the job's number, from the message or the path of its cgroup.
func slurmJob(c *ledger.Case) string {
	for _, text := range [...]string{"StepId=", "oom-kill event(s) in step ", "oom_kill event in step ", "job step ", ": Job "} {
		if id, _, _ := strings.Cut(after(c, text), "."); id != "" {
			if _, ok := ledger.Whole(id); ok {
				return id
			}
		}
	}
	if row := strings.Fields(c.Failure.Message); len(row) > 3 && strings.Contains(c.Failure.Message, " OUT_OF_ME") { // sacct's
		id, _, _ := strings.Cut(row[0], ".")
		if _, ok := ledger.Whole(id); ok {
			return id
		}
	}
	paths := []string{limits.CgroupPath(c)}
	if path, _, script := strings.Cut(c.Failure.Message, "/slurm_script: line "); script { // "/var/spool/slurmd/job01234"
		paths = append(paths, "job_"+strings.TrimLeft(path[strings.LastIndex(path, "/job")+1:], "job0"))
	}
	for _, x := range c.Facts.Facts { // "srun: Terminating job step 1298485.0"
		if _, told, found := strings.Cut(x.Text, "job step "); found && x.Name == "cluster" {
			paths = append(paths, "job_"+strings.ReplaceAll(told, ".", "/"))
		}
	}
	for _, path := range paths {
		_, rest, _ := strings.Cut(path, "job_")
		id, _, _ := strings.Cut(rest, "/")
		if _, ok := ledger.Whole(id); ok {
			return id
		}
	}
	return ""
}
