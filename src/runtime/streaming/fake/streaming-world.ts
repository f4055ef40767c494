import { silentLog } from '../../../base/log.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { createStreamingServer } from '../streaming-server.ts';

/** A streaming server on an in-memory host. */
export function streamingWorld() {
  const host = createMemoryHost();
  return { host, server: createStreamingServer({ ...host, log: silentLog }) };
}
