"""One ONNX operator at a time, by onnxruntime or by the reference evaluator of the onnx package."""
import numpy as np
import onnx
import onnx.reference
import onnxruntime
from onnx import TensorProto, helper

OPSET = 23


def model(op, inputs, outputs, attrs, opset, result_types):
    names = ['' if x is None else f'x{i}' for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f'y{i}' for i in range(outputs)],
                            **{name: value for name, value in attrs.items() if value is not None})
    values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
              for name, x in zip(names, inputs) if name]
    types = result_types or [TensorProto.UNDEFINED] * outputs
    results = [helper.make_tensor_value_info(f'y{i}', types[i], None) for i in range(outputs)]
    graph = helper.make_graph([node], 'row', values, results)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)], ir_version=10)
    return made, {name: x for name, x in zip(names, inputs) if name}


def arrays(inputs, floats):
    return [x if x is None else np.ascontiguousarray(x.astype(floats) if x.dtype == np.float64 else x).reshape(x.shape)
            for x in inputs]


def onnxruntime_run(op, inputs, outputs=1, opset=OPSET, floats=np.float32, **attrs):
    """Computed in f32: most of its kernels have nothing wider."""
    inputs = arrays(inputs, floats)
    made, feeds = model(op, inputs, outputs, attrs, opset, None)
    made = onnx.shape_inference.infer_shapes(made)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what it refuses it also raises
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=['CPUExecutionProvider'])
    return widened(session.run(None, feeds))


def onnx_run(op, inputs, outputs=1, opset=OPSET, **attrs):
    """Computed in f64."""
    inputs = arrays(inputs, np.float64)
    made, feeds = model(op, inputs, outputs, attrs, opset, None)
    return widened(onnx.reference.ReferenceEvaluator(made).run(None, feeds))


def widened(results):
    results = [x.astype(np.float64) if x.dtype in (np.float32, np.float16) else x for x in map(np.asarray, results)]
    return results
