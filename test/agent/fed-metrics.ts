import type { Pod } from '../../src/api/generated/core-v1.ts';
import { buildMetrics, type KubeletMetrics } from '../../src/app/build-metrics.ts';
import { HEALTHY } from '../../src/app/config/healthy-config.fixture.ts';
import { instrument } from '../../src/cri/instrument.ts';
import { linuxFileSystem } from '../../src/host/linux/fs/linux-file-system.ts';
import { type MemoryAgent, newClusterWorld, podOf, startAgent, type World } from './memory-agent.ts';

/** What `/metrics` reads of the process. */
const PROCESS_FILES = [
  '/proc/self/stat',
  '/proc/self/status',
  '/proc/self/limits',
  '/proc/stat',
  '/proc/self/net/netstat',
];

export interface MeasuredAgent extends AsyncDisposable {
  readonly world: Required<World>;
  readonly it: MemoryAgent;
  readonly metrics: KubeletMetrics;
}

/** A pod of one container with an emptyDir. */
export function podWithScratch(name: string): Pod {
  const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }];
  const containers = [{ name: 'main', image: 'busybox:1', volumeMounts }];
  return podOf(name, { containers, volumes: [{ name: 'scratch', emptyDir: {} }] });
}

/** An agent of a cluster node in memory, with all metrics of kubelet. The process is this one. */
export async function startMeasuredAgent(): Promise<MeasuredAgent> {
  const world = await newClusterWorld();
  const { host, runtime } = world;
  await host.fs.makeDirectory('/proc/self/net');
  await host.fs.makeDirectory('/proc/self/fd');
  for (const path of PROCESS_FILES) await host.fs.writeFile(path, await linuxFileSystem.readText(path));
  const it = await startAgent({ ...world, runtime: { ...runtime, cri: instrument(runtime.cri) } });
  const config = { ...HEALTHY, rotateCertificates: true, serverTLSBootstrap: true };
  const metrics = buildMetrics({ nodeName: 'box', featureGates: new Map(), config }, { host, unhandled: it.unhandled });
  metrics.follow(it.agent);
  return {
    world,
    it,
    metrics,
    async [Symbol.asyncDispose]() {
      metrics.close();
      await it.stop();
    },
  };
}
