import { ImageServiceDefinition, type MessageFns, RuntimeServiceDefinition } from './generated/runtime-v1.ts';

/** Rejects with a `CriError`, or with the signal's reason once that has aborted. */
export type Unary<Request, Response> = (request: Request, signal: AbortSignal) => Promise<Response>;

/** The call starts when the iteration does, and ends with it. Throws as `Unary` rejects. */
export type ServerStream<Request, Response> = (request: Request, signal: AbortSignal) => AsyncIterable<Response>;

type CallOf<M> = M extends { requestType: MessageFns<infer Request>; responseType: MessageFns<infer Response> }
  ? M extends { responseStream: true }
    ? ServerStream<Request, Response>
    : Unary<Request, Response>
  : never;

type ServiceOf<D extends ServiceDefinition> = { readonly [Key in keyof D['methods']]: CallOf<D['methods'][Key]> };

/** Sandboxes and containers: a function per rpc, so that a service can be wrapped, recorded or answered in memory. */
export type RuntimeService = ServiceOf<RuntimeServiceDefinition>;

export type ImageService = ServiceOf<ImageServiceDefinition>;

/** All of CRI v1, whoever serves it. */
export interface Cri {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
}

export type RuntimeMethod = keyof RuntimeService;
export type ImageMethod = keyof ImageService;
export type CriMethod = RuntimeMethod | ImageMethod;

/** What ts-proto writes for a service. */
interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

interface MethodDefinition {
  readonly name: string;
  readonly requestType: MessageFns<unknown>;
  readonly responseType: MessageFns<unknown>;
  readonly responseStream: boolean;
}

/** One rpc for code that treats all of them alike. */
export interface Method extends MethodDefinition {
  /** The function's name in the service object: `runPodSandbox`. */
  readonly key: CriMethod;
  /** `/runtime.v1.RuntimeService/RunPodSandbox` */
  readonly path: string;
}

export type ErasedUnary = Unary<unknown, unknown>;
export type ErasedStream = ServerStream<unknown, unknown>;

const CRI_DEFINITIONS = { runtime: RuntimeServiceDefinition, images: ImageServiceDefinition } as const;

/** Every rpc of CRI. */
export function criMethods(): readonly Method[] {
  return Object.values(CRI_DEFINITIONS).flatMap(methodsOf);
}

function methodsOf(definition: ServiceDefinition): readonly Method[] {
  return Object.entries(definition.methods).map(([key, method]) => ({
    ...method,
    key: key as CriMethod, // the definitions' keys are what the type is made of
    path: `/${definition.fullName}/${method.name}`,
  }));
}

/** Makes a service object from what makes one rpc. */
export interface CallMaker {
  unary(method: Method): ErasedUnary;
  stream(method: Method): ErasedStream;
}

export function buildCri(make: CallMaker): Cri {
  return { runtime: buildService(CRI_DEFINITIONS.runtime, make), images: buildService(CRI_DEFINITIONS.images, make) };
}

function buildService<D extends ServiceDefinition>(definition: D, make: CallMaker): ServiceOf<D> {
  const calls = methodsOf(definition).map((method) => [
    method.key,
    method.responseStream ? make.stream(method) : make.unary(method),
  ]);
  return Object.fromEntries(calls) as ServiceOf<D>; // one call per method of the definition, each of the method's kind
}

/**
 * The calls of a service object, for a caller that holds each rpc's codec. The caller must pass requests of the
 * method's own type: what `method.requestType` made.
 */
export function erasedCalls(cri: Cri): CallMaker {
  const calls = { ...cri.runtime, ...cri.images } as Readonly<Record<string, unknown>>;
  return {
    unary: ({ key }) => calls[key] as ErasedUnary, // a unary method of the definition: ServiceOf says so
    stream: ({ key }) => calls[key] as ErasedStream,
  };
}
