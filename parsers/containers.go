package parsers

// containers reads Docker, Kubernetes and their kin.
var containers = Parser{Name: "containers"}
