package host

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
)

// container is the number of a Docker or Podman container in a cgroup's path,
// as short as `docker ps` shows it.
func container(path string) string {
	for _, mark := range [...]string{"/docker/", "docker-", "libpod-"} {
		_, id, found := strings.Cut(path, mark)
		if len(id) >= 12 && found && strings.Trim(id[:12], "0123456789abcdef") == "" {
			return id[:12]
		}
	}
	return ""
}

// unit is the systemd unit in a cgroup's path whose limit it is.
func unit(path string) string {
	for _, kind := range [...]string{".service", ".scope", ".slice"} {
		if i := strings.LastIndex(path, kind); i >= 0 {
			return path[strings.LastIndexByte(path[:i], '/')+1 : i+len(kind)]
		}
	}
	return ""
}

// whose names the owner of the limit.
func whose(c *ledger.Case) string {
	path := ledger.CgroupPath(c)
	id := container(path)
	switch {
	case strings.Contains(path, "libpod") && id != "":
		return "the Podman container " + id
	case id != "":
		return "the Docker container " + id
	case strings.Contains(path, "/lxc/"):
		return "the LXC container"
	case strings.Contains(path, ".service"):
		return "the service " + plainName(unit(path))
	case strings.Contains(path, "user.slice"):
		return "your login session (user.slice), which the administrator of the machine has set"
	}
	if id := fullContainer(c); id != "" {
		return "the Docker container " + id
	}
	return "a container, job or service that this line does not name"
}

func cgroupFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["whose"] = whose(c)
	if out["victim"] == "" {
		out["victim"] = "a process"
	}
	out["rest"] = ""
	if f := c.F(); f.Limit != nil && f.KilledRSS != nil && (f.Limit.Bytes-f.KilledRSS.Bytes)*5 > f.Limit.Bytes {
		out["rest"] = units.Amount(f.Limit.Bytes - f.KilledRSS.Bytes)
	}
	return out
}

// machineFigures add what the kernel said of the swap.
func machineFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["adjusted"], out["largest"] = adjusted(c), out["held"]
	if out["adjusted"] != "" {
		out["largest"] = ""
	}
	out["no_swap"] = ""
	if noSwap(c) {
		out["no_swap"] = "0 in the log"
	}
	return out
}

func swapSteps(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "shell", Text: swapCommand(c)}}
}

// limitSteps raise a cgroup's limit the way of its owner; where the log does not
// show what to ask for they show today's limit first.
func limitSteps(c *ledger.Case) []step.Step {
	path := ledger.CgroupPath(c)
	id := container(path)
	if c.In("kubernetes", "slurm") || strings.Contains(path, "kubepods") || strings.Contains(path, "/lxc/") || strings.Contains(path, "init.scope") {
		return step.HostLimit(c)
	}
	if owner := unit(path); id == "" && owner != "" {
		owner = quote.Shell(owner)
		if to := wanted(c, "G"); to != "" {
			return []step.Step{{Kind: "shell", Text: "sudo systemctl set-property " + owner + " MemoryMax=" + to}}
		}
		return []step.Step{{Kind: "shell", Text: "systemctl show -p MemoryMax " + owner + "\nsudo systemctl edit " + owner + "   # under [Service]: MemoryMax= twice that"}}
	}
	return dockerSteps(c, id, strings.Contains(path, "libpod"))
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
	if fields := strings.Fields(row.Text); ok && len(fields) > 2 && container("/docker/"+fields[0]) != "" {
		return fields[0]
	}
	return ""
}

// slurmJob is the job's number, from the message or the path of its cgroup.
func slurmJob(c *ledger.Case) string {
	for _, text := range [...]string{"StepId=", "oom-kill event(s) in step ", "oom_kill event in step "} {
		if id, _, _ := strings.Cut(after(c, text), "."); id != "" {
			if _, ok := ledger.Whole(id); ok {
				return id
			}
		}
	}
	_, rest, _ := strings.Cut(ledger.CgroupPath(c), "job_")
	id, _, _ := strings.Cut(rest, "/")
	if _, ok := ledger.Whole(id); ok {
		return id
	}
	return ""
}
