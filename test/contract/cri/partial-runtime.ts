import type { TestContext } from 'node:test';
import { type CriConnection, connectCri } from '../../../src/cri/client.ts';
import { CriError } from '../../../src/cri/cri-error.ts';
import { ContainerEventResponse } from '../../../src/cri/generated/runtime-v1.ts';
import { buildCri, type Cri } from '../../../src/cri/services.ts';
import { type Served, serveForTest } from './serve-for-test.ts';

/** A signal that never aborts. */
export const forever = new AbortController().signal;

/** A runtime that implements only the given RPCs. */
export function runtimeWith(calls: Partial<Cri['runtime']>): Cri {
  const none = buildCri({
    unary: (method) => () => Promise.reject(new CriError('Unimplemented', `no ${method.name} here`)),
    stream: (method) =>
      // biome-ignore lint/correctness/useYield: a stream that fails before its first message
      async function* () {
        throw new CriError('Unimplemented', `no ${method.name} here`);
      },
  });
  return { ...none, runtime: { ...none.runtime, ...calls } };
}

export async function connected(
  t: TestContext,
  calls: Partial<Cri['runtime']>,
): Promise<Served & { client: CriConnection }> {
  const served = await serveForTest(runtimeWith(calls));
  const client = connectCri(served.endpoint, served.options);
  t.after(async () => {
    client.close();
    await served.server.close();
  });
  return { ...served, client };
}

/** Resolves when a handler's signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** A handler that does not return until its signal aborts. */
export async function never(signal: AbortSignal): Promise<never> {
  await aborted(signal);
  throw signal.reason;
}

export const event = (containerId: string) => ContainerEventResponse.fromPartial({ containerId });
