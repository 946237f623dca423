package limits

import "strings"

// Container is the number of a Docker or Podman container in a cgroup's path,
// as short as `docker ps` shows it.
func Container(path string) string {
	for _, mark := range [...]string{"/docker/", "docker-", "libpod-"} {
		_, id, found := strings.Cut(path, mark)
		if len(id) >= 12 && found && strings.Trim(id[:12], "0123456789abcdef") == "" {
			return id[:12]
		}
	}
	return ""
}

// Unit is the systemd unit in a cgroup's path whose limit it is.
func Unit(path string) string {
	for _, kind := range [...]string{".service", ".scope", ".slice"} {
		if i := strings.LastIndex(path, kind); i >= 0 {
			return path[strings.LastIndexByte(path[:i], '/')+1 : i+len(kind)]
		}
	}
	return ""
}

// Engine is what started the container in whose scope a path ends, by a number
// that may have been made unreadable.
func Engine(path string) string {
	for _, name := range [...]string{"docker", "libpod"} {
		if own := Unit(path); strings.HasPrefix(own, name+"-") && strings.HasSuffix(own, ".scope") {
			return name
		}
	}
	return ""
}
