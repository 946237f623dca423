package parsers

// lookalikes reads what reads like out-of-memory and is not.
var lookalikes = Parser{Name: "lookalikes"}
