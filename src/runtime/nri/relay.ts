import type { Log } from '../../base/log.ts';
import type { NriPlugin } from './nri-plugin.ts';
import { type EventMethod, methodName, type RequestOf, type ResponseOf } from './plugin-calls.ts';

/** Asks one plugin after the other; the first that refuses ends it. */
export async function askAll<M extends EventMethod>(
  plugins: readonly NriPlugin[],
  method: M,
  request: () => RequestOf<M>,
  signal: AbortSignal,
): Promise<void> {
  for (const plugin of plugins) {
    if (plugin.wants(method)) await plugin.ask(method, request(), signal);
  }
}

/** Tells one plugin after the other; who refuses is logged. What they answer, with who it was. */
export async function tellAll<M extends EventMethod>(
  plugins: readonly NriPlugin[],
  method: M,
  request: () => RequestOf<M>,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<ReadonlyArray<{ readonly plugin: string; readonly response: ResponseOf<M> }>> {
  const responses: Array<{ plugin: string; response: ResponseOf<M> }> = [];
  for (const plugin of plugins) {
    if (!plugin.wants(method)) continue;
    try {
      const response = await plugin.ask(method, request(), signal);
      if (response !== undefined) responses.push({ plugin: plugin.name, response });
    } catch (error) {
      signal.throwIfAborted();
      log.warn('NRI plugin does not take what it is told', { plugin: plugin.name, event: methodName(method), error });
    }
  }
  return responses;
}
