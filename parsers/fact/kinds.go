package fact

// Wrapped is a statement that only reports that something failed elsewhere.
const Wrapped Kind = "wrapped"
