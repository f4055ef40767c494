import type { ByteStream } from '../../../host/network.ts';
import {
  type MessageFns,
  PluginDefinition,
  RegisterPluginRequest,
  RuntimeDefinition,
  UpdateContainersRequest,
  UpdateContainersResponse,
} from '../generated/nri-v1alpha1.ts';
import type { PluginMethod, RequestOf, ResponseOf } from '../plugin-calls.ts';
import { TTRPC_CODES, TtrpcError } from '../ttrpc/ttrpc-error.ts';
import { TtrpcPeer } from '../ttrpc/ttrpc-peer.ts';

/** Responses by method; absent ones are answered with an empty message. */
export type PluginBehaviour = {
  readonly [M in PluginMethod]?: (request: RequestOf<M>) => Promise<Partial<ResponseOf<M>>> | Partial<ResponseOf<M>>;
};

type ErasedBehaviour = Readonly<Record<string, ((request: unknown) => unknown) | undefined>>;

interface ErasedMethod {
  readonly name: string;
  readonly requestType: MessageFns<unknown>;
  readonly responseType: MessageFns<unknown>;
}

const never = new AbortController().signal;

/** A plugin that implements the protocol, without a process. */
export class MemoryPlugin {
  /** The called methods, in order, with the ID of their object: `runPodSandbox p1`. */
  readonly calls: string[] = [];
  readonly #peer: TtrpcPeer;

  constructor(stream: ByteStream, behaviour: PluginBehaviour = {}, missing: readonly PluginMethod[] = []) {
    const answers = behaviour as ErasedBehaviour; // each is called with a request decoded by its method's codec
    this.#peer = new TtrpcPeer(stream, 'plugin', async ({ method: name, payload }) => {
      const [key, method] = methodNamed(name);
      const request = method.requestType.decode(payload);
      this.calls.push([key, ...subjectOf(request)].join(' '));
      if (missing.includes(key)) throw new TtrpcError(TTRPC_CODES.unimplemented, `method ${name}`);
      const answer = (await answers[key]?.(request)) ?? {};
      return method.responseType.encode(method.responseType.fromPartial(answer)).finish();
    });
    void this.#peer.run();
  }

  get closed(): Promise<unknown> {
    return this.#peer.closed;
  }

  /** Resolves when the runtime has accepted the name. */
  async register(pluginName: string, pluginIdx: string): Promise<void> {
    const request = RegisterPluginRequest.create({ pluginName, pluginIdx });
    await this.#call('RegisterPlugin', RegisterPluginRequest.encode(request).finish());
  }

  async updateContainers(request: Partial<UpdateContainersRequest>): Promise<UpdateContainersResponse> {
    const payload = UpdateContainersRequest.encode(UpdateContainersRequest.create(request)).finish();
    return UpdateContainersResponse.decode(await this.#call('UpdateContainers', payload));
  }

  close(): void {
    this.#peer.close('the plugin ends');
  }

  #call(method: string, payload: Uint8Array): Promise<Uint8Array> {
    return this.#peer.call({ service: RuntimeDefinition.fullName, method, payload, timeoutMs: 1000 }, never);
  }
}

function methodNamed(name: string): readonly [PluginMethod, ErasedMethod] {
  const methods = Object.entries(PluginDefinition.methods) as [PluginMethod, ErasedMethod][];
  const found = methods.find(([, method]) => method.name === name);
  if (!found) throw new TtrpcError(TTRPC_CODES.unimplemented, `method ${name}`);
  return found;
}

function subjectOf(request: unknown): readonly string[] {
  const { pod, container } = request as { pod?: { id: string }; container?: { id: string } };
  const subject = container ?? pod;
  return subject ? [subject.id] : [];
}
