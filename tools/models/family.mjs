// One model for a family of operators: one output for each way to call them.
import { Model, tensor, uniform } from './onnx.mjs'

export class Family extends Model {
  constructor(name, opset) {
    super(name, { opset })
    this.given = {}
  }
  // An input of the model, of the tensor's own shape.
  feed(name, t) {
    this.given[name] = t
    return this.input(name, t.dtype, t.dims)
  }
  floats(name, ...dims) {
    return this.feed(name, uniform(`${this.name}.${name}`, dims))
  }
  keep(name, ...dims) {
    return this.weight(name, uniform(`${this.name}.${name}`, dims))
  }
  // One call. Outputs are [name, dtype, ...dims]; a name alone is not an output of the model, null
  // not even a result of the node.
  call(type, outputs, inputs, attributes = {}, domain = 'com.microsoft') {
    for (const [name, dtype, ...dims] of outputs.filter(Array.isArray)) this.output(name, dtype, dims)
    const names = outputs.map((o) => (Array.isArray(o) ? o[0] : o))
    this.op(type, inputs, attributes, { outputs: names, domain })
  }
  done() {
    return { model: this, inputs: this.given }
  }
}
