package parsers

// frameworks reads JAX, TensorFlow, CuPy, ONNX Runtime, MLX, candle, numpy.
var frameworks = Parser{Name: "frameworks"}
