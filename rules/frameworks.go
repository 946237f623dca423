package rules

// frameworksEngine is what is peculiar to jax, tensorflow, cupy, onnxruntime, mlx, candle, numpy.
var frameworksEngine = Engine{Programs: []string{"jax", "tensorflow", "cupy", "onnxruntime", "mlx", "candle", "numpy"}}
