import { errorText } from '../../base/error-text.ts';
import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import { PortForwardResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { ByteStream, Network } from '../../host/network.ts';
import type { NetworkNamespaces } from '../../host/network-namespaces.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { servePortForward } from '../streaming/serve-port-forward.ts';
import type { StreamingServer } from '../streaming/streaming-server.ts';
import { MAX_FORWARDED_PORTS } from '../streaming/web-socket-port-forward-client.ts';
import { sandboxNotFound } from './sandbox-not-found.ts';

export interface PortForwardDeps {
  readonly sandboxes: Pick<RecordStore<SandboxRecord>, 'find'>;
  readonly streaming: Pick<StreamingServer, 'urlFor'>;
  readonly networkNamespaces: Pick<NetworkNamespaces, 'connectLoopback'>;
  /** The host network, for pods without their own. */
  readonly network: Pick<Network, 'connectStream'>;
}

/** Returns a URL; when a client connects to it, the ports are dialed from inside the pod's network. */
export function portForward(deps: PortForwardDeps): RuntimeService['portForward'] {
  return async ({ podSandboxId, port: ports }) => {
    const found = deps.sandboxes.find(podSandboxId);
    if (!found) throw sandboxNotFound(podSandboxId);
    const wrong = ports.find((port) => port < 1 || port > 65_535);
    if (wrong !== undefined) throw invalidField('port', `${wrong} is not a port`);
    if (ports.length > MAX_FORWARDED_PORTS)
      throw invalidField('port', `at most ${MAX_FORWARDED_PORTS} ports can be forwarded at once`);
    const { id } = requireReadyForPortForward(deps, found.id);
    const dial = async (port: number, signal: AbortSignal): Promise<ByteStream> =>
      connect(requireReadyForPortForward(deps, id), port, deps, signal);
    const url = await deps.streaming.urlFor(id, {
      kind: 'portforward',
      ports,
      serve: (client, clock) => servePortForward(client, { sandboxId: id, ports }, dial, clock),
    });
    return PortForwardResponse.create({ url });
  };
}

/** Checked when the URL is requested, and again for each connection. */
function requireReadyForPortForward({ sandboxes }: PortForwardDeps, id: string): SandboxRecord {
  const sandbox = sandboxes.find(id);
  if (!sandbox) throw sandboxNotFound(id);
  if (sandbox.state.phase !== 'ready') {
    throw new CriError('FailedPrecondition', `sandbox container ${JSON.stringify(id)} is not running`);
  }
  return sandbox;
}

async function connect(
  { id, namespaces }: SandboxRecord,
  port: number,
  { networkNamespaces, network }: PortForwardDeps,
  signal: AbortSignal,
): Promise<ByteStream> {
  const file = namespaces.network;
  try {
    return await (file === undefined
      ? connectHostLoopback(network, port, signal)
      : networkNamespaces.connectLoopback(file, port, signal));
  } catch (error) {
    const where = file === undefined ? 'the host network' : `namespace ${JSON.stringify(id)}`;
    throw new Error(`failed to connect to localhost:${port} inside ${where}: ${errorText(error)}`, { cause: error });
  }
}

/** Like `connectLoopback`: IPv4 first, then IPv6. */
async function connectHostLoopback(
  network: PortForwardDeps['network'],
  port: number,
  signal: AbortSignal,
): Promise<ByteStream> {
  try {
    return await network.connectStream({ host: '127.0.0.1', port }, signal);
  } catch (error) {
    signal.throwIfAborted();
    return network.connectStream({ host: '::1', port }, signal).catch(() => {
      throw error; // of IPv4, where most servers listen
    });
  }
}
