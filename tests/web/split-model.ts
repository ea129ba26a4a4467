// Splits a GGUF file as llama.cpp's gguf-split does, and makes larger files from it.
const alignment = 32;
const embeddingName = 'token_embd.weight';

/** Returns the parts of `model`, which get its tensors in turn. */
export function splitModel(model: Uint8Array, nParts: number): Uint8Array<ArrayBuffer>[] {
  const { metadata, nMetadata, tensors, dataStart } = read(Buffer.from(model));
  return Array.from({ length: nParts }, (_, part) => {
    const own = tensors.filter((_tensor, index) => index % nParts === part);
    const split = [
      number('split.no', 2, part),
      number('split.count', 2, nParts),
      number('split.tensors.count', 5, tensors.length),
    ];
    const head = Buffer.alloc(24);
    head.write('GGUF');
    head.writeUInt32LE(3, 4);
    head.writeBigUInt64LE(BigInt(own.length), 8);
    head.writeBigUInt64LE(BigInt(split.length + (part === 0 ? nMetadata : 0)), 16);
    const infos: Buffer[] = [];
    const data: Buffer[] = [];
    let offset = 0;
    for (const tensor of own) {
      const info = Buffer.from(tensor.info);
      info.writeBigUInt64LE(BigInt(offset), info.length - 8);
      infos.push(info);
      const begin = dataStart + tensor.offset;
      data.push(padded(Buffer.from(model.subarray(begin, begin + tensor.bytes))));
      offset += data.at(-1)!.length;
    }
    const header = Buffer.concat([head, ...(part === 0 ? [metadata] : []), ...split, ...infos]);
    return new Uint8Array(Buffer.concat([padded(header), ...data]));
  });
}

/** Returns the model with `nLayers` copies of its first layer: a large file that loads. */
export function deepModel(model: Uint8Array, nLayers: number): Uint8Array<ArrayBuffer> {
  const { metadata, nMetadata, tensors, dataStart } = read(Buffer.from(model));
  const name = ({ info }: { info: Buffer }) =>
    info.subarray(8, 8 + Number(info.readBigUInt64LE())).toString();
  const layerOf = (tensor: { info: Buffer }) => /^blk\.(\d+)\./.exec(name(tensor))?.[1];
  const first = tensors.filter((tensor) => layerOf(tensor) === '0');
  const repeated = Array.from({ length: nLayers }, (_, layer) =>
    first.map((tensor) => {
      const text = Buffer.from(name(tensor).replace('blk.0.', `blk.${String(layer)}.`));
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(text.length));
      const rest = tensor.info.subarray(8 + name(tensor).length);
      return { ...tensor, info: Buffer.concat([length, text, rest]) };
    }),
  );
  const all = [...tensors.filter((tensor) => layerOf(tensor) === undefined), ...repeated.flat()];

  const changed = Buffer.from(metadata);
  const key = 'llama.block_count';
  changed.writeUInt32LE(nLayers, changed.indexOf(key) + key.length + 4);
  const head = Buffer.from(model.subarray(0, 24));
  head.writeBigUInt64LE(BigInt(all.length), 8);
  head.writeBigUInt64LE(BigInt(nMetadata), 16);
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const tensor of all) {
    const info = Buffer.from(tensor.info);
    info.writeBigUInt64LE(BigInt(offset), info.length - 8);
    infos.push(info);
    const begin = dataStart + tensor.offset;
    data.push(padded(Buffer.from(model.subarray(begin, begin + tensor.bytes))));
    offset += data.at(-1)!.length;
  }
  return new Uint8Array(Buffer.concat([padded(Buffer.concat([head, changed, ...infos])), ...data]));
}

/** Returns the model with a copy of its embeddings for the logits; its text stays the same. */
export function untiedModel(model: Uint8Array): Uint8Array<ArrayBuffer> {
  const { metadata, nMetadata, tensors, dataStart } = read(Buffer.from(model));
  const embedding = tensors.find(({ info }) => info.includes(embeddingName))!;
  const name = Buffer.from('output.weight');
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(name.length));
  const info = Buffer.concat([length, name, embedding.info.subarray(8 + embeddingName.length)]);
  const data = Buffer.from(model.subarray(dataStart));
  info.writeBigUInt64LE(BigInt(padded(data).length), info.length - 8);
  const head = Buffer.from(model.subarray(0, 24));
  head.writeBigUInt64LE(BigInt(tensors.length + 1), 8);
  head.writeBigUInt64LE(BigInt(nMetadata), 16);
  const header = Buffer.concat([head, metadata, ...tensors.map((tensor) => tensor.info), info]);
  const begin = dataStart + embedding.offset;
  const copy = Buffer.from(model.subarray(begin, begin + embedding.bytes));
  return new Uint8Array(Buffer.concat([padded(header), padded(data), copy]));
}

function read(file: Buffer) {
  let at = 24;
  const u32 = () => file.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(file.readBigUInt64LE((at += 8) - 8));
  const skipText = () => {
    const length = u64();
    at += length;
  };
  const sizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
  const skipValue = (type: number) => {
    if (type === 8) skipText();
    else if (type !== 9) at += sizes[type]!;
    else for (let element = u32(), n = u64(); n > 0; --n) skipValue(element);
  };
  const nTensors = Number(file.readBigUInt64LE(8));
  const nMetadata = Number(file.readBigUInt64LE(16));
  for (let i = 0; i < nMetadata; ++i) {
    skipText();
    skipValue(u32());
  }
  const metadata = file.subarray(24, at);
  const tensors = Array.from({ length: nTensors }, () => {
    const begin = at;
    skipText();
    for (let n = u32(); n > 0; --n) u64();
    u32();
    const offset = u64();
    return { info: file.subarray(begin, at), offset, bytes: 0 };
  });
  const dataStart = Math.ceil(at / alignment) * alignment;
  for (const tensor of tensors) {
    const after = tensors.map(({ offset }) => offset).filter((offset) => offset > tensor.offset);
    tensor.bytes = Math.min(file.length - dataStart, ...after) - tensor.offset;
  }
  return { metadata, nMetadata, tensors, dataStart };
}

/** Returns a metadata entry of type 2 (uint16) or 5 (int32). */
function number(key: string, type: 2 | 5, value: number): Buffer {
  const text = Buffer.from(key);
  const entry = Buffer.alloc(8 + text.length + 4 + (type === 2 ? 2 : 4));
  entry.writeBigUInt64LE(BigInt(text.length));
  text.copy(entry, 8);
  entry.writeUInt32LE(type, 8 + text.length);
  if (type === 2) entry.writeUInt16LE(value, entry.length - 2);
  else entry.writeInt32LE(value, entry.length - 4);
  return entry;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & (alignment - 1))]);
}
