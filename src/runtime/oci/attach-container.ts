import { MessageQueue } from '../../host/message-queue.ts';
import { NetworkError } from '../../host/network.ts';
import type { PacketConnection } from '../../host/packet-sockets.ts';
import type { ProcessIdentity } from '../../host/processes.ts';
import { bundleFiles } from './bundle-files.ts';
import { findFirstProcess, findMonitor, type Monitor } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import { type AttachedStreams, type MonitoredName, OciError } from './oci-runtime.ts';

type AttachDeps = Pick<OciDeps, 'fs' | 'packetSockets' | 'processes'>;

/** conmon reads this much at a time, and forgets what a longer packet has beyond it. */
const INPUT_BYTES = 8 * 1024;
/** The first byte of each packet from conmon. */
const STDERR = 3;

/** By the socket that the monitor listens on. */
export async function attachContainer(
  container: MonitoredName,
  deps: AttachDeps,
  signal: AbortSignal,
): Promise<AttachedStreams> {
  signal.throwIfAborted();
  const monitor = await findMonitor(container, deps);
  const first = monitor && (await findFirstProcess(container, monitor, deps));
  if (!first) throw new OciError(`container ${container.id} is not running`);
  const connection = await connected(container, deps, signal);
  const reading = new AbortController();
  const detach = (): void => {
    reading.abort();
    connection.close();
  };
  const packets = readAhead(connection, first, deps, reading);
  return { ...inputTo(connection, monitor), ...terminalOf(first, monitor, deps), output: decoded(packets), detach };
}

async function connected(
  container: MonitoredName,
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
 * The monitor waits for each who is attached: one who does not read holds up the container, its log and everybody else.
 * Once the first process has ended, the little that is on its way is taken in, because until then the monitor cannot tell
 * of the end.
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
  const letAllIn = (): void => {
    isRunning = false;
    resume();
  };
  processes.waitForExit(first, reading.signal).then(letAllIn, letAllIn);
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

async function* decoded(packets: AsyncIterable<Uint8Array>): AttachedStreams['output'] & AsyncGenerator {
  for await (const packet of packets) {
    yield { stream: packet[0] === STDERR ? 'stderr' : 'stdout', data: packet.subarray(1) };
  }
}

/** Where its input is not open, the monitor would keep what it is sent and never take more. */
function inputTo(connection: PacketConnection, { args }: Monitor): Pick<AttachedStreams, 'write' | 'closeInput'> {
  if (!args.includes('-i')) return { write: async () => {}, closeInput: () => {} };
  return {
    write: async (data) => {
      try {
        for (let at = 0; at < data.byteLength; at += INPUT_BYTES) {
          await connection.send(data.subarray(at, at + INPUT_BYTES));
        }
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error; // who writes to a container that is gone is not told
      }
    },
    closeInput: () => connection.end(),
  };
}

/** Without the monitor, which takes the first of several orders that come quickly for all of them. */
function terminalOf(
  first: ProcessIdentity,
  { args }: Monitor,
  { processes }: AttachDeps,
): Pick<AttachedStreams, 'resize'> {
  if (!args.includes('-t')) return { resize: async () => {} };
  return { resize: async (size) => void (await processes.resizeTerminal(first, size)) };
}
