import type { ModelInferResponse } from "./gen/kserve/grpc_service_pb.js";
/**
 * The array type of each datatype's elements. FP16 and BF16 are stored as their bits; BYTES are
 * strings or bytes of any length.
 */
declare const arrays: {
    BOOL: Uint8ArrayConstructor;
    UINT8: Uint8ArrayConstructor;
    UINT16: Uint16ArrayConstructor;
    UINT32: Uint32ArrayConstructor;
    UINT64: BigUint64ArrayConstructor;
    INT8: Int8ArrayConstructor;
    INT16: Int16ArrayConstructor;
    INT32: Int32ArrayConstructor;
    INT64: BigInt64ArrayConstructor;
    FP16: Uint16ArrayConstructor;
    BF16: Uint16ArrayConstructor;
    FP32: Float32ArrayConstructor;
    FP64: Float64ArrayConstructor;
};
type Fixed = keyof typeof arrays;
/** Tensor is an array with a datatype and a shape, in row-major order. */
export type Tensor = {
    [D in Fixed]: {
        name: string;
        datatype: D;
        shape: number[];
        data: InstanceType<(typeof arrays)[D]>;
    };
}[Fixed] | {
    name: string;
    datatype: "BYTES";
    shape: number[];
    data: (string | Uint8Array)[];
};
/** Returns the fields of a request that carry tensors: `{ modelName, ...inputs(tensors) }`. */
export declare function inputs(tensors: Tensor[]): {
    inputs: {
        name: string;
        datatype: string;
        shape: bigint[];
    }[];
    rawInputContents: Uint8Array[];
};
/**
 * Returns the tensors of a response by name, from its raw contents as Triton sends them. Elements
 * of BYTES are Uint8Arrays.
 */
export declare function outputs(response: ModelInferResponse): Record<string, Tensor>;
export {};
