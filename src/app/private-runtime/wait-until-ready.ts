import { textOf } from '../../base/text-of.ts';
import { connectCri } from '../../cri/client.ts';
import type { Cri } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Network } from '../../host/network.ts';
import type { RuntimePaths } from './runtime-paths.ts';

/** Between the socket's first answer and the end of the daemon's own recovery nothing tells when to ask again. */
const ASK_AGAIN_MS = 20;
const REQUEST_TIMEOUT_MS = 10_000;

export interface ReadinessParts {
  readonly clock: Clock;
  readonly fs: FileSystem;
  readonly network: Network;
  readonly paths: RuntimePaths;
}

/** Resolves when the runtime can start pods; until the signal aborts it goes on waiting. */
export async function waitUntilReady(parts: ReadinessParts, signal: AbortSignal): Promise<void> {
  await waitForSocket(parts, signal);
  const cri = connectCri(`unix://${parts.paths.socket}`, {
    clock: parts.clock,
    runtimeRequestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
  try {
    for (;;) {
      const fault = await unreadiness(cri, signal);
      if (fault === undefined) return;
      await parts.clock.sleep(ASK_AGAIN_MS, signal).catch((reason: unknown) => {
        throw new Error(`${textOf(reason)}: ${fault}`, { cause: reason });
      });
    }
  } finally {
    cri.close();
  }
}

/** containerd changes the socket file's owner after it listens, so the last change in the folder finds it listening. */
async function waitForSocket({ fs, network, paths }: ReadinessParts, signal: AbortSignal): Promise<void> {
  for await (const _ of fs.watch(paths.folder, signal)) {
    if (await answers(network, paths.socket, signal)) return;
  }
  signal.throwIfAborted();
}

/** Whether anybody listens on the socket file. */
export async function answers(network: Network, socketPath: string, signal: AbortSignal): Promise<boolean> {
  try {
    (await network.dial({ socketPath }, signal)).close();
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}

/** What the runtime still lacks, in its own words; `undefined` when it is ready. */
async function unreadiness(cri: Cri, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { status } = await cri.runtime.status({ verbose: false }, signal);
    const conditions = status?.conditions ?? [];
    const lacking = ['RuntimeReady', 'NetworkReady'].filter(
      (type) => !conditions.some((condition) => condition.type === type && condition.status),
    );
    if (lacking.length === 0) return undefined;
    const reasons = conditions.filter(({ type }) => lacking.includes(type)).map(({ message }) => message);
    return `not ${lacking.join(' and not ')}: ${reasons.join('; ')}`;
  } catch (error) {
    return textOf(error);
  }
}
