import type { GenEnum, GenFile, GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file kserve/model_config.proto.
 */
export declare const file_kserve_model_config: GenFile;
/**
 * ModelRateLimiter says what an instance must hold before it may execute. It
 * matters only where the server's rate limiter is on.
 *
 * @generated from message inference.ModelRateLimiter
 */
export type ModelRateLimiter = Message<"inference.ModelRateLimiter"> & {
    /**
     * Resources to hold during an execution; empty means none.
     *
     * @generated from field: repeated inference.ModelRateLimiter.Resource resources = 1;
     */
    resources: ModelRateLimiter_Resource[];
    /**
     * Weight against instances of other models: an instance of priority 2 gets
     * half of the turns of one of priority 1. 0 means 1.
     *
     * @generated from field: uint32 priority = 2;
     */
    priority: number;
};
/**
 * Describes the message inference.ModelRateLimiter.
 * Use `create(ModelRateLimiterSchema)` to create a new message.
 */
export declare const ModelRateLimiterSchema: GenMessage<ModelRateLimiter>;
/**
 * Resource is a counted permit that instances compete for.
 *
 * @generated from message inference.ModelRateLimiter.Resource
 */
export type ModelRateLimiter_Resource = Message<"inference.ModelRateLimiter.Resource"> & {
    /**
     * Name of the resource.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * True shares the resource over all devices, false counts it per device.
     *
     * @generated from field: bool global = 2;
     */
    global: boolean;
    /**
     * Units that one execution takes.
     *
     * @generated from field: uint32 count = 3;
     */
    count: number;
};
/**
 * Describes the message inference.ModelRateLimiter.Resource.
 * Use `create(ModelRateLimiter_ResourceSchema)` to create a new message.
 */
export declare const ModelRateLimiter_ResourceSchema: GenMessage<ModelRateLimiter_Resource>;
/**
 * ModelInstanceGroup asks for copies of a model on a kind of device.
 *
 * @generated from message inference.ModelInstanceGroup
 */
export type ModelInstanceGroup = Message<"inference.ModelInstanceGroup"> & {
    /**
     * Name for logs and metrics; empty lets the server derive one.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Where the instances run.
     *
     * @generated from field: inference.ModelInstanceGroup.Kind kind = 4;
     */
    kind: ModelInstanceGroup_Kind;
    /**
     * Instances for each device, or in all for the CPU. 0 lets the server or
     * backend decide.
     *
     * @generated from field: int32 count = 2;
     */
    count: number;
    /**
     * What an instance must hold to execute; unset means nothing.
     *
     * @generated from field: inference.ModelRateLimiter rate_limiter = 6;
     */
    rateLimiter?: ModelRateLimiter | undefined;
    /**
     * GPUs for KIND_GPU and KIND_AUTO; empty means all that the server may use.
     *
     * @generated from field: repeated int32 gpus = 3;
     */
    gpus: number[];
    /**
     * Accelerators that the instances use as well.
     *
     * @generated from field: repeated inference.ModelInstanceGroup.SecondaryDevice secondary_devices = 8;
     */
    secondaryDevices: ModelInstanceGroup_SecondaryDevice[];
    /**
     * TensorRT optimisation profiles by index; empty means the first one.
     *
     * @generated from field: repeated string profile = 5;
     */
    profile: string[];
    /**
     * True loads the instances but gives them no requests: the model uses them
     * in its own way.
     *
     * @generated from field: bool passive = 7;
     */
    passive: boolean;
    /**
     * Key of the server's host policy, such as a NUMA binding, to run under;
     * empty derives it from the device.
     *
     * @generated from field: string host_policy = 9;
     */
    hostPolicy: string;
};
/**
 * Describes the message inference.ModelInstanceGroup.
 * Use `create(ModelInstanceGroupSchema)` to create a new message.
 */
export declare const ModelInstanceGroupSchema: GenMessage<ModelInstanceGroup>;
/**
 * SecondaryDevice is an accelerator beside the instance's own device.
 *
 * @generated from message inference.ModelInstanceGroup.SecondaryDevice
 */
export type ModelInstanceGroup_SecondaryDevice = Message<"inference.ModelInstanceGroup.SecondaryDevice"> & {
    /**
     * Type of the accelerator.
     *
     * @generated from field: inference.ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind kind = 1;
     */
    kind: ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind;
    /**
     * Index of the accelerator within its type.
     *
     * @generated from field: int64 device_id = 2;
     */
    deviceId: bigint;
};
/**
 * Describes the message inference.ModelInstanceGroup.SecondaryDevice.
 * Use `create(ModelInstanceGroup_SecondaryDeviceSchema)` to create a new message.
 */
export declare const ModelInstanceGroup_SecondaryDeviceSchema: GenMessage<ModelInstanceGroup_SecondaryDevice>;
/**
 * SecondaryDeviceKind is the type of the accelerator.
 *
 * @generated from enum inference.ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind
 */
export declare enum ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind {
    /**
     * A deep-learning accelerator core of an NVIDIA system on chip.
     *
     * @generated from enum value: KIND_NVDLA = 0;
     */
    KIND_NVDLA = 0
}
/**
 * Describes the enum inference.ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind.
 */
export declare const ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKindSchema: GenEnum<ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind>;
/**
 * Kind is where instances run.
 *
 * @generated from enum inference.ModelInstanceGroup.Kind
 */
export declare enum ModelInstanceGroup_Kind {
    /**
     * On GPUs where both the model and the host have them, else on the CPU.
     *
     * @generated from enum value: KIND_AUTO = 0;
     */
    AUTO = 0,
    /**
     * On each of the listed GPUs.
     *
     * @generated from enum value: KIND_GPU = 1;
     */
    GPU = 1,
    /**
     * On the CPU.
     *
     * @generated from enum value: KIND_CPU = 2;
     */
    CPU = 2,
    /**
     * Where the model or its backend decides; gpus must be empty.
     *
     * @generated from enum value: KIND_MODEL = 3;
     */
    MODEL = 3
}
/**
 * Describes the enum inference.ModelInstanceGroup.Kind.
 */
export declare const ModelInstanceGroup_KindSchema: GenEnum<ModelInstanceGroup_Kind>;
/**
 * ModelTensorReshape gives the shape that the backend sees where it differs
 * from the one that clients see. Both hold the same number of elements.
 *
 * @generated from message inference.ModelTensorReshape
 */
export type ModelTensorReshape = Message<"inference.ModelTensorReshape"> & {
    /**
     * Dimensions without the batch dimension; empty is a scalar for each item.
     *
     * @generated from field: repeated int64 shape = 1;
     */
    shape: bigint[];
};
/**
 * Describes the message inference.ModelTensorReshape.
 * Use `create(ModelTensorReshapeSchema)` to create a new message.
 */
export declare const ModelTensorReshapeSchema: GenMessage<ModelTensorReshape>;
/**
 * ModelInput declares an input tensor.
 *
 * @generated from message inference.ModelInput
 */
export type ModelInput = Message<"inference.ModelInput"> & {
    /**
     * Name of the tensor.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Element type.
     *
     * @generated from field: inference.DataType data_type = 2;
     */
    dataType: DataType;
    /**
     * Layout of an image tensor.
     *
     * @generated from field: inference.ModelInput.Format format = 3;
     */
    format: ModelInput_Format;
    /**
     * Dimensions; -1 stands for any size. Without the batch dimension where the
     * model's max_batch_size is above 0.
     *
     * @generated from field: repeated int64 dims = 4;
     */
    dims: bigint[];
    /**
     * Shape towards the backend; unset means dims.
     *
     * @generated from field: inference.ModelTensorReshape reshape = 5;
     */
    reshape?: ModelTensorReshape | undefined;
    /**
     * True for a TensorRT shape tensor: its values are the shape of another.
     *
     * @generated from field: bool is_shape_tensor = 6;
     */
    isShapeTensor: boolean;
    /**
     * True lets requests of different shapes join a batch without padding; the
     * backend finds the borders in a BatchInput.
     *
     * @generated from field: bool allow_ragged_batch = 7;
     */
    allowRaggedBatch: boolean;
    /**
     * True lets requests leave the input out.
     *
     * @generated from field: bool optional = 8;
     */
    optional: boolean;
    /**
     * True for a TensorRT input in a vectorised, non-linear layout.
     *
     * @generated from field: bool is_non_linear_format_io = 9;
     */
    isNonLinearFormatIo: boolean;
};
/**
 * Describes the message inference.ModelInput.
 * Use `create(ModelInputSchema)` to create a new message.
 */
export declare const ModelInputSchema: GenMessage<ModelInput>;
/**
 * Format is the layout of an image tensor. It only informs: data are never
 * transposed for it.
 *
 * @generated from enum inference.ModelInput.Format
 */
export declare enum ModelInput_Format {
    /**
     * Not an image, or not said.
     *
     * @generated from enum value: FORMAT_NONE = 0;
     */
    NONE = 0,
    /**
     * Height, width, channel.
     *
     * @generated from enum value: FORMAT_NHWC = 1;
     */
    NHWC = 1,
    /**
     * Channel, height, width.
     *
     * @generated from enum value: FORMAT_NCHW = 2;
     */
    NCHW = 2
}
/**
 * Describes the enum inference.ModelInput.Format.
 */
export declare const ModelInput_FormatSchema: GenEnum<ModelInput_Format>;
/**
 * ModelOutput declares an output tensor.
 *
 * @generated from message inference.ModelOutput
 */
export type ModelOutput = Message<"inference.ModelOutput"> & {
    /**
     * Name of the tensor.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Element type.
     *
     * @generated from field: inference.DataType data_type = 2;
     */
    dataType: DataType;
    /**
     * Dimensions; -1 stands for any size. Without the batch dimension where the
     * model's max_batch_size is above 0.
     *
     * @generated from field: repeated int64 dims = 3;
     */
    dims: bigint[];
    /**
     * Shape from the backend; unset means dims.
     *
     * @generated from field: inference.ModelTensorReshape reshape = 5;
     */
    reshape?: ModelTensorReshape | undefined;
    /**
     * File in the model's folder with one class label a line, for the
     * classification extension; empty means none.
     *
     * @generated from field: string label_filename = 4;
     */
    labelFilename: string;
    /**
     * True for a TensorRT shape tensor.
     *
     * @generated from field: bool is_shape_tensor = 6;
     */
    isShapeTensor: boolean;
    /**
     * True for a TensorRT output in a vectorised, non-linear layout.
     *
     * @generated from field: bool is_non_linear_format_io = 7;
     */
    isNonLinearFormatIo: boolean;
};
/**
 * Describes the message inference.ModelOutput.
 * Use `create(ModelOutputSchema)` to create a new message.
 */
export declare const ModelOutputSchema: GenMessage<ModelOutput>;
/**
 * BatchInput is an input that the server computes from a whole batch, mostly
 * so that a backend can take a ragged batch apart.
 *
 * @generated from message inference.BatchInput
 */
export type BatchInput = Message<"inference.BatchInput"> & {
    /**
     * What to compute.
     *
     * @generated from field: inference.BatchInput.Kind kind = 1;
     */
    kind: BatchInput_Kind;
    /**
     * Names under which the backend receives the result.
     *
     * @generated from field: repeated string target_name = 2;
     */
    targetName: string[];
    /**
     * Element type of the result: TYPE_INT32 or TYPE_FP32.
     *
     * @generated from field: inference.DataType data_type = 3;
     */
    dataType: DataType;
    /**
     * Inputs to compute it from; every kind so far takes exactly one.
     *
     * @generated from field: repeated string source_input = 4;
     */
    sourceInput: string[];
};
/**
 * Describes the message inference.BatchInput.
 * Use `create(BatchInputSchema)` to create a new message.
 */
export declare const BatchInputSchema: GenMessage<BatchInput>;
/**
 * Kind is what is computed. The examples have two requests whose source
 * input has 3 and 5 elements.
 *
 * @generated from enum inference.BatchInput.Kind
 */
export declare enum BatchInput_Kind {
    /**
     * Element count of each request: [3, 5].
     *
     * @generated from enum value: BATCH_ELEMENT_COUNT = 0;
     */
    BATCH_ELEMENT_COUNT = 0,
    /**
     * Running sum of the element counts: [3, 8].
     *
     * @generated from enum value: BATCH_ACCUMULATED_ELEMENT_COUNT = 1;
     */
    BATCH_ACCUMULATED_ELEMENT_COUNT = 1,
    /**
     * Running sum with a leading zero: [0, 3, 8].
     *
     * @generated from enum value: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO = 2;
     */
    BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO = 2,
    /**
     * A tensor whose size, not content, is the largest count: shape [5].
     *
     * @generated from enum value: BATCH_MAX_ELEMENT_COUNT_AS_SHAPE = 3;
     */
    BATCH_MAX_ELEMENT_COUNT_AS_SHAPE = 3,
    /**
     * Shape of each request's input, one row for each item of the batch.
     *
     * @generated from enum value: BATCH_ITEM_SHAPE = 4;
     */
    BATCH_ITEM_SHAPE = 4,
    /**
     * The same rows in one flat list.
     *
     * @generated from enum value: BATCH_ITEM_SHAPE_FLATTEN = 5;
     */
    BATCH_ITEM_SHAPE_FLATTEN = 5
}
/**
 * Describes the enum inference.BatchInput.Kind.
 */
export declare const BatchInput_KindSchema: GenEnum<BatchInput_Kind>;
/**
 * BatchOutput says how an output of a whole batch is divided among requests.
 *
 * @generated from message inference.BatchOutput
 */
export type BatchOutput = Message<"inference.BatchOutput"> & {
    /**
     * Outputs to divide by this rule.
     *
     * @generated from field: repeated string target_name = 1;
     */
    targetName: string[];
    /**
     * The rule.
     *
     * @generated from field: inference.BatchOutput.Kind kind = 2;
     */
    kind: BatchOutput_Kind;
    /**
     * Inputs whose shapes decide; every kind so far takes exactly one.
     *
     * @generated from field: repeated string source_input = 3;
     */
    sourceInput: string[];
};
/**
 * Describes the message inference.BatchOutput.
 * Use `create(BatchOutputSchema)` to create a new message.
 */
export declare const BatchOutputSchema: GenMessage<BatchOutput>;
/**
 * Kind is the rule of division.
 *
 * @generated from enum inference.BatchOutput.Kind
 */
export declare enum BatchOutput_Kind {
    /**
     * Each request gets as much as the shape of its source input says.
     *
     * @generated from enum value: BATCH_SCATTER_WITH_INPUT_SHAPE = 0;
     */
    BATCH_SCATTER_WITH_INPUT_SHAPE = 0
}
/**
 * Describes the enum inference.BatchOutput.Kind.
 */
export declare const BatchOutput_KindSchema: GenEnum<BatchOutput_Kind>;
/**
 * ModelVersionPolicy chooses the versions of a model to serve.
 *
 * @generated from message inference.ModelVersionPolicy
 */
export type ModelVersionPolicy = Message<"inference.ModelVersionPolicy"> & {
    /**
     * The policy; none set means the latest version only.
     *
     * @generated from oneof inference.ModelVersionPolicy.policy_choice
     */
    policyChoice: {
        /**
         * Serve the highest versions.
         *
         * @generated from field: inference.ModelVersionPolicy.Latest latest = 1;
         */
        value: ModelVersionPolicy_Latest;
        case: "latest";
    } | {
        /**
         * Serve every version.
         *
         * @generated from field: inference.ModelVersionPolicy.All all = 2;
         */
        value: ModelVersionPolicy_All;
        case: "all";
    } | {
        /**
         * Serve the listed versions.
         *
         * @generated from field: inference.ModelVersionPolicy.Specific specific = 3;
         */
        value: ModelVersionPolicy_Specific;
        case: "specific";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message inference.ModelVersionPolicy.
 * Use `create(ModelVersionPolicySchema)` to create a new message.
 */
export declare const ModelVersionPolicySchema: GenMessage<ModelVersionPolicy>;
/**
 * Latest serves the highest version numbers.
 *
 * @generated from message inference.ModelVersionPolicy.Latest
 */
export type ModelVersionPolicy_Latest = Message<"inference.ModelVersionPolicy.Latest"> & {
    /**
     * How many versions; 0 means 1.
     *
     * @generated from field: uint32 num_versions = 1;
     */
    numVersions: number;
};
/**
 * Describes the message inference.ModelVersionPolicy.Latest.
 * Use `create(ModelVersionPolicy_LatestSchema)` to create a new message.
 */
export declare const ModelVersionPolicy_LatestSchema: GenMessage<ModelVersionPolicy_Latest>;
/**
 * All serves every version that the repository holds.
 *
 * @generated from message inference.ModelVersionPolicy.All
 */
export type ModelVersionPolicy_All = Message<"inference.ModelVersionPolicy.All"> & {};
/**
 * Describes the message inference.ModelVersionPolicy.All.
 * Use `create(ModelVersionPolicy_AllSchema)` to create a new message.
 */
export declare const ModelVersionPolicy_AllSchema: GenMessage<ModelVersionPolicy_All>;
/**
 * Specific serves the listed versions.
 *
 * @generated from message inference.ModelVersionPolicy.Specific
 */
export type ModelVersionPolicy_Specific = Message<"inference.ModelVersionPolicy.Specific"> & {
    /**
     * Version numbers; those that the repository lacks are left out.
     *
     * @generated from field: repeated int64 versions = 1;
     */
    versions: bigint[];
};
/**
 * Describes the message inference.ModelVersionPolicy.Specific.
 * Use `create(ModelVersionPolicy_SpecificSchema)` to create a new message.
 */
export declare const ModelVersionPolicy_SpecificSchema: GenMessage<ModelVersionPolicy_Specific>;
/**
 * ModelOptimizationPolicy tunes execution. What a backend does not know it
 * ignores.
 *
 * @generated from message inference.ModelOptimizationPolicy
 */
export type ModelOptimizationPolicy = Message<"inference.ModelOptimizationPolicy"> & {
    /**
     * Graph optimiser; unset means the framework's default.
     *
     * @generated from field: inference.ModelOptimizationPolicy.Graph graph = 1;
     */
    graph?: ModelOptimizationPolicy_Graph | undefined;
    /**
     * Priority of the model's work.
     *
     * @generated from field: inference.ModelOptimizationPolicy.ModelPriority priority = 2;
     */
    priority: ModelOptimizationPolicy_ModelPriority;
    /**
     * CUDA settings; unset means defaults.
     *
     * @generated from field: inference.ModelOptimizationPolicy.Cuda cuda = 3;
     */
    cuda?: ModelOptimizationPolicy_Cuda | undefined;
    /**
     * Accelerators; unset means none.
     *
     * @generated from field: inference.ModelOptimizationPolicy.ExecutionAccelerators execution_accelerators = 4;
     */
    executionAccelerators?: ModelOptimizationPolicy_ExecutionAccelerators | undefined;
    /**
     * Pinned memory for inputs; unset means permitted.
     *
     * @generated from field: inference.ModelOptimizationPolicy.PinnedMemoryBuffer input_pinned_memory = 5;
     */
    inputPinnedMemory?: ModelOptimizationPolicy_PinnedMemoryBuffer | undefined;
    /**
     * Pinned memory for outputs; unset means permitted.
     *
     * @generated from field: inference.ModelOptimizationPolicy.PinnedMemoryBuffer output_pinned_memory = 6;
     */
    outputPinnedMemory?: ModelOptimizationPolicy_PinnedMemoryBuffer | undefined;
    /**
     * From this number of buffers on, a GPU kernel gathers a batch; 0 means
     * always copy one by one.
     *
     * @generated from field: uint32 gather_kernel_buffer_threshold = 7;
     */
    gatherKernelBufferThreshold: number;
    /**
     * True begins to assemble the next batch before an instance is free.
     *
     * @generated from field: bool eager_batching = 8;
     */
    eagerBatching: boolean;
};
/**
 * Describes the message inference.ModelOptimizationPolicy.
 * Use `create(ModelOptimizationPolicySchema)` to create a new message.
 */
export declare const ModelOptimizationPolicySchema: GenMessage<ModelOptimizationPolicy>;
/**
 * Graph tunes the framework's graph optimiser.
 *
 * @generated from message inference.ModelOptimizationPolicy.Graph
 */
export type ModelOptimizationPolicy_Graph = Message<"inference.ModelOptimizationPolicy.Graph"> & {
    /**
     * Level; 0 is the framework's default, -1 turns the optimiser off, higher
     * numbers are the framework's own.
     *
     * @generated from field: int32 level = 1;
     */
    level: number;
};
/**
 * Describes the message inference.ModelOptimizationPolicy.Graph.
 * Use `create(ModelOptimizationPolicy_GraphSchema)` to create a new message.
 */
export declare const ModelOptimizationPolicy_GraphSchema: GenMessage<ModelOptimizationPolicy_Graph>;
/**
 * Cuda tunes the use of CUDA.
 *
 * @generated from message inference.ModelOptimizationPolicy.Cuda
 */
export type ModelOptimizationPolicy_Cuda = Message<"inference.ModelOptimizationPolicy.Cuda"> & {
    /**
     * True captures CUDA graphs and replays them.
     *
     * @generated from field: bool graphs = 1;
     */
    graphs: boolean;
    /**
     * True waits for CUDA events by spinning: lower latency, more CPU.
     *
     * @generated from field: bool busy_wait_events = 2;
     */
    busyWaitEvents: boolean;
    /**
     * Graphs to capture; empty lets the backend choose batch sizes.
     *
     * @generated from field: repeated inference.ModelOptimizationPolicy.Cuda.GraphSpec graph_spec = 3;
     */
    graphSpec: ModelOptimizationPolicy_Cuda_GraphSpec[];
    /**
     * True copies outputs on a stream of their own, beside the next execution.
     *
     * @generated from field: bool output_copy_stream = 4;
     */
    outputCopyStream: boolean;
};
/**
 * Describes the message inference.ModelOptimizationPolicy.Cuda.
 * Use `create(ModelOptimizationPolicy_CudaSchema)` to create a new message.
 */
export declare const ModelOptimizationPolicy_CudaSchema: GenMessage<ModelOptimizationPolicy_Cuda>;
/**
 * GraphSpec is one set of shapes to capture a CUDA graph for.
 *
 * @generated from message inference.ModelOptimizationPolicy.Cuda.GraphSpec
 */
export type ModelOptimizationPolicy_Cuda_GraphSpec = Message<"inference.ModelOptimizationPolicy.Cuda.GraphSpec"> & {
    /**
     * Batch size of the graph; 0 for a model that does not batch.
     *
     * @generated from field: int32 batch_size = 1;
     */
    batchSize: number;
    /**
     * Shape of the graph by input.
     *
     * @generated from field: map<string, inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape> input = 2;
     */
    input: {
        [key: string]: ModelOptimizationPolicy_Cuda_GraphSpec_Shape;
    };
    /**
     * Smallest request that may use the graph; unset means exact matches.
     *
     * @generated from field: inference.ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound graph_lower_bound = 3;
     */
    graphLowerBound?: ModelOptimizationPolicy_Cuda_GraphSpec_LowerBound | undefined;
};
/**
 * Describes the message inference.ModelOptimizationPolicy.Cuda.GraphSpec.
 * Use `create(ModelOptimizationPolicy_Cuda_GraphSpecSchema)` to create a new message.
 */
export declare const ModelOptimizationPolicy_Cuda_GraphSpecSchema: GenMessage<ModelOptimizationPolicy_Cuda_GraphSpec>;
/**
 * Shape is the shape of one input.
 *
 * @generated from message inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape
 */
export type ModelOptimizationPolicy_Cuda_GraphSpec_Shape = Message<"inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape"> & {
    /**
     * Dimensions without the batch dimension.
     *
     * @generated from field: repeated int64 dim = 1;
     */
    dim: bigint[];
};
/**
 * Describes the message inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.
 * Use `create(ModelOptimizationPolicy_Cuda_GraphSpec_ShapeSchema)` to create a new message.
 */
export declare const ModelOptimizationPolicy_Cuda_GraphSpec_ShapeSchema: GenMessage<ModelOptimizationPolicy_Cuda_GraphSpec_Shape>;
/**
 * LowerBound is the smallest request that may use the graph by padding.
 *
 * @generated from message inference.ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound
 */
export type ModelOptimizationPolicy_Cuda_GraphSpec_LowerBound = Message<"inference.ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound"> & {
    /**
     * Smallest batch size.
     *
     * @generated from field: int32 batch_size = 1;
     */
    batchSize: number;
    /**
     * Smallest shape by input.
     *
     * @generated from field: map<string, inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape> input = 2;
     */
    input: {
        [key: string]: ModelOptimizationPolicy_Cuda_GraphSpec_Shape;
    };
};
/**
 * Describes the message inference.ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound.
 * Use `create(ModelOptimizationPolicy_Cuda_GraphSpec_LowerBoundSchema)` to create a new message.
 */
export declare const ModelOptimizationPolicy_Cuda_GraphSpec_LowerBoundSchema: GenMessage<ModelOptimizationPolicy_Cuda_GraphSpec_LowerBound>;
/**
 * ExecutionAccelerators lists accelerators inside a framework.
 *
 * @generated from message inference.ModelOptimizationPolicy.ExecutionAccelerators
 */
export type ModelOptimizationPolicy_ExecutionAccelerators = Message<"inference.ModelOptimizationPolicy.ExecutionAccelerators"> & {
    /**
     * For instances on GPUs, in order of preference.
     *
     * @generated from field: repeated inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator gpu_execution_accelerator = 1;
     */
    gpuExecutionAccelerator: ModelOptimizationPolicy_ExecutionAccelerators_Accelerator[];
    /**
     * For instances on the CPU, in order of preference.
     *
     * @generated from field: repeated inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator cpu_execution_accelerator = 2;
     */
    cpuExecutionAccelerator: ModelOptimizationPolicy_ExecutionAccelerators_Accelerator[];
};
/**
 * Describes the message inference.ModelOptimizationPolicy.ExecutionAccelerators.
 * Use `create(ModelOptimizationPolicy_ExecutionAcceleratorsSchema)` to create a new message.
 */
export declare const ModelOptimizationPolicy_ExecutionAcceleratorsSchema: GenMessage<ModelOptimizationPolicy_ExecutionAccelerators>;
/**
 * Accelerator is one of them.
 *
 * @generated from message inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator
 */
export type ModelOptimizationPolicy_ExecutionAccelerators_Accelerator = Message<"inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator"> & {
    /**
     * Name as the backend knows it, such as "tensorrt" or "openvino".
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Settings of the accelerator.
     *
     * @generated from field: map<string, string> parameters = 2;
     */
    parameters: {
        [key: string]: string;
    };
};
/**
 * Describes the message inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator.
 * Use `create(ModelOptimizationPolicy_ExecutionAccelerators_AcceleratorSchema)` to create a new message.
 */
export declare const ModelOptimizationPolicy_ExecutionAccelerators_AcceleratorSchema: GenMessage<ModelOptimizationPolicy_ExecutionAccelerators_Accelerator>;
/**
 * PinnedMemoryBuffer controls page-locked host memory for copies.
 *
 * @generated from message inference.ModelOptimizationPolicy.PinnedMemoryBuffer
 */
export type ModelOptimizationPolicy_PinnedMemoryBuffer = Message<"inference.ModelOptimizationPolicy.PinnedMemoryBuffer"> & {
    /**
     * True permits it, which an unset message does too.
     *
     * @generated from field: bool enable = 1;
     */
    enable: boolean;
};
/**
 * Describes the message inference.ModelOptimizationPolicy.PinnedMemoryBuffer.
 * Use `create(ModelOptimizationPolicy_PinnedMemoryBufferSchema)` to create a new message.
 */
export declare const ModelOptimizationPolicy_PinnedMemoryBufferSchema: GenMessage<ModelOptimizationPolicy_PinnedMemoryBuffer>;
/**
 * ModelPriority is the priority of a model's work on its device.
 *
 * @generated from enum inference.ModelOptimizationPolicy.ModelPriority
 */
export declare enum ModelOptimizationPolicy_ModelPriority {
    /**
     * No preference.
     *
     * @generated from enum value: PRIORITY_DEFAULT = 0;
     */
    PRIORITY_DEFAULT = 0,
    /**
     * Before other models, as far as the framework can.
     *
     * @generated from enum value: PRIORITY_MAX = 1;
     */
    PRIORITY_MAX = 1,
    /**
     * After other models, as far as the framework can.
     *
     * @generated from enum value: PRIORITY_MIN = 2;
     */
    PRIORITY_MIN = 2
}
/**
 * Describes the enum inference.ModelOptimizationPolicy.ModelPriority.
 */
export declare const ModelOptimizationPolicy_ModelPrioritySchema: GenEnum<ModelOptimizationPolicy_ModelPriority>;
/**
 * ModelQueuePolicy bounds a scheduler's queue.
 *
 * @generated from message inference.ModelQueuePolicy
 */
export type ModelQueuePolicy = Message<"inference.ModelQueuePolicy"> & {
    /**
     * What happens to a request that waited too long.
     *
     * @generated from field: inference.ModelQueuePolicy.TimeoutAction timeout_action = 1;
     */
    timeoutAction: ModelQueuePolicy_TimeoutAction;
    /**
     * Longest wait in microseconds; 0 means no limit.
     *
     * @generated from field: uint64 default_timeout_microseconds = 2;
     */
    defaultTimeoutMicroseconds: bigint;
    /**
     * True lets a request's "timeout" parameter lower the limit; longer ones
     * have no effect.
     *
     * @generated from field: bool allow_timeout_override = 3;
     */
    allowTimeoutOverride: boolean;
    /**
     * Most requests that wait; one more is refused. 0 means no limit.
     *
     * @generated from field: uint32 max_queue_size = 4;
     */
    maxQueueSize: number;
};
/**
 * Describes the message inference.ModelQueuePolicy.
 * Use `create(ModelQueuePolicySchema)` to create a new message.
 */
export declare const ModelQueuePolicySchema: GenMessage<ModelQueuePolicy>;
/**
 * TimeoutAction is what happens to a request that waited too long.
 *
 * @generated from enum inference.ModelQueuePolicy.TimeoutAction
 */
export declare enum ModelQueuePolicy_TimeoutAction {
    /**
     * It fails.
     *
     * @generated from enum value: REJECT = 0;
     */
    REJECT = 0,
    /**
     * It goes on after all requests that have not timed out.
     *
     * @generated from enum value: DELAY = 1;
     */
    DELAY = 1
}
/**
 * Describes the enum inference.ModelQueuePolicy.TimeoutAction.
 */
export declare const ModelQueuePolicy_TimeoutActionSchema: GenEnum<ModelQueuePolicy_TimeoutAction>;
/**
 * ModelDynamicBatching joins requests into batches.
 *
 * @generated from message inference.ModelDynamicBatching
 */
export type ModelDynamicBatching = Message<"inference.ModelDynamicBatching"> & {
    /**
     * Batch sizes to dispatch at once when reached; empty means the largest
     * batch that the queue allows.
     *
     * @generated from field: repeated int32 preferred_batch_size = 1;
     */
    preferredBatchSize: number[];
    /**
     * Longest time in microseconds to wait for further requests; 0 dispatches
     * what is there.
     *
     * @generated from field: uint64 max_queue_delay_microseconds = 2;
     */
    maxQueueDelayMicroseconds: bigint;
    /**
     * True returns responses in the order of the requests.
     *
     * @generated from field: bool preserve_ordering = 3;
     */
    preserveOrdering: boolean;
    /**
     * Number of priorities, 1 being the highest; 0 means that all requests are
     * equal.
     *
     * @generated from field: uint64 priority_levels = 4;
     */
    priorityLevels: bigint;
    /**
     * Priority of requests that give none; required with priority_levels.
     *
     * @generated from field: uint64 default_priority_level = 5;
     */
    defaultPriorityLevel: bigint;
    /**
     * Bounds of the queue of each priority without an entry below.
     *
     * @generated from field: inference.ModelQueuePolicy default_queue_policy = 6;
     */
    defaultQueuePolicy?: ModelQueuePolicy | undefined;
    /**
     * Bounds of the queue by priority.
     *
     * @generated from field: map<uint64, inference.ModelQueuePolicy> priority_queue_policy = 7;
     */
    priorityQueuePolicy: {
        [key: string]: ModelQueuePolicy;
    };
};
/**
 * Describes the message inference.ModelDynamicBatching.
 * Use `create(ModelDynamicBatchingSchema)` to create a new message.
 */
export declare const ModelDynamicBatchingSchema: GenMessage<ModelDynamicBatching>;
/**
 * ModelSequenceBatching routes all requests of a sequence to one instance.
 *
 * @generated from message inference.ModelSequenceBatching
 */
export type ModelSequenceBatching = Message<"inference.ModelSequenceBatching"> & {
    /**
     * How requests become batches; none set means direct.
     *
     * @generated from oneof inference.ModelSequenceBatching.strategy_choice
     */
    strategyChoice: {
        /**
         * A fixed slot for each sequence.
         *
         * @generated from field: inference.ModelSequenceBatching.StrategyDirect direct = 3;
         */
        value: ModelSequenceBatching_StrategyDirect;
        case: "direct";
    } | {
        /**
         * Dynamic batches over sequences.
         *
         * @generated from field: inference.ModelSequenceBatching.StrategyOldest oldest = 4;
         */
        value: ModelSequenceBatching_StrategyOldest;
        case: "oldest";
    } | {
        case: undefined;
        value?: undefined;
    };
    /**
     * Longest time in microseconds between two requests of a sequence before the
     * server ends it; 0 means one second.
     *
     * @generated from field: uint64 max_sequence_idle_microseconds = 1;
     */
    maxSequenceIdleMicroseconds: bigint;
    /**
     * Tensors that carry the signals.
     *
     * @generated from field: repeated inference.ModelSequenceBatching.ControlInput control_input = 2;
     */
    controlInput: ModelSequenceBatching_ControlInput[];
    /**
     * Tensors that the server keeps between requests.
     *
     * @generated from field: repeated inference.ModelSequenceBatching.State state = 5;
     */
    state: ModelSequenceBatching_State[];
    /**
     * True lets the model put one request back for another step until it is
     * done, which makes new requests join a running batch.
     *
     * @generated from field: bool iterative_sequence = 6;
     */
    iterativeSequence: boolean;
};
/**
 * Describes the message inference.ModelSequenceBatching.
 * Use `create(ModelSequenceBatchingSchema)` to create a new message.
 */
export declare const ModelSequenceBatchingSchema: GenMessage<ModelSequenceBatching>;
/**
 * Control is one signal that the server adds to the model's inputs. Exactly
 * one false_true list is set, to the two values for "no" and "yes"; none is
 * set for CONTROL_SEQUENCE_CORRID.
 *
 * @generated from message inference.ModelSequenceBatching.Control
 */
export type ModelSequenceBatching_Control = Message<"inference.ModelSequenceBatching.Control"> & {
    /**
     * Meaning of the signal.
     *
     * @generated from field: inference.ModelSequenceBatching.Control.Kind kind = 1;
     */
    kind: ModelSequenceBatching_Control_Kind;
    /**
     * Values for no and yes, as INT32.
     *
     * @generated from field: repeated int32 int32_false_true = 2;
     */
    int32FalseTrue: number[];
    /**
     * Values for no and yes, as FP32.
     *
     * @generated from field: repeated float fp32_false_true = 3;
     */
    fp32FalseTrue: number[];
    /**
     * Values for no and yes, as BOOL.
     *
     * @generated from field: repeated bool bool_false_true = 5;
     */
    boolFalseTrue: boolean[];
    /**
     * Element type of the identifier: TYPE_UINT64, TYPE_INT64, TYPE_UINT32,
     * TYPE_INT32 or TYPE_STRING. Only for CONTROL_SEQUENCE_CORRID.
     *
     * @generated from field: inference.DataType data_type = 4;
     */
    dataType: DataType;
};
/**
 * Describes the message inference.ModelSequenceBatching.Control.
 * Use `create(ModelSequenceBatching_ControlSchema)` to create a new message.
 */
export declare const ModelSequenceBatching_ControlSchema: GenMessage<ModelSequenceBatching_Control>;
/**
 * Kind is the meaning of the signal.
 *
 * @generated from enum inference.ModelSequenceBatching.Control.Kind
 */
export declare enum ModelSequenceBatching_Control_Kind {
    /**
     * This request is the first of its sequence.
     *
     * @generated from enum value: CONTROL_SEQUENCE_START = 0;
     */
    CONTROL_SEQUENCE_START = 0,
    /**
     * This slot of the batch holds a request.
     *
     * @generated from enum value: CONTROL_SEQUENCE_READY = 1;
     */
    CONTROL_SEQUENCE_READY = 1,
    /**
     * This request is the last of its sequence.
     *
     * @generated from enum value: CONTROL_SEQUENCE_END = 2;
     */
    CONTROL_SEQUENCE_END = 2,
    /**
     * The sequence's identifier itself, in data_type.
     *
     * @generated from enum value: CONTROL_SEQUENCE_CORRID = 3;
     */
    CONTROL_SEQUENCE_CORRID = 3
}
/**
 * Describes the enum inference.ModelSequenceBatching.Control.Kind.
 */
export declare const ModelSequenceBatching_Control_KindSchema: GenEnum<ModelSequenceBatching_Control_Kind>;
/**
 * ControlInput is a tensor that carries signals.
 *
 * @generated from message inference.ModelSequenceBatching.ControlInput
 */
export type ModelSequenceBatching_ControlInput = Message<"inference.ModelSequenceBatching.ControlInput"> & {
    /**
     * Name of the model's input.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Signals that it carries; the server takes exactly one.
     *
     * @generated from field: repeated inference.ModelSequenceBatching.Control control = 2;
     */
    control: ModelSequenceBatching_Control[];
};
/**
 * Describes the message inference.ModelSequenceBatching.ControlInput.
 * Use `create(ModelSequenceBatching_ControlInputSchema)` to create a new message.
 */
export declare const ModelSequenceBatching_ControlInputSchema: GenMessage<ModelSequenceBatching_ControlInput>;
/**
 * InitialState is the state that a new sequence begins with.
 *
 * @generated from message inference.ModelSequenceBatching.InitialState
 */
export type ModelSequenceBatching_InitialState = Message<"inference.ModelSequenceBatching.InitialState"> & {
    /**
     * Element type.
     *
     * @generated from field: inference.DataType data_type = 1;
     */
    dataType: DataType;
    /**
     * Dimensions without the batch dimension, all known.
     *
     * @generated from field: repeated int64 dims = 2;
     */
    dims: bigint[];
    /**
     * The content.
     *
     * @generated from oneof inference.ModelSequenceBatching.InitialState.state_data
     */
    stateData: {
        /**
         * Zeros, or empty strings. The value itself has no meaning.
         *
         * @generated from field: bool zero_data = 3;
         */
        value: boolean;
        case: "zeroData";
    } | {
        /**
         * File in the model's "initial_state" folder with the raw bytes.
         *
         * @generated from field: string data_file = 4;
         */
        value: string;
        case: "dataFile";
    } | {
        case: undefined;
        value?: undefined;
    };
    /**
     * Name for messages about this state.
     *
     * @generated from field: string name = 5;
     */
    name: string;
};
/**
 * Describes the message inference.ModelSequenceBatching.InitialState.
 * Use `create(ModelSequenceBatching_InitialStateSchema)` to create a new message.
 */
export declare const ModelSequenceBatching_InitialStateSchema: GenMessage<ModelSequenceBatching_InitialState>;
/**
 * State is a tensor that the server keeps between a sequence's requests.
 *
 * @generated from message inference.ModelSequenceBatching.State
 */
export type ModelSequenceBatching_State = Message<"inference.ModelSequenceBatching.State"> & {
    /**
     * Model input that receives the state.
     *
     * @generated from field: string input_name = 1;
     */
    inputName: string;
    /**
     * Model output that replaces it.
     *
     * @generated from field: string output_name = 2;
     */
    outputName: string;
    /**
     * Element type.
     *
     * @generated from field: inference.DataType data_type = 3;
     */
    dataType: DataType;
    /**
     * Dimensions without the batch dimension; -1 stands for any size.
     *
     * @generated from field: repeated int64 dims = 4;
     */
    dims: bigint[];
    /**
     * State of a new sequence; empty means zeros, for which dims must be known.
     *
     * @generated from field: repeated inference.ModelSequenceBatching.InitialState initial_state = 5;
     */
    initialState: ModelSequenceBatching_InitialState[];
    /**
     * True gives the model one buffer as input and output: it updates in place.
     *
     * @generated from field: bool use_same_buffer_for_input_output = 6;
     */
    useSameBufferForInputOutput: boolean;
    /**
     * True keeps the state in GPU memory that grows without moving. Needs the
     * shared buffer.
     *
     * @generated from field: bool use_growable_memory = 7;
     */
    useGrowableMemory: boolean;
};
/**
 * Describes the message inference.ModelSequenceBatching.State.
 * Use `create(ModelSequenceBatching_StateSchema)` to create a new message.
 */
export declare const ModelSequenceBatching_StateSchema: GenMessage<ModelSequenceBatching_State>;
/**
 * StrategyDirect gives each sequence a slot in the batch of one instance.
 *
 * @generated from message inference.ModelSequenceBatching.StrategyDirect
 */
export type ModelSequenceBatching_StrategyDirect = Message<"inference.ModelSequenceBatching.StrategyDirect"> & {
    /**
     * Longest time in microseconds to wait for the other slots.
     *
     * @generated from field: uint64 max_queue_delay_microseconds = 1;
     */
    maxQueueDelayMicroseconds: bigint;
    /**
     * Share of slots, 0 to 1, that must be filled to dispatch before the delay
     * is over.
     *
     * @generated from field: float minimum_slot_utilization = 2;
     */
    minimumSlotUtilization: number;
};
/**
 * Describes the message inference.ModelSequenceBatching.StrategyDirect.
 * Use `create(ModelSequenceBatching_StrategyDirectSchema)` to create a new message.
 */
export declare const ModelSequenceBatching_StrategyDirectSchema: GenMessage<ModelSequenceBatching_StrategyDirect>;
/**
 * StrategyOldest takes requests of different sequences into dynamic batches,
 * oldest sequence first.
 *
 * @generated from message inference.ModelSequenceBatching.StrategyOldest
 */
export type ModelSequenceBatching_StrategyOldest = Message<"inference.ModelSequenceBatching.StrategyOldest"> & {
    /**
     * Most sequences in progress for each instance; others wait.
     *
     * @generated from field: int32 max_candidate_sequences = 1;
     */
    maxCandidateSequences: number;
    /**
     * Batch sizes to dispatch at once when reached.
     *
     * @generated from field: repeated int32 preferred_batch_size = 2;
     */
    preferredBatchSize: number[];
    /**
     * Longest time in microseconds to wait for further requests.
     *
     * @generated from field: uint64 max_queue_delay_microseconds = 3;
     */
    maxQueueDelayMicroseconds: bigint;
    /**
     * True returns responses in the order of the requests.
     *
     * @generated from field: bool preserve_ordering = 4;
     */
    preserveOrdering: boolean;
};
/**
 * Describes the message inference.ModelSequenceBatching.StrategyOldest.
 * Use `create(ModelSequenceBatching_StrategyOldestSchema)` to create a new message.
 */
export declare const ModelSequenceBatching_StrategyOldestSchema: GenMessage<ModelSequenceBatching_StrategyOldest>;
/**
 * ModelEnsembling composes a model of others.
 *
 * @generated from message inference.ModelEnsembling
 */
export type ModelEnsembling = Message<"inference.ModelEnsembling"> & {
    /**
     * Steps of the composition.
     *
     * @generated from field: repeated inference.ModelEnsembling.Step step = 1;
     */
    step: ModelEnsembling_Step[];
    /**
     * Most requests that are under way between steps, which bounds the memory
     * that a fast step fills before a slow one; 0 means no limit.
     *
     * @generated from field: uint32 max_inflight_requests = 2;
     */
    maxInflightRequests: number;
};
/**
 * Describes the message inference.ModelEnsembling.
 * Use `create(ModelEnsemblingSchema)` to create a new message.
 */
export declare const ModelEnsemblingSchema: GenMessage<ModelEnsembling>;
/**
 * Step is one model of the composition. Steps run as soon as their inputs
 * are there, whatever their order in the list.
 *
 * @generated from message inference.ModelEnsembling.Step
 */
export type ModelEnsembling_Step = Message<"inference.ModelEnsembling.Step"> & {
    /**
     * Name of the model.
     *
     * @generated from field: string model_name = 1;
     */
    modelName: string;
    /**
     * Its version; -1 lets the model's policy choose.
     *
     * @generated from field: int64 model_version = 2;
     */
    modelVersion: bigint;
    /**
     * Ensemble tensor by input of the model.
     *
     * @generated from field: map<string, string> input_map = 3;
     */
    inputMap: {
        [key: string]: string;
    };
    /**
     * Ensemble tensor by output of the model; unlisted outputs are dropped.
     *
     * @generated from field: map<string, string> output_map = 4;
     */
    outputMap: {
        [key: string]: string;
    };
    /**
     * Repository to look the model up in, where the server uses namespaces;
     * empty means the ensemble's own first.
     *
     * @generated from field: string model_namespace = 5;
     */
    modelNamespace: string;
};
/**
 * Describes the message inference.ModelEnsembling.Step.
 * Use `create(ModelEnsembling_StepSchema)` to create a new message.
 */
export declare const ModelEnsembling_StepSchema: GenMessage<ModelEnsembling_Step>;
/**
 * ModelParameter is one value of a model's free parameters.
 *
 * @generated from message inference.ModelParameter
 */
export type ModelParameter = Message<"inference.ModelParameter"> & {
    /**
     * The value; the backend reads it as it needs.
     *
     * @generated from field: string string_value = 1;
     */
    stringValue: string;
};
/**
 * Describes the message inference.ModelParameter.
 * Use `create(ModelParameterSchema)` to create a new message.
 */
export declare const ModelParameterSchema: GenMessage<ModelParameter>;
/**
 * ModelWarmup is a sample that runs before a model counts as ready.
 *
 * @generated from message inference.ModelWarmup
 */
export type ModelWarmup = Message<"inference.ModelWarmup"> & {
    /**
     * Name for messages about this sample.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Copies of the sample in one batch; 1 for a model that does not batch.
     *
     * @generated from field: uint32 batch_size = 2;
     */
    batchSize: number;
    /**
     * Tensors by name: every required input, sequence signals too.
     *
     * @generated from field: map<string, inference.ModelWarmup.Input> inputs = 3;
     */
    inputs: {
        [key: string]: ModelWarmup_Input;
    };
    /**
     * How often it runs; 0 means once.
     *
     * @generated from field: uint32 count = 4;
     */
    count: number;
};
/**
 * Describes the message inference.ModelWarmup.
 * Use `create(ModelWarmupSchema)` to create a new message.
 */
export declare const ModelWarmupSchema: GenMessage<ModelWarmup>;
/**
 * Input is one tensor of the sample.
 *
 * @generated from message inference.ModelWarmup.Input
 */
export type ModelWarmup_Input = Message<"inference.ModelWarmup.Input"> & {
    /**
     * Element type.
     *
     * @generated from field: inference.DataType data_type = 1;
     */
    dataType: DataType;
    /**
     * Dimensions without the batch dimension, all known.
     *
     * @generated from field: repeated int64 dims = 2;
     */
    dims: bigint[];
    /**
     * The content.
     *
     * @generated from oneof inference.ModelWarmup.Input.input_data_type
     */
    inputDataType: {
        /**
         * Zeros, or empty strings. The value itself has no meaning.
         *
         * @generated from field: bool zero_data = 3;
         */
        value: boolean;
        case: "zeroData";
    } | {
        /**
         * Random bits, whatever number they make. The value itself has no
         * meaning.
         *
         * @generated from field: bool random_data = 4;
         */
        value: boolean;
        case: "randomData";
    } | {
        /**
         * File in the model's "warmup" folder with the raw bytes.
         *
         * @generated from field: string input_data_file = 5;
         */
        value: string;
        case: "inputDataFile";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message inference.ModelWarmup.Input.
 * Use `create(ModelWarmup_InputSchema)` to create a new message.
 */
export declare const ModelWarmup_InputSchema: GenMessage<ModelWarmup_Input>;
/**
 * ModelOperations names custom operations of the framework.
 *
 * @generated from message inference.ModelOperations
 */
export type ModelOperations = Message<"inference.ModelOperations"> & {
    /**
     * Shared libraries to load before the model. One library serves all models
     * of its backend.
     *
     * @generated from field: repeated string op_library_filename = 1;
     */
    opLibraryFilename: string[];
};
/**
 * Describes the message inference.ModelOperations.
 * Use `create(ModelOperationsSchema)` to create a new message.
 */
export declare const ModelOperationsSchema: GenMessage<ModelOperations>;
/**
 * ModelTransactionPolicy says how requests and responses relate.
 *
 * @generated from message inference.ModelTransactionPolicy
 */
export type ModelTransactionPolicy = Message<"inference.ModelTransactionPolicy"> & {
    /**
     * True for a model that gives any number of responses to a request, none
     * included. It takes requests over ModelStreamInfer only.
     *
     * @generated from field: bool decoupled = 1;
     */
    decoupled: boolean;
};
/**
 * Describes the message inference.ModelTransactionPolicy.
 * Use `create(ModelTransactionPolicySchema)` to create a new message.
 */
export declare const ModelTransactionPolicySchema: GenMessage<ModelTransactionPolicy>;
/**
 * ModelRepositoryAgents names plug-ins that act on a model's files before it
 * loads.
 *
 * @generated from message inference.ModelRepositoryAgents
 */
export type ModelRepositoryAgents = Message<"inference.ModelRepositoryAgents"> & {
    /**
     * Plug-ins in the order in which they act.
     *
     * @generated from field: repeated inference.ModelRepositoryAgents.Agent agents = 1;
     */
    agents: ModelRepositoryAgents_Agent[];
};
/**
 * Describes the message inference.ModelRepositoryAgents.
 * Use `create(ModelRepositoryAgentsSchema)` to create a new message.
 */
export declare const ModelRepositoryAgentsSchema: GenMessage<ModelRepositoryAgents>;
/**
 * Agent is one plug-in.
 *
 * @generated from message inference.ModelRepositoryAgents.Agent
 */
export type ModelRepositoryAgents_Agent = Message<"inference.ModelRepositoryAgents.Agent"> & {
    /**
     * Name of the plug-in, such as "checksum".
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Settings of the plug-in.
     *
     * @generated from field: map<string, string> parameters = 2;
     */
    parameters: {
        [key: string]: string;
    };
};
/**
 * Describes the message inference.ModelRepositoryAgents.Agent.
 * Use `create(ModelRepositoryAgents_AgentSchema)` to create a new message.
 */
export declare const ModelRepositoryAgents_AgentSchema: GenMessage<ModelRepositoryAgents_Agent>;
/**
 * ModelResponseCache controls the cache of responses.
 *
 * @generated from message inference.ModelResponseCache
 */
export type ModelResponseCache = Message<"inference.ModelResponseCache"> & {
    /**
     * True answers repeated requests from the server's cache, if that has one.
     * Not for decoupled models.
     *
     * @generated from field: bool enable = 1;
     */
    enable: boolean;
};
/**
 * Describes the message inference.ModelResponseCache.
 * Use `create(ModelResponseCacheSchema)` to create a new message.
 */
export declare const ModelResponseCacheSchema: GenMessage<ModelResponseCache>;
/**
 * ModelMetrics changes how the server measures a model.
 *
 * @generated from message inference.ModelMetrics
 */
export type ModelMetrics = Message<"inference.ModelMetrics"> & {
    /**
     * Changes; families that are not here keep the server's defaults.
     *
     * @generated from field: repeated inference.ModelMetrics.MetricControl metric_control = 1;
     */
    metricControl: ModelMetrics_MetricControl[];
};
/**
 * Describes the message inference.ModelMetrics.
 * Use `create(ModelMetricsSchema)` to create a new message.
 */
export declare const ModelMetricsSchema: GenMessage<ModelMetrics>;
/**
 * MetricControl changes one family of metrics.
 *
 * @generated from message inference.ModelMetrics.MetricControl
 */
export type ModelMetrics_MetricControl = Message<"inference.ModelMetrics.MetricControl"> & {
    /**
     * The metrics to change.
     *
     * @generated from field: inference.ModelMetrics.MetricControl.MetricIdentifier metric_identifier = 1;
     */
    metricIdentifier?: ModelMetrics_MetricControl_MetricIdentifier | undefined;
    /**
     * The change, of the kind that the family has.
     *
     * @generated from oneof inference.ModelMetrics.MetricControl.metric_options
     */
    metricOptions: {
        /**
         * For a histogram.
         *
         * @generated from field: inference.ModelMetrics.MetricControl.HistogramOptions histogram_options = 2;
         */
        value: ModelMetrics_MetricControl_HistogramOptions;
        case: "histogramOptions";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message inference.ModelMetrics.MetricControl.
 * Use `create(ModelMetrics_MetricControlSchema)` to create a new message.
 */
export declare const ModelMetrics_MetricControlSchema: GenMessage<ModelMetrics_MetricControl>;
/**
 * MetricIdentifier selects the metrics.
 *
 * @generated from message inference.ModelMetrics.MetricControl.MetricIdentifier
 */
export type ModelMetrics_MetricControl_MetricIdentifier = Message<"inference.ModelMetrics.MetricControl.MetricIdentifier"> & {
    /**
     * Name of the metric family, such as
     * "nv_inference_first_response_histogram_ms".
     *
     * @generated from field: string family = 1;
     */
    family: string;
};
/**
 * Describes the message inference.ModelMetrics.MetricControl.MetricIdentifier.
 * Use `create(ModelMetrics_MetricControl_MetricIdentifierSchema)` to create a new message.
 */
export declare const ModelMetrics_MetricControl_MetricIdentifierSchema: GenMessage<ModelMetrics_MetricControl_MetricIdentifier>;
/**
 * HistogramOptions changes a histogram.
 *
 * @generated from message inference.ModelMetrics.MetricControl.HistogramOptions
 */
export type ModelMetrics_MetricControl_HistogramOptions = Message<"inference.ModelMetrics.MetricControl.HistogramOptions"> & {
    /**
     * Upper bounds of the buckets, rising, in the unit of the metric.
     *
     * @generated from field: repeated double buckets = 1;
     */
    buckets: number[];
};
/**
 * Describes the message inference.ModelMetrics.MetricControl.HistogramOptions.
 * Use `create(ModelMetrics_MetricControl_HistogramOptionsSchema)` to create a new message.
 */
export declare const ModelMetrics_MetricControl_HistogramOptionsSchema: GenMessage<ModelMetrics_MetricControl_HistogramOptions>;
/**
 * ModelConfig is the configuration of a model.
 *
 * @generated from message inference.ModelConfig
 */
export type ModelConfig = Message<"inference.ModelConfig"> & {
    /**
     * Name of the model, equal to its folder's.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Framework in Triton's older spelling, such as "onnxruntime_onnx" or
     * "ensemble"; empty where backend says it.
     *
     * @generated from field: string platform = 2;
     */
    platform: string;
    /**
     * Backend that runs the model, such as "vllm", "tensorrtllm" or "python";
     * empty for an ensemble.
     *
     * @generated from field: string backend = 17;
     */
    backend: string;
    /**
     * File of the backend's implementation where it has several; empty lets the
     * server choose.
     *
     * @generated from field: string runtime = 25;
     */
    runtime: string;
    /**
     * Versions to serve; unset means the latest.
     *
     * @generated from field: inference.ModelVersionPolicy version_policy = 3;
     */
    versionPolicy?: ModelVersionPolicy | undefined;
    /**
     * Largest batch; 0 means that the model does not batch, and then the dims of
     * its tensors are whole shapes.
     *
     * @generated from field: int32 max_batch_size = 4;
     */
    maxBatchSize: number;
    /**
     * Inputs, sequence signals and states not included.
     *
     * @generated from field: repeated inference.ModelInput input = 5;
     */
    input: ModelInput[];
    /**
     * Outputs, states not included.
     *
     * @generated from field: repeated inference.ModelOutput output = 6;
     */
    output: ModelOutput[];
    /**
     * Inputs that the server computes from a batch.
     *
     * @generated from field: repeated inference.BatchInput batch_input = 20;
     */
    batchInput: BatchInput[];
    /**
     * Outputs that are divided by a rule.
     *
     * @generated from field: repeated inference.BatchOutput batch_output = 21;
     */
    batchOutput: BatchOutput[];
    /**
     * Tuning; unset means defaults.
     *
     * @generated from field: inference.ModelOptimizationPolicy optimization = 12;
     */
    optimization?: ModelOptimizationPolicy | undefined;
    /**
     * The scheduler; none set dispatches each request by itself.
     *
     * @generated from oneof inference.ModelConfig.scheduling_choice
     */
    schedulingChoice: {
        /**
         * Join requests into batches.
         *
         * @generated from field: inference.ModelDynamicBatching dynamic_batching = 11;
         */
        value: ModelDynamicBatching;
        case: "dynamicBatching";
    } | {
        /**
         * Keep sequences together.
         *
         * @generated from field: inference.ModelSequenceBatching sequence_batching = 13;
         */
        value: ModelSequenceBatching;
        case: "sequenceBatching";
    } | {
        /**
         * Run other models; this one has no instances of its own.
         *
         * @generated from field: inference.ModelEnsembling ensemble_scheduling = 15;
         */
        value: ModelEnsembling;
        case: "ensembleScheduling";
    } | {
        case: undefined;
        value?: undefined;
    };
    /**
     * Instances; the server fills in one where the file says nothing.
     *
     * @generated from field: repeated inference.ModelInstanceGroup instance_group = 7;
     */
    instanceGroup: ModelInstanceGroup[];
    /**
     * File name of the model within a version's folder; empty means the
     * backend's usual name.
     *
     * @generated from field: string default_model_filename = 8;
     */
    defaultModelFilename: string;
    /**
     * File name by CUDA compute capability, "8.0"; others use the default.
     *
     * @generated from field: map<string, string> cc_model_filenames = 9;
     */
    ccModelFilenames: {
        [key: string]: string;
    };
    /**
     * Labels that the model's metrics carry.
     *
     * @generated from field: map<string, string> metric_tags = 10;
     */
    metricTags: {
        [key: string]: string;
    };
    /**
     * Free parameters for the backend and for clients. Trident reads those whose
     * names begin with "trident.".
     *
     * @generated from field: map<string, inference.ModelParameter> parameters = 14;
     */
    parameters: {
        [key: string]: ModelParameter;
    };
    /**
     * Samples to run before the model counts as ready.
     *
     * @generated from field: repeated inference.ModelWarmup model_warmup = 16;
     */
    modelWarmup: ModelWarmup[];
    /**
     * Custom operations of the framework.
     *
     * @generated from field: inference.ModelOperations model_operations = 18;
     */
    modelOperations?: ModelOperations | undefined;
    /**
     * How requests and responses relate; unset means one response each.
     *
     * @generated from field: inference.ModelTransactionPolicy model_transaction_policy = 19;
     */
    modelTransactionPolicy?: ModelTransactionPolicy | undefined;
    /**
     * Plug-ins that act on the files.
     *
     * @generated from field: inference.ModelRepositoryAgents model_repository_agents = 23;
     */
    modelRepositoryAgents?: ModelRepositoryAgents | undefined;
    /**
     * Cache of responses; unset means none.
     *
     * @generated from field: inference.ModelResponseCache response_cache = 24;
     */
    responseCache?: ModelResponseCache | undefined;
    /**
     * Changes to the model's metrics.
     *
     * @generated from field: inference.ModelMetrics model_metrics = 26;
     */
    modelMetrics?: ModelMetrics | undefined;
};
/**
 * Describes the message inference.ModelConfig.
 * Use `create(ModelConfigSchema)` to create a new message.
 */
export declare const ModelConfigSchema: GenMessage<ModelConfig>;
/**
 * DataType is the element type of a tensor. Requests spell it without the
 * prefix, "FP32", except TYPE_STRING, which they call "BYTES".
 *
 * @generated from enum inference.DataType
 */
export declare enum DataType {
    /**
     * Not set; no tensor may have it.
     *
     * @generated from enum value: TYPE_INVALID = 0;
     */
    TYPE_INVALID = 0,
    /**
     * Truth value, one byte.
     *
     * @generated from enum value: TYPE_BOOL = 1;
     */
    TYPE_BOOL = 1,
    /**
     * Unsigned integer, 1 byte.
     *
     * @generated from enum value: TYPE_UINT8 = 2;
     */
    TYPE_UINT8 = 2,
    /**
     * Unsigned integer, 2 bytes.
     *
     * @generated from enum value: TYPE_UINT16 = 3;
     */
    TYPE_UINT16 = 3,
    /**
     * Unsigned integer, 4 bytes.
     *
     * @generated from enum value: TYPE_UINT32 = 4;
     */
    TYPE_UINT32 = 4,
    /**
     * Unsigned integer, 8 bytes.
     *
     * @generated from enum value: TYPE_UINT64 = 5;
     */
    TYPE_UINT64 = 5,
    /**
     * Signed integer, 1 byte.
     *
     * @generated from enum value: TYPE_INT8 = 6;
     */
    TYPE_INT8 = 6,
    /**
     * Signed integer, 2 bytes.
     *
     * @generated from enum value: TYPE_INT16 = 7;
     */
    TYPE_INT16 = 7,
    /**
     * Signed integer, 4 bytes.
     *
     * @generated from enum value: TYPE_INT32 = 8;
     */
    TYPE_INT32 = 8,
    /**
     * Signed integer, 8 bytes.
     *
     * @generated from enum value: TYPE_INT64 = 9;
     */
    TYPE_INT64 = 9,
    /**
     * IEEE 754 half precision, 2 bytes.
     *
     * @generated from enum value: TYPE_FP16 = 10;
     */
    TYPE_FP16 = 10,
    /**
     * IEEE 754 single precision, 4 bytes.
     *
     * @generated from enum value: TYPE_FP32 = 11;
     */
    TYPE_FP32 = 11,
    /**
     * IEEE 754 double precision, 8 bytes.
     *
     * @generated from enum value: TYPE_FP64 = 12;
     */
    TYPE_FP64 = 12,
    /**
     * Bytes of any length, not necessarily text.
     *
     * @generated from enum value: TYPE_STRING = 13;
     */
    TYPE_STRING = 13,
    /**
     * The upper half of a single precision number, 2 bytes.
     *
     * @generated from enum value: TYPE_BF16 = 14;
     */
    TYPE_BF16 = 14
}
/**
 * Describes the enum inference.DataType.
 */
export declare const DataTypeSchema: GenEnum<DataType>;
