import { ImageServiceDefinition, type MessageFns, RuntimeServiceDefinition } from './generated/runtime-v1.ts';

/** Rejects with a `CriError`, or with the signal's reason after an abort. */
export type Unary<Request, Response> = (request: Request, signal: AbortSignal) => Promise<Response>;

/** The call starts and ends with the iteration. Throws what `Unary` rejects with. */
export type ServerStream<Request, Response> = (request: Request, signal: AbortSignal) => AsyncIterable<Response>;

type CallOf<M> = M extends { requestType: MessageFns<infer Request>; responseType: MessageFns<infer Response> }
  ? M extends { responseStream: true }
    ? ServerStream<Request, Response>
    : Unary<Request, Response>
  : never;

type ServiceOf<D extends ServiceDefinition> = { readonly [Key in keyof D['methods']]: CallOf<D['methods'][Key]> };

/** Sandboxes and containers: one function per RPC, so that services can be wrapped, recorded or faked. */
export type RuntimeService = ServiceOf<RuntimeServiceDefinition>;

export type ImageService = ServiceOf<ImageServiceDefinition>;

/** All services of CRI v1. */
export interface Cri {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
}

export type RuntimeMethod = keyof RuntimeService;
export type ImageMethod = keyof ImageService;
export type CriMethod = RuntimeMethod | ImageMethod;

/** A service definition of ts-proto. */
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

/** One RPC, for code that handles all of them alike. */
export interface Method extends MethodDefinition {
  /** The function's name in the service object: `runPodSandbox`. */
  readonly key: CriMethod;
  /** `/runtime.v1.RuntimeService/RunPodSandbox` */
  readonly path: string;
}

export type ErasedUnary = Unary<unknown, unknown>;
export type ErasedStream = ServerStream<unknown, unknown>;

const CRI_DEFINITIONS = { runtime: RuntimeServiceDefinition, images: ImageServiceDefinition } as const;

/** All RPCs of CRI. */
export function criMethods(): readonly Method[] {
  return Object.values(CRI_DEFINITIONS).flatMap(listMethods);
}

function listMethods(definition: ServiceDefinition): readonly Method[] {
  return Object.entries(definition.methods).map(([key, method]) => ({
    ...method,
    key: key as CriMethod, // the type is derived from the keys of the definitions
    path: `/${definition.fullName}/${method.name}`,
  }));
}

/** Creates the function of each RPC. */
export interface CallMaker {
  unary(method: Method): ErasedUnary;
  stream(method: Method): ErasedStream;
}

export function buildCri(make: CallMaker): Cri {
  return { runtime: buildService(CRI_DEFINITIONS.runtime, make), images: buildService(CRI_DEFINITIONS.images, make) };
}

function buildService<D extends ServiceDefinition>(definition: D, make: CallMaker): ServiceOf<D> {
  const calls = listMethods(definition).map((method) => [
    method.key,
    method.responseStream ? make.stream(method) : make.unary(method),
  ]);
  return Object.fromEntries(calls) as ServiceOf<D>; // one call per method of the definition, each of the method's kind
}

/**
 * The untyped calls of a service object, for a caller that has the codec of each RPC. Requests must be of the method's
 * `requestType`.
 */
export function erasedCalls(cri: Cri): CallMaker {
  const calls = { ...cri.runtime, ...cri.images } as Readonly<Record<string, unknown>>;
  return {
    unary: ({ key }) => calls[key] as ErasedUnary, // a unary method of the definition, as ServiceOf guarantees
    stream: ({ key }) => calls[key] as ErasedStream,
  };
}
