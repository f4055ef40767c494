import { silentLog } from '../../../base/log.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { createStreamingServer, type StreamingDeps } from '../streaming-server.ts';

/** A streaming server on an in-memory host. */
export function streamingWorld(limits: Pick<StreamingDeps, 'sessionsPerPod' | 'maxIdleMs'> = {}) {
  const host = createMemoryHost();
  return { host, server: createStreamingServer({ ...host, ...limits, log: silentLog }) };
}
