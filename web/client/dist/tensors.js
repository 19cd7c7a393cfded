/**
 * The array type of each datatype's elements. FP16 and BF16 are stored as their bits; BYTES are
 * strings or bytes of any length.
 */
const arrays = {
    BOOL: Uint8Array,
    UINT8: Uint8Array,
    UINT16: Uint16Array,
    UINT32: Uint32Array,
    UINT64: BigUint64Array,
    INT8: Int8Array,
    INT16: Int16Array,
    INT32: Int32Array,
    INT64: BigInt64Array,
    FP16: Uint16Array,
    BF16: Uint16Array,
    FP32: Float32Array,
    FP64: Float64Array,
};
/** Returns the fields of a request that carry tensors: `{ modelName, ...inputs(tensors) }`. */
export function inputs(tensors) {
    return {
        inputs: tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(BigInt) })),
        rawInputContents: tensors.map(encode),
    };
}
/**
 * Returns the tensors of a response by name, from its raw contents as Triton sends them. Elements
 * of BYTES are Uint8Arrays.
 */
export function outputs(response) {
    return Object.fromEntries(response.outputs.map(({ name, datatype, shape }, i) => {
        const raw = response.rawOutputContents[i] ?? new Uint8Array();
        return [name, { name, datatype, shape: shape.map(Number), data: decode(datatype, raw) }];
    }));
}
/** Encodes in little-endian order, which all JavaScript platforms use. */
function encode(tensor) {
    if (tensor.datatype !== "BYTES")
        return new Uint8Array(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
    const elements = tensor.data.map((element) => (typeof element === "string" ? new TextEncoder().encode(element) : element));
    const raw = new Uint8Array(elements.reduce((size, element) => size + 4 + element.length, 0));
    let at = 0;
    for (const element of elements) {
        new DataView(raw.buffer).setUint32(at, element.length, true);
        raw.set(element, at + 4);
        at += 4 + element.length;
    }
    return raw;
}
function decode(datatype, raw) {
    if (datatype === "BYTES")
        return elementsOf(raw);
    if (!(datatype in arrays))
        throw new TypeError(`the datatype ${datatype} is not supported`);
    return new arrays[datatype](raw.slice().buffer); // slice copies the bytes, so that they are aligned
}
/** Returns the elements of BYTES, each of which has its length as a prefix. */
function elementsOf(raw) {
    const lengths = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
    const elements = [];
    for (let at = 0; at < raw.length;) {
        const end = at + 4 + lengths.getUint32(at, true);
        elements.push(raw.subarray(at + 4, end));
        at = end;
    }
    return elements;
}
