package rules

var fixesHost = []Fix{
	{
		ID:    "raise_shm_size",
		Title: "Enlarge shared memory",
		Cost:  0.05,
		Steps: paste("shell", "docker run --shm-size=8g"),
	},
	{
		ID:    "raise_pagefile",
		Title: "Enlarge the Windows page file",
		Cost:  0.1,
		Steps: paste("text", "Set the page file to system managed."),
	},
	{
		ID:    "add_swap",
		Title: "Add swap",
		Cost:  0.15,
		Steps: paste("shell", "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile"),
	},
	{
		ID:    "lower_build_jobs",
		Title: "Compile with fewer jobs",
		Cost:  0.1,
		Steps: paste("env", "MAX_JOBS=2"),
	},
	{
		ID:    "free_disk",
		Title: "Free disk space",
		Cost:  0.2,
		Steps: paste("shell", "df -h"),
	},
}
