import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clusterSkipReason } from './cluster-fixture.ts';
import { clusterTool, clusterToolsSkipReason } from './cluster-tools.ts';
import { end, launch, started } from './daemon-fixture.ts';
import { type NodePlan, nodeAddress, prepareNode } from './node-files.ts';
import { unmountBelow } from './runtime-cleanup.ts';

/** Kubernetes' own kubelet as a node of a control plane. */
export interface GoKubelet {
  /** Holds its volumes, logs and configuration. */
  readonly folder: string;
  readonly pid: number;
  /** Kills it with SIGKILL; its resources stay for the next one on the same directory. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface GoKubeletPlan extends NodePlan {
  /** Another program that accepts the flags and configuration of kubelet. */
  readonly command?: readonly string[];
}

const CONFIG = {
  // Features that this machine may or may not have: swap, permission to lower the OOM score.
  failSwapOn: false,
  oomScoreAdj: 0,
  enforceNodeAllocatable: ['pods'],
  evictionHard: { 'memory.available': '1Mi' },
  makeIPTablesUtilChains: false,
  nodeStatusUpdateFrequency: '1s',
};

/** kubelet's device plugin socket is here whatever its root directory is. */
const DEVICE_PLUGINS = '/var/lib/kubelet/device-plugins';
/** Files of a kubelet installed on this machine, whose sockets ours would take. */
const OTHER_KUBELET = ['/var/lib/kubelet/config.yaml', '/var/lib/kubelet/pods', '/etc/kubernetes/kubelet.conf'];

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function goKubeletSkipReason(): string | false {
  if (OTHER_KUBELET.some((path) => existsSync(path))) return 'this machine is a node of a cluster';
  if (!nodeAddress()) return 'needs an address beside loopback';
  return clusterSkipReason() || clusterToolsSkipReason('kubelet');
}

/** Resolves when the node is ready. It continues with the node object of a previous agent of that name. */
export async function startGoKubelet(plan: GoKubeletPlan): Promise<GoKubelet> {
  const { plane, nodeName, command = [clusterTool('kubelet')] } = plan;
  makeCgroups(plan.cgroupParent);
  const volumePluginDir = join(plane.folder, nodeName, 'volume-plugins');
  const config = { ...CONFIG, volumePluginDir, ...plan.config };
  const { folder, logPath, flags } = await prepareNode({ ...plan, config });
  const ready = async (): Promise<string> => {
    const condition = '.status.conditions[?(@.type=="Ready")]';
    const jsonpath = `-ojsonpath={${condition}.status} {${condition}.lastHeartbeatTime}`;
    return plane.kubectl('get', 'node', nodeName, '--ignore-not-found', jsonpath);
  };
  const before = await ready();
  const isReady = async (): Promise<boolean> => {
    const now = await ready();
    return now.startsWith('True') && now !== before;
  };
  const daemon = await started(launch([...command, ...flags], logPath), isReady, logPath);
  return {
    folder,
    pid: daemon.pid ?? 0,
    kill: () => end(daemon, 'SIGKILL'),
    async stop() {
      await end(daemon, 'SIGTERM');
      unmountBelow(folder); // volumes of pods that it did not tear down
      rmSync(DEVICE_PLUGINS, { recursive: true, force: true });
      const kubeletsOwn = dirname(DEVICE_PLUGINS);
      if (existsSync(kubeletsOwn) && readdirSync(kubeletsOwn).length === 0) rmdirSync(kubeletsOwn);
    },
  };
}

/** kubelet requires its root cgroup to exist in every hierarchy. */
function makeCgroups(parent: string): void {
  const root = '/sys/fs/cgroup';
  const hierarchies = readdirSync(root).filter((name) => existsSync(join(root, name, 'tasks')));
  for (const hierarchy of existsSync(join(root, 'cgroup.controllers')) ? [''] : hierarchies) {
    const place = join(root, hierarchy, parent);
    mkdirSync(place, { recursive: true });
    if (hierarchy !== 'cpuset') continue;
    // A new cpuset has neither and accepts no process.
    for (const name of ['cpuset.cpus', 'cpuset.mems'])
      writeFileSync(join(place, name), readFileSync(join(root, hierarchy, name)));
  }
}
