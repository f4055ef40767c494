import { CriError } from '../../cri/cri-error.ts';
import { PortForwardResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { ByteStream, Network } from '../../host/network.ts';
import type { NetworkNamespaces } from '../../host/network-namespaces.ts';
import type { SandboxRecord } from '../sandbox/sandbox-record.ts';
import { badField } from '../spec/bad-field.ts';
import type { RecordStore } from '../store/record-store.ts';
import {
  MOST_PORTS,
  PORT_FORWARD_PROTOCOLS,
  type PortDialler,
  servePortForward,
} from '../streaming/port-forward-session.ts';
import type { StreamingServer } from '../streaming/streaming-server.ts';
import { sandboxNotFound } from './sandbox-not-found.ts';

export interface PortForwardDeps {
  readonly sandboxes: Pick<RecordStore<SandboxRecord>, 'find'>;
  readonly streaming: Pick<StreamingServer, 'urlFor'>;
  readonly clock: Clock;
  readonly networkNamespaces: Pick<NetworkNamespaces, 'connectLoopback'>;
  /** Of the machine: for pods without a network of their own. */
  readonly network: Pick<Network, 'connectStream'>;
}

/** A URL at which connections to the ports are made as soon as somebody connects, from inside the pod's network. */
export function portForward(deps: PortForwardDeps): RuntimeService['portForward'] {
  return async ({ podSandboxId, port: ports }) => {
    const sandbox = deps.sandboxes.find(podSandboxId);
    if (!sandbox) throw sandboxNotFound(podSandboxId);
    const wrong = ports.find((port) => port < 1 || port > 65_535);
    if (wrong !== undefined) throw badField('port', `${wrong} is not a port`);
    if (ports.length > MOST_PORTS) throw badField('port', `at most ${MOST_PORTS} ports can be forwarded at once`);
    if (sandbox.life.phase !== 'ready') {
      throw new CriError('FailedPrecondition', `sandbox container ${JSON.stringify(sandbox.id)} is not running`);
    }
    const dial = diallerFor(sandbox, deps);
    const url = await deps.streaming.urlFor({
      kind: 'portforward',
      protocols: PORT_FORWARD_PROTOCOLS,
      serve: (connection) => servePortForward(connection, { sandboxId: sandbox.id, ports }, dial, deps.clock),
    });
    return PortForwardResponse.create({ url });
  };
}

function diallerFor({ namespaces }: SandboxRecord, { networkNamespaces, network }: PortForwardDeps): PortDialler {
  const file = namespaces.network;
  if (file === undefined) return (port, signal) => connectHere(network, port, signal);
  return (port, signal) => networkNamespaces.connectLoopback(file, port, signal);
}

/** As `connectLoopback` does it elsewhere. */
async function connectHere(
  network: PortForwardDeps['network'],
  port: number,
  signal: AbortSignal,
): Promise<ByteStream> {
  try {
    return await network.connectStream({ host: '127.0.0.1', port }, signal);
  } catch (error) {
    signal.throwIfAborted();
    return network.connectStream({ host: '::1', port }, signal).catch(() => {
      throw error; // of IPv4: most who listen do so there
    });
  }
}
