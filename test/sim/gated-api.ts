import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import type { Draw } from './draw.ts';
import type { Gate } from './gate.ts';

/** The API server as one agent process sees it: behind its gate, and with latency. */
export function gatedApi(api: ApiServer, gate: Gate, pace: Draw): ApiServer {
  const call = <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    gate.pass(async () => {
      if (pace.chance(0.5)) await gate.clock.sleep(pace.int(1, 100), signal);
      return work(AbortSignal.any([signal, gate.closed]));
    });
  return {
    get: (key, signal) => call(signal, (until) => api.get(key, until)),
    list: (selection, signal) => call(signal, (until) => api.list(selection, until)),
    watch: (selection, signal) => gate.follow(() => api.watch(selection, AbortSignal.any([signal, gate.closed]))),
    create: (key, object, signal) => call(signal, (until) => api.create(key, object, until)),
    update: (key, object, signal) => call(signal, (until) => api.update(key, object, until)),
    patch: (key, patch, options, signal) => call(signal, (until) => api.patch(key, patch, options, until)),
    delete: (key, options, signal) => call(signal, (until) => api.delete(key, options, until)),
    deleteCollection: (selection, signal) => call(signal, (until) => api.deleteCollection(selection, until)),
    createToken: (account, spec, signal) => call(signal, (until) => api.createToken(account, spec, until)),
  };
}
