import { MessageQueue } from '../../host/message-queue.ts';
import { NetworkError } from '../../host/network.ts';
import type { PacketConnection } from '../../host/packet-sockets.ts';
import type { ProcessIdentity } from '../../host/processes.ts';
import { bundleFiles } from './bundle-files.ts';
import { findFirstProcess, findMonitor, type Monitor } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import { type AttachedStreams, type ContainerRef, OciError } from './oci-runtime.ts';

type AttachDeps = Pick<OciDeps, 'fs' | 'packetSockets' | 'processes'>;

/** conmon reads this much at a time and drops the rest of a longer packet. */
const INPUT_BYTES = 8 * 1024;
/** The first byte of each packet from conmon. */
const STDERR = 3;

/** Connects to the socket that the monitor listens on. */
export async function attachContainer(
  container: ContainerRef,
  deps: AttachDeps,
  signal: AbortSignal,
): Promise<AttachedStreams> {
  signal.throwIfAborted();
  const monitor = await findMonitor(container, deps);
  const first = monitor && (await findFirstProcess(container, monitor, deps));
  if (!first) throw new OciError(`container ${container.id} is not running`);
  const connection = await connectToMonitor(container, deps, signal);
  const reading = new AbortController();
  const detach = (): void => {
    reading.abort();
    connection.close();
  };
  const packets = readAhead(connection, first, deps, reading);
  return {
    ...openInput(connection, monitor),
    ...openTerminal(first, monitor, deps),
    output: decodePackets(packets),
    detach,
  };
}

async function connectToMonitor(
  container: ContainerRef,
  { packetSockets }: AttachDeps,
  signal: AbortSignal,
): Promise<PacketConnection> {
  try {
    return await packetSockets.connect(bundleFiles(container).attach, signal);
  } catch (error) {
    if (error instanceof NetworkError) throw new OciError(`cannot attach: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * Reads packets ahead of the consumer, within limits. The monitor waits for each client: one that does not read blocks
 * the container, its log and all other clients. Once the first process has ended, all remaining packets are read,
 * because the monitor cannot report the exit before.
 */
function readAhead(
  connection: PacketConnection,
  first: ProcessIdentity,
  { processes }: AttachDeps,
  reading: AbortController,
): AsyncIterable<Uint8Array> {
  let isRunning = true;
  let room: PromiseWithResolvers<void> | undefined;
  const resume = (): void => {
    room?.resolve();
    room = undefined;
  };
  const pause = (): void => {
    if (isRunning) room ??= Promise.withResolvers();
  };
  const packets = new MessageQueue({ pause, resume });
  const readAll = (): void => {
    isRunning = false;
    resume();
  };
  processes.waitForExit(first, reading.signal).then(readAll, readAll);
  const pump = async (): Promise<void> => {
    for await (const packet of connection.packets) {
      packets.push(packet);
      await room?.promise;
    }
  };
  pump()
    .finally(() => {
      reading.abort();
      connection.close();
    })
    .then(
      () => packets.end(),
      (error: unknown) => packets.fail(error),
    );
  return packets;
}

async function* decodePackets(packets: AsyncIterable<Uint8Array>): AttachedStreams['output'] & AsyncGenerator {
  for await (const packet of packets) {
    yield { stream: packet[0] === STDERR ? 'stderr' : 'stdout', data: packet.subarray(1) };
  }
}

/** Without an open standard input, the monitor would buffer the data and then block. */
function openInput(connection: PacketConnection, { args }: Monitor): Pick<AttachedStreams, 'write' | 'closeInput'> {
  if (!args.includes('-i')) return { write: async () => {}, closeInput: () => {} };
  return {
    write: async (data) => {
      try {
        for (let at = 0; at < data.byteLength; at += INPUT_BYTES) {
          await connection.send(data.subarray(at, at + INPUT_BYTES));
        }
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error; // writing to an exited container is not an error
      }
    },
    closeInput: () => connection.end(),
  };
}

/** Resizes without the monitor, which merges several requests in quick succession into the first one. */
function openTerminal(
  first: ProcessIdentity,
  { args }: Monitor,
  { processes }: AttachDeps,
): Pick<AttachedStreams, 'resize'> {
  if (!args.includes('-t')) return { resize: async () => {} };
  return { resize: async (size) => void (await processes.resizeTerminal(first, size)) };
}
