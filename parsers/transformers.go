package parsers

// transformers reads transformers, accelerate, bitsandbytes, DeepSpeed, unsloth and trainers.
var transformers = Parser{Name: "transformers"}
