import type { Log } from '../../base/log.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { type EventMethod, methodName, type RequestOf, type ResponseOf } from './plugin-calls.ts';

/** Calls the plugins in order; the first rejection ends it. */
export async function callAll<M extends EventMethod>(
  plugins: readonly NriPlugin[],
  method: M,
  request: () => RequestOf<M>,
  signal: AbortSignal,
): Promise<void> {
  for (const plugin of plugins) {
    if (plugin.wants(method)) await plugin.request(method, request(), signal);
  }
}

/** Notifies the plugins in order; rejections are logged. Returns the responses with the plugins' names. */
export async function notifyAll<M extends EventMethod>(
  plugins: readonly NriPlugin[],
  method: M,
  request: () => RequestOf<M>,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<ReadonlyArray<{ readonly plugin: string; readonly response: ResponseOf<M> }>> {
  const responses: Array<{ plugin: string; response: ResponseOf<M> }> = [];
  for (const plugin of plugins) {
    if (!plugin.wants(method)) continue;
    try {
      const response = await plugin.request(method, request(), signal);
      if (response !== undefined) responses.push({ plugin: plugin.name, response });
    } catch (error) {
      signal.throwIfAborted();
      log.warn('NRI plugin rejected a notification', { plugin: plugin.name, event: methodName(method), error });
    }
  }
  return responses;
}
