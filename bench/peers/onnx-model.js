// An ONNX model of matrix products. Sources: ONNX's onnx.proto (IR version 8) for the messages'
// field numbers, and onnxruntime's ContribOperators.md for MatMulNBits.

const dataType = { float: 1, uint8: 2, int8: 3, int32: 6 };
const blockSize = 32;

/** Multiplies x with each of the matrices [nRows][nColumns]; the outputs are y0, y1, … */
export function onnxModel({ bits, nMatrices, nRows, nColumns }) {
  const indices = Array.from({ length: nMatrices }, (_, i) => i);
  const kind = bits === 4 ? nBits : integers;
  const { input, output, initializers, node } = kind(nRows, nColumns);
  const graph = [
    ...indices.map((i) => field(1, node(i))),
    field(2, 'products'),
    ...indices.flatMap((i) => initializers(i).map((tensor) => field(5, tensor))),
    field(11, valueInfo('x', input, ['n', nColumns])),
    ...indices.map((i) => field(12, valueInfo(`y${i}`, output, ['n', nRows]))),
  ];
  const versions = [
    ['', 17],
    ['com.microsoft', 1],
  ];
  return joined([
    field(1, 8), // IR version
    ...versions.map(([domain, version]) => field(8, [field(1, domain), field(2, version)])),
    field(7, graph),
  ]);
}

/** Weights in blocks of 4-bit codes with a scale; float activations, quantized to 8 bits inside. */
function nBits(nRows, nColumns) {
  const nBlocks = nColumns / blockSize;
  const attributes = { K: nColumns, N: nRows, bits: 4, block_size: blockSize, accuracy_level: 4 };
  const codes = pattern(new Uint8Array((nRows * nColumns) / 2));
  const scales = new Float32Array(nRows * nBlocks).fill(0.01);
  return {
    input: dataType.float,
    output: dataType.float,
    initializers: (i) => [
      tensor(`w${i}`, dataType.uint8, [nRows, nBlocks, blockSize / 2], codes),
      tensor(`s${i}`, dataType.float, [nRows * nBlocks], new Uint8Array(scales.buffer)),
    ],
    node: (i) => [
      ...['x', `w${i}`, `s${i}`].map((name) => field(1, name)),
      field(2, `y${i}`),
      field(4, 'MatMulNBits'),
      ...Object.entries(attributes).map(([name, value]) => field(5, integer(name, value))),
      field(7, 'com.microsoft'),
    ],
  };
}

/** Weights and activations are 8-bit integers. */
function integers(nRows, nColumns) {
  const codes = pattern(new Uint8Array(nRows * nColumns));
  return {
    input: dataType.uint8,
    output: dataType.int32,
    initializers: (i) => [tensor(`w${i}`, dataType.int8, [nColumns, nRows], codes)],
    node: (i) => [field(1, 'x'), field(1, `w${i}`), field(2, `y${i}`), field(4, 'MatMulInteger')],
  };
}

function pattern(bytes) {
  return bytes.map((_, i) => (i * 37) % 251);
}

function integer(name, value) {
  return [field(1, name), field(3, value), field(20, 2)];
}

function tensor(name, type, dims, raw) {
  return [...dims.map((n) => field(1, n)), field(2, type), field(8, name), field(9, raw)];
}

/** A dimension is a number or a name. */
function valueInfo(name, type, dims) {
  const shape = dims.map((n) => field(1, [field(typeof n === 'number' ? 1 : 2, n)]));
  return [field(1, name), field(2, [field(1, [field(1, type), field(2, shape)])])];
}

/** Encodes a field of a message: a number, a text, bytes, or a message as a list of its fields. */
function field(number, value) {
  if (typeof value === 'number') return joined([varint(number * 8), varint(value)]);
  const bytes =
    typeof value === 'string'
      ? new TextEncoder().encode(value)
      : Array.isArray(value)
        ? joined(value)
        : value;
  return joined([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Uint8Array.from([...bytes, value]);
}

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
