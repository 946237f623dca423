package rules

// transformersEngine is what is peculiar to transformers, deepspeed.
var transformersEngine = Engine{Programs: []string{"transformers", "deepspeed"}}
