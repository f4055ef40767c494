/** The targets of probes, in a separate process: a web server, a gRPC server and, on request, a fake runtime. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createFakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { serveCri } from '../../src/cri/server.ts';
import { linuxFileSystem } from '../../src/host/linux/fs/linux-file-system.ts';
import { linuxRandom } from '../../src/host/linux/linux-random.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { startHealthServer } from '../integration/grpc-health-server.ts';

export const TARGET_HOST = '127.0.0.1';

/** Sent to the parent when everything listens; the web server listens on every address. */
export interface ProbeTargets {
  readonly httpPort: number;
  /** One for each probe, because a gRPC probe cannot name a host. */
  readonly grpcPorts: readonly number[];
}

const [, , grpcCount = '1', socketPath] = process.argv;
if (process.send) await serve(process.send.bind(process));

async function serve(send: (targets: ProbeTargets) => unknown): Promise<void> {
  process.on('disconnect', () => process.exit());
  const web = createServer((_, response) => response.end('fine'));
  web.listen(0, '0.0.0.0');
  await once(web, 'listening');
  const grpcPorts: number[] = [];
  while (grpcPorts.length < Number(grpcCount)) grpcPorts.push((await startHealthServer(TARGET_HOST)).port);
  if (socketPath !== undefined) {
    const runtime = createFakeRuntime({ clock: linuxClock, random: linuxRandom });
    runtime.addImage('busybox:1');
    await serveCri({ socketPath, mode: 0o600, fs: linuxFileSystem, clock: linuxClock }, runtime.cri);
  }
  send({ httpPort: (web.address() as AddressInfo).port, grpcPorts }); // it listens on TCP
}
