package parsers

// smi reads nvidia-smi, rocm-smi, free and other tables.
var smi = Parser{Name: "smi"}
