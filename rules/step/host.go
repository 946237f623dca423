package step

import "github.com/oomdoc/oomdoc/rules/ledger"

// AddressSpace look for what refused, and lift it.
func AddressSpace(*ledger.Case) []Step {
	return []Step{
		{Kind: "shell", Text: "ulimit -v unlimited   # in the shell that starts the program; `ulimit -v` alone shows the limit, in KiB"},
		{Kind: "shell", Text: "sysctl vm.overcommit_memory   # if 2, Linux refuses memory that is still free: sudo sysctl vm.overcommit_memory=0"},
	}
}

// Stream reads data piece by piece.
func Stream(c *ledger.Case) []Step {
	if ledger.GrowsList(c) {
		return []Step{{Kind: "python", Text: `for row in read():   # a generator: use each row, then drop it
    use(row)
# or keep the newest only: rows = collections.deque(maxlen=1000)
# or, for numbers: an array.array or NumPy array takes 4 or 8 bytes each, a list 36`}}
	}
	return []Step{{Kind: "python", Text: `from datasets import load_dataset

data = load_dataset("json", data_files="train.jsonl", split="train", streaming=True)
# arrays: numpy.load("data.npy", mmap_mode="r")`}}
}
