import type { ModelInferResponse } from "./gen/kserve/grpc_service_pb.js";
/** The arrays that hold the elements of each datatype. FP16 and BF16 are their bits; BYTES are texts or bytes of any length. */
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
/** Tensor is a named array of a shape, in row-major order. */
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
/** The fields of a request that carry tensors: `{ modelName, ...inputs(tensors) }`. */
export declare function inputs(tensors: Tensor[]): {
    inputs: {
        name: string;
        datatype: string;
        shape: bigint[];
    }[];
    rawInputContents: Uint8Array[];
};
/** The tensors of a response by name, as Triton sends them: raw. Elements of BYTES are Uint8Arrays. */
export declare function outputs(response: ModelInferResponse): Record<string, Tensor>;
export {};
