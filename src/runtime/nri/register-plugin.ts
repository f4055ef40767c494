import { abortable } from '../../base/abortable.ts';
import type { ByteStream } from '../../host/network.ts';
import type { NriSettings } from '../settings/runtime-settings.ts';
import {
  ConfigureRequest,
  Empty,
  RegisterPluginRequest,
  RuntimeDefinition,
  UpdateContainersRequest,
  UpdateContainersResponse,
} from './generated/nri-v1alpha1.ts';
import { NriPlugin, type PluginDeps } from './nri-plugin.ts';
import { ALL_EVENTS, callPlugin } from './plugin-calls.ts';
import { type PluginName, validatePluginName } from './plugin-name.ts';
import { TTRPC_CODES, TtrpcError } from './ttrpc/ttrpc-error.ts';
import { TtrpcPeer } from './ttrpc/ttrpc-peer.ts';

/** The version of NRI's messages; plugins use it to detect features. */
const NRI_VERSION = 'v0.11.0';

export interface RuntimeIdentity {
  readonly name: string;
  readonly version: string;
}

export interface RegisterDeps extends PluginDeps {
  readonly settings: NriSettings;
  readonly identity: RuntimeIdentity;
  /** Handles unsolicited updates of a plugin. */
  updateContainers(plugin: PluginName, request: UpdateContainersRequest): Promise<UpdateContainersResponse>;
}

/** A plugin that this process started. */
export interface StartedPlugin {
  readonly id: PluginName;
  readonly config: string;
}

/** Waits until the plugin has registered, and configures it. If it rejects, the connection is closed. */
export async function registerPlugin(
  stream: ByteStream,
  known: StartedPlugin | undefined,
  deps: RegisterDeps,
  signal: AbortSignal,
): Promise<NriPlugin> {
  const registered = Promise.withResolvers<PluginName>();
  let id: PluginName | undefined;
  const peer = new TtrpcPeer(stream, 'runtime', async ({ service, method, payload }) => {
    if (service === RuntimeDefinition.fullName && method === 'RegisterPlugin') {
      id = registeredName(RegisterPluginRequest.decode(payload), known);
      registered.resolve(id);
      return Empty.encode(Empty.create()).finish();
    }
    if (service === RuntimeDefinition.fullName && method === 'UpdateContainers') {
      if (id === undefined) throw new TtrpcError(TTRPC_CODES.invalidArgument, 'register first');
      const response = await deps.updateContainers(id, UpdateContainersRequest.decode(payload));
      return UpdateContainersResponse.encode(response).finish();
    }
    throw new TtrpcError(TTRPC_CODES.unimplemented, `no method ${service}/${method}`);
  });
  void peer.run();
  try {
    const lost = peer.closed.then((error) => Promise.reject(error));
    const deadline = AbortSignal.any([signal, deps.clock.deadline(deps.settings.registrationTimeoutMs)]);
    const name = await abortable(Promise.race([registered.promise, lost]), deadline);
    return new NriPlugin(name, await configure(peer, known?.config ?? '', deps, signal), peer, deps);
  } catch (error) {
    peer.close('the plugin did not register');
    throw error;
  }
}

/** A plugin that this process started has the name of its program, whatever it registers. */
function registeredName(
  { pluginName, pluginIdx }: RegisterPluginRequest,
  known: StartedPlugin | undefined,
): PluginName {
  if (known) return known.id;
  try {
    return validatePluginName({ index: pluginIdx, base: pluginName });
  } catch (error) {
    throw new TtrpcError(TTRPC_CODES.invalidArgument, error instanceof Error ? error.message : String(error));
  }
}

/** Returns the events that the plugin subscribes to. */
async function configure(
  peer: TtrpcPeer,
  config: string,
  { clock, settings, identity }: RegisterDeps,
  signal: AbortSignal,
): Promise<number> {
  const timeoutMs = settings.requestTimeoutMs;
  const request = ConfigureRequest.create({
    config,
    runtimeName: identity.name,
    runtimeVersion: identity.version,
    registrationTimeout: BigInt(settings.registrationTimeoutMs),
    requestTimeout: BigInt(settings.requestTimeoutMs),
    NRIVersion: NRI_VERSION,
  });
  const until = AbortSignal.any([signal, clock.deadline(timeoutMs)]);
  const { events } = await callPlugin(peer, 'configure', request, { timeoutMs, signal: until });
  if ((events & ~ALL_EVENTS) !== 0) throw new Error(`invalid plugin events: 0x${(events & ~ALL_EVENTS).toString(16)}`);
  return events === 0 ? ALL_EVENTS : events;
}
